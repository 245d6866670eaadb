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
        clean = self.clean[self.metric]
        least = LEAST * max(abs(clean), LEAST)
        if abs(self.size) < least:
            return None
        return (clean - exchanged) / self.size

    def __str__(self):
        said = (
            f"{self.pairs} pairs: the right answer is likelier than the wrong one in"
            f" {self.right:.0%}, and the likeliest of all tokens in"
            f" {self.likeliest:.0%}"
        )
        rows = [["", "clean", "corrupted"]]
        for name, value in self.clean.items():
            corrupted = self.corrupted[name]
            rows.append([name, f"{value:.3f}", f"{corrupted:.3f}"])
        lines = [*wrapped(said), *aligned(rows, "<>>"), *wrapped(self._carried)]
        return "\n".join(lines)

    @property
    def _carried(self) -> str:
        """The share of the gap that heads carry, in words."""
        heads = self.share(self.heads)
        attention = self.share(self.attention)
        if heads is None or attention is None:
            return "there is no gap to explain"
        return (
            f"of the gap of {self.size:.3f} heads carry {heads:.0%} (what all of them"
            " carry exchanged); where they look alone, on clean values,"
            f" {attention:.0%}"
        )


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
    wanted = bench.batch.targets
    clean = bench.exchange.outputs_of[OWN]
    corrupted = bench.exchange.outputs_of[PARTNER]
    right, likeliest = _shares_right(targets, clean, wanted)
    heads, attention = _with_all_exchanged(bench, targets)
    return Gap(
        metric=targets.metric,
        pairs=bench.sequences,
        right=right,
        likeliest=likeliest,
        clean=_every_metric(targets, clean, wanted),
        corrupted=_every_metric(targets, corrupted, wanted),
        heads=heads,
        attention=attention,
    )


def _shares_right(
    targets: Answers, outputs: Tensor, wanted: Tensor
) -> tuple[float, float]:
    """The share of prompts of which the right answer is likelier than the wrong one,
    and of which it is the likeliest of all tokens.
    """
    asked = targets.asked(wanted)
    is_right = targets.right(outputs, wanted)[asked]
    by_rank = Answers(targets.vocabulary, targets.tokens, "rank")
    ranks = by_rank.values(outputs, wanted)
    is_likeliest = ranks[asked] == 0
    return is_right.float().mean().item(), is_likeliest.float().mean().item()


def _answers(task: Task) -> Answers:
    """The answers of prompts."""
    targets = task.targets
    require(isinstance(targets, Answers), "task", task.kind, "headway.Prompts")
    assert isinstance(targets, Answers)
    return targets


def _with_all_exchanged(bench: ExchangedBench, targets: Answers) -> tuple[float, float]:
    """The metric with what all heads carry exchanged, and with their attention alone
    exchanged.
    """
    every = dict.fromkeys(bench.heads, Exchanged())
    looking = dict.fromkeys(bench.heads, Corrupted())
    heads, attention = bench.losses([every, looking])
    sign = -targets.measure.sign
    return sign * heads, sign * attention


def _every_metric(
    targets: Answers, outputs: Tensor, wanted: Tensor
) -> dict[str, float]:
    """The mean of every metric."""
    asked = targets.asked(wanted)
    means = dict[str, float]()
    for name in METRICS:
        measure = Answers(targets.vocabulary, targets.tokens, name)
        values = measure.values(outputs, wanted)
        means[name] = values[asked].mean().item()
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
    cuts = list[HeadCut]()
    for head, errors in zip(several, cut, strict=True):
        cuts.append(_cut(head, errors - own))
    return sorted(cuts, key=lambda head_cut: -head_cut.lost)


def _cut(head: Head, lost: Float[Tensor, " sequence"]) -> HeadCut:
    """The mean of what is lost, with its interval."""
    mean = lost.mean().item()
    deviation = lost.double().std().item()
    off = 1.96 * deviation / len(lost) ** 0.5
    return HeadCut(head, mean, (mean - off, mean + off))
