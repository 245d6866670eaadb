"""Asking a local model many questions, one after another, kept in a folder and resumable."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from headway.errors import require
from headway.language.accuracy import cells
from headway.language.formulations import formulation
from headway.language.ledger import Ledger, as_text
from headway.language.local import Answers, Form, LocalModel, best, expectation
from headway.language.question import Question
from headway.language.sampling import questions
from headway.training.data import generator_for
from headway.training.files import clear_content_errors, is_there, read_json

FORMAT = 1
"""Of `asked.json`."""

NAME = "asked"
"""Of the files: `asked.json` says what is asked, `asked.jsonl` has a line per question."""

Watch = Callable[[int, int], None]
"""Called with how many questions are answered, and of how many."""


class Model(Protocol):
    """What is asked, and on which device it computes."""

    device: str

    def answers(self, question: Question) -> Answers:
        """The probabilities of all acceptable answers."""
        ...

    def sample(self, question: Question, count: int, generator: torch.Generator) -> list[str]:
        """`count` independent answers at temperature 1."""
        ...


@dataclass(frozen=True)
class Asked:
    """What is asked of a model.

    Attributes:
        model: its name or path.
        form: `chat` or `completion`; by default the model's own.
        places: (formulation, depth) of every cell.
        chains: interleaved.
        n: questions per cell.
        seed: of questions and draws.
        sampled: how many questions per cell are also asked by the paper's protocol.
        draws: unacceptable answers after which the protocol gives a question up.
    """

    model: str
    form: Form | None
    places: tuple[tuple[str, int], ...]
    chains: int = 4
    n: int = 500
    seed: int = 0
    sampled: int = 0
    draws: int = 100

    def __post_init__(self):
        require(len(self.places) >= 1, "formulation", [], "at least one")
        for name, depth in self.places:
            formulation(name).require(depth, self.chains)
        for name, least in (("n", 1), ("sampled", 0), ("draws", 1)):
            value = getattr(self, name)
            require(value >= least, name, value, f"a whole number of at least {least}")

    @property
    def total(self) -> int:
        """How many questions there are."""
        return len(self.places) * self.n

    def ledger(self, folder: Path) -> Ledger:
        """Where its answers are kept."""
        return Ledger(folder, NAME, {"format": FORMAT, **asdict(self)})

    def questions(self) -> Iterator[tuple[int, Question]]:
        """All questions with their numbers, cell by cell."""
        for name, depth in self.places:
            yield from enumerate(questions(name, depth, self.chains, self.n, self.seed))


def ask(asked: Asked, model: Model, folder: Path, watch: Watch | None = None) -> list[dict]:
    """Asks all questions that the folder has no answer to yet; every answer is kept at once.

    Args:
        asked: what is asked.
        model: the model that is asked.
        folder: new, or of the same asking before.
        watch: called after every question.

    Returns:
        A line per question, in their order; see `line_of`.

    Raises:
        HeadwayError: if the folder holds another asking, is damaged, or is in use; or if a
            question does not fit into the model, or it answers with values that are not finite.
    """
    ledger = asked.ledger(folder)
    first = None
    if not is_there(ledger.path):
        first = line_of(asked, model, *next(asked.questions()))
        as_text(first)  # what a model cannot do is told before anything is written
    with ledger.writing(model.device):
        lines = answered(asked, folder)
        known = {(line["formulation"], line["depth"], line["number"]) for line in lines}
        done = len(known)
        for number, question in asked.questions():
            if (question.formulation, question.depth, number) in known:
                continue
            ledger.add(line_of(asked, model, number, question) if done or not first else first)
            done += 1
            if watch is not None:
                watch(done, asked.total)
    return answered(asked, folder)


def ask_local(asked: Asked, folder: Path, watch: Watch | None = None, **loading) -> list[dict]:
    """Asks a local model what the folder has no answer to yet; it is loaded only if needed.

    Args:
        asked: what is asked.
        folder: of the answers.
        watch: called after every question.
        loading: device and the like, see `LocalModel`.

    Raises:
        HeadwayError: see `ask` and `LocalModel`.
    """
    known = answered(asked, folder)
    if len(known) < asked.total:
        return ask(asked, LocalModel(asked.model, asked.form, keep=True, **loading), folder, watch)
    return known


def line_of(asked: Asked, model: Model, number: int, question: Question) -> dict[str, Any]:
    """A model's answer to a question, as plain data.

    `said` and `ended` are log-probabilities of the acceptable answers (see `Answers`); `sampled`
    is what the paper's protocol ended with after `draws` draws, None if nothing acceptable came.
    Both are None if it was not run.
    """
    start = time.perf_counter()
    answers = model.answers(question)
    line: dict[str, Any] = {
        "formulation": question.formulation,
        "depth": question.depth,
        "chains": question.chains,
        "number": number,
        "correct": question.correct,
        "rank": question.acceptable.index(question.correct),
        "acceptable": len(question.acceptable),
        "nearer": len(question.nearer),
        "argmax": best(answers, question),
        "expectation": expectation(answers, question),
        "said": [round(log_p, 5) for log_p in answers.said],
        "ended": [round(log_p, 5) for log_p in answers.ended],
        "sampled": None,
        "draws": None,
    }
    if number < asked.sampled:
        about = asked.seed, question.formulation, question.depth, number
        drawn = model.sample(question, asked.draws, generator_for("cpu", "ask", *about))
        at = next((i for i, text in enumerate(drawn) if text in question.acceptable), None)
        line["sampled"] = None if at is None else drawn[at]
        line["draws"] = asked.draws if at is None else at + 1
    return line | {"seconds": round(time.perf_counter() - start, 3)}


def answered(asked: Asked, folder: Path) -> list[dict[str, Any]]:
    """The questions that a folder holds answers to; a line cut off in the middle does not count.

    Raises:
        HeadwayError: if it holds another asking, or is damaged.
    """
    ledger = asked.ledger(folder)
    ledger.require_same()
    lines = ledger.lines()
    with clear_content_errors(ledger.path):
        cells(lines)
    return lines


def summary(asked: Asked, folder: Path) -> dict[str, Any]:
    """The results of an asking as plain data: what was asked, where, and every cell.

    Raises:
        HeadwayError: if the folder holds no asking or another, or is damaged.
    """
    about = read_json(folder / f"{NAME}.json")
    about["environment"].pop("command", None)  # it may name folders of this machine
    return {**about, "cells": [cell.to_json() for cell in cells(answered(asked, folder))]}
