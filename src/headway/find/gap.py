"""The gap between clean and corrupted prompts, measured before a search:
the gap, what of it heads carry, and what where they look alone does; and what each
head does in the model as it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import require
from headway.fields import require_allowed
from headway.replace.exchange import OWN, PARTNER
from headway.replace.exchanged import ExchangedBench
from headway.replace.heads import Head, name_of
from headway.replace.mechanism import Corrupted, Exchanged
from headway.replace.subject import Sequences, studied
from headway.settings import computes_as_usual
from headway.tasks import Task
from headway.tasks.prompts.answers import METRICS, Answers
from headway.text import aligned, wrapped

PURPOSE = "certificate"
"""The sequences are those on which circuits are judged."""

LEAST = 1e-3
"""A smaller gap is none, as a share of the metric's own size."""


@dataclass(frozen=True)
class Gap:
    """The gap between clean and corrupted prompts.

    Attributes:
        metric: its name.
        pairs: how many prompts.
        right: the share of which the right answer is likelier than the wrong one.
        likeliest: the share of which it is the likeliest of all tokens.
        clean: every metric on clean prompts, by name, the mean.
        corrupted: the same on corrupted ones, with the answers of the clean ones.
        heads: the metric with what all heads carry exchanged.
        attention: the metric with attention alone exchanged, on the clean values.
    """

    metric: str
    pairs: int
    right: float
    likeliest: float
    clean: dict[str, float]
    corrupted: dict[str, float]
    heads: float
    attention: float

    @property
    def size(self) -> float:
        """The difference of the metric between clean and corrupted prompts."""
        return self.clean[self.metric] - self.corrupted[self.metric]

    def share(self, exchanged: float) -> float | None:
        """The share of the gap that is lost by an exchange; None if there is none."""
        least = LEAST * max(abs(self.clean[self.metric]), LEAST)
        if abs(self.size) < least:
            return None
        return (self.clean[self.metric] - exchanged) / self.size

    def __str__(self):
        said = (
            f"{self.pairs} pairs: the right answer is likelier than the wrong one in"
            f" {self.right:.0%}, and the likeliest of all tokens in"
            f" {self.likeliest:.0%}"
        )
        rows = [["", "clean", "corrupted"]]
        for name, value in self.clean.items():
            rows.append([name, f"{value:.3f}", f"{self.corrupted[name]:.3f}"])
        lines = [*wrapped(said), *aligned(rows, "<>>")]
        heads, attention = self.share(self.heads), self.share(self.attention)
        if heads is None or attention is None:
            return "\n".join([*lines, *wrapped("there is no gap to explain")])
        carried = (
            f"of the gap of {self.size:.3f} heads carry {heads:.0%} (what all of them"
            " carry exchanged); where they look alone, on clean values,"
            f" {attention:.0%}"
        )
        return "\n".join([*lines, *wrapped(carried)])


@dataclass(frozen=True)
class HeadCut:
    """A head's work in the model as it is: the part of the metric that is lost when it
    alone carries what it carries in the corrupted prompt.

    Attributes:
        head: its layer and number.
        lost: the mean over pairs.
        interval: of the mean, 95 %.
    """

    head: Head
    lost: float
    interval: tuple[float, float]

    @property
    def is_sure(self) -> bool:
        """True if the interval does not hold zero."""
        low, high = self.interval
        return low > 0 or high < 0

    def __str__(self):
        low, high = self.interval
        return f"{name_of(self.head)} {self.lost:+.3f} ({low:.3f} to {high:.3f})"


@computes_as_usual
@torch.no_grad()
def gap_of(model: Any, task: Task, sequences: int = 64, seed: int = 0) -> Gap:
    """The gap between clean and corrupted prompts, and what of it heads carry.

    Args:
        model: with a tap, or any module whose attention can be tapped.
        task: `Prompts`.
        sequences: at most, of the half that circuits are judged on.
        seed: of the draw.

    Raises:
        HeadwayError: if the task has no corrupted sequences or no such metric.
    """
    targets = _answers(task)
    bench = bench_of(model, task, sequences, seed)
    outputs = bench.exchange.outputs_of
    wanted = bench.batch.targets
    likeliest = Answers(targets.vocabulary, targets.tokens, "rank")
    ranks = likeliest.values(outputs[OWN], wanted)
    asked = targets.asked(wanted)
    every = dict.fromkeys(bench.heads, Exchanged())
    looking = dict.fromkeys(bench.heads, Corrupted())
    sign = -targets.measure.sign
    heads, attention = bench.losses([every, looking])
    return Gap(
        targets.metric,
        bench.sequences,
        targets.right(outputs[OWN], wanted)[asked].float().mean().item(),
        (ranks[asked] == 0).float().mean().item(),
        _every_metric(targets, outputs[OWN], wanted),
        _every_metric(targets, outputs[PARTNER], wanted),
        sign * heads,
        sign * attention,
    )


def _answers(task: Task) -> Answers:
    """The answers of prompts."""
    targets = task.targets
    require(isinstance(targets, Answers), "task", task.kind, "headway.Prompts")
    assert isinstance(targets, Answers)
    return targets


def _every_metric(
    targets: Answers, outputs: Tensor, wanted: Tensor
) -> dict[str, float]:
    """The mean of every metric."""
    asked = targets.asked(wanted)
    means = dict[str, float]()
    for name in METRICS:
        measure = Answers(targets.vocabulary, targets.tokens, name)
        means[name] = measure.values(outputs, wanted)[asked].mean().item()
    return means


def bench_of(model: Any, task: Task, sequences: int, seed: int = 0) -> ExchangedBench:
    """The model on prompts on which circuits are judged."""
    require_allowed("sequences", sequences, Sequences)
    with studied(model, task, seed=seed, writes=False) as subject:
        batch = subject.sequences(sequences, PURPOSE)
        return ExchangedBench(subject.model, task, batch)


@torch.no_grad()
def cuts_of(bench: ExchangedBench, heads: Iterable[Head]) -> list[HeadCut]:
    """The work of each of some heads in the model as it is, the most first.

    Args:
        bench: the model on prompts.
        heads: which of them.
    """
    several = list(heads)
    candidates = [{head: Exchanged()} for head in several]
    own, *cut = bench.errors([{}, *candidates]).mean(2)
    lost = [_cut(head, errors - own) for head, errors in zip(several, cut, strict=True)]
    return sorted(lost, key=lambda one: -one.lost)


def _cut(head: Head, lost: Float[Tensor, " sequence"]) -> HeadCut:
    """The mean of what is lost, with its interval."""
    mean = lost.mean().item()
    off = 1.96 * lost.double().std().item() / len(lost) ** 0.5
    return HeadCut(head, mean, (mean - off, mean + off))
