"""Which attention heads of a language model follow the chain: read, ranked, knocked out.

Attention is read on all questions, in one pass each. The first half ranks the heads; on the other
half, the attention of the ranked ones is measured, and the answers without them.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from headway.errors import require
from headway.files import clear_content_errors, read_json
from headway.language import Form, Ledger, LocalModel, Question, as_text, questions, short_name
from headway_experiments.language_models.effects import effects
from headway_experiments.language_models.following import attention, relations, require_chains
from headway_experiments.language_models.knockout import Ablation, Head, answers_without, trials
from headway_experiments.language_models.ranking import (
    LEAST_MORE,
    Measured,
    orders,
    ranking,
    to_json,
)
from headway_experiments.language_models.tap import shape

FORMAT = 1
"""Of `study.json` and `heads.json`."""
Part = Literal["attention", "without"]
PARTS: tuple[Part, Part] = "attention", "without"
"""Kinds of results: attention on every question, and answers without heads."""
TOPS = (1, 3, 10, 30)
"""How many heads are knocked out by default, if the model has twice as many."""

Watch = Callable[[int, int, str], None]
"""Called with what is done, on how many questions, and of how many."""


@dataclass(frozen=True)
class Study:
    """What a study asks for.

    Attributes:
        model: its name or path.
        formulation: of the questions.
        depth: look-ups to the answer.
        chains: interleaved.
        n: questions, at least four for every chain; the first half ranks.
        top: how many of the best heads to knock out; by default `TOPS`.
        random: sets of heads drawn for every question, for every number and kind of draw.
        seed: of questions and of drawn heads.
        form: `chat` or `completion`; by default the model's own.
        ablation: how heads are knocked out.
    """

    model: str
    formulation: str
    depth: int
    chains: int = 4
    n: int = 100
    top: tuple[int, ...] | None = None
    random: int = 2
    seed: int = 0
    form: Form | None = None
    ablation: Ablation = "knock-out"

    def __post_init__(self):
        require_chains(self.formulation, self.depth, self.chains)
        least = 4 * self.chains
        allowed = f"a whole number of at least {least}: half of them tell, each right answer twice"
        require(self.n >= least, "n", self.n, allowed)
        require(self.random >= 1, "random", self.random, "a whole number of at least 1")
        for top in self.top or ():
            require(top >= 1, "top", top, "a whole number of at least 1")

    @property
    def about(self) -> dict[str, Any]:
        """As plain data, with its format."""
        return {"format": FORMAT, **asdict(self)}

    def ledger(self, folder: Path, part: Part) -> Ledger:
        """Where results of a kind are kept."""
        return Ledger(folder, "study", self.about, part)

    @property
    def ranked_on(self) -> int:
        """How many questions rank; the others tell."""
        return self.n // 2

    def questions(self) -> list[Question]:
        """All questions."""
        name, depth, chains = self.formulation, self.depth, self.chains
        return list(questions(name, depth, chains, self.n, self.seed))

    def tops(self, heads: int) -> list[int]:
        """How many heads are knocked out of a model that has so many.

        Raises:
            HeadwayError: if as many others could not be drawn.
        """
        if self.top is None:
            return [top for top in TOPS if 2 * top <= heads]
        for top in self.top:
            allowed = f"from 1 to {heads // 2}, half of the {heads} heads: as many others are drawn"
            require(2 * top <= heads, "top", top, allowed)
        return sorted(set(self.top))


def is_done(study: Study, folder: Path) -> bool:
    """Whether a folder holds all that the study asks for, so that the model is not needed."""
    read, answered = (len(study.ledger(folder, part).lines()) for part in PARTS)
    return read == study.n and answered == study.n - study.ranked_on


def look(study: Study, model: LocalModel, folder: Path, watch: Watch = lambda *_: None) -> None:
    """Does all of a study that the folder does not hold yet; every question is kept at once.

    Args:
        study: what it asks for.
        model: whose heads.
        folder: new, or of the same study before.
        watch: called after every question.

    Raises:
        HeadwayError: if there are not enough heads, the attention of the model cannot be seen or is
            not finite, a question does not fit into it, or the folder holds something else, or is
            in use.
    """
    layers, heads = shape(model.model)
    tops = study.tops(layers * heads)
    asked = study.questions()
    first = line_of(0, asked[0], model)
    as_text(first)  # what a model cannot do is told before anything is written
    reading, answering = (study.ledger(folder, part) for part in PARTS)
    with reading.writing(model.device):
        for number, question in islice(enumerate(asked), len(reading.lines()), None):
            reading.add(line_of(number, question, model) if number else first)
            watch(number + 1, study.n, "attention read on")
        ranked = [(one.layer, one.head) for one in ranking(measured(study, folder))]
        start = study.ranked_on
        for number, question in islice(enumerate(asked), start + len(answering.lines()), None):
            answering.add(without(study, model, ranked, tops, number, question))
            watch(number + 1 - start, study.n - start, "knocked out on")


def line_of(number: int, question: Question, model: LocalModel) -> dict[str, Any]:
    """Attention on a question by relation, layer and head, as plain data."""
    start = time.perf_counter()
    found, named = attention(model, question), relations(question)

    def told(values: Tensor, compared: bool) -> dict[str, Any]:
        return {
            relation.name: [[round(value, 5) for value in row] for row in of.tolist()]
            for relation, of in zip(named, values, strict=True)
            if relation.compared or not compared
        }

    seconds = round(time.perf_counter() - start, 3)
    return {
        "number": number,
        "own": told(found.own, compared=False),
        "others": told(found.others, compared=True),
        "seconds": seconds,
    }


def without(
    study: Study,
    model: LocalModel,
    ranked: list[Head],
    tops: list[int],
    number: int,
    question: Question,
) -> dict[str, Any]:
    """What a model answers without heads, as plain data."""
    start = time.perf_counter()
    tried = trials(ranked, tops, study.random, ("heads", study.seed, number))
    answers = answers_without(model, question, tried, study.ablation)
    outcomes = [
        {
            "kind": trial.kind,
            "top": trial.top,
            "said": [round(log_p, 5) for log_p in answer.said],
            "ended": [round(log_p, 5) for log_p in answer.ended],
        }
        for trial, answer in zip(tried, answers, strict=True)
    ]
    return {
        "number": number,
        "outcomes": outcomes,
        "seconds": round(time.perf_counter() - start, 3),
    }


def measured(study: Study, folder: Path) -> Measured:
    """The attention that a folder holds.

    Raises:
        HeadwayError: if the file is damaged.
    """
    lines = study.ledger(folder, "attention").lines()
    named = relations(study.questions()[0])
    with clear_content_errors(folder / "attention.jsonl"):
        own = [[line["own"][relation.name] for relation in named] for line in lines]
        nothing = [[torch.nan] * len(row) for row in own[0][0]]
        others = [
            [line["others"].get(relation.name, nothing) for relation in named] for line in lines
        ]
        return Measured(named, torch.tensor(own), torch.tensor(others), study.ranked_on)


def summary(study: Study, folder: Path) -> Mapping[str, Any]:
    """All that was found, as `heads.json` holds it: the map of heads, the ranking, what knocking
    out does, and the order of hops.

    Raises:
        HeadwayError: if a file of the folder is damaged.
    """
    seen = measured(study, folder)
    lines = study.ledger(folder, "without").lines()
    with clear_content_errors(folder / "without.jsonl"):
        asked = study.questions()
        right = [asked[line["number"]] for line in lines]
        ranks = [question.acceptable.index(question.correct) for question in right]
        after = effects(lines, ranks)
    layers, heads = seen.own.shape[2:]
    return {
        **study.about,
        "model": short_name(study.model),
        "layers": layers,
        "heads": heads,
        "ranked_on": study.ranked_on,
        "relations": [
            {
                **asdict(relation),
                "own": _rounded(seen.own[:, i].mean(0)),
                "others": _rounded(seen.others[:, i].mean(0)) if relation.compared else None,
            }
            for i, relation in enumerate(seen.relations)
        ],
        "ranking": [asdict(one) for one in ranking(seen)],
        "effects": [asdict(effect) for effect in after],
        "least_more": LEAST_MORE,
        "orders": [to_json(order) for order in orders(seen)],
        "seconds": {
            part: round(sum(line["seconds"] for line in study.ledger(folder, part).lines()), 1)
            for part in PARTS
        },
        "environment": read_json(folder / "study.json")["environment"],
    }


def _rounded(values: Tensor) -> list[list[float]]:
    return [[round(value, 4) for value in row] for row in values.tolist()]
