"""Verbs that reproduce what a document reports: the paper, the talk, or one of one's own."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from headway.errors import HeadwayError, require

if TYPE_CHECKING:
    from headway_experiments.experiment import Experiment

Scale = Literal["smoke", "small", "fresh", "paper"]


def reproduce(
    names: tuple[str, ...] = (),
    /,
    scale: Scale = "small",
    folder: Path | None = None,
    workers: int | None = None,
    results: Path | None = None,
    judge_only: bool = False,
    dry_run: bool = False,
    corpus: str | None = None,
) -> None:
    """Train the runs of a figure or a mechanism, draw them, and judge every claim about them.

    What is done is kept: the command goes on where it was.

    Args:
        names: of the paper's figures, theorem1, fig2 … fig7, appendix-c, appendix-d, appendix-e,
            and studies, first-steps, depths, curricula, circuits, lengths, algorithms, doubling,
            by-heart, identifiability; of the talk's mechanisms, associative-memory,
            gradient-memory, factual-recall, factual-recall-dynamics, induction,
            three-gradient-steps, noisy-recall, khop-depth, khop-curriculum; or paper, talk or all.
            Or a Python file of experiments of your own, followed by their names or all.
        scale: smoke takes seconds; small takes minutes per run on two cores; fresh is small with
            seeds that chose no setting and no rule; paper is as the source has it.
        folder: of all runs; by default runs/paper-SCALE, runs/talk-SCALE or runs/FILE-SCALE.
        workers: runs side by side; by default as many as there are cores for.
        results: where to write the measures; by default results/ in the folder.
        judge_only: train nothing; judge by the runs that are done.
        dry_run: only say what it would cost.
        corpus: text whose bigrams the talk's models learn in context: a file in UTF-8, plays
            (Shakespeare's, of the extra `plays`) or synthetic; by default plays if they are
            installed and the scale is not smoke, else synthetic.
    """
    from headway_experiments import result_files
    from headway_experiments.reproduce import DOCUMENTS, chosen, experiments_of, listed
    from headway_experiments.talk.induction import reading

    require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
    if not names:
        raise HeadwayError(f"Missing from headway reproduce: NAME, {listed(DOCUMENTS)}")
    documents = DOCUMENTS
    if names[0].endswith(".py"):
        documents, names = {names[0]: experiments_of(names[0])}, names[1:] or ("all",)
    with reading(corpus):
        for document, experiments in chosen(names, documents, scale).items():
            place = folder or Path("runs") / f"{Path(document).stem}-{scale}"
            kept = results or place / "results"
            if dry_run or not judge_only:
                _tell_costs(experiments, scale, place)
            if not dry_run:
                result_files.require_writable(kept)
                _gather(experiments, scale, place, workers, judge_only)
                _judge(experiments, scale, place, kept, document)


def _tell_costs(experiments: "Sequence[Experiment]", scale: Scale, place: Path) -> None:
    from headway import terminal
    from headway.language import answered
    from headway_experiments.groups import cost, groups_of
    from headway_experiments.paper.language_models import askable
    from headway_experiments.tables import print_costs

    needed = groups_of(experiments)
    print_costs([cost(one, scale, place) for one in needed])
    for name, question in askable(experiments, scale).items():
        known = len(answered(question, place / "asked" / name))
        terminal.say(f"{name} is asked {question.total} questions; {known} are answered")
    if not needed:
        terminal.say("nothing to train")


def _gather(
    experiments: "Sequence[Experiment]",
    scale: Scale,
    place: Path,
    workers: int | None,
    judge_only: bool,
) -> None:
    """Trains what is not trained, takes it apart, and asks what is not answered."""
    from headway import sweeps, terminal
    from headway.language import ask_local
    from headway_experiments import groups
    from headway_experiments.paper.language_models import askable

    with sweeps.Engine(workers) as engine:
        for group in groups.groups_of(experiments):
            if not judge_only:
                terminal.say(f"{group.name}: {group.about}")
                with terminal.following() as watch:
                    planned = sweeps.Plan(f"{group.name}-{scale}", group.configs(scale))
                    sweeps.sweep(planned, place / group.name, engine, watch=watch)
            groups.take_apart(group, scale, place, terminal.say)
    for name, question in ({} if judge_only else askable(experiments, scale)).items():
        with terminal.counting("asked") as watch:
            ask_local(question, place / "asked" / name, watch, say=terminal.say)


def _judge(
    experiments: "Sequence[Experiment]", scale: Scale, place: Path, kept: Path, document: str
) -> None:
    """Measures experiments, writes that down, draws them, and judges their claims."""
    from headway import terminal
    from headway_experiments import reproduce as paper
    from headway_experiments import result_files
    from headway_experiments.tables import print_verdicts

    verdicts = []
    for one in experiments:
        found, missing = paper.measured(one, scale, place)
        result_files.write(one, scale, found, missing, kept)
        for drawn in paper.draw(one, scale, place) if terminal.can_draw() else ():
            terminal.say(f"drawn in {drawn}")
        for text in one.texts(scale):
            terminal.say(f"{one.name}: drawn from {text}")
        verdicts += paper.verdicts(one, scale, found, missing)
    print_verdicts([{scale: verdict} for verdict in verdicts], own=document.endswith(".py"))
    if scale == "smoke":
        terminal.say("smoke shows that everything works; its models are too small to judge by")
    whose = "" if document == "paper" else f" --document {document}"
    terminal.say(f"to see this again: headway claims --scale {scale} --results {kept}{whose}")


def claims(
    names: tuple[str, ...] = (),
    /,
    scale: Scale | None = None,
    results: Path | None = None,
    file: Path | None = None,
    document: str = "paper",
) -> None:
    """List every claim of a document, with the verdict of the last results.

    Args:
        names: of experiments of the document, such as fig5; by default all.
        scale: of the results; by default small, fresh and paper, side by side.
        results: their folder; by default the results that come with headway.
        file: where to write the table too, as Markdown.
        document: paper, talk, or a Python file of experiments of your own.
    """
    from headway import terminal
    from headway.files import write_whole
    from headway_experiments import reproduce as paper
    from headway_experiments import result_files
    from headway_experiments.tables import SIDE_BY_SIDE, markdown, print_verdicts

    if file is not None:
        terminal.require_file(file, (".md",))
    scales = SIDE_BY_SIDE if scale is None else (scale,)
    documents = {document: paper.experiments_of(document)}
    (asked,) = paper.chosen(names or ("all",), documents).values()
    place = results or result_files.shipped_results()
    rows = paper.judged(asked, scales, place)
    if not any(verdict.ran for row in rows for verdict in row.values()):
        raise HeadwayError(
            f"{place}: no results of {document} are there, at scale {', '.join(scales)};"
            " --results names another folder, as FOLDER/results of headway reproduce"
        )
    own = document.endswith(".py")
    print_verdicts(rows, own)
    if file is not None:
        write_whole(file, markdown(rows, own).encode())
        terminal.say(f"written to {file}")
