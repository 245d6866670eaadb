"""The five formulations of the retrieval problem in words, for language models (Musat
2024, section 4 and appendix A), and local models that are asked by exact
probabilities."""

from headway_experiments.language.accuracy import Cell, cells
from headway_experiments.language.asking import Asked, answered, ask_local, summary
from headway_experiments.language.formulations import FORMULATIONS, places, questions
from headway_experiments.language.ledger import Ledger
from headway_experiments.language.loading import compute_on, place_of
from headway_experiments.language.local import LocalModel, common_start
from headway_experiments.language.prompting import (
    PromptStudy,
    prompts_of,
    study_prompts,
)
from headway_experiments.language.question import Question, matched
from headway_experiments.language.repeats import Repeats

__all__ = [
    "FORMULATIONS",
    "Asked",
    "Cell",
    "Ledger",
    "LocalModel",
    "PromptStudy",
    "Question",
    "Repeats",
    "answered",
    "ask_local",
    "cells",
    "common_start",
    "compute_on",
    "matched",
    "place_of",
    "places",
    "prompts_of",
    "questions",
    "study_prompts",
    "summary",
]
