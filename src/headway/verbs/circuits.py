"""Verbs that find a run's circuit, judge it, date its paths, and clamp them."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import require
from headway.fields import AtLeastOne, Positive, require_allowed
from headway.text import command
from headway.verbs import opened, require_goes_with, require_runs

if TYPE_CHECKING:
    from headway.judge import Discovery
    from headway.training import Run

How = Mapping[str, Any]
HOW = {
    "a search": (
        "threshold",
        "sequences",
        "ablation",
        "way",
        "trials",
        "step",
        "circuit",
        "program",
    ),
    "--all": ("threshold", "ablation", "way", "trials", "sequences", "most", "circuit"),
    "--certify": ("circuit", "step", "sequences", "agreement", "confidence", "seed"),
}
"""The options that say how to do what is asked."""
JUDGED = "sets of {} paths: {} judged so far, {} minimal circuits"


def circuit(
    runs: tuple[Path, ...],
    /,
    threshold: Positive | None = None,
    sequences: int | None = None,
    ablation: str | None = None,
    way: str | None = None,
    trials: bool | None = None,
    step: int | None = None,
    circuit: Path | None = None,
    program: Path | None = None,
    all: bool = False,
    most: AtLeastOne | None = None,
    certify: bool = False,
    agreement: float | None = None,
    confidence: float | None = None,
    seed: int | None = None,
    changed_task: bool = False,
) -> None:
    """Find a mechanism for every head of a run's model, and the evidence; leave it in
    circuit.json.

    Several runs are studied one by one, and their circuits compared. With --all, every
    minimal circuit is found, too, by judging sets of the paths that the search may
    choose from, the smallest first; they are left in circuits.json, but for those about
    a circuit in a file.

    With --certify, nothing is searched. Fresh sequences, which nothing else uses, bound
    the share of all sequences on which the circuit that was found and its model agree.
    A sequence agrees if all answers of the circuit are the model's own, right or wrong.
    The bound is exact for a finite sample. The certificate is left in certificate.json;
    of a circuit in a file nothing is written, and only weights, task and circuit are
    read. The exit code is 0 if it is certified, 1 if it is not, 2 if nothing could be
    drawn.

    Args:
        runs: the folders of one or more runs.
        threshold: the loss to stay below with every head replaced; by default the
            task's own. If it names none, most of the gap to ablation is to be closed.
        sequences: held-out sequences to search on, and as many others to judge on, at
            least 8; by default 128. With --certify, how many to draw, at least as many
            as certify if all agree; by default enough to certify if half of the allowed
            share disagree.
        ablation: what stands in rows without a path, of heads that have paths: zero,
            uniform, own, mean, resample, corrupted, or one of an installed package; by
            default zero, or mean for a task that names neither roles nor relations.
        way: to the circuit: told (a search among what the task names), blind (heads are
            read by effect), corrupted (attribution by corrupted sequences), or one of
            an installed package; by default the one that suits the task.
        trials: whether to search again on other samples; by default true.
        step: the checkpoint to study; by default the last.
        circuit: a file with a circuit to measure, instead of searching for one; or to
            certify, instead of the run's own.
        program: a Python file to write the circuit to, as a program that runs without
            the model; it is printed, too, with its verdicts. Of one run alone.
        all: find every minimal circuit.
        most: with --all, the most sets of paths to judge; by default 50,000.
        certify: certify on how many of all sequences circuit and model agree at least.
        agreement: with --certify, the least share of them; by default 0.99.
        confidence: with --certify, that of the bound; by default 0.95.
        seed: with --certify, that of the sequences; by default the run's.
        changed_task: go on although the file of a run's task has changed.
    """
    given: dict[str, Any] = {k: v for k, v in locals().items() if v is not None}
    require_runs(*runs)
    from headway.judge.certificate import require_sequences
    from headway.replace.subject import Sequences

    del given["runs"], given["changed_task"], given["certify" if certify else "all"]
    asked = "--certify" if certify else "--all" if all else "a search"
    require_goes_with(given, asked, *HOW[asked])
    how = {name: given[name] for name in HOW[asked] if name in given}
    if program is not None:
        from headway import terminal

        require(len(runs) == 1, "program", str(program), "of one run alone")
        terminal.require_file(program, (".py",))
    if certify:
        require_sequences(
            how.get("agreement", 0.99), how.get("confidence", 0.95), sequences
        )
    elif sequences is not None:
        require_allowed("sequences", sequences, Sequences)
    those = [opened(folder, changed_task) for folder in runs]
    if certify:
        _certify(those, how)
    else:
        _search(those, how, all)


def _certify(runs: list["Run"], how: How) -> None:
    """Certifies the circuits of runs; the exit code is 1 if one is not certified."""
    from headway.judge import certify

    holds = list[bool]()
    for run in runs:
        print(f"{run.folder}: drawing fresh sequences …")
        certificate = certify(run, **how)
        print(certificate)
        if "circuit" not in how:
            print(f"written to {run.folder / certificate.FILE}")
        _note_older_report(run, how)
        holds.append(certificate.holds)
    if False in holds:
        sys.exit(1)


def _search(runs: list["Run"], how: How, all: bool) -> None:
    """Finds or measures the circuits of runs, with `all` every minimal one."""
    from headway import terminal
    from headway.find import circuit_file, discover
    from headway.replace import compare

    doing = "measuring the circuit" if "circuit" in how else "finding the circuit"
    beside = ("most", "program")
    of_search = {name: value for name, value in how.items() if name not in beside}
    circuits = []
    for run in runs:
        print(f"{run.folder}: {doing} …")
        with terminal.display(10.0) as display:
            discovery = discover(
                run,
                **of_search,
                watch=lambda n: display.show(f"{n:,.0f} forward passes"),
            )
        terminal.print_discovery(discovery, run.folder)
        file = circuit_file(run, how.get("step"), how.get("circuit"))
        print(f"written to {run.folder / file}")
        if "program" in how:
            _write_program(run, discovery, how["program"])
        if all:
            _print_every(run, discovery, how)
        _note_older_report(run, how)
        circuits.append(discovery.circuit)
    if len(circuits) > 1:
        names = [run.folder.name for run in runs]
        terminal.print_comparison(compare(circuits), names)


def _write_program(run: "Run", discovery: "Discovery", file: Path) -> None:
    """Turns a circuit into a program, prints it, and leaves it in a file."""
    from headway.programs import program

    judged = program(run, circuit=discovery)
    print("", judged, sep="\n")
    judged.save(file)
    print(f"written to {file}")


def _print_every(run: "Run", discovery: "Discovery", how: How) -> None:
    """Finds every minimal circuit, or those about a measured circuit in a file."""
    from headway import terminal
    from headway.find import every_circuit

    of_all = {name: how[name] for name in ("sequences", "most") if name in how}
    if "circuit" in how:
        of_all["discovery"] = discovery
    with terminal.display(10.0) as display:
        every = every_circuit(
            run, **of_all, watch=lambda *now: display.show(JUDGED.format(*now))
        )
    print("", every, sep="\n")
    if "circuit" not in how:
        print(f"written to {run.folder / 'circuits.json'}")


def _note_older_report(run: "Run", how: How) -> None:
    """Says how to draw a run's report again, if it is outdated."""
    of_run = "circuit" not in how and "step" not in how
    if of_run and (run.folder / "report.html").exists():
        print(f"its report is older; draw it again: {command('report', run.folder)}")


def emergence(run: Path, /, sequences: int = 32, circuit: Path | None = None) -> None:
    """Date every path of a run's circuit over its checkpoints; leave it in
    emergence.json.

    Args:
        run: the run's folder, in which a circuit has been found.
        sequences: held-out sequences to average the attention over, at least 1.
        circuit: a file with a circuit to date instead; it is kept if none has been
            found.
    """
    require_runs(run)
    from headway.dynamics import emergence

    print(emergence(opened(run), circuit, sequences=sequences))


def depend(
    runs: tuple[Path, ...],
    /,
    path: tuple[str, ...] = (),
    after: int = 0,
    until: int | None = None,
    workers: AtLeastOne | None = None,
    retry_failed: bool = False,
) -> None:
    """Train a run again with each path of its circuit clamped, and see which others
    still form.

    The findings are left in the run's dependence.json. Several runs are studied one by
    one. Trainings that are done are not repeated.

    Args:
        runs: the folders of one or more runs, in which a circuit has been found.
        path: paths of the circuit to clamp, such as "L1.H0 s0<-s2"; by default all.
        after: the step after which paths are clamped.
        until: the last step at which they are; by default to the end.
        workers: trainings side by side; by default as many as there are cores for.
        retry_failed: try failed trainings again.
    """
    require_runs(*runs)
    from headway import sweeps, terminal

    those = [opened(run) for run in runs]
    for run in those:  # all are looked at before any is trained
        sweeps.clamped_plan(run, path, after, until)
    how = {"after": after, "until": until, "retry_failed": retry_failed}
    for run in those:
        print(f"{run.folder}: training with each path clamped …")
        with terminal.following() as watch:
            dependence = sweeps.depend(
                run, path, engine=sweeps.Engine(workers), training=watch, **how
            )
        print(f"{dependence}\nwritten to {run.folder / 'dependence.json'}")
