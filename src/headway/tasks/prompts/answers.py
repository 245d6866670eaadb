"""Answers to prompts, judged by what a model gives to the right and to the wrong ones.

The metrics, by name:

logit difference   the logarithm of how much likelier the right answers are than the
                   wrong ones; of one token each, the difference of their logits
probability        of the right answers
rank               how many tokens are likelier than the likeliest right answer
loss               the negative logarithm of the probability of the right answers
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from headway.tasks.targets import IGNORE_INDEX, Asked, Targets, Tokens

Metric = Literal["logit difference", "probability", "rank", "loss"]

AnswerTokens = tuple[tuple[int, ...], tuple[int, ...]]
"""The right answers of a prompt, and the wrong ones, as tokens."""

Logs = Float[Tensor, "sequence query hop"]


class Said(NamedTuple):
    """A model's logits of the answers at every query.

    Attributes:
        right: the logarithm of the probability of the right answers.
        wrong: the same of the wrong ones.
        above: tokens that are likelier than the likeliest right answer.
    """

    right: Logs
    wrong: Logs
    above: Logs


class Measure(NamedTuple):
    """A metric.

    Attributes:
        of: the metric of what a model says.
        sign: 1 if more is better, -1 if less is.
        smooth: whether it has a slope.
    """

    of: Callable[[Said], Logs]
    sign: int = 1
    smooth: bool = True


METRICS: dict[Metric, Measure] = {}
"""Every metric by its name."""
METRICS["logit difference"] = Measure(lambda said: said.right - said.wrong)
METRICS["probability"] = Measure(lambda said: said.right.exp())
METRICS["rank"] = Measure(lambda said: said.above, sign=-1, smooth=False)
METRICS["loss"] = Measure(lambda said: -said.right, sign=-1)


@dataclass(frozen=True)
class Answers(Targets):
    """The answers to prompts, judged by a metric.

    Targets are [sequence, query, hop], the number of a prompt's answers among all;
    predictions are logits [sequence, query, token]. What is lowered is the metric, its
    sign changed if more of it is better: so it may be below zero. The answer that a
    model gives is the kind that it finds likelier, right or wrong.

    Attributes:
        vocabulary: the number of tokens.
        tokens: of the answers, right and wrong, by number.
        metric: by which predictions are judged.
    """

    vocabulary: int
    tokens: tuple[AnswerTokens, ...]
    metric: Metric = "logit difference"

    loss_name = "metric, lower is better"
    nothing = IGNORE_INDEX

    @property
    def measure(self) -> Measure:
        """The metric."""
        return METRICS[self.metric]

    @property
    def metric_name(self) -> Metric:
        """The name of the metric."""
        return self.metric

    @property
    def may_be_negative(self) -> bool:
        """True if more of the metric is better: it is then lowered with its sign
        changed.
        """
        return self.measure.sign > 0

    @property
    def smooth(self) -> "Answers":
        """The logit difference, if the metric itself has no slope."""
        if self.measure.smooth:
            return self
        return Answers(self.vocabulary, self.tokens)

    def width(self, n_hops: int) -> int:
        return self.vocabulary

    def asked(self, targets: Tensor) -> Asked:
        return targets != IGNORE_INDEX

    def values(self, predicted: Tensor, targets: Tensor) -> Logs:
        """The metric at every query; 0 where nothing is asked."""
        measured = self.measure.of(self.said(predicted, targets))
        return torch.where(self.asked(targets), measured, 0.0)

    def each(
        self, predicted: Tensor, targets: Tensor
    ) -> Float[Tensor, "sequence query hop"]:
        return -self.measure.sign * self.values(predicted, targets)

    def right(self, predicted: Tensor, targets: Tensor) -> Asked:
        """True where the right answers are likelier than the wrong ones."""
        said = self.said(predicted, targets)
        return (said.right > said.wrong) & self.asked(targets)

    def answers(
        self, predicted: Tensor, targets: Tensor
    ) -> Num[Tensor, "sequence query hop _"]:
        """1 where the right answers are likelier than the wrong ones, else 0."""
        said = self.said(predicted, targets)
        return (said.right > said.wrong).long()[..., None]

    def numbers(
        self, predicted: Tensor, targets: Tensor
    ) -> Float[Tensor, "sequence query hop number"]:
        """The metric, as that is what counts of the logits."""
        return self.values(predicted, targets)[..., None]

    def divergence(self, predicted: Tensor, other: Tensor, targets: Tensor) -> Tensor:
        """The Kullback-Leibler divergence of the other's probabilities from these, in
        nats.
        """
        return Tokens(self.vocabulary).divergence(predicted, other, targets)

    def choices(self, targets: Tensor) -> int:
        return 2

    def said(self, predicted: Tensor, targets: Tensor) -> Said:
        """A model's logits of the answers."""
        logs = predicted.float().log_softmax(-1)
        number = targets.clamp(min=0)
        right = self._of(logs, number, self._right)
        wrong = self._of(logs, number, self._wrong)
        likeliest = right.amax(-1)
        above = (logs[:, :, None] > likeliest[..., None]).sum(-1)
        return Said(right.logsumexp(-1), wrong.logsumexp(-1), above.to(logs.dtype))

    def _of(
        self, logs: Tensor, number: Tensor, table: Int[Tensor, "number answer"]
    ) -> Float[Tensor, "sequence query hop answer"]:
        """The logarithms of the probabilities of some answers; those that there are not
        have none.
        """
        wanted = table.to(number.device)[number]
        each = logs[:, :, None].expand(*number.shape, -1)
        told = each.gather(-1, wanted.clamp(min=0))
        return told.masked_fill(wanted < 0, -torch.inf)

    @cached_property
    def _right(self) -> Int[Tensor, "number answer"]:
        return _table([right for right, _ in self.tokens])

    @cached_property
    def _wrong(self) -> Int[Tensor, "number answer"]:
        return _table([wrong for _, wrong in self.tokens])


def _table(rows: Sequence[tuple[int, ...]]) -> Int[Tensor, "number answer"]:
    """Rows of tokens as one tensor; short ones are filled up with -1."""
    longest = max(map(len, rows))
    filled = [[*row, *[-1] * (longest - len(row))] for row in rows]
    return torch.tensor(filled)
