"""Discovery: from a trained model to its circuit, and the evidence for it.

`search` finds the circuit, `evidence` measures it, `study` draws the sequences of both,
and `certificate` bounds its agreement with the model.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path as FilePath
from typing import Any, ClassVar

from headway.circuits.candidates import CANDIDATE_ATTENTION, Attention
from headway.circuits.evidence import Evidence
from headway.circuits.given import device_of, require_task, with_tap
from headway.circuits.looks import MOST_HEADS, Look, looks
from headway.circuits.looks import SEQUENCES as LOOKED_AT
from headway.circuits.mechanism import Circuit, WrittenCircuit
from headway.circuits.patterns import ABLATIONS
from headway.circuits.refusal import NoCircuitError, Refusal
from headway.circuits.study import Settings, study
from headway.circuits.text import of_discovery
from headway.circuits.verdicts import verdicts
from headway.circuits.yardstick import Yardstick
from headway.errors import HeadwayError, require
from headway.fields import found_in, to_json
from headway.tasks import Task
from headway.text import command
from headway.training.data import held_out
from headway.training.files import clear_content_errors
from headway.training.run import Run


@dataclass(frozen=True)
class Discovery:
    """A circuit and the evidence for it. All losses are on held-out data (`Task.targets`).

    Attributes:
        circuit: a mechanism for every head.
        yardstick: when the circuit is faithful.
        threshold: the loss to stay below by that yardstick, on the sequences of the evidence.
        ablation: what stands in rows without a path (`patterns.ABLATIONS`).
        evidence: measured on sequences that the search did not see.
        attention: mean attention along every relation, [layer, head], by relation.
        standing: the task's roles in the order in which they stand in a sequence, each with the
            pieces it starts with by the task's flow (none if the flow is not known).
        candidates: how many candidate circuits were judged in searches and evidence (without
            those of other ablations).
        forwards: what that cost, in forward passes of the model over `sequences` sequences.
        seconds: wall time that search and evidence took.
        looks: how much of every useful head's attention its mechanism explains, and what else it
            may follow.
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
    seconds: float
    looks: list[Look] = field(default_factory=list)

    @property
    def intact_loss(self) -> float:
        """The loss of the model as it is."""
        return self.evidence.intact_loss

    @property
    def replaced_loss(self) -> float:
        """The loss with every head replaced."""
        return self.evidence.replaced_loss

    @property
    def faithful(self) -> bool:
        """Whether the circuit alone does as the model does, by the yardstick."""
        like = self.evidence.likeness.circuit
        agrees = self.yardstick.agrees(like.agreement, like.r2)
        return agrees and self.replaced_loss < self.threshold

    @property
    def necessary(self) -> bool | None:
        """Whether cutting any one path takes the loss to the threshold; None if not faithful, or if
        there is no path.

        The loss is measured with the heads above replaced and with them free; the larger counts. If
        the ablation is `corrupted`, free is the model as it is, with the path alone cut.
        """
        if not (self.faithful and self.circuit.paths and self.evidence.necessity):
            return None
        return all(n.worst >= self.threshold for n in self.evidence.necessity)

    @property
    def minimal(self) -> bool | None:
        """Whether it is necessary, and no two paths can be cut together; None as `necessary` is, or
        if there are pairs, but none was tried.

        Two can be cut if the loss then stays below the threshold in both ways (see `necessary`).
        """
        if self.necessary and not self.evidence.pairs and len(self.circuit.paths) > 1:
            return None
        return self.necessary and not self.evidence.droppable

    @property
    def feasible(self) -> bool | None:
        """Whether every path is one that information can flow along; None if that is not known."""
        infeasible = self.evidence.infeasible
        return None if infeasible is None else not infeasible

    @property
    def program(self) -> str:
        """The circuit as a program in the manner of RASP (see `Circuit.program`)."""
        return self.circuit.program

    def __str__(self):
        return of_discovery(self)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, as in `circuit.json`."""
        saved = to_json(self)
        return {
            **saved,
            "loss": {"intact": self.intact_loss, "replaced": self.replaced_loss},
            "verdicts": [asdict(verdict) for verdict in verdicts(self)],
            "useful_heads": len(self.circuit.useful_heads),
            "useful_layers": len(self.circuit.useful_layers),
            "heads": saved.pop("circuit"),
        }

    @classmethod
    def from_json(cls, data: Any) -> "Discovery":
        """What `to_json` wrote.

        Raises:
            HeadwayError: if a field is missing or not what it should be.
        """
        require(isinstance(data, dict), cls.FILE, data, "an object of fields")
        found = found_in(cls, {**data, "circuit": data.get("heads")}, cls.FILE)
        evidence = found.evidence
        shapes = {tuple(map(len, rows)) for rows in found.attention.values()}
        for holds, name, allowed in (
            (bool(found.circuit.mechanisms), "heads", "at least one"),
            (bool(evidence.intact), "evidence.intact", "at least one loss"),
            (
                evidence.intact.keys() == evidence.replaced.keys(),
                "evidence.replaced",
                "of the hops of evidence.intact",
            ),
            (
                {n.path for n in evidence.necessity} <= set(found.circuit.paths),
                "evidence.necessity",
                "of paths of the circuit",
            ),
            (found.ablation in ABLATIONS, "ablation", f"one of {', '.join(ABLATIONS)}"),
            (found.ablation in evidence.variants, "evidence.variants", f"of {found.ablation}"),
            (len(shapes) < 2, "attention", "of as many heads along every relation"),
        ):
            if not holds:
                raise HeadwayError(f"circuit.json: {name} is not allowed: it must be {allowed}")
        return found


def discover(
    model: Run | str | FilePath | Any,
    task: Task | None = None,
    *,
    circuit: Circuit | None = None,
    step: int | None = None,
    threshold: float | None = None,
    sequences: int = 128,
    ablation: str | None = None,
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    trials: bool = True,
    workers: int | None = None,
    seed: int | None = None,
) -> Discovery:
    """Finds a mechanism for every head of a trained model, and measures the evidence for them.

    Given a run, takes its last checkpoint and leaves the findings in its `circuit.json`, or why
    there is no circuit to find in its `refused.json`; of
    another checkpoint, in `circuit_STEP.json`; of a circuit that was given, in
    `circuit_given.json`.

    Args:
        model: a run or its folder; or a model together with its task: one with a tap
            (`models.Tappable`), or any module whose attention can be tapped (`tapped`).
        task: the model's task, if a model is given.
        circuit: to be measured as it is, instead of searching for one.
        step: the checkpoint to study, if a run is given; by default the last.
        threshold: the loss that the model must stay below with every head replaced; by default the
            task's own, or, if it has none, what closes 90 or 80 % of the gap between the model's
            own loss and that with every head ablated (see `Yardstick`).
        sequences: how many held-out sequences to search on, and as many others to judge on.
        ablation: what stands in rows without a path, of heads that have paths (`ABLATIONS`); by
            default zero, or, for such a task, mean; `corrupted` for a task that lays out corrupted
            sequences (see `circuits.corrupted` for how it is then searched and measured).
        candidate_attention: a head may use the paths along which it sends at least this much of
            its attention on average; tried in order until a circuit stays below the threshold,
            else the one with the least loss is taken.
        trials: whether to search again on other samples and at other thresholds, to see how
            stable the circuit is.
        workers: how many searches and measurements to run side by side, each on one core; by
            default as many as the machine has cores. The findings do not depend on it.
        seed: of the held-out sequences; by default the run's, or 0.

    Raises:
        HeadwayError: if the model's own loss is not below the threshold: then it has not learnt
            the task well enough for there to be a circuit to find; if its attention is linear, or
            there is one position to look at; or if an argument is out of range or does not fit the
            model.
    """
    settings = Settings(threshold, sequences, ablation, candidate_attention, trials, workers)
    run = Run.open(model) if isinstance(model, str | FilePath) else model
    if isinstance(run, Run):
        require(task is None, "task", task, "None, as the run has its own")
        return _of_run(settings, run, step, run.config.seed if seed is None else seed, circuit)
    require(step is None, "step", step, "None, as a model has no checkpoints")
    return _timed(settings, model, require_task(task), seed or 0, circuit)


def _of_run(
    settings: Settings, run: Run, step: int | None, seed: int, circuit: Circuit | None
) -> Discovery:
    """Studies a checkpoint of a run, and leaves the findings in its folder."""
    with run.writing(), run.computing():
        steps = run.checkpoint_steps()
        if step is not None:
            allowed = f"one of the run's checkpoints: {listed(steps)}"
            require(step in steps, "step", step, allowed)
        name = circuit_file(run, step, circuit)
        try:
            found = _timed(settings, run.model(step), run.task, seed, circuit)
        except NoCircuitError as error:
            if name == "circuit.json":
                run.save(Refusal(str(error)))
            raise
        about = {"step": steps[-1] if step is None else step, "seed": seed}
        told = {**about, **found.to_json()}
        if name == "circuit.json" and not _is_told(run, told):
            outdated_too = ("circuits.json", "certificate.json", Refusal.FILE)
            for outdated in (*outdated_too, *_about_others(run, found.circuit)):
                run.remove(outdated)
        run.write(name, told)
    return found


def _is_told(run: Run, found: dict[str, Any]) -> bool:
    """Whether the run's `circuit.json` says the same already, but for the time that it took."""
    known = run.read("circuit.json")
    return isinstance(known, dict) and {**known, "seconds": 0} == {**found, "seconds": 0}


def _timed(
    settings: Settings, model: Any, task: Task, seed: int, circuit: Circuit | None
) -> Discovery:
    if task.length == 1:
        raise HeadwayError("sequences of one position have no circuit: there is nowhere to look")
    started = time.perf_counter()
    model = with_tap(model, task)
    device = device_of(model)
    found = study(model, task, settings, seed, device, circuit)
    sequences, heads = held_out(task, LOOKED_AT, seed, device, "looks"), found.circuit.useful_heads
    if found.ablation == "corrupted":
        heads = []
    elif not found.evidence.replaced_loss < found.threshold:
        heads = sorted(found.circuit.mechanisms)[:MOST_HEADS]
    return Discovery(
        circuit=found.circuit,
        yardstick=found.yardstick,
        threshold=found.threshold,
        ablation=found.ablation,
        evidence=found.evidence,
        attention=found.attention,
        looks=looks(model, task, sequences, found.circuit, heads),
        standing=standing_of(task),
        candidates=found.candidates,
        forwards=found.forwards,
        seconds=round(time.perf_counter() - started, 3),
    )


def standing_of(task: Task) -> dict[str, tuple[str, ...]]:
    """A task's roles as they stand in a sequence, with what each starts with (see `Discovery`)."""
    flow = task.flow()
    if flow is None or set(flow.roles) != set(task.roles):
        return dict.fromkeys(task.standing, ())
    starts = zip(flow.roles, flow.starts, strict=True)
    return {role: tuple(sorted(pieces)) for role, pieces in starts}


def circuit_file(run: Run, step: int | None = None, circuit: Circuit | None = None) -> str:
    """Where `discover` leaves its findings in a run's folder, for these arguments."""
    if circuit is not None:
        return "circuit_given.json"
    last = step is None or step == run.checkpoint_steps()[-1]
    return "circuit.json" if last else f"circuit_{step:07d}.json"


def _about_others(run: Run, circuit: Circuit) -> list[str]:
    """The files of a run's folder that are about the paths of another circuit."""
    others = []
    for name in ("emergence.json", "dependence.json"):
        data = run.read(name)
        with clear_content_errors(name):
            if data is None:
                continue
            dated = name == "emergence.json"
            paths = [p["path"] for p in data["paths"]] if dated else data["circuit"]
        if paths != list(map(str, circuit.paths)):
            others.append(name)
    return others


def listed(steps: Sequence[int]) -> str:
    """Steps in a line, the middle left out if there are many."""
    shown = [str(step) for step in steps]
    return ", ".join(shown if len(shown) < 8 else [*shown[:3], "…", *shown[-2:]])


def saved_discovery(run: Run) -> Discovery:
    """The discovery that was left in a run's `circuit.json`.

    Raises:
        HeadwayError: if there is none.
    """
    found = run.load(Discovery)
    if found is None:
        raise HeadwayError(
            f"{run.folder}: no circuit yet; find it with: {command('circuit', run.folder)}"
        )
    return found
