"""Verbs that reproduce what the papers report."""

from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from headway.arguments import Flag, continued_by
from headway.errors import HeadwayError
from headway.training.files import write_whole


def reproduce(
    figures: Positional[tuple[str, ...]] = (),
    scale: Literal["smoke", "small", "paper"] = "small",
    folder: Path | None = None,
    workers: int | None = None,
    results: Path | None = None,
    dry_run: Flag = False,
) -> None:
    """Run what a figure of the paper takes, draw it, and judge every claim that it makes.

    What is done is kept: the command goes on where it was.

    Args:
        figures: theorem1, fig2 … fig7, appendix-c, appendix-d, appendix-e; the studies first-steps,
            depths, curricula, circuits, lengths; or all.
        scale: seconds, minutes a run on two cores, or as printed.
        folder: of all runs; none means runs/paper-SCALE.
        workers: runs side by side; none means as many as there are cores for.
        results: where to write the measures; none means results/ in the folder.
        dry_run: only say what it would cost.
    """
    from headway import sweeps, terminal
    from headway.language.asking import answered
    from headway.papers import reproduce as paper
    from headway.papers.asking import answer, askable

    if not figures:
        raise HeadwayError(f"Missing from headway reproduce: FIGURE, {paper.listed()}")
    experiments = paper.chosen(figures)
    place = folder or Path("runs") / f"paper-{scale}"
    groups = paper.groups_of(experiments)
    asked = askable(scale) if any(one.asks for one in experiments) else {}
    terminal.print_costs([paper.cost(group, scale, place) for group in groups])
    for name, what in asked.items():
        known = len(answered(what, place / "asked" / name))
        terminal.say(f"{name} is asked {what.total} questions; {known} are answered")
    if not groups:
        terminal.say("nothing to train")
    if dry_run:
        return
    kept = results or place / "results"
    paper.require_writable(kept)
    options = {"scale": scale, "folder": folder, "workers": workers, "results": results}
    with continued_by("reproduce", figures, options):
        for group in groups:
            planned = paper.plan(group, scale)
            with terminal.following() as watch:
                sweeps.sweep(planned, place / group, sweeps.LocalEngine(workers), watch=watch)
            paper.take_apart(group, scale, place, lambda run, what: terminal.say(f"{run}: {what}"))
        for name, what in asked.items():
            with terminal.asking() as watch:
                answer(what, place / "asked" / name, watch, say=terminal.say)
    verdicts = []
    for experiment in experiments:
        found, missing = paper.measured(experiment, scale, place)
        verdicts += paper.verdicts(experiment, scale, found, missing)
        for drawn in paper.draw(experiment, scale, place):
            terminal.say(f"drawn in {drawn}")
        paper.write(experiment, scale, found, missing, kept)
    terminal.print_verdicts(verdicts)
    if scale == "smoke" and groups:
        terminal.say("smoke shows that everything works; its models are too small to judge by")
    terminal.say(f"to see this again: headway claims --scale {scale} --results {kept}")


def claims(
    scale: Literal["smoke", "small", "paper"] = "small",
    results: Path | None = None,
    file: Path | None = None,
) -> None:
    """Every claim of the paper, with the verdict of the results that were measured last.

    Args:
        scale: of the results.
        results: where they lie; none means those that come with headway.
        file: where to write the table too, as Markdown.
    """
    from headway import terminal
    from headway.papers import reproduce as paper
    from headway.papers.table import markdown

    if file is not None:
        terminal.require_file(file, (".md",))
    verdicts, known = paper.judged(scale, results or paper.shipped_results())
    terminal.print_verdicts(verdicts, known)
    if file is not None:
        write_whole(file, markdown(verdicts).encode())
        terminal.say(f"written to {file}")
