"""The likeness of altered models to the intact one, and when a circuit is good enough.

Where every answer can be known, the yardstick is a loss to stay below. Elsewhere it is
the gap between the model's own loss and that with every head ablated, of which a
circuit must close most, and the agreement of its answers with the model's; or of the
gap to attention in corrupted sequences alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headway.errors import HeadwayError, note_once
from headway.replace.ablation import Bench, above
from headway.replace.circuit import Circuit
from headway.replace.heads import Head, WrittenLoss
from headway.replace.mechanism import Mechanism, mechanism_of
from headway.tasks import Targets


class NoCircuitError(HeadwayError):
    """There is no circuit to find in a model."""


THRESHOLD = 0.05
"""The loss below which a circuit must stay with every head replaced (appendix E)."""

CLOSES = (0.95, 0.9, 0.8)
"""Shares of the gap to close: the search's aims in turn, the least allowed."""

CLOSES_CORRUPTED: dict[str, tuple[float, ...]]
CLOSES_CORRUPTED = {"corrupted": (0.9,), "exchanged": (0.9, 0.8)}
"""Shares of the gap to close whose far end is of corrupted sequences."""

AGREES = {"agreement": 0.9, "r2": 0.8}
"""The least likeness to the model: `agreement` of tokens, `r2` of vectors."""

CONSTANT = 1e-10
"""The largest variance of constant outputs, as a share of their mean square."""

MANY = 32
"""In so many sequences a hop that has one answer has no other by chance."""

Outputs = Float[Tensor, "sequence query output"]


def one_answer(kind: Targets, targets: Tensor) -> float:
    """The least loss of a model with one answer to all queries, mean of the hops."""
    asked = kind.asked(targets)
    hops = asked.any((0, 1)).nonzero()
    losses = list[Tensor]()
    for hop in hops.flatten().tolist():
        answers = targets[:, :, hop][asked[:, :, hop]]
        if answers.is_floating_point():
            losses.append(answers.var(0, correction=0).mean())
        else:
            _, counts = answers.unique(return_counts=True)
            shares = counts / counts.sum()
            losses.append(torch.special.entr(shares).sum())
    return torch.stack(losses).mean().item()


def own_loss(bench: Bench) -> float:
    """The loss of the model as it is.

    Raises:
        NoCircuitError: if it gives no numbers in some sequence.
    """
    loss = bench.loss()
    if loss == math.inf:
        (errors,) = bench.errors([{}])
        count = int(errors.isinf().any(1).sum())
        raise NoCircuitError(
            "there is no circuit to find: the model's own answers are no numbers in"
            f" {count} of {bench.sequences} sequences"
        )
    return loss


def varying_hops(bench: Bench) -> list[int]:
    """The hops that count and have several answers, by their index among these."""
    varying = list[int]()
    for index, column in enumerate(bench.columns):
        targets = bench.batch.targets[:, :, [column]]
        answers = targets[bench.task.targets.asked(targets)]
        if (answers != answers[:1]).any():
            varying.append(index)
    return varying


def require_told_apart(bench: Bench) -> None:
    """Makes sure that there are different answers, and notes which hops have none.

    Raises:
        NoCircuitError: if every hop has one answer only, or none.
    """
    varying = varying_hops(bench)
    if not varying:
        raise NoCircuitError(
            "there is no circuit to find: every query has the same answer,"
            " so one answer serves all and nothing can be told by attention;"
            " ask for something that differs"
        )
    for index, hop in enumerate(bench.hops):
        if index not in varying and bench.sequences >= MANY:
            note_once(
                f"{hop} has one answer only,"
                " about which nothing can be told by attention:"
                " leave it out of the task's `judged`, as it makes others count less"
            )


def require_better_than_one_answer(bench: Bench) -> None:
    """Makes sure that a model beats the best constant answer, of hops with several.

    Raises:
        NoCircuitError: if it does not.
    """
    varying = varying_hops(bench)
    columns = [bench.columns[index] for index in varying]
    guess = one_answer(bench.task.targets, bench.batch.targets[:, :, columns])
    if len(varying) == len(bench.columns):
        own = bench.loss()
    else:
        (errors,) = bench.errors([{}])
        own = errors.mean(0)[varying].mean().item()
    if not own < guess:
        raise NoCircuitError(
            f"the model has not learnt the task: its loss is {own:.3f},"
            f" and that of one answer to all queries {guess:.3f};"
            " is it the task that it was trained on?"
        )


@dataclass(frozen=True)
class Yardstick:
    """The conditions on which a circuit is faithful.

    Attributes:
        loss: to stay below with every head replaced; None if a share of the gap counts.
        ablated: what stands in the place of every head at the far end of the gap.
        measure: how likeness to the model is measured beside the gap; of answers that
            are judged by a metric, its name.
    """

    loss: float | None
    ablated: Literal["uniform", "mean", "zero", "corrupted", "exchanged"]
    measure: Literal["agreement", "r2", "logit difference", "probability", "rank"]

    @classmethod
    def of(cls, bench: Bench, loss: float | None = None) -> "Yardstick":
        """The yardstick of a task, as it is on some sequences.

        Args:
            bench: the model on these sequences.
            loss: to stay below, if one was asked for; by default the task's own
                `threshold`.

        Raises:
            HeadwayError: if the gap counts, but ablating every head costs nothing, or
                the model answers no better than by one answer to all queries.
        """
        measure = "r2" if bench.batch.targets.is_floating_point() else "agreement"
        metric = bench.task.targets.metric_name
        if metric != "loss":
            measure = metric
        rows = bench.patterns.rows
        corrupted = rows if rows in ("corrupted", "exchanged") else None
        if loss is None:
            loss = bench.task.threshold
        if loss is not None:
            return cls(loss, corrupted or "uniform", measure)
        own = own_loss(bench)
        if corrupted is not None:
            return _costliest(bench, own, [cls(None, corrupted, measure)])
        require_told_apart(bench)
        require_better_than_one_answer(bench)
        ends = [cls(None, "mean", measure), cls(None, "zero", measure)]
        return _costliest(bench, own, ends)

    @property
    def metric(self) -> str:
        """The name of what losses are."""
        return "loss" if self.measure in AGREES else self.measure

    @property
    def sign(self) -> int:
        """-1 if losses are a metric with its sign changed, as more of it is better."""
        return -1 if self.measure in ("logit difference", "probability") else 1

    def measured(self, loss: float) -> float:
        """The metric that a loss is."""
        return self.sign * loss

    @property
    def closes(self) -> tuple[float, ...]:
        """Shares of the gap to close, by the ablation."""
        return CLOSES_CORRUPTED.get(self.ablated, CLOSES)

    def without(self, bench: Bench) -> dict[Head, Mechanism]:
        """Every head ablated."""
        return dict.fromkeys(bench.heads, mechanism_of(self.ablated))

    def limits(self, bench: Bench) -> list[float]:
        """Limits for losses on some sequences, the least first."""
        if self.loss is not None:
            return [self.loss]
        own, most = bench.losses([{}, self.without(bench)])
        if most == math.inf:
            _refuse_infinite(own, [self])
        return [most + share * (own - most) for share in self.closes]

    def met(self, bench: Bench, loss: float) -> float:
        """The least limit above a loss on some sequences; the last if there is none."""
        *smaller, last = self.limits(bench)
        for limit in smaller:
            if loss < limit:
                return limit
        return last

    def agrees(self, agreement: float, r2: float | None) -> bool:
        """True if answers or outputs are the model's own often enough."""
        like = agreement if self.measure == "agreement" else r2
        of_corrupted = self.ablated in CLOSES_CORRUPTED
        loss_alone = self.loss is not None or of_corrupted
        least = AGREES.get(self.measure, AGREES["agreement"])
        return loss_alone or like is None or like >= least


def _costliest(bench: Bench, own: float, ends: Sequence[Yardstick]) -> Yardstick:
    """The yardstick whose gap is the largest; one of infinite size has no shares.

    Args:
        bench: the model.
        own: its loss.
        ends: yardsticks by their ablations.

    Raises:
        HeadwayError: if no ablation costs anything, or all leave no numbers.
    """
    losses = {end: bench.loss(end.without(bench)) for end in ends}
    finite = [end for end in ends if losses[end] < math.inf]
    if not finite:
        _refuse_infinite(own, ends)
    costliest = max(finite, key=losses.__getitem__)
    if losses[costliest] > above(own):
        return costliest
    numbers = (
        f"{costliest.ablated} ablation of every head it is {losses[costliest]:.3f}"
    )
    others = ", ".join(end.ablated for end in ends if end not in finite)
    if others:
        numbers += f" (with {others} ablation it gives no numbers)"
    raise NoCircuitError(
        f"there is no circuit to find: the model's own loss is {own:.3f},"
        f" and with {numbers}"
    )


def _refuse_infinite(own: float, ends: Sequence[Yardstick]) -> NoReturn:
    """Raises `NoCircuitError`: ablations leave no numbers."""
    names = " and ".join(end.ablated for end in ends)
    raise NoCircuitError(
        "there is no circuit to find:"
        f" with {names} ablation of every head the model gives no numbers;"
        f" its own loss is {own:.3f}"
    )


@dataclass(frozen=True)
class Likeness:
    """The likeness of an altered model to the intact one, on the evidence's sequences.

    Attributes:
        loss: of the altered model, the mean over the hops.
        agreement: of all answers that are asked for, the share that is the intact
            model's own, right or wrong. The answer is the nearest of the symbols that
            the sequence's queries are asked for at that hop, or the likeliest token.
        agreement_by_hop: the same of every hop alone.
        sequence_agreement: the share of sequences of which all answers agree.
        r2: of the altered model's outputs against the intact one's: 1 - the sum of
            squared differences / the sum of squares of the intact outputs about their
            mean over sequences. Outputs are vectors, or logits less their mean. None if
            the intact outputs are constant.
        faithfulness: the share of the gap that is closed: (loss of the ablated model -
            loss) / (loss of the ablated model - loss of the intact one): 1 is as good
            as the model, 0 is as bad as without attention. None if ablation does no
            harm, or leaves no numbers.
    """

    loss: WrittenLoss
    agreement: float
    agreement_by_hop: dict[str, float]
    sequence_agreement: float
    r2: WrittenLoss | None
    faithfulness: WrittenLoss | None


@dataclass(frozen=True)
class Likenesses:
    """The circuit, its complement and the ablated model, against the intact model.

    Attributes:
        circuit: with every head replaced by its mechanism.
        complement: without the circuit: attention along each of its paths is zero, and
            all else is as it is.
        ablated: with every head ablated as the yardstick says.
    """

    circuit: Likeness
    complement: Likeness
    ablated: Likeness


@torch.no_grad()
def likenesses(bench: Bench, circuit: Circuit, yardstick: Yardstick) -> Likenesses:
    """Compares the circuit, its complement and the ablated model with the intact model.

    Args:
        bench: with sequences that the search for the circuit did not see.
        circuit: a mechanism for every head.
        yardstick: by which every head is ablated.
    """
    nothing = yardstick.without(bench)
    intact, *altered = bench.outputs([{}, circuit, circuit.complement, nothing])
    own = _loss(bench, intact)
    most = _loss(bench, altered[-1])
    alike = [_likeness(bench, outputs, intact, own, most) for outputs in altered]
    return Likenesses(*alike)


def _likeness(
    bench: Bench, outputs: Outputs, intact: Outputs, own: float, most: float
) -> Likeness:
    """The likeness of an altered model to the intact one.

    Args:
        bench: with the sequences.
        outputs: of the altered model.
        intact: the outputs of the intact one.
        own: the loss of the intact one.
        most: the loss of the ablated one.
    """
    same, asked = _answers(bench, outputs, intact)
    shares = map(share, same.unbind(2), asked.unbind(2))
    by_hop = dict(zip(bench.hops, shares, strict=True))
    sequences = agreeing(bench, outputs, intact).double()
    loss = _loss(bench, outputs)
    return Likeness(
        loss=loss,
        agreement=share(same, asked),
        agreement_by_hop=by_hop,
        sequence_agreement=sequences.mean().item(),
        r2=r2(bench, outputs, intact),
        faithfulness=_closed(loss, own, most),
    )


def _closed(loss: float, own: float, most: float) -> float | None:
    """The share of the gap from the most to the model's own loss that a loss closes."""
    if own < most < math.inf:
        return (most - loss) / (most - own)
    return None


def agreeing(
    bench: Bench, first: Outputs, second: Outputs
) -> Bool[Tensor, " sequence"]:
    """The sequences in which all answers of two models agree."""
    same, asked = _answers(bench, first, second)
    return (same | ~asked).flatten(1).all(1)


def r2(bench: Bench, altered: Outputs, intact: Outputs) -> float | None:
    """The R² of outputs against intact ones (see `Likeness`); None if constant."""
    asked = bench.task.targets.asked(bench.batch.targets)
    asked = asked[..., bench.columns, None]
    numbers = _numbers(bench, altered, asked)
    own = _numbers(bench, intact, asked)
    squares = own.square().sum(0)
    number = asked.double().sum(0).clamp(min=1)
    means = own.sum(0).square() / number
    total = (squares - means).sum().item()
    constant = CONSTANT * squares.sum().item()
    if not total > constant:
        return None
    apart = (numbers - own).square().sum().item()
    return -math.inf if math.isnan(apart) else 1 - apart / total


def _numbers(bench: Bench, outputs: Outputs, asked: Tensor) -> Tensor:
    """A model's answers as numbers, of the hops that count; 0 where none is asked."""
    numbers = bench.task.targets.numbers(outputs, bench.batch.targets)
    return numbers[..., bench.columns, :].where(asked, 0.0).double()


def share(same: Tensor, asked: Tensor) -> float:
    """The share of the asked answers that are the same; 1 if none is asked for."""
    return (same.sum() / asked.sum()).item() if asked.any() else 1.0


def _answers(bench: Bench, first: Outputs, second: Outputs) -> tuple[Tensor, Tensor]:
    """The answers that agree, and those asked for, [sequence, query, hop]."""
    wanted = bench.batch.targets
    targets = bench.task.targets
    same = targets.same(first, second, wanted)
    asked = targets.asked(wanted)
    return same[..., bench.columns], asked[..., bench.columns]


def _loss(bench: Bench, outputs: Outputs) -> float:
    """The mean loss."""
    return bench.judged(outputs, slice(None)).mean().item()


def percent(part: float | None) -> str:
    """A share in percent: rounded down, so that only what is whole says 100 %; `-` if
    not known, or infinite."""
    if part is None or not math.isfinite(part):
        return "-"
    return f"{math.floor(part * 1000 + 1e-9) / 10:.1f} %"
