"""Reproducing a document: measures, verdicts and figures, all from run folders.

A document is the paper, the talk, or a user's own file of experiments.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, require
from headway.userfile import called, load
from headway_experiments.claims import Judged, Measures, Verdict
from headway_experiments.experiment import Experiment
from headway_experiments.paper import FIGURES
from headway_experiments.result_files import read, require_writable
from headway_experiments.talk import MECHANISMS

DOCUMENTS: Mapping[str, Mapping[str, Experiment]] = {
    "paper": FIGURES,
    "talk": MECHANISMS,
}


def experiments_of(document: str) -> Mapping[str, Experiment]:
    """The experiments of a document, by name.

    Args:
        document: `paper`, `talk`, or a Python file with `EXPERIMENTS`, a sequence of
            `Experiment`.

    Raises:
        HeadwayError: if it is none of these, or the file cannot be run.
    """
    if not document.endswith(".py"):
        if document not in DOCUMENTS:
            allowed = ", ".join(DOCUMENTS)
            raise HeadwayError(
                f"document = {document}: it must be one of {allowed}, or FILE.py"
            )
        return DOCUMENTS[document]
    experiments = getattr(load(document), "EXPERIMENTS", ())
    if not _are_experiments(experiments):
        raise HeadwayError(
            f"{document}: EXPERIMENTS must be a sequence of Experiment "
            "(headway_experiments)"
        )
    path = Path(document)
    named = {}
    for experiment in experiments:
        measure = partial(called, path, experiment.measure)
        draw = partial(called, path, experiment.draw)
        named[experiment.name] = replace(experiment, measure=measure, draw=draw)
    return named


def _are_experiments(value: object) -> bool:
    """True of a sequence of experiments, at least one."""
    if not isinstance(value, tuple | list) or not value:
        return False
    return all(isinstance(each, Experiment) for each in value)


def chosen(
    names: Sequence[str],
    documents: Mapping[str, Mapping[str, Experiment]],
    scale: str = "",
) -> dict[str, list[Experiment]]:
    """The experiments of some names, by document.

    Args:
        names: of experiments, of documents, or `all`.
        documents: all experiments that there are, by document and name.
        scale: of their runs; an experiment without runs has no fresh seeds.

    Raises:
        HeadwayError: if there is none of a name.
    """
    chosen: dict[str, dict[str, Experiment]] = {}
    for name in names:
        is_known = False
        for document, experiments in documents.items():
            for experiment in experiments.values():
                is_meant = name in (experiment.name, document, "all")
                if is_meant and (experiment.groups or scale != "fresh"):
                    is_known = True
                    chosen.setdefault(document, {})[experiment.name] = experiment
        require(is_known, "name", name, listed(documents))
    return {document: list(those.values()) for document, those in chosen.items()}


def listed(documents: Mapping[str, Mapping[str, Experiment]]) -> str:
    """The names that can be given, in words."""
    names = [name for known in documents.values() for name in known]
    others = " or all"
    if documents is DOCUMENTS:
        others = (
            f", {', '.join(documents)}, all, or FILE.py with experiments of your own"
        )
    return f"one of {', '.join(names)}{others}"


def measured(experiment: Experiment, scale: str, folder: Path) -> tuple[Measures, str]:
    """The measures of an experiment's runs, and what is missing of them, in words.

    Raises:
        HeadwayError: if a file of a run is corrupted, or a claim is judged by a number
            that is not measured.
    """
    results, missing = gathered(experiment, scale, folder)
    if results is None:
        return {}, missing
    measures = experiment.measure(*results)
    for claim in experiment.claims if not missing else ():
        known = f"one of {', '.join(measures)}"
        require(
            claim.measure in measures,
            f"[{claim.figure}]: measure",
            claim.measure,
            known,
        )
    gaps = [gap for gap in (missing, *unknown(measures)) if gap]
    return measures, "; ".join(gaps)


def unknown(measures: Measures) -> list[str]:
    """The things that runs did not show, by measures: `…_not_reached`, where something
    was not learnt, and `…_not_bracketed`, where no run kept less or none kept more."""
    gaps = []
    for name, values in measures.items():
        if values and (what := re.fullmatch(r"(\w+)_not_(reached|bracketed)", name)):
            gaps.append(f"{what[1]} was not {what[2]} in {', '.join(values)}")
    return gaps


def gathered(
    experiment: Experiment, scale: str, folder: Path
) -> tuple[list[Any] | None, str]:
    """The data that an experiment is measured by, and what is missing of them, in
    words.

    Returns: what is done of each of its groups; None if it needs some and there is
    nothing.

    Raises:
        HeadwayError: if a file is corrupted.
    """
    results = [group.found(scale, folder) for group in experiment.groups]
    gaps = [gap for group in experiment.groups for gap in group.gaps(scale, folder)]
    has_groups_of_nothing = bool(results) and not any(results)
    return (None if has_groups_of_nothing else results), "; ".join(gaps)


def verdicts(
    experiment: Experiment, scale: str, measures: Measures, missing: str
) -> list[Verdict]:
    """The experiment's claims, judged."""
    has_run = bool(measures)
    verdicts = []
    for claim in experiment.claims:
        values = measures.get(claim.measure, {})
        verdicts.append(Verdict(claim, scale, values, missing, ran=has_run))
    return verdicts


def draw(experiment: Experiment, scale: str, folder: Path) -> list[Path]:
    """Draws an experiment's figures from the run folders into `figures/`, as SVG and
    PNG.

    Returns: the SVG files. The same folders give the same bytes.
    """
    from headway.report.figures.style import save_all

    results, _ = gathered(experiment, scale, folder)
    saved = []
    if results is None:
        return saved
    require_writable(folder / "figures")
    for name, (title, figure) in experiment.draw(*results).items():
        saved.append(save_all(figure, folder / "figures" / name, title))
    return saved


def judged(
    experiments: Iterable[Experiment], scales: Sequence[str], results: Path
) -> list[Judged]:
    """Every claim of experiments, judged at scales by the results that there are.

    An experiment without groups is the same at every scale but `smoke`.

    Raises:
        HeadwayError: if a result file is corrupted, or of another format.
    """
    rows = []
    for experiment in experiments:
        columns = []
        for scale in scales:
            seedless = not experiment.groups and scale != "smoke"
            result = read(experiment.name, "small" if seedless else scale, results)
            measures = result.measures if result else {}
            missing = result.missing if result else ""
            columns.append(verdicts(experiment, scale, measures, missing))
        for row in zip(*columns, strict=True):
            rows.append(dict(zip(scales, row, strict=True)))
    return rows
