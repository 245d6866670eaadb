"""The atlas of a language model: what every head does on ordinary text."""

from headway_experiments.language.atlas.entries import Atlas, Entry
from headway_experiments.language.atlas.page import page_of
from headway_experiments.language.atlas.study import atlas
from headway_experiments.language.atlas.texts import Texts, texts_of

__all__ = ["Atlas", "Entry", "Texts", "atlas", "page_of", "texts_of"]
