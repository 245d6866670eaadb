"""The command line: verbs only. Bad input is one clear line on stderr and exit code 2."""

import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from headway.arguments import Flag, Switch, Words, flattened, parse, training_asked_for
from headway.errors import HeadwayError, require

USAGE = """\
usage: headway VERB …

  demo                 train, find the circuit, date it, report: all in one go
  train [RECIPE]       train a model (recipes: fast, conditional, paper)
  train --resume RUN   continue a run that was stopped
  circuit RUN [RUN …]  find and certify the circuit that a model learnt
  truth                score the search on models whose circuit is known
  emergence RUN        date every path of the circuit
  report RUN           draw the figures and write report.html
  runs [FOLDER]        the runs in a folder and their state, as a table
  sweep [PLAN]         many runs: a plan (a recipe, a Python file) and a grid
  theory [RUN]         how few layers could do; what a circuit brings where
  depths               train every depth with every number of layers, against the theory

RUN is a run's folder. `headway VERB --help` lists a verb's options."""


def demo(folder: Path | None = None, depth: int = 3, seed: int = 0, threads: int = 1) -> None:
    """Train a transformer on the retrieval problem, find its circuit, date it, and report.

    Args:
        folder: of the run; none means a free one in runs/.
        depth: D, attention hops to the answer.
        seed: of weights and data.
        threads: that train; two are quicker on idle cores, and give other last bits.
    """
    from headway.demo import demo

    demo(folder, depth, seed, threads)


def circuit(
    runs: Positional[tuple[Path, ...]],
    threshold: float = 0.05,
    sequences: int = 128,
    ablation: Literal["zero", "uniform", "own", "mean"] = "zero",
    trials: Switch = True,
    step: int | None = None,
    circuit: Path | None = None,
) -> None:
    """Find a mechanism for every head of a run's model, certify them, leave them in circuit.json.

    Of several runs, each, and what their circuits share.

    Args:
        runs: the folders of one or more runs.
        threshold: the loss to stay below with every head replaced.
        sequences: held-out sequences to search on, and as many others to judge on.
        ablation: what stands in rows without a path, of heads that have paths.
        trials: whether to search again on other samples and at other thresholds.
        step: the checkpoint to study; none means the last.
        circuit: a file with a circuit to certify, instead of searching for one.
    """
    from headway import terminal
    from headway.circuits import circuit_file, compare, discover, read_circuit
    from headway.training import Run

    if not runs:
        raise HeadwayError("Missing from headway circuit: RUN, the folder of a run")
    given = None if circuit is None else read_circuit(circuit)
    opened = [Run.open(run) for run in runs]
    found = []
    for run in opened:
        terminal.say(f"{run.folder}: finding the circuit …" if given is None else f"{run.folder}:")
        found.append(
            discover(
                run,
                circuit=given,
                step=step,
                threshold=threshold,
                sequences=sequences,
                ablation=ablation,
                trials=trials,
            )
        )
        name = run.folder.name if len(runs) > 1 else ""
        terminal.print_circuit(found[-1], run.task.roles_in_order(run.device), name)
        terminal.say(f"written to {run.folder / circuit_file(run, step, given)}")
        if given is None and step is None and (run.folder / "report.html").exists():
            terminal.say(f"its report is older; draw it again: headway report {run.folder}")
    if len(found) > 1:
        names = [run.folder.name for run in opened]
        terminal.print_comparison(compare([f.circuit for f in found]), names)


def truth(planted: int = 20, first: int = 0, depth: int = 4, file: Path | None = None) -> None:
    """Score the discovery of circuits on transformers whose circuit is known by construction.

    Args:
        planted: how many random planted circuits, one a seed.
        first: the first seed.
        depth: compiled transformers up to this depth, of both constructions.
        file: where to write all scores, as JSON.
    """
    from headway import terminal
    from headway.circuits.truth import scored

    require(planted >= 0, "planted", planted, "0 or more")
    require(depth >= 0, "depth", depth, "0 or more")
    if file is not None:
        require(file.parent.is_dir(), "file", str(file), "in a folder that there is")
    scores = []
    for one in scored(range(first, first + planted), range(1, depth + 1)):
        scores.append(one)
        terminal.print_score(one)
    terminal.print_scores(scores)
    if file is not None:
        from headway.training.files import write_json

        write_json(file, [one.to_json() for one in scores])


def emergence(run: Positional[Path], sequences: int = 32) -> None:
    """Date every path of a run's circuit over its checkpoints; leave it in emergence.json.

    Args:
        run: the run's folder, in which a circuit has been found.
        sequences: held-out sequences to average the attention over.
    """
    from headway import terminal
    from headway.circuits import emergence, saved_discovery
    from headway.training import Run

    opened = Run.open(run)
    found = saved_discovery(opened)
    terminal.print_timeline(emergence(opened, found, sequences=sequences))


def report(run: Positional[Path]) -> None:
    """Draw a run's figures (SVG and PNG) and write its report.html.

    Args:
        run: the run's folder.
    """
    from headway.report import write_report
    from headway.training import Run

    print(f"report  {write_report(Run.open(run))}")


def runs(
    folder: Positional[Path] = Path("runs"),
    where: Words = (),
    sort: str | None = None,
    table: Path | None = None,
) -> None:
    """List the runs in a folder, and in the sweeps in it, and their state.

    Args:
        folder: that holds run folders, or sweeps' folders.
        where: which runs, by fields of their configs or by status: seed=0..3 status=done,failed
        sort: the column to sort by, such as val_loss; none means by name.
        table: a file to write every field and figure to: .csv, .parquet or .json
    """
    from headway import sweeps, terminal

    if table is not None:
        sweeps.require_format(table)
    rows = sweeps.table(folder, flattened(where), sort)
    terminal.print_runs(rows, folder)
    if table is not None:
        sweeps.write_table(table, rows)
        terminal.say(f"written to {table}")


def sweep(
    plan: Positional[str] = "fast",
    grid: Words = (),
    folder: Path | None = None,
    workers: int | None = None,
    retry_failed: Flag = False,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    gpus_per_run: float | None = None,
    bring_home: Flag = False,
    stack: int = 1,
) -> None:
    """Train every run of a plan that is not done yet, several side by side.

    Args:
        plan: a recipe, a Python file that defines plan(), or the folder of a sweep to go on with.
        grid: what to cross it with: model.n_layers=1..8 seed=0,1,2 training.optimizer=adam,muon
        folder: of the sweep; none means one in runs/, named after the plan and the grid.
        workers: runs or stacks side by side; none means as many as there are cores for.
        retry_failed: try failed runs again.
        engine: processes on this machine, or tasks of a Ray cluster.
        address: of the cluster, host:port; none means one of this machine alone.
        gpus_per_run: a run's or stack's share of GPUs; none means 1 if its device is cuda.
        bring_home: nodes return a run's files instead of writing to a folder that they share.
        stack: at most so many runs of one shape are trained at once, as one; pays on a GPU.
    """
    from headway import sweeps, terminal

    planned = sweeps.load_plan(plan, flattened(grid))
    place = folder or sweeps.default_folder(plan, planned, flattened(grid))
    chosen = sweeps.make_engine(engine, workers, address, gpus_per_run, bring_home)
    with terminal.following() as watch:
        board = sweeps.sweep(planned, place, chosen, retry_failed, watch, stack)
    terminal.print_sweep(board, place)
    if board.count("failed"):
        sys.exit(1)


def theory(
    run: Positional[Path | None] = None,
    depth: str = "1..64",
    mask: Literal["causal", "none"] = "causal",
    order: Literal["deep-first", "shallow-first"] = "deep-first",
    task: Literal["retrieval", "conditional", "hops"] = "retrieval",
    facts: tuple[str, ...] = (),
    query: str = "a",
    goal: str = "z",
    queries: int = 1,
    figure: Path | None = None,
) -> None:
    """How few layers could do: exact bounds, who holds what, and a circuit that does with as few.

    Of a run: what its positions hold after every layer, along the circuit that was found.

    Args:
        run: the run's folder, in which a circuit has been found.
        depth: D, retrieval steps, or k: a number, a range or a list: 3, 1..64, 10,100.
        mask: whether a position sees only what stands before it.
        order: of the pairs in the sequence.
        task: the retrieval problem, the conditional one, or k-hop.
        facts: a task of your own, a letter a symbol, such as: xyz ay ax. Rows of three and more
            must be singled out by all symbols but the last.
        query: the symbol that is asked about, if there are facts.
        goal: the symbol that is the answer.
        queries: positions at the end that hold what is asked about: room to think in.
        figure: where to draw it, .svg or .png.
    """
    from headway import terminal
    from headway.sweeps.fields import values_of
    from headway.theory import conditional_flow, facts_flow, retrieval_flow
    from headway.training import Run

    causal, depths = mask == "causal", values_of("depth", depth, int)
    if figure is not None:
        terminal.require_file(figure, (".svg", ".png"))
    if run is not None:
        return terminal.print_run(Run.open(run), figure)
    if facts:
        flow, title = facts_flow(facts, query, goal, singled=True), f"{' '.join(facts)}, {query}"
    elif task == "conditional":
        flow, title = conditional_flow(order, singled=True), "conditional retrieval"
    elif task == "hops":
        return terminal.print_hops(depths, causal)
    elif len(depths) > 1 or depths[0] > terminal.DEEPEST:
        return terminal.print_bounds(depths, causal, order, figure)
    else:
        flow, title = retrieval_flow(depths[0], order, queries), f"retrieval, D = {depths[0]}"
    terminal.print_flow(flow, causal, title, figure)


def depths(
    grid: Words = (),
    folder: Path = Path("runs/depths"),
    workers: int | None = None,
    figure: Path | None = None,
    file: Path | None = None,
) -> None:
    """Train models of every depth with every number of layers, beside what the theory allows.

    Some minutes to an hour. What is done is kept: the command goes on where it was.

    Args:
        grid: depth=1..5 layers=1..6 seed=0..2 unless others are given; any field may vary.
        folder: of the sweep.
        workers: runs side by side; none means as many as there are cores for.
        figure: where to draw it beside the theory's curves, .svg or .png.
        file: where to write all cells, as JSON.
    """
    from headway import sweeps, terminal
    from headway.papers import depths as study
    from headway.sweeps.plan import axes_of

    for path, endings in ((figure, (".svg", ".png")), (file, (".json",))):
        if path is not None:
            terminal.require_file(path, endings)
    planned = study.plan(axes_of(flattened(grid)))
    with terminal.following() as watch:
        board = sweeps.sweep(planned, folder, sweeps.LocalEngine(workers), watch=watch)
    cells = study.results(planned, folder)
    terminal.print_depths(cells)
    if figure is not None:
        terminal.draw_depths(cells, figure)
    if file is not None:
        study.write(cells, file)
    if board.count("failed"):
        raise HeadwayError(f"{board.count('failed')} runs failed: headway runs {folder}")


def train(args: list[str]) -> None:
    """Trains with a recipe and changes to it, or continues a run."""
    from headway import terminal
    from headway.training import resume, train

    asked = training_asked_for(args)
    with terminal.watching() as watch:
        run = resume(asked, watch) if isinstance(asked, Path) else train(*asked, watch)
    terminal.print_outcome(run)


VERBS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "circuit": circuit,
    "truth": truth,
    "emergence": emergence,
    "report": report,
    "runs": runs,
    "sweep": sweep,
    "theory": theory,
    "depths": depths,
}


def main(args: list[str] | None = None) -> None:
    """The program `headway`."""
    args = sys.argv[1:] if args is None else args
    try:
        dispatch(args)
    except HeadwayError as error:
        print(f"headway: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print("; ".join(["headway: interrupted", *notes_of(stop)]), file=sys.stderr)
        sys.exit(130)


def notes_of(error: BaseException) -> list[str]:
    """What was noted on an error on its way up, such as how to go on."""
    return list(getattr(error, "__notes__", []))


def dispatch(args: list[str]) -> None:
    """Does what a verb says.

    Raises:
        HeadwayError: if there is no such verb, or it cannot be done.
    """
    if not args or args[0] in ("-h", "--help", "help"):
        print(USAGE)
        return
    verb, rest = args[0], args[1:]
    if verb == "--version":
        print(metadata.version("headway"))
    elif verb == "train":
        train(rest)
    elif verb in VERBS:
        parse(VERBS[verb], f"headway {verb}", rest)
    else:
        names = ", ".join(["train", *VERBS])
        raise HeadwayError(f"verb = {verb!r} is not allowed: it must be one of {names}")
