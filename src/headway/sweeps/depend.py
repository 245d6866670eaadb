"""Clamped trainings of a run, one for every path of its circuit, and what depends on what."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath

from headway.circuits import saved_discovery
from headway.circuits.dependence import Dependence, Watch, dependence
from headway.errors import HeadwayError, require
from headway.paths import Path
from headway.sweeps.engine import Engine
from headway.sweeps.local import LocalEngine
from headway.sweeps.plan import Plan
from headway.sweeps.sweep import SweepWatch, sweep
from headway.text import command, counted
from headway.training import Run
from headway.training.clamp import clampable
from headway.training.config import Elsewhere


def depend(
    run: Run | str | FilePath,
    paths: Sequence[Path | str] = (),
    *,
    after: int = 0,
    until: int | None = None,
    steps: int | None = None,
    engine: Engine | None = None,
    retry_failed: bool = False,
    training: SweepWatch | None = None,
    measuring: Watch | None = None,
) -> Dependence:
    """What depends on what in a run's circuit: each path is clamped in a training of its own.

    It measures whether every other path still forms, and whether every hop is still learnt. The
    trainings lie in a folder within the run's, as a sweep; what is done there is not done again.
    The findings are left in the run's `dependence.json`.

    Args:
        run: in which a circuit was discovered, or its folder.
        paths: the paths of the circuit to clamp; by default all.
        after: the step after which they are clamped.
        until: the last step at which they are; by default to the end.
        steps: how many a clamped training may take; by default those of the free run's schedule, so
            that the learning rate is the same at every step (`schedule`).
        engine: that trains; by default worker processes on this machine.
        retry_failed: whether trainings that have failed are tried again.
        training: called with every event of the trainings.
        measuring: called with how many checkpoints are measured, and of how many.

    Raises:
        HeadwayError: if the run cannot be compared with clamped ones, no circuit was discovered, a
            path is none of the circuit, a step is beyond the end, or a training fails.
    """
    run = run if isinstance(run, Run) else Run.open(run)
    plan = clamped_plan(run, paths, after, until, steps)
    return measure_clamped(run, train_clamped(run, plan, engine, retry_failed, training), measuring)


def clamped_plan(
    run: Run,
    paths: Sequence[Path | str] = (),
    after: int = 0,
    until: int | None = None,
    steps: int | None = None,
) -> Plan:
    """The trainings with a path clamped each, by its name; called after the folder they lie in.

    Raises:
        HeadwayError: as `depend` does, but for what goes wrong in training.
    """
    require_comparable(run)
    stays = stays_of(run)
    circuit = [path for path in saved_discovery(run).circuit.paths if path not in stays]
    known = ", ".join(map(str, circuit)) or "none, as it has no path"
    chosen = [Path.parse(str(path)) for path in paths] or circuit
    for path in chosen:
        kept = " that is no stay" if stays else ""
        require(path in circuit, "path", str(path), f"one of the circuit{kept}: {known}")
    allowed = "one with a path at least" + (" that is no stay" if stays else "")
    require(bool(circuit), "circuit", "without paths", allowed)
    most = schedule(run) if steps is None else steps
    require_steps(after, until, most)
    free = run.config.training
    training = replace(
        free,
        steps=most,
        cooldown_steps=min(free.cooldown_steps, most),
        patience=0,
        clamped_after=after,
        clamped_until=until,
    )
    clamped = {path: replace(training, clamped=(str(path),)) for path in chosen}
    told = {"after": after or None, "until": until, "steps": steps}
    name = ["clamped", *(f"{field}={value}" for field, value in told.items() if value is not None)]
    configs = [(str(path), replace(run.config, training=one)) for path, one in clamped.items()]
    return Plan.of(",".join(name), configs)


def train_clamped(
    run: Run,
    plan: Plan,
    engine: Engine | None = None,
    retry_failed: bool = False,
    watch: SweepWatch | None = None,
) -> dict[Path, Run]:
    """Carries out what is not done yet of a `clamped_plan`; every training by its path."""
    place = run.folder / plan.name
    board = sweep(plan, place, engine or LocalEngine(), retry_failed, watch)
    if failed := board.named("failed"):
        message = board.runs[failed[0]].message
        raise HeadwayError(f"{place / failed[0]}: training failed: {message}")
    return {Path.parse(name): Run.open(place / name) for name in plan.runs}


def measure_clamped(
    run: Run, clamped: Mapping[Path, Run], watch: Watch | None = None
) -> Dependence:
    """What became of the circuit in trainings with a path clamped (see `depend`)."""
    with run.writing():
        found = dependence(run, clamped, saved_discovery(run).circuit.paths, watch=watch)
        run.write(found.FILE, found.to_json())
    return found


def stays_of(run: Run) -> list[Path]:
    """The paths of a run's circuit by which a position keeps what stands there, such as `s1←s1`.

    They are not clamped: a position has what stands there without any attention, too.
    """
    names = clampable(run.task)
    return [path for path in saved_discovery(run).circuit.paths if path.relation not in names]


def require_comparable(run: Run) -> None:
    """Raises `HeadwayError` unless the run is done and its seed, trained again with a clamp, would
    differ by the clamp alone."""
    config, outcome = run.config, run.outcome()
    if isinstance(config.training, Elsewhere):
        raise HeadwayError(f"{run.folder}: it was trained by a loop of your own: see Recorder")
    if outcome is None or outcome["status"] != "done":
        raise HeadwayError(
            f"{run.folder}: its training is not done: {command('train', '--resume', run.folder)}"
        )
    if config.training.clamped:
        raise HeadwayError(
            f"{run.folder}: training.clamped = {', '.join(config.training.clamped)}: its circuit"
            " grew with a clamp; take a run without one"
        )
    kind = config.training.curriculum.kind
    if config.training.curriculum.judged(0, config.task) is not None:
        raise HeadwayError(
            f"{run.folder}: training.curriculum = {kind}: its stages begin when hops are learnt, so"
            " a clamped training would be asked other things; train with another curriculum"
            " (headway train fast deepening=false)"
        )
    if given_up := outcome["given_up"]:
        count = len(given_up)
        raise HeadwayError(
            f"{run.folder}: it gave {counted(count, 'attempt')} up, so it did not"
            f" learn from the weights of seed {config.seed}: train another seed, with"
            " training.patience=0"
        )


def schedule(run: Run) -> int:
    """The step at which a done run's learning rate is zero by its schedule, or the last allowed.

    Where rates fall as soon as the loss is small (`training.cooldown_below`), a clamped training of
    so many steps begins to cool down when the run did, at the latest.
    """
    config = run.config.training
    begins = config.steps - config.cooldown_steps
    small = [line["step"] for line in run.metrics() if line["val_loss"] < config.cooldown_below]
    return min([begins, *small]) + config.cooldown_steps


def require_steps(after: int, until: int | None, most: int) -> None:
    """Raises `HeadwayError` unless a clamp begins and ends within the steps of a training."""
    require(most >= 1, "steps", most, "a whole number of at least 1")
    require(0 <= after < most, "after", after, f"from 0 to {most - 1}: trainings take {most} steps")
    if until is not None:
        allowed = f"from {after + 1} to {most}: trainings take {most} steps"
        require(after < until <= most, "until", until, allowed)
