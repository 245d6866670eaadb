"""The verb that measures which paths of a circuit depend on which."""

from pathlib import Path

from tyro.conf import Positional

from headway.arguments import Flag, opened
from headway.errors import HeadwayError, require


def depend(
    runs: Positional[tuple[Path, ...]],
    path: tuple[str, ...] = (),
    after: int = 0,
    until: int | None = None,
    steps: int | None = None,
    workers: int | None = None,
    retry_failed: Flag = False,
    out: Path | None = None,
) -> None:
    """Train a run again with each path of its circuit clamped, and see which others still form.

    The findings are left in the run's dependence.json. Several runs are studied one by one, and for
    each predicted dependence the runs that show it are counted. Trainings that are done are not
    repeated.

    Args:
        runs: the folders of one or more runs, in which a circuit has been found.
        path: paths of the circuit to clamp, such as "L1.H0 s0<-s2"; by default all.
        after: the step after which paths are clamped.
        until: the last step at which they are; by default to the end.
        steps: how many a clamped training may take; by default as many as the run's schedule has,
            so that the learning rate is the same at every step.
        workers: trainings side by side; by default as many as there are cores for.
        retry_failed: try failed trainings again.
        out: a file for the findings of all runs, as JSON.
    """
    from headway import sweeps, terminal
    from headway.circuits.dependence_text import of_several

    if not runs:
        raise HeadwayError("Missing from headway depend: RUN, the folder of a run")
    require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
    if out is not None:
        terminal.require_file(out, (".json",))
    those = [opened(run) for run in runs]
    for run in those:  # all are looked at before any is trained
        sweeps.clamped_plan(run, path, after, until, steps)
    engine, found = sweeps.LocalEngine(workers), []
    with engine:
        for run in those:
            terminal.say(f"{run.folder}: training with each path clamped …")
            with terminal.following() as watch, terminal.counting("checkpoints measured:") as count:
                found.append(
                    sweeps.depend(
                        run,
                        path,
                        after=after,
                        until=until,
                        steps=steps,
                        engine=engine,
                        retry_failed=retry_failed,
                        training=watch,
                        measuring=count,
                    )
                )
            terminal.say(str(found[-1]))
            terminal.say(f"written to {run.folder / 'dependence.json'}")
    if len(found) > 1:
        terminal.say(of_several(found))
    if out is not None:
        from headway.training.files import write_json

        write_json(
            out, {str(one.folder): of.to_json() for one, of in zip(those, found, strict=True)}
        )
        terminal.say(f"written to {out}")
