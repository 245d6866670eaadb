"""The certificate as data: what speaks for a circuit. How it is measured: `evidence`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from headway.circuits.mechanism import Head, Path


@dataclass(frozen=True)
class Necessity:
    """What happens to the circuit when one of its paths is cut.

    Attributes:
        path: layer, head and relation.
        attention: the model's own mean attention along the relation.
        loss: with the whole circuit in place but this path.
        free: the same, with the useful heads of the layers above attending freely.
        uniform: with this path's head uniform instead, as the paper tests its first layer.
    """

    path: Path
    attention: float
    loss: float
    free: float
    uniform: float

    @property
    def worst(self) -> float:
        """The loss without the path, in whichever of the two ways it is missed more."""
        return max(self.loss, self.free)


@dataclass(frozen=True)
class Pair:
    """Two paths that can be dropped together: the circuit is not minimal."""

    first: Path
    second: Path
    loss: float


@dataclass(frozen=True)
class BackUp:
    """A head outside the circuit that can stand in for one of its paths.

    Attributes:
        path: the path of the circuit.
        by: the path that does its work as well.
        loss: with that path in the place of this one.
    """

    path: Path
    by: Path
    loss: float


@dataclass(frozen=True)
class Trial:
    """The same search once more, with another sample or threshold.

    Attributes:
        sample: the name of the held-out sample that was searched on.
        threshold: the loss to stay below.
        paths: of the circuit that was found.
        jaccard: paths in both circuits / paths in either.
    """

    sample: str
    threshold: float
    paths: list[Path]
    jaccard: float


@dataclass(frozen=True)
class Certificate:
    """The evidence for a circuit. All losses are mean squared errors on held-out sequences.

    Attributes:
        intact: the partial losses of the model as it is.
        replaced: the partial losses with every head replaced by its mechanism.
        interval: bootstrap interval of the loss with every head replaced, over sequences.
        intact_interval: the same of the model as it is.
        variants: the loss with every head replaced, by what stands in rows without a path.
        necessity: for every path, the losses when it alone is cut.
        droppable: the pairs of paths that could be dropped together.
        pairs: how many pairs were tried.
        backups: paths outside the circuit that could stand in for paths in it.
        trials: the same search on other samples and at other thresholds.
        infeasible: paths between positions that share no piece at their layer, whatever the
            layers below did (section 5 of the paper); none if the task has no such theory.
        minimum: the proven least number of layers; none if the task has no such theory.
        sequences: how many held-out sequences the losses are over.
        alone: for every head the loss of the model with this head alone replaced by its mechanism;
            empty in the files of older versions.
    """

    intact: dict[str, float]
    replaced: dict[str, float]
    interval: tuple[float, float]
    intact_interval: tuple[float, float]
    variants: dict[str, float]
    necessity: list[Necessity]
    droppable: list[Pair]
    pairs: int
    backups: list[BackUp]
    trials: list[Trial]
    infeasible: list[Path] | None
    minimum: int | None
    sequences: int
    alone: dict[Head, float] = field(default_factory=dict)

    @property
    def intact_loss(self) -> float:
        """The loss of the model as it is."""
        return sum(self.intact.values()) / len(self.intact)

    @property
    def replaced_loss(self) -> float:
        """The loss with every head replaced."""
        return sum(self.replaced.values()) / len(self.replaced)

    def stability(self, path: Path) -> float | None:
        """In which part of the trials a path was found again; none without trials."""
        if not self.trials:
            return None
        return sum(path in trial.paths for trial in self.trials) / len(self.trials)

    def to_json(self) -> dict[str, Any]:
        """The certificate as JSON data."""
        alone = [{"layer": at, "head": h, "loss": loss} for (at, h), loss in self.alone.items()]
        return {**asdict(self), "alone": alone}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Certificate":
        """What `to_json` wrote."""

        def path(entry: Sequence[Any]) -> Path:
            layer, head, relation = entry
            return layer, head, relation

        changed: dict[str, Any] = {
            "interval": tuple(data["interval"]),
            "intact_interval": tuple(data["intact_interval"]),
            "necessity": [Necessity(**{**n, "path": path(n["path"])}) for n in data["necessity"]],
            "droppable": [
                Pair(path(p["first"]), path(p["second"]), p["loss"]) for p in data["droppable"]
            ],
            "backups": [BackUp(path(b["path"]), path(b["by"]), b["loss"]) for b in data["backups"]],
            "trials": [
                Trial(**{**t, "paths": [path(p) for p in t["paths"]]}) for t in data["trials"]
            ],
            "alone": {(a["layer"], a["head"]): a["loss"] for a in data.get("alone", [])},
            "infeasible": data["infeasible"] and [path(p) for p in data["infeasible"]],
        }
        if data["infeasible"] == []:
            changed["infeasible"] = []
        return cls(**{**data, **changed})
