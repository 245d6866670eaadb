"""Asking a local model many questions, one after another, kept in a folder and
resumable.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from headway.errors import HeadwayError, require
from headway.fields import check, found_in
from headway.training.files import clear_content_errors, json_lines
from headway_experiments.language.accuracy import Reply, cells
from headway_experiments.language.formulations import Count, formulation, questions
from headway_experiments.language.ledger import Ledger
from headway_experiments.language.local import Form, LocalModel
from headway_experiments.language.question import Question

Watch = Callable[[int, int], None]
"""Called with how many questions are answered, and of how many."""


@dataclass(frozen=True)
class Asked:
    """The questions that are asked of a model.

    Attributes:
        model: its name or path.
        form: `chat` or `completion`; by default the model's own.
        places: (formulation, depth) of every cell.
        chains: interleaved.
        n: questions per cell.
        seed: of the questions.
    """

    model: str
    form: Form | None
    places: tuple[tuple[str, int], ...]
    chains: int = 4
    n: Count = 500
    seed: int = 0

    def __post_init__(self):
        check(self)
        require(len(self.places) >= 1, "formulation", [], "at least one")
        for name, depth in self.places:
            formulation(name).require(depth, self.chains)

    @property
    def total(self) -> int:
        """The number of questions."""
        return len(self.places) * self.n

    def ledger(self, folder: Path) -> Ledger:
        """The ledger of its answers: `asked.json`, and `asked.jsonl` with a line per
        question.
        """
        return Ledger(folder, "asked", {"format": 1, **asdict(self)})

    def questions(self) -> Iterator[tuple[int, Question]]:
        """The questions with their numbers, cell by cell."""
        for name, depth in self.places:
            yield from enumerate(questions(name, depth, self.chains, self.n, self.seed))


def ask_local(
    asked: Asked, folder: Path, watch: Watch = lambda *_: None, **loading: Any
) -> list[Reply]:
    """Asks a local model what the folder has no answer to yet; every answer is kept at
    once.

    Args:
        asked: what is asked.
        folder: new, or of the same asking before.
        watch: called after every question.
        loading: device and the like, see `LocalModel`, which is loaded only if needed.

    Returns:
        The replies to all questions, in their order.

    Raises:
        HeadwayError: if the folder holds another asking, is damaged, or is in use; if
            the model cannot be loaded; or if a question does not fit into it, or it
            answers with values that are not finite.
    """
    replies = answered(asked, folder)
    if len(replies) == asked.total:
        return replies
    model = LocalModel(asked.model, asked.form, **loading)
    ledger = asked.ledger(folder)
    # What a model cannot do is told before anything is written.
    first = None
    if not replies:
        number, question = next(asked.questions())
        first = reply_of(model, number, question)
    with ledger.writing(model.device):
        replies = answered(asked, folder)
        for number, question in islice(asked.questions(), len(replies), None):
            known = None if replies else first
            reply = known or reply_of(model, number, question)
            ledger.add(asdict(reply))
            replies.append(reply)
            watch(len(replies), asked.total)
    return replies


def reply_of(model: LocalModel, number: int, question: Question) -> Reply:
    """A model's answer to a question, the number of which is told, by exact
    probabilities.
    """
    start = time.perf_counter()
    said, ended = model.answers(question)
    # The paper's protocol asks again until an answer is acceptable. It ends with each
    # acceptable answer in proportion to its probability.
    ends = torch.tensor(ended, dtype=torch.float64).softmax(0)
    likeliest = said.index(max(said))
    seconds = time.perf_counter() - start
    return Reply(
        formulation=question.formulation,
        depth=question.depth,
        chains=question.chains,
        number=number,
        correct=question.correct,
        rank=question.rank,
        acceptable=len(question.acceptable),
        nearer=len(question.nearer),
        argmax=question.acceptable[likeliest],
        expectation=ends[question.rank].item(),
        said=_rounded(said),
        ended=_rounded(ended),
        seconds=round(seconds, 3),
    )


def _rounded(log_ps: list[float]) -> list[float]:
    return [round(log_p, 5) for log_p in log_ps]


def answered(asked: Asked, folder: Path) -> list[Reply]:
    """The replies that a folder holds, in order; a line cut off in the middle does not
    count.

    Raises:
        HeadwayError: if it holds another asking, or is damaged.
    """
    ledger = asked.ledger(folder)
    replies = list[Reply]()
    ledger.require_same()
    wanted = (
        (*place, asked.chains, n) for place in asked.places for n in range(asked.n)
    )
    for where, line in json_lines(ledger.path):
        reply = found_in(Reply, line, where)
        if (*reply.place, reply.number) != next(wanted, None):
            raise HeadwayError(f"{where} is not what is asked there")
        replies.append(reply)
    return replies


def summary(asked: Asked, folder: Path) -> dict[str, Any]:
    """The results of an asking as plain data: what was asked, where, and every cell.

    Raises:
        HeadwayError: if the folder holds no asking or another, or is damaged.
    """
    replies = answered(asked, folder)
    about = asked.ledger(folder).about()
    with clear_content_errors(folder / "asked.json"):
        about["environment"].pop("command", None)  # it may name folders of this machine
    return {**about, "cells": [cell.to_json() for cell in cells(replies)]}
