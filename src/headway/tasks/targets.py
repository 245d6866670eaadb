"""Targets: vectors or tokens to be predicted, with loss and accuracy."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

IGNORE_INDEX = -100
"""The target token where nothing is asked, as in torch; a vector is NaN."""

Asked = Bool[Tensor, "sequence query hop"]


class Targets(ABC):
    """The things predicted at every query, hop by hop. Losses are means over all."""

    loss_name: ClassVar[str]
    nothing: ClassVar[float]
    """The value of a target where nothing is asked."""

    @property
    def metric_name(self) -> Literal["loss", "logit difference", "probability", "rank"]:
        """The name of what is measured."""
        return "loss"

    @property
    def may_be_negative(self) -> bool:
        """True if losses are a metric with its sign changed, as more of it is better:
        sums of them then do not only grow.
        """
        return False

    @property
    def smooth(self) -> "Targets":
        """The targets by which slopes are taken; others if these have none."""
        return self

    @abstractmethod
    def width(self, n_hops: int) -> int:
        """The numbers that a model puts out at a query."""

    @abstractmethod
    def asked(self, targets: Tensor) -> Asked:
        """The hops that are asked at each query."""

    @abstractmethod
    def each(
        self, predicted: Tensor, targets: Tensor
    ) -> Float[Tensor, "sequence query hop"]:
        """The loss of every hop at every query; 0 where it is not asked."""

    @abstractmethod
    def right(self, predicted: Tensor, targets: Tensor) -> Asked:
        """Tell right answers from wrong, at every query and hop that is asked for."""

    @abstractmethod
    def answers(
        self, predicted: Tensor, targets: Tensor
    ) -> Num[Tensor, "sequence query hop _"]:
        """The answer at every query and hop, as numbers that can be compared."""

    @abstractmethod
    def numbers(
        self, predicted: Tensor, targets: Tensor
    ) -> Float[Tensor, "sequence query hop number"]:
        """The predicted numbers, without what no answer needs (a mean of logits)."""

    @abstractmethod
    def divergence(self, predicted: Tensor, other: Tensor, targets: Tensor) -> Tensor:
        """The distance of other predictions from these, the mean of all asked."""

    def _mean_asked(
        self, each: Float[Tensor, "sequence query hop"], targets: Tensor
    ) -> Tensor:
        asked = self.asked(targets)
        total = torch.where(asked, each, 0.0).sum()
        return total / asked.sum().clamp(min=1)

    @abstractmethod
    def choices(self, targets: Tensor) -> int:
        """The most answers that a query chooses among."""

    def same(self, predicted: Tensor, other: Tensor, targets: Tensor) -> Asked:
        """True where one is asked for, and two predictions give the same answer.

        What is not a number is no answer.
        """
        alike = self.answers(predicted, targets) == self.answers(other, targets)
        both = self.is_answer(predicted, targets) & self.is_answer(other, targets)
        return alike.all(-1) & both & self.asked(targets)

    def is_answer(self, predicted: Tensor, targets: Tensor) -> Asked:
        """True where a prediction is made of numbers, so that its loss is one."""
        return ~self.each(predicted, targets).isnan()

    def leaving_out(self, targets: Tensor, hops: list[int]) -> Tensor:
        """These targets without some hops, by index."""
        targets = targets.clone()
        targets[:, :, hops] = self.nothing
        return targets

    def how_often(self, targets: Tensor) -> Float[Tensor, " hop"]:
        """The mean number of queries of a sequence by hop; 1 if none asks."""
        in_sequence = self.asked(targets).float().sum(1)
        counts = in_sequence.mean(0)
        return torch.where(counts > 0, counts, 1.0)

    def errors(
        self,
        predicted: Tensor,
        targets: Tensor,
        how_often: Float[Tensor, " hop"] | None = None,
    ) -> Float[Tensor, "sequence hop"]:
        """The shares of every sequence in every hop's loss: their mean is the loss.

        A share that is not a number counts as infinite, so that it is above every
        limit. All losses that are compared come from here.

        Args:
            predicted: what a model put out, [sequence, query, number].
            targets: what it should have.
            how_often: that of all sequences, if these are some of many.
        """
        often = self.how_often(targets) if how_often is None else how_often
        shares = self.each(predicted, targets).sum(1) / often
        return shares.masked_fill(shares.isnan(), math.inf)

    def at_queries(self, predicted: Tensor, targets: Tensor) -> Tensor:
        """The predictions [sequence, query, number] at the queries, of those hops."""
        _, n_read, n_hops = targets.shape[:3]
        return predicted[:, -n_read:, : self.width(n_hops)]

    def partial_losses(
        self, predicted: Tensor, targets: Tensor
    ) -> Float[Tensor, " hop"]:
        """The loss of every hop alone."""
        return self.errors(predicted, targets).mean(0)

    def loss(self, predicted: Tensor, targets: Tensor) -> Float[Tensor, ""]:
        """The loss that training lowers: the mean over all that is asked.

        It may be no number, of which training tells.
        """
        asked = self.asked(targets).sum().clamp(min=1)
        return self.each(predicted, targets).sum() / asked

    def accuracies(self, predicted: Tensor, targets: Tensor) -> Float[Tensor, " hop"]:
        """The share of right answers by hop; NaN for a hop that is never asked."""
        asked = self.asked(targets)
        right = self.right(predicted, targets) & self.is_answer(predicted, targets)
        counts = right.sum((0, 1))
        return counts / asked.sum((0, 1))


@dataclass(frozen=True)
class Vectors(Targets):
    """A vector per hop, judged by its mean squared error.

    Targets are [sequence, query, hop, number], predictions [sequence, query, hop ·
    number].

    Attributes:
        size: numbers in a vector.
    """

    size: int

    loss_name = "MSE"
    nothing = math.nan

    def width(self, n_hops: int) -> int:
        return n_hops * self.size

    def asked(self, targets: Tensor) -> Asked:
        return ~targets[..., 0].isnan()

    def each(
        self, predicted: Tensor, targets: Tensor
    ) -> Float[Tensor, "sequence query hop"]:
        apart = self.numbers(predicted, targets) - targets
        errors = torch.where(targets.isnan(), 0.0, apart).square()
        return errors.mean(-1)

    def right(self, predicted: Tensor, targets: Tensor) -> Asked:
        """True where the nearest of the sequence's answers is the right one."""
        apart, _ = self._distances(predicted, targets)
        own = apart.diagonal(dim1=-2, dim2=-1)
        nearest = own <= apart.amin(-1)
        return nearest.transpose(1, 2) & self.asked(targets)

    def answers(
        self, predicted: Tensor, targets: Tensor
    ) -> Num[Tensor, "sequence query hop _"]:
        """The nearest of all that the sequence's queries are asked for at that hop."""
        apart, wanted = self._distances(predicted, targets)
        nearest = apart.argmin(-1)[..., None]
        chosen = wanted.gather(2, nearest.expand(wanted.shape))
        return chosen.transpose(1, 2)

    def _distances(
        self, predicted: Tensor, targets: Tensor
    ) -> tuple[
        Float[Tensor, "sequence hop query query"],
        Float[Tensor, "sequence hop query size"],
    ]:
        """The distance of each prediction from each query's target, and the target."""
        said = self.numbers(predicted, targets).transpose(1, 2)
        wanted = targets.float().nan_to_num(1e9).transpose(1, 2)
        return torch.cdist(said, wanted), wanted

    def numbers(
        self, predicted: Tensor, targets: Tensor
    ) -> Float[Tensor, "sequence query hop number"]:
        return predicted.float().unflatten(-1, targets.shape[-2:])

    def divergence(self, predicted: Tensor, other: Tensor, targets: Tensor) -> Tensor:
        """The mean squared difference."""
        apart = self.numbers(predicted, targets) - self.numbers(other, targets)
        return self._mean_asked(apart.square().mean(-1), targets)

    def choices(self, targets: Tensor) -> int:
        counts = self.asked(targets).sum(1)
        return int(counts.max())


@dataclass(frozen=True)
class Tokens(Targets):
    """A token per hop, judged by its cross-entropy in nats.

    Targets are [sequence, query, hop]. All hops are read off the same logits [sequence,
    query, token], or every hop off its own [sequence, query, hop · token].

    Attributes:
        vocabulary: how many tokens there are to choose from.
        own_logits: whether every hop has logits of its own.
    """

    vocabulary: int
    own_logits: bool = False

    loss_name = "cross-entropy"
    nothing = IGNORE_INDEX

    def width(self, n_hops: int) -> int:
        return self.vocabulary * (n_hops if self.own_logits else 1)

    def asked(self, targets: Tensor) -> Asked:
        return targets != IGNORE_INDEX

    def each(
        self, predicted: Tensor, targets: Tensor
    ) -> Float[Tensor, "sequence query hop"]:
        logs = self._logits(predicted).float().log_softmax(-1)
        wanted = targets.clamp(min=0)
        if self.own_logits:
            told = logs.gather(-1, wanted[..., None])[..., 0]
        else:
            told = logs.gather(-1, wanted)
        return torch.where(self.asked(targets), -told, 0.0)

    def right(self, predicted: Tensor, targets: Tensor) -> Asked:
        """True where the likeliest token is the right one."""
        likeliest = self._logits(predicted).argmax(-1)
        if not self.own_logits:
            likeliest = likeliest[..., None]
        return (likeliest == targets) & self.asked(targets)

    def answers(
        self, predicted: Tensor, targets: Tensor
    ) -> Num[Tensor, "sequence query hop _"]:
        """The likeliest token."""
        return self._by_hop(predicted, targets).argmax(-1, keepdim=True)

    def numbers(
        self, predicted: Tensor, targets: Tensor
    ) -> Float[Tensor, "sequence query hop number"]:
        """Logits less their mean, as probabilities do not depend on that."""
        logits = self._by_hop(predicted, targets).float()
        return logits - logits.mean(-1, keepdim=True)

    def divergence(self, predicted: Tensor, other: Tensor, targets: Tensor) -> Tensor:
        """The Kullback-Leibler divergence from these probabilities, in nats."""
        own = self._by_hop(predicted, targets).float().log_softmax(-1)
        others = self._by_hop(other, targets).float().log_softmax(-1)
        apart = own.exp() * (own - others)
        return self._mean_asked(apart.sum(-1), targets)

    def choices(self, targets: Tensor) -> int:
        return self.vocabulary

    def _by_hop(self, predicted: Tensor, targets: Tensor) -> Tensor:
        """[sequence, query, hop, token], whether or not hops have own logits."""
        logits = self._logits(predicted)
        if self.own_logits:
            return logits
        return logits[:, :, None].expand(*targets.shape, -1)

    def _logits(self, predicted: Tensor) -> Tensor:
        """[sequence, query, token], or [sequence, query, hop, token] by hop."""
        if self.own_logits:
            return predicted.unflatten(-1, (-1, self.vocabulary))
        return predicted
