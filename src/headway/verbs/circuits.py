"""Verbs that find a run's circuit, date its paths and show them."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from headway.arguments import Flag, Switch, opened
from headway.errors import HeadwayError, require

if TYPE_CHECKING:
    from headway.training import Run


def circuit(
    runs: Positional[tuple[Path, ...]],
    threshold: float = 0.05,
    sequences: int = 128,
    ablation: Literal["zero", "uniform", "own", "mean", "resample"] = "zero",
    trials: Switch = True,
    step: int | None = None,
    circuit: Path | None = None,
    all: Flag = False,
    free_above: Switch = True,
    most: int = 50_000,
    changed_task: Flag = False,
) -> None:
    """Find a mechanism for every head of a run's model, and the evidence; leave it in circuit.json.

    Several runs are studied one by one, and their circuits compared. With --all, every minimal
    circuit is found, too.

    Args:
        runs: the folders of one or more runs.
        threshold: the loss to stay below with every head replaced.
        sequences: held-out sequences to search on, and as many others to judge on.
        ablation: what stands in rows without a path, of heads that have paths.
        trials: whether to search again on other samples and at other thresholds.
        step: the checkpoint to study; by default the last.
        circuit: a file with a circuit to measure, instead of searching for one.
        all: find every minimal circuit of the paths that the search may choose from, by judging
            sets of paths, the smallest first; leave them in circuits.json.
        free_above: with --all, circuits must stay below the threshold with the layers above any
            layer free, too, as in the search; else every head replaced is enough.
        most: with --all, the most sets of paths to judge.
        changed_task: go on although the file of a run's task has changed.
    """
    from headway import terminal
    from headway.circuits import circuit_file, compare, discover, read_circuit
    from headway.circuits.study import require_threshold

    if not runs:
        raise HeadwayError("Missing from headway circuit: RUN, the folder of a run")
    require_threshold(threshold)
    require(most >= 1, "most", most, "a whole number of at least 1")
    if all:
        _require_left_out(step=step, circuit=circuit)
    given = None if circuit is None else read_circuit(circuit)
    those = [opened(run, changed_task) for run in runs]
    search = partial(discover, circuit=given, step=step, ablation=ablation, trials=trials)
    found = []
    for run in those:
        terminal.say(f"{run.folder}: finding the circuit …" if given is None else f"{run.folder}:")
        found.append(search(run, threshold=threshold, sequences=sequences))
        terminal.say(str(found[-1]))
        terminal.say(f"written to {run.folder / circuit_file(run, step, given)}")
        if all:
            _exhaust(run, free_above, sequences, most)
        if given is None and step is None:
            terminal.note_older_report(run)
    if len(found) > 1:
        names = [run.folder.name for run in those]
        terminal.print_comparison(compare([f.circuit for f in found]), names)


def _require_left_out(**options: object) -> None:
    """Raises a `HeadwayError` if an option is given that does not go with --all."""
    for name, value in options.items():
        allowed = "left out with --all, which takes a run's own last circuit"
        require(value is None, name, str(value), allowed)


def _exhaust(run: "Run", free_above: bool, sequences: int, most: int) -> None:
    """Finds every minimal circuit of a run, and prints them."""
    from headway import terminal
    from headway.circuits import every_circuit

    terminal.say("")
    with terminal.exhausting() as watch:
        every = every_circuit(
            run, free_above=free_above, sequences=sequences, most=most, watch=watch
        )
    terminal.say(str(every))
    terminal.say(f"written to {run.folder / 'circuits.json'}")


def emergence(run: Positional[Path], sequences: int = 32) -> None:
    """Date every path of a run's circuit over its checkpoints; leave it in emergence.json.

    Args:
        run: the run's folder, in which a circuit has been found.
        sequences: held-out sequences to average the attention over.
    """
    from headway import terminal
    from headway.circuits import emergence, saved_discovery

    its = opened(run)
    terminal.say(str(emergence(its, saved_discovery(its), sequences=sequences)))


def report(folders: Positional[tuple[Path, ...]], out: Path | None = None) -> None:
    """Write a run's report.html and, with matplotlib, its figures for papers (SVG and PNG).

    For several runs, one page that compares them. For a folder of runs, such as a sweep's, one page
    about all of them.

    Args:
        folders: the folders of one or more runs, or one folder that holds runs.
        out: the page of several runs; by default comparison.html in the folder that holds them all,
            and report.html in a folder of runs.
    """
    from headway import terminal
    from headway.report.comparison import write_comparison
    from headway.report.sweep import write_sweep
    from headway.training.files import is_there

    if not folders:
        raise HeadwayError("Missing from headway report: FOLDER, of a run or of several")
    if out is not None:
        terminal.require_file(out, (".html",))
    first, *others = folders
    if others:
        print(f"report   {write_comparison([_run(folder) for folder in folders], out)}")
    elif is_there(first / "config.json") or not is_there(first):
        _report_of(opened(first), out)
    else:
        print(f"report   {write_sweep(first, out)}")


def _run(folder: Path) -> "Run":
    """One of several runs that are named.

    Raises:
        HeadwayError: if it is none, with a hint if it holds some.
    """
    from headway.training.files import clear_io_errors, is_there

    if not is_there(folder / "config.json") and is_there(folder):
        with clear_io_errors(folder, "read"):
            holds = any(is_there(inside / "config.json") for inside in folder.iterdir())
        if holds:
            raise HeadwayError(
                f"{folder} is no run but holds some: report it by itself, or name its runs"
            )
    return opened(folder)


def _report_of(run: "Run", out: Path | None) -> None:
    """Writes a run's page and its figures.

    Raises:
        HeadwayError: if it is to be written elsewhere, or its folder cannot be read or written.
    """
    from headway import terminal
    from headway.report import figures_if_possible, write_report

    if out is not None:
        raise HeadwayError(
            "--out is for several runs or a folder of runs: a run's page and its figures are kept"
            f" in its folder, {run.folder}"
        )
    print(f"report   {write_report(run)}")
    figures = figures_if_possible(run)
    if figures is None:
        terminal.say("without figures for papers: they need pip install 'headway[plot]'")
    else:
        print(f"figures  {figures}")
