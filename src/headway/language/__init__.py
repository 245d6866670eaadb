"""The five formulations of the retrieval problem in words, for language models (Musat 2024, section
4 and appendix A), and local models that are asked by exact probabilities."""

from headway.language.accuracy import Cell, Reply, cells
from headway.language.asking import Asked, answered, ask_local, summary
from headway.language.formulations import (
    FORMULATIONS,
    Chains,
    Formulation,
    formulation,
    places,
    questions,
)
from headway.language.ledger import Ledger, as_text
from headway.language.loading import compute_on, place_of, short_name
from headway.language.local import (
    Answers,
    Form,
    LocalModel,
    best,
    common_start,
    expectation,
)
from headway.language.question import Question, matched
from headway.language.repeats import Repeats

__all__ = [
    "FORMULATIONS",
    "Answers",
    "Asked",
    "Cell",
    "Chains",
    "Form",
    "Formulation",
    "Ledger",
    "LocalModel",
    "Question",
    "Repeats",
    "Reply",
    "answered",
    "as_text",
    "ask_local",
    "best",
    "cells",
    "common_start",
    "compute_on",
    "expectation",
    "formulation",
    "matched",
    "place_of",
    "places",
    "questions",
    "short_name",
    "summary",
]
