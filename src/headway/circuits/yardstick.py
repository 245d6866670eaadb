"""The yardstick: when a circuit is good enough to be called faithful to its model.

Where every answer can be known, it is a loss to stay below. Elsewhere it is the gap between the
model's own loss and that with every head ablated, of which a circuit must close most, and the
agreement of its answers with the model's; or of the gap to attention in corrupted sequences alone.
"""

from dataclasses import dataclass
from typing import Literal

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import Corrupted, Head, Mean, Mechanism, Paths, Uniform

THRESHOLD = 0.05
"""The loss below which a circuit must stay with every head replaced (appendix E)."""

CLOSES = (0.95, 0.9, 0.8)
"""Shares of the gap to close: what the search aims at in turn, and the least that is faithful."""

AGREES = {"agreement": 0.9, "r2": 0.8}
"""How like the model a circuit must be, by the measure: `agreement` of tokens, `r2` of vectors."""

IDLE: dict[str, Mechanism] = {
    "uniform": Uniform(),
    "mean": Mean(),
    "zero": Paths(frozenset()),
    "corrupted": Corrupted(),
}
"""What stands in the place of every head of an ablated model, by name."""


@dataclass(frozen=True)
class Yardstick:
    """What a circuit must do to be faithful.

    Attributes:
        loss: to stay below with every head replaced; None if a share of the gap counts.
        ablated: what stands in the place of every head at the far end of the gap.
        measure: how likeness to the model is measured beside the gap.
    """

    loss: float | None
    ablated: Literal["uniform", "mean", "zero", "corrupted"]
    measure: Literal["agreement", "r2"]

    @classmethod
    def of(cls, bench: Bench, loss: float | None = None) -> "Yardstick":
        """The yardstick of a task, as it is on some sequences.

        Args:
            bench: the model on these sequences.
            loss: to stay below, if one was asked for; by default the task's own `threshold`.

        Raises:
            HeadwayError: if the gap counts, but ablating every head costs nothing.
        """
        measure = "r2" if bench.batch.targets.is_floating_point() else "agreement"
        loss = bench.task.threshold if loss is None else loss
        corrupted = bench.patterns.rows == "corrupted"
        if loss is not None:
            return cls(loss, "corrupted" if corrupted else "uniform", measure)
        names = ("corrupted",) if corrupted else ("mean", "zero")
        ends = [cls(None, name, measure) for name in names]
        costlier = max(ends, key=lambda end: bench.loss(end.without(bench)))
        own, most = bench.losses([{}, costlier.without(bench)])
        if not most > own:
            how = "as in corrupted sequences" if corrupted else "to what stands in a sequence"
            raise NoCircuitError(
                f"there is no circuit to find: the model's own loss is {own:.3f}, and"
                f" {'with' if corrupted else 'without any'} attention {how} it is {most:.3f}"
            )
        return costlier

    @property
    def closes(self) -> tuple[float, ...]:
        """Shares of the gap to close; of that to corrupted sequences there is one."""
        return (0.9,) if self.ablated == "corrupted" else CLOSES

    def without(self, bench: Bench) -> dict[Head, Mechanism]:
        """Every head ablated."""
        return dict.fromkeys(bench.heads, IDLE[self.ablated])

    def limits(self, bench: Bench) -> list[float]:
        """Losses on some sequences that a circuit may be asked to stay below, the least first."""
        if self.loss is not None:
            return [self.loss]
        own, most = bench.losses([{}, self.without(bench)])
        return [most + share * (own - most) for share in self.closes]

    def met(self, bench: Bench, loss: float) -> float:
        """The least limit that a loss on some sequences is below; the last if it is below none."""
        limits = self.limits(bench)
        return next((limit for limit in limits if loss < limit), limits[-1])

    def agrees(self, agreement: float, r2: float | None) -> bool:
        """Whether answers, or outputs, are the model's own often enough, where that counts."""
        like = agreement if self.measure == "agreement" else r2
        gap_alone = self.loss is not None or self.ablated == "corrupted"
        return gap_alone or like is None or like >= AGREES[self.measure]
