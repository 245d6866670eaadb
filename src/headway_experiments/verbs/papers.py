"""Verbs that reproduce what a document reports: the paper, the talk, or one of one's
own.
"""

from pathlib import Path
from typing import Literal

from headway.errors import HeadwayError, require

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
) -> None:
    """Train the runs of a figure or a mechanism, draw them, and judge every claim about
    them.

    What is done is kept: the command goes on where it was.

    Args:
        names: of the paper's figures, theorem1, fig2 … fig7, appendix-c, appendix-d,
            appendix-e, and studies, first-steps, depths, curricula, circuits,
            algorithms, doubling, by-heart, identifiability, two-hops; of the talk's
            mechanisms, associative-memory, gradient-memory, factual-recall,
            factual-recall-dynamics, induction, three-gradient-steps, noisy-recall,
            khop-depth, khop-curriculum; or paper, talk or all. Or a Python file of
            experiments of your own, followed by their names or all.
        scale: smoke takes seconds; small takes minutes per run on two cores; fresh is
            small with seeds that chose no setting and no rule; paper is as the source
            has it.
        folder: of all runs; by default runs/paper-SCALE, runs/talk-SCALE or
            runs/FILE-SCALE.
        workers: runs side by side; by default as many as there are cores for.
        results: where to write the measures; by default results/ in the folder.
        judge_only: train nothing; judge by the runs that are done.
        dry_run: only say what it would cost.
    """
    from headway.sweeps import Engine
    from headway_experiments import result_files
    from headway_experiments.experiment import groups_of
    from headway_experiments.figures import can_draw
    from headway_experiments.reproduce import (
        DOCUMENTS,
        chosen,
        draw,
        experiments_of,
        listed,
        measured,
        verdicts,
    )
    from headway_experiments.tables import print_verdicts

    require(
        workers is None or workers >= 1,
        "workers",
        workers,
        "a whole number of at least 1",
    )
    if not names:
        raise HeadwayError(f"Missing from headway reproduce: NAME, {listed(DOCUMENTS)}")
    documents = DOCUMENTS
    if names[0].endswith(".py"):
        documents = {names[0]: experiments_of(names[0])}
        names = names[1:] or ("all",)
    for document, experiments in chosen(names, documents, scale).items():
        place = folder or Path("runs") / f"{Path(document).stem}-{scale}"
        kept = results or place / "results"
        groups = groups_of(experiments)
        if dry_run or not judge_only:
            costs = [cost for group in groups for cost in group.costs(scale, place)]
            for name, total, done, left in costs:
                cost = (
                    f"at most {left / 1e15:.3g} PFLOP left"
                    if left
                    else "nothing left to train"
                )
                print(f"{name}: {done} of {total} done, {cost}")
        if dry_run:
            continue
        result_files.require_writable(kept)
        with Engine(workers) as engine:
            for group in groups:
                group.obtain(scale, place, None if judge_only else engine)
        judged = []
        for experiment in experiments:
            measures, missing = measured(experiment, scale, place)
            result_files.write(experiment.name, scale, measures, missing, kept)
            for drawn in draw(experiment, scale, place) if can_draw() else ():
                print(f"drawn in {drawn}")
            judged += verdicts(experiment, scale, measures, missing)
        print_verdicts([{scale: verdict} for verdict in judged])
        if scale == "smoke":
            print(
                "smoke shows that everything works; its models are too small to "
                "judge by"
            )
        whose = "" if document == "paper" else f" --document {document}"
        print(
            f"to see this again: headway claims --scale {scale} --results {kept}{whose}"
        )


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
    from headway.training.files import write_whole
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
            f"{place}: no results of {document} are there, at scale "
            f"{', '.join(scales)};"
            " --results names another folder, as FOLDER/results of headway reproduce"
        )
    print_verdicts(rows)
    if file is not None:
        write_whole(file, markdown(rows).encode())
        print(f"written to {file}")
