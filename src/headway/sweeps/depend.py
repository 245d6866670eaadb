"""Clamped trainings of a run, one for every path, and what depends on what."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from headway.dynamics.dependence import Dependence, dependence
from headway.errors import HeadwayError, require
from headway.judge import saved_discovery
from headway.relations.paths import AttentionPath
from headway.sweeps.engines import Engine
from headway.sweeps.plan import Plan
from headway.sweeps.sweep import SweepWatch, sweep
from headway.text import command, counted
from headway.training import Run, RunConfig
from headway.training.clamp import clampable
from headway.training.config import Elsewhere


def depend(
    run: Run | str | Path,
    paths: Sequence[AttentionPath | str] = (),
    *,
    after: int = 0,
    until: int | None = None,
    engine: Engine | None = None,
    retry_failed: bool = False,
    training: SweepWatch | None = None,
) -> Dependence:
    """The dependences in a run's circuit: each path is clamped in one training.

    It measures whether every other path still forms, and whether every hop is still
    learnt. The trainings lie in a folder within the run's, as a sweep; what is done
    there is not done again. The findings are left in the run's `dependence.json`.

    Args:
        run: in which a circuit was discovered, or its folder.
        paths: the paths of the circuit to clamp; by default all.
        after: the step after which they are clamped.
        until: the last step at which they are; by default to the end.
        engine: that trains; by default worker processes on this machine.
        retry_failed: whether trainings that have failed are tried again.
        training: called with every change in the trainings.

    Raises:
        HeadwayError: if the run cannot be compared with clamped ones, no circuit was
            discovered, a path is none of the circuit, a step is beyond the end, or a
            training fails.
    """
    run = Run.open(run)
    plan = clamped_plan(run, paths, after, until)
    run.owned(Dependence.FILE)
    place = run.owned(plan.name)
    board = sweep(plan, place, engine, retry_failed, training)
    for name in board.named("failed"):
        raise HeadwayError(
            f"{place / name}: training failed: {board.runs[name].message}"
        )
    clamped = [Run.open(place / name) for name in plan.runs]
    with run.writing():
        dependences = dependence(run, clamped, saved_discovery(run).circuit.paths)
        run.save(dependences)
    return dependences


def clamped_plan(
    run: Run,
    paths: Sequence[AttentionPath | str] = (),
    after: int = 0,
    until: int | None = None,
) -> Plan:
    """The trainings with a path clamped each, by the name of their folder.

    Each has as many steps as the free run's `schedule`, so that the learning rate is
    the same at every step.

    Paths by which a position keeps what stands there, such as `s1←s1`, are not clamped:
    it has that without any attention, too.

    Raises:
        HeadwayError: as `depend` does, but for what goes wrong in training.
    """
    require_comparable(run)
    names = clampable(run.task)
    circuit = [
        path for path in saved_discovery(run).circuit.paths if path.relation in names
    ]
    require(
        bool(circuit), "circuit", "without paths", "one with a path that is no stay"
    )
    chosen = [AttentionPath.parse(str(path)) for path in paths] or circuit
    allowed = f"one of the circuit that is no stay: {', '.join(map(str, circuit))}"
    for path in chosen:
        require(path in circuit, "path", str(path), allowed)
    base = replace(
        run.config.training,
        steps=schedule(run),
        patience=0,
        clamped_after=after,
        clamped_until=until,
    )
    runs: dict[str, RunConfig] = {}
    for path in map(str, chosen):
        training = replace(base, clamped=(path,))
        runs[path] = replace(run.config, training=training)
    name = "clamped"
    if after:
        name += f",after={after}"
    if until is not None:
        name += f",until={until}"
    return Plan(name, runs)


def require_comparable(run: Run) -> None:
    """Raises `HeadwayError` unless the run is done and its seed, trained again with a
    clamp, would differ by the clamp alone."""
    training = run.config.training
    outcome = run.outcome() or {}
    curriculum = training.curriculum
    given_up = len(outcome.get("given_up", []))
    problem = None
    if isinstance(training, Elsewhere):
        problem = "it was trained by a loop of your own: see Recorder"
    elif outcome.get("status") != "done":
        problem = (
            f"its training is not done: {command('train', '--resume', run.folder)}"
        )
    elif training.clamped:
        clamped = ", ".join(training.clamped)
        problem = f"training.clamped = {clamped}: its circuit grew with a clamp"
    elif curriculum.judged(0, run.config.task) is not None:
        problem = (
            f"training.curriculum = {curriculum.kind}:"
            " its stages begin when hops are learnt,"
            " so a clamped training would be asked other things;"
            " train with another curriculum (headway train fast deepening=false)"
        )
    elif given_up:
        problem = (
            f"it gave {counted(given_up, 'attempt')} up,"
            f" so it did not learn from the weights of seed {run.config.seed}:"
            " train another seed, with training.patience=0"
        )
    if problem is not None:
        raise HeadwayError(f"{run.folder}: {problem}")


def schedule(run: Run) -> int:
    """The step at which a run's learning rate reaches zero, or the last allowed.

    Where rates fall as soon as the loss is small (`training.cooldown_below`), a clamped
    training of so many steps begins to cool down when the run did, at the latest.
    """
    config = run.config.training
    begins = config.steps - config.cooldown_steps
    small = [
        line["step"]
        for line in run.metrics()
        if line["val_loss"] < config.cooldown_below
    ]
    return min([begins, *small]) + config.cooldown_steps
