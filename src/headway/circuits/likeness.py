"""How like the intact model an altered one is: agreement, R², faithfulness."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.evidence_records import Likeness, Likenesses
from headway.circuits.mechanism import Circuit, Head, Mechanism, Uniform

CONSTANT = 1e-10
"""Outputs count as constant if their variance is at most so much of their mean square."""


def ablated(bench: Bench) -> dict[Head, Mechanism]:
    """The model without attention: every head uniform."""
    return {head: Uniform() for head in bench.heads}


@torch.no_grad()
def likenesses(
    bench: Bench, circuit: Circuit, without: Mapping[Head, Mechanism] | None = None
) -> Likenesses:
    """Compares the circuit, its complement and the ablated model with the intact model.

    Args:
        bench: with sequences that the search for the circuit did not see.
        circuit: a mechanism for every head.
        without: what ablates every head; by default all are uniform.
    """
    handover = [circuit.below(layer) for layer in range(1, bench.model.n_layers)]
    altered = [{}, circuit.mechanisms, circuit.complement, without or ablated(bench), *handover]
    tallies, spread = [Tally(bench) for _ in altered], Spread(bench)
    for part in bench.parts:
        said = bench.outputs(altered, part)
        spread.add(said[0], part)
        for outputs, tally in zip(said, tallies, strict=True):
            tally.add(outputs, said[0], part)
    own, whole, rest, none, *hands = tallies
    circuits, complement, nothing = (t.likeness(own, none, spread) for t in (whole, rest, none))
    return Likenesses(circuits, complement, nothing, tuple(hand.agreement for hand in hands))


def agreeing(bench: Bench, one: Tensor, other: Tensor, part: slice) -> Bool[Tensor, " sequence"]:
    """In which sequences all answers of two models agree.

    Args:
        bench: the sequences.
        one: what one model puts out at the queries of the part, [sequence, query, output].
        other: what another one does.
        part: the sequences that both are about.
    """
    wanted, targets = bench.batch.targets[part], bench.task.targets
    differs = targets.asked(wanted) & ~targets.same(one, other, wanted)
    return ~differs[..., bench.columns].flatten(1).any(1)


class Spread:
    """How much the outputs of the intact model vary from sequence to sequence.

    Args:
        bench: the sequences.
    """

    def __init__(self, bench: Bench):
        self.bench = bench
        self._count = self._sum = self._squares = torch.zeros((), dtype=torch.double)

    def add(self, intact: Tensor, part: slice) -> None:
        """Adds the model's outputs at the queries of a part of the sequences."""
        numbers, asked = numbers_of(self.bench, intact, part)
        self._count = self._count + asked.sum(0)
        self._sum = self._sum + numbers.sum(0)
        self._squares = self._squares + numbers.square().sum(0)

    @property
    def total(self) -> float | None:
        """The sum of squares about the mean over sequences; None if the outputs are constant."""
        about = self._squares - self._sum.square() / self._count.clamp(min=1)
        found, most = about.sum().item(), self._squares.sum().item()
        return found if found > CONSTANT * most else None


class Tally:
    """Counts of an altered model's answers and errors, part by part.

    Args:
        bench: the sequences.
    """

    def __init__(self, bench: Bench):
        self.bench = bench
        self._errors, self._same, self._asked = (torch.zeros(len(bench.hops)) for _ in range(3))
        self._sequences, self._apart = 0, 0.0

    def add(self, said: Tensor, intact: Tensor, part: slice) -> None:
        """Adds the outputs of the altered and of the intact model at the queries of a part."""
        bench = self.bench
        wanted, targets = bench.batch.targets[part], bench.task.targets
        same = targets.same(said, intact, wanted)[..., bench.columns]
        self._same = self._same + same.sum((0, 1)).cpu()
        self._asked = self._asked + targets.asked(wanted)[..., bench.columns].sum((0, 1)).cpu()
        self._sequences += int(agreeing(bench, said, intact, part).sum())
        self._errors = self._errors + bench.judged(said, part).sum(0).cpu()
        one, other = (numbers_of(bench, outputs, part)[0] for outputs in (said, intact))
        self._apart += (one - other).square().sum().item()

    @property
    def agreement(self) -> float:
        """The share of answers that agree; 1 if none is asked for."""
        return share(self._same.sum(), self._asked.sum())

    @property
    def loss(self) -> float:
        """The mean of the partial losses."""
        return self._errors.mean().item() / self.bench.sequences

    def likeness(self, intact: "Tally", without: "Tally", spread: Spread) -> Likeness:
        """The likeness, given the counts of the intact and of the ablated model."""
        hops, total, gap = self.bench.hops, spread.total, without.loss - intact.loss
        losses = (self._errors / self.bench.sequences).tolist()
        shares = [share(same, asked) for same, asked in zip(self._same, self._asked, strict=True)]
        return Likeness(
            loss=self.loss,
            loss_by_hop=dict(zip(hops, losses, strict=True)),
            agreement=self.agreement,
            agreement_by_hop=dict(zip(hops, shares, strict=True)),
            sequence_agreement=self._sequences / self.bench.sequences,
            r2=None if total is None else 1 - self._apart / total,
            faithfulness=(without.loss - self.loss) / gap if gap > 0 else None,
        )


def share(same: Tensor, asked: Tensor) -> float:
    """The share of the asked answers that are the same; 1 if none is asked for."""
    return (same / asked).item() if asked else 1.0


def numbers_of(bench: Bench, outputs: Tensor, part: slice) -> Sequence[Tensor]:
    """What answers are read off, 0 where none is asked for, and whether one is: doubles both."""
    wanted, targets = bench.batch.targets[part], bench.task.targets
    asked = targets.asked(wanted)[..., bench.columns, None]
    numbers = targets.numbers(outputs, wanted)[..., bench.columns, :]
    return torch.where(asked, numbers, 0.0).double(), asked.double()
