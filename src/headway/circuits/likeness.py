"""How like the intact model an altered one is: agreement, R², faithfulness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import Circuit, Head, Mechanism, Uniform

CONSTANT = 1e-10
"""Outputs count as constant if their variance is at most so much of their mean square."""


@dataclass(frozen=True)
class Likeness:
    """How like the intact model an altered one is, on the sequences of the evidence.

    Attributes:
        loss: of the altered model, the mean over the hops.
        loss_by_hop: of every hop alone.
        agreement: of all answers that are asked for, the share that is the intact model's own,
            right or wrong. The answer is the nearest of the symbols that the sequence's queries are
            asked for at that hop, or the likeliest token.
        agreement_by_hop: the same of every hop alone.
        sequence_agreement: the share of sequences of which all answers agree.
        r2: of the altered model's outputs against the intact one's: 1 - the sum of squared
            differences / the sum of squares of the intact outputs about their mean over sequences.
            Outputs are vectors, or logits less their mean. None if the intact outputs are constant.
        faithfulness: the share of the gap that is closed: (loss of the ablated model - loss) /
            (loss of the ablated model - loss of the intact one): 1 is as good as the model, 0 is
            as bad as without attention. None if ablation does no harm.
        median_faithfulness: the same of the median losses of sequences.
    """

    loss: float
    loss_by_hop: dict[str, float]
    agreement: float
    agreement_by_hop: dict[str, float]
    sequence_agreement: float
    r2: float | None
    faithfulness: float | None
    median_faithfulness: float | None


@dataclass(frozen=True)
class Likenesses:
    """The circuit, its complement and the ablated model, each against the model as it is.

    Attributes:
        circuit: with every head replaced by its mechanism.
        complement: without the circuit: attention along each of its paths is zero, and all else is
            as it is.
        ablated: with every head ablated as the yardstick says.
        layerwise: the agreement of models whose layers below l are replaced by the circuit's while
            the layers from l on are as they are, for l = 1, 2, … If the circuit solves the task as
            the model does, the model can go on from what the circuit has computed so far.
    """

    circuit: Likeness
    complement: Likeness
    ablated: Likeness
    layerwise: tuple[float, ...]

    @property
    def least_layerwise(self) -> float:
        """The least of them; 1 if there is one layer."""
        return min(self.layerwise, default=1.0)


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
    layerwise = [circuit.below(layer) for layer in range(1, bench.model.n_layers)]
    nothing = ablated(bench) if without is None else without
    altered = [{}, circuit.mechanisms, circuit.complement, nothing, *layerwise]
    tallies, spread = [Tally(bench) for _ in altered], Spread(bench)
    for part in bench.parts:
        outputs = bench.outputs(altered, part)
        spread.add(outputs[0], part)
        for its, tally in zip(outputs, tallies, strict=True):
            tally.add(its, outputs[0], part)
    own, whole, rest, without_all, *layers = tallies
    found = (tally.likeness(own, without_all, spread) for tally in (whole, rest, without_all))
    return Likenesses(*found, layerwise=tuple(layer.agreement for layer in layers))


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
        self._same, self._asked = (torch.zeros(len(bench.hops)) for _ in range(2))
        self._errors = list[Float[Tensor, "sequence hop"]]()
        self._sequences, self._apart = 0, 0.0

    def add(self, altered: Tensor, intact: Tensor, part: slice) -> None:
        """Adds the outputs of the altered and of the intact model at the queries of a part."""
        bench = self.bench
        wanted, targets = bench.batch.targets[part], bench.task.targets
        same = targets.same(altered, intact, wanted)[..., bench.columns]
        self._same = self._same + same.sum((0, 1)).cpu()
        self._asked = self._asked + targets.asked(wanted)[..., bench.columns].sum((0, 1)).cpu()
        self._sequences += int(agreeing(bench, altered, intact, part).sum())
        self._errors.append(bench.judged(altered, part).cpu())
        one, other = (numbers_of(bench, outputs, part)[0] for outputs in (altered, intact))
        self._apart += (one - other).square().sum().item()

    @property
    def agreement(self) -> float:
        """The share of answers that agree; 1 if none is asked for."""
        return share(self._same.sum(), self._asked.sum())

    @property
    def errors(self) -> Float[Tensor, "sequence hop"]:
        """What every sequence contributes to the loss of every hop."""
        return torch.cat(self._errors)

    @property
    def losses(self) -> tuple[float, float]:
        """The mean and the median loss of a sequence."""
        each = self.errors.mean(1)
        return each.mean().item(), each.median().item()

    def likeness(self, intact: "Tally", without: "Tally", spread: Spread) -> Likeness:
        """The likeness, given the counts of the intact and of the ablated model."""
        hops, total = self.bench.hops, spread.total
        shares = [share(same, asked) for same, asked in zip(self._same, self._asked, strict=True)]
        closed = [
            (most - loss) / (most - own) if most > own else None
            for loss, own, most in zip(self.losses, intact.losses, without.losses, strict=True)
        ]
        return Likeness(
            loss=self.losses[0],
            loss_by_hop=dict(zip(hops, self.errors.mean(0).tolist(), strict=True)),
            agreement=self.agreement,
            agreement_by_hop=dict(zip(hops, shares, strict=True)),
            sequence_agreement=self._sequences / self.bench.sequences,
            r2=None if total is None else 1 - self._apart / total,
            faithfulness=closed[0],
            median_faithfulness=closed[1],
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
