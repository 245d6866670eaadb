"""Verbs that reproduce what the papers report."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from headway.arguments import Flag, continued_by
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.language.asking import Asked
    from headway.papers.claims import Verdict
    from headway.papers.experiment import Experiment


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
            depths, curricula, circuits, lengths, algorithms; or all.
        scale: seconds, minutes a run on two cores, or as printed.
        folder: of all runs; by default runs/paper-SCALE.
        workers: runs side by side; by default as many as there are cores for.
        results: where to write the measures; by default results/ in the folder.
        dry_run: only say what it would cost.
    """
    from headway.papers.experiments import EXPERIMENTS

    options = Options(scale, folder, workers, results, dry_run)
    _run("reproduce", figures, EXPERIMENTS, options, "figure", "paper")


def mechanism(
    names: Positional[tuple[str, ...]] = (),
    scale: Literal["smoke", "small", "paper"] = "small",
    folder: Path | None = None,
    workers: int | None = None,
    results: Path | None = None,
    dry_run: Flag = False,
    corpus: str | None = None,
) -> None:
    """Run what a mechanism of the talk takes, draw it, and judge every claim made of it.

    What is done is kept: the command goes on where it was.

    Args:
        names: associative-memory, gradient-memory, factual-recall, factual-recall-dynamics,
            induction, three-gradient-steps, noisy-recall, khop-depth, khop-curriculum; or all.
        scale: seconds, minutes a mechanism on two cores, or as the sources have it.
        folder: of all runs; by default runs/talk-SCALE.
        workers: runs side by side; by default as many as there are cores for.
        results: where to write the measures; by default results/ in the folder.
        dry_run: only say what it would cost.
        corpus: text whose bigrams are learnt in context: a file in UTF-8, plays (Shakespeare's, of
            the extra `plays`) or synthetic; by default what the environment variable HEADWAY_CORPUS
            names, else plays if they are installed and the scale is not smoke, else synthetic.
    """
    from headway.papers.talk import MECHANISMS
    from headway.papers.talk.induction import CORPUS, reading

    with reading(corpus):
        options = Options(scale, folder, workers, results, dry_run, os.environ.get(CORPUS))
        _run("mechanism", names, MECHANISMS, options, "mechanism", "talk")


@dataclass(frozen=True)
class Options:
    """How to run experiments; see `reproduce`."""

    scale: Literal["smoke", "small", "paper"]
    folder: Path | None
    workers: int | None
    results: Path | None
    dry_run: bool
    corpus: str | None = None


def _run(
    verb: str,
    names: tuple[str, ...],
    there: "Mapping[str, Experiment]",
    options: Options,
    what: str,
    document: str,
) -> None:
    """Runs experiments, draws them and judges their claims.

    Args:
        verb: that was called.
        names: of the experiments.
        there: all that there are, by name.
        options: how to run them.
        what: an experiment is called.
        document: that they are of.
    """
    from headway import sweeps, terminal
    from headway.papers import groups, result_files
    from headway.papers import reproduce as paper
    from headway.papers.asking import answer, askable

    if not names:
        raise HeadwayError(f"Missing from headway {verb}: {what.upper()}, {paper.listed(there)}")
    experiments = paper.chosen(names, there, what)
    scale = options.scale
    place = options.folder or Path("runs") / f"{document}-{scale}"
    engine = sweeps.LocalEngine(options.workers)
    needed = paper.groups_of(experiments)
    asked = askable(scale) if any(one.asks for one in experiments) else {}
    _tell_costs(needed, asked, scale, place)
    if options.dry_run:
        return
    kept = options.results or place / "results"
    result_files.require_writable(kept)
    with continued_by(verb, names, vars(options)), engine:
        for group in needed:
            planned = groups.plan(group, scale)
            terminal.say(f"{group}: {groups.GROUPS[group].about}")
            with terminal.following() as watch:
                sweeps.sweep(planned, place / group, engine, watch=watch)
            groups.take_apart(group, scale, place, lambda run, what: terminal.say(f"{run}: {what}"))
        for name, question in asked.items():
            with terminal.asking() as watch:
                answer(question, place / "asked" / name, watch, say=terminal.say)
        verdicts = [v for one in experiments for v in _judged(one, scale, place, kept)]
    terminal.print_verdicts(verdicts)
    if scale == "smoke" and groups:
        terminal.say("smoke shows that everything works; its models are too small to judge by")
    talk = " --document talk" if document == "talk" else ""
    terminal.say(f"to see this again: headway claims --scale {scale} --results {kept}{talk}")


def _tell_costs(
    needed: Sequence[str], asked: "Mapping[str, Asked]", scale: str, place: Path
) -> None:
    """Tells what is left to train and to ask."""
    from headway import terminal
    from headway.language.asking import answered
    from headway.papers import groups

    terminal.print_costs([groups.cost(group, scale, place) for group in needed])
    for name, question in asked.items():
        known = len(answered(question, place / "asked" / name))
        terminal.say(f"{name} is asked {question.total} questions; {known} are answered")
    if not needed:
        terminal.say("nothing to train")


def _judged(experiment: "Experiment", scale: str, place: Path, kept: Path) -> "list[Verdict]":
    """An experiment's claims, judged, after it was measured and drawn."""
    from headway import terminal
    from headway.papers import reproduce as paper
    from headway.papers import result_files

    found, missing = paper.measured(experiment, scale, place)
    for drawn in paper.draw(experiment, scale, place):
        terminal.say(f"drawn in {drawn}")
    result_files.write(experiment, scale, found, missing, kept)
    for text in experiment.texts(scale):
        terminal.say(f"{experiment.name}: drawn from {text}")
    return paper.verdicts(experiment, scale, found, missing)


def claims(
    scale: Literal["smoke", "small", "paper"] = "small",
    results: Path | None = None,
    file: Path | None = None,
    document: Literal["paper", "talk"] = "paper",
) -> None:
    """Every claim of the paper, or the talk, with the verdict of the results measured last.

    Args:
        scale: of the results.
        results: where they lie; by default those that come with headway.
        file: where to write the table too, as Markdown.
        document: the paper, or the talk.
    """
    from headway import terminal
    from headway.papers import reproduce as paper
    from headway.papers import result_files
    from headway.papers.experiments import EXPERIMENTS
    from headway.papers.table import markdown
    from headway.papers.talk import MECHANISMS
    from headway.training.files import write_whole

    if file is not None:
        terminal.require_file(file, (".md",))
    there = EXPERIMENTS if document == "paper" else MECHANISMS
    verdicts, known = paper.judged(there, scale, results or result_files.shipped_results())
    terminal.print_verdicts(verdicts, known)
    if file is not None:
        write_whole(file, markdown(verdicts).encode())
        terminal.say(f"written to {file}")
