"""The first of a run's findings: a circuit, its evidence, and if it is enough."""

from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, NoReturn

from headway.errors import HeadwayError, require, shown
from headway.fields import Finding
from headway.judge.evidence import Evidence
from headway.judge.looks import Look
from headway.judge.yardstick import Yardstick
from headway.late import Shown
from headway.replace.circuit import Circuit, WrittenCircuit
from headway.replace.mechanism import require_fill
from headway.replace.patterns import Attention
from headway.tasks import Task
from headway.text import command
from headway.training.files import read_json
from headway.training.run import Run


@dataclass(frozen=True)
class Refusal(Finding):
    """The printed reason for no search of a circuit in a run's last checkpoint."""

    FILE: ClassVar[str] = "refused.json"

    why: str


@dataclass(frozen=True)
class Discovery(Finding, Shown):
    """A circuit and its evidence. All losses are on held-out data (`Task.targets`).

    Attributes:
        circuit: a mechanism for every head.
        yardstick: when the circuit is faithful.
        threshold: the loss to stay below by that yardstick, on the sequences of the
            evidence.
        ablation: what stands in rows without a path (`mechanism.ABLATIONS`).
        evidence: measured on sequences that the search did not see.
        attention: mean attention along every relation, [layer, head], by relation.
        standing: the task's roles in the order in which they stand in a sequence, each
            with the pieces it starts with by the task's flow (none if the flow is not
            known).
        candidates: how many candidate circuits were judged in searches and evidence.
        forwards: what that cost, in forward passes of the model over `sequences`
            sequences.
        looks: how much of every head's attention its mechanism explains, and what else
            it may follow.
        asked: the threshold, the sequences and the ablation that were asked for, and
            the file of a circuit that was given, if any were; options of `headway
            circuit` by name.
        seconds: wall time that search and evidence took; not kept, so that files of the
            same circuit are the same. None if it was read from a file.
    """

    FILE: ClassVar[str] = "circuit.json"

    circuit: WrittenCircuit
    yardstick: Yardstick
    threshold: float
    ablation: str
    evidence: Evidence
    attention: Attention
    standing: dict[str, tuple[str, ...]]
    candidates: int
    forwards: float
    looks: list[Look]
    asked: dict[str, int | float | str]
    seconds: float | None = field(default=None, compare=False)

    @property
    def intact_loss(self) -> float:
        """The loss of the model as it is."""
        return fmean(self.evidence.intact.values())

    @property
    def replaced_loss(self) -> float:
        """The loss with every head replaced."""
        return fmean(self.evidence.replaced.values())

    @property
    def faithful(self) -> bool:
        """True if the circuit alone does as the model does, by the yardstick."""
        like = self.evidence.likeness.circuit
        agrees = self.yardstick.agrees(like.agreement, like.r2)
        return agrees and self.replaced_loss < self.threshold

    def __str__(self):
        from headway.judge.text import of_discovery  # which speaks of discoveries

        return of_discovery(self)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, but for the time that it took.

        Verdicts are not among it: they depend on what else is known of the model, and
        are made when they are asked for (`verdicts`).
        """
        data = super().to_json()
        del data["seconds"]
        data["loss"] = {"intact": self.intact_loss, "replaced": self.replaced_loss}
        data["useful_heads"] = len(self.circuit.useful_heads)
        data["useful_layers"] = len(self.circuit.useful_layers)
        return data

    def __post_init__(self):
        heads = set(self.circuit.mechanisms)
        looked = {look.head for look in self.looks}
        require(bool(heads), "circuit", {}, "at least one")
        require(looked <= heads, "looks", looked, "at heads of the circuit")
        self._require_hops()
        self._require_parts()
        rows = self.ablation
        require_fill(rows, "ablation")
        shapes = {tuple(map(len, table)) for table in self.attention.values()}
        require(
            len(shapes) < 2,
            "attention",
            shapes,
            "of as many heads along every relation",
        )

    def _require_hops(self) -> None:
        """Makes sure that all of the evidence is of the same hops."""
        evidence = self.evidence
        hops = "of the hops of evidence.intact"
        intact = set(evidence.intact)
        replaced = set(evidence.replaced)
        require(bool(intact), "evidence.intact", {}, "at least one loss")
        require(intact == replaced, "evidence.replaced", replaced, hops)
        for name in ("circuit", "complement", "ablated"):
            agreement = getattr(evidence.likeness, name).agreement_by_hop
            told = set(agreement)
            require(
                told == intact, f"evidence.likeness.{name}.agreement_by_hop", told, hops
            )

    def _require_parts(self) -> None:
        """Makes sure that the evidence is of paths and heads of the circuit."""
        paths = set(self.circuit.paths)
        heads = set(self.circuit.mechanisms)
        cut = {needed.path for needed in self.evidence.necessity}
        require(
            cut <= paths, "evidence.necessity", cut - paths, "of paths of the circuit"
        )
        judgement = self.evidence.judgement
        if judgement is None:
            return
        judged = set(judgement.paths)
        require(
            judged <= paths, "evidence.judgement.paths", judged, "the circuit's paths"
        )
        beside = {beside.head for beside in judgement.heads}
        by_name = {
            "heads": beside,
            "rows": {*judgement.rows},
            "tables": {*judgement.tables},
        }
        for name, judged in by_name.items():
            require(
                judged <= heads,
                f"evidence.judgement.{name}",
                judged,
                "heads of the circuit",
            )


def standing_of(task: Task) -> dict[str, tuple[str, ...]]:
    """A task's roles in their order, with what each starts with (see `Discovery`)."""
    flow = task.flow()
    if flow is None or set(flow.roles) != set(task.roles):
        return dict.fromkeys(task.standing, ())
    starts = [tuple(sorted(pieces)) for pieces in flow.starts]
    return dict(zip(flow.roles, starts, strict=True))


def saved_discovery(run: Run) -> Discovery:
    """The discovery that was left in a run's `circuit.json`.

    Raises:
        HeadwayError: if there is none.
    """
    return run.load(Discovery) or missing(
        run, "no circuit yet; find it with", "circuit"
    )


def given_or_own(circuit: Any, run: Run | None = None) -> tuple[Circuit, str | None]:
    """The circuit given as an argument, and the ablation it was measured with.

    Args:
        circuit: itself, of which that is not known, what `discover` returned, or a file
            that holds either; None stands for the one that was discovered in the run.
        run: that is studied; None if it is a model.

    Raises:
        HeadwayError: if it is none of these, the file holds no circuit, or the run has
            none.
    """
    match circuit:
        case Circuit():
            return circuit, None
        case Discovery():
            return circuit.circuit, circuit.ablation
        case str() | Path():
            return _written(circuit)
        case None if run is not None:
            return given_or_own(saved_discovery(run))
    allowed = "a Circuit, what discover returned, or a file that holds one"
    raise HeadwayError(
        f"circuit = {shown(circuit)} is not allowed: it must be {allowed}"
    )


def _written(file: str | Path) -> tuple[Circuit, str | None]:
    """The circuit in a file, and the ablation it was measured with, if known."""
    data = read_json(Path(file))
    fields = data if isinstance(data, dict) else {}
    rows = fields.get("ablation")
    heads = fields.get("circuit", data)
    if rows is not None:
        require_fill(rows, f"{file}: ablation")
    require(heads != {}, f"{file}: circuit", {}, "a mechanism for every head")
    try:
        return Circuit.from_json(heads), rows
    except HeadwayError as error:
        raise HeadwayError(f"{file}: no circuit: {error}") from None


def missing(run: Run, why: str, verb: str) -> NoReturn:
    """Raises `HeadwayError`: a finding is missing, and which verb makes it."""
    raise HeadwayError(f"{run.folder}: {why}: {command(verb, run.folder)}")
