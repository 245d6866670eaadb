"""Verbs that find a run's circuit, judge it, date its paths, and clamp them one by one."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headway.fields import AtLeastOne, Positive
from headway.text import command
from headway.verbs import opened, require_goes_with

if TYPE_CHECKING:
    from headway.terminal.live import Display
    from headway.training import Run

EXHAUST = ("sequences", "most")
"""The options of a search for every minimal circuit."""
HOW = {
    "a search": ("threshold", "sequences", "ablation", "trials", "step", "circuit"),
    "--all": ("threshold", "ablation", "trials", *EXHAUST),
    "--certify": ("circuit", "step", "sequences", "agreement", "confidence", "seed"),
}
"""The options that say how to do what is asked."""


def circuit(
    runs: tuple[Path, ...],
    /,
    threshold: Positive | None = None,
    sequences: int | None = None,
    ablation: Literal["zero", "uniform", "own", "mean", "resample"] | None = None,
    trials: bool | None = None,
    step: int | None = None,
    circuit: Path | None = None,
    all: bool = False,
    most: AtLeastOne | None = None,
    certify: bool = False,
    agreement: float | None = None,
    confidence: float | None = None,
    seed: int | None = None,
    changed_task: bool = False,
) -> None:
    """Find a mechanism for every head of a run's model, and the evidence; leave it in circuit.json.

    Several runs are studied one by one, and their circuits compared. With --all, every minimal
    circuit is found, too, by judging sets of the paths that the search may choose from, the
    smallest first; they are left in circuits.json.

    With --certify, nothing is searched. Fresh sequences, which nothing else uses, bound the share
    of all sequences on which the circuit that was found and its model agree. A sequence agrees if
    all answers of the circuit are the model's own, right or wrong. The bound is exact for a finite
    sample. The certificate is left in certificate.json; of a circuit in a file nothing is written,
    and only weights, task and circuit are read. The exit code is 0 if it is certified, 1 if it is
    not, 2 if nothing could be drawn.

    Args:
        runs: the folders of one or more runs.
        threshold: the loss to stay below with every head replaced; by default the task's own. If
            it names none, most of the gap to ablation is to be closed.
        sequences: held-out sequences to search on, and as many others to judge on; by default 128.
            With --certify, how many to draw; by default enough to certify if half of the allowed
            share disagree.
        ablation: what stands in rows without a path, of heads that have paths; by default zero, or
            mean for a task that names neither roles nor relations.
        trials: whether to search again on other samples; by default true.
        step: the checkpoint to study; by default the last.
        circuit: a file with a circuit to measure, instead of searching for one; or to certify,
            instead of the run's own.
        all: find every minimal circuit.
        most: with --all, the most sets of paths to judge; by default 50,000.
        certify: certify on how many of all sequences circuit and model agree at least.
        agreement: with --certify, the least share of them; by default 0.99.
        confidence: with --certify, that of the bound; by default 0.95.
        seed: with --certify, that of the sequences; by default the run's.
        changed_task: go on although the file of a run's task has changed.
    """
    given: dict[str, Any] = {k: v for k, v in locals().items() if v is not None}
    those = [opened(folder, changed_task) for folder in given.pop("runs")]
    del given["changed_task"], given["certify" if certify else "all"]
    asked = "--certify" if certify else "--all" if all else "a search"
    require_goes_with(asked, given, HOW[asked])
    how = {k: given[k] for k in HOW[asked] if k in given}
    if not certify:
        exhaust = {k: how[k] for k in EXHAUST if k in how} if all else None
        how.pop("most", None)
        _find(those, how, exhaust)
    elif not min([_certify(run, how) for run in those]):
        sys.exit(1)


def _find(runs: "list[Run]", how: dict[str, Any], exhaust: dict[str, Any] | None) -> None:
    """Finds the circuit of every run, and compares them.

    Args:
        runs: that are studied.
        how: the options of the search.
        exhaust: those of a search for every minimal circuit; None without one.
    """
    from headway import terminal
    from headway.circuits import circuit_file, compare, discover, every_circuit
    from headway.circuits.text import of_discovery, verdict_lines
    from headway.circuits.verdicts import verdicts

    found, step, given = [], how.get("step"), how.get("circuit")
    for run in runs:
        terminal.say(f"{run.folder}: finding the circuit …" if given is None else f"{run.folder}:")
        found.append(discover(run, **how))
        shown = of_discovery(found[-1], run.folder)
        terminal.say(f"{shown}\nwritten to {run.folder / circuit_file(run, step, given)}")
        if exhaust is not None:
            with terminal.display(10.0) as display:
                every = every_circuit(run, **exhaust, watch=partial(_show_search, display))
            unique = [one for one in verdicts(found[-1], every) if one.name == "unique"]
            lines = "\n".join(["", str(every), *verdict_lines(unique, run.folder)])
            terminal.say(f"{lines}\nwritten to {run.folder / 'circuits.json'}")
        if given is None and step is None:
            _note_older_report(run)
    if len(found) > 1:
        comparison = compare([one.circuit for one in found])
        terminal.print_comparison(comparison, [run.folder.name for run in runs])


def _show_search(shown: "Display", paths: int, judged: int, found: int) -> None:
    shown.show(f"sets of {paths} paths: {judged} judged so far, {found} minimal circuits")


def _certify(run: "Run", how: dict[str, Any]) -> bool:
    """Certifies a circuit of a run; whether it is."""
    from headway import terminal
    from headway.circuits.certificate import certify, require_sequences
    from headway.intervals import draws_for, failures_allowed

    agreement, confidence = how.get("agreement", 0.99), how.get("confidence", 0.95)
    count = require_sequences(agreement, confidence, how.get("sequences"))
    least = draws_for(agreement, confidence)
    may = failures_allowed(agreement, confidence, count)
    terminal.say(
        f"agreement {agreement:g} with confidence {confidence:g} takes at least {least:,}"
        f" sequences;\ndrawing {count:,}, of which {may:,} may disagree …"
    )
    found = certify(run, **{**how, "sequences": count})
    terminal.say(str(found))
    if "circuit" not in how:
        terminal.say(f"written to {run.folder / found.FILE}")
        _note_older_report(run)
    return found.holds


def _note_older_report(run: "Run") -> None:
    """Tells that a run's report is older than what has just been found out about it, if it is."""
    if (run.folder / "report.html").exists():
        print(f"its report is older; draw it again: {command('report', run.folder)}")


def emergence(run: Path, /, sequences: int = 32, circuit: Path | None = None) -> None:
    """Date every path of a run's circuit over its checkpoints; leave it in emergence.json.

    Args:
        run: the run's folder, in which a circuit has been found.
        sequences: held-out sequences to average the attention over.
        circuit: a file with a circuit to date instead; it is kept if none has been found.
    """
    from headway import terminal
    from headway.circuits import emergence

    terminal.say(str(emergence(opened(run), circuit, sequences=sequences)))


def depend(
    runs: tuple[Path, ...],
    /,
    path: tuple[str, ...] = (),
    after: int = 0,
    until: int | None = None,
    workers: AtLeastOne | None = None,
    retry_failed: bool = False,
    out: Path | None = None,
) -> None:
    """Train a run again with each path of its circuit clamped, and see which others still form.

    The findings are left in the run's dependence.json. Several runs are studied one by one.
    Trainings that are done are not repeated.

    Args:
        runs: the folders of one or more runs, in which a circuit has been found.
        path: paths of the circuit to clamp, such as "L1.H0 s0<-s2"; by default all.
        after: the step after which paths are clamped.
        until: the last step at which they are; by default to the end.
        workers: trainings side by side; by default as many as there are cores for.
        retry_failed: try failed trainings again.
        out: a file for the findings of all runs, as JSON.
    """
    from headway import sweeps, terminal
    from headway.training.files import write_json

    if out is not None:
        terminal.require_file(out, (".json",))
    those = [opened(run) for run in runs]
    for run in those:  # all are looked at before any is trained
        sweeps.clamped_plan(run, path, after, until)
    engine, found = sweeps.Engine(workers), []
    how: dict[str, Any] = {"after": after, "until": until, "retry_failed": retry_failed}
    for run in those:
        terminal.say(f"{run.folder}: training with each path clamped …")
        with terminal.following() as watch:
            found.append(sweeps.depend(run, path, **how, engine=engine, training=watch))
        terminal.say(f"{found[-1]}\nwritten to {run.folder / 'dependence.json'}")
    if out is not None:
        findings = {str(run.folder): one.to_json() for run, one in zip(those, found, strict=True)}
        write_json(out, findings)
        terminal.say(f"written to {out}")
