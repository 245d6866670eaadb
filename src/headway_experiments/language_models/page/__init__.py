"""The page about the heads of a language model that follow the chain."""

from headway_experiments.language_models.page.page import write_heads

__all__ = ["write_heads"]
