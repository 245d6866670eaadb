"""The number of minimal circuits of small models, by what stands in rows without a path."""

from dataclasses import replace
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from headway.circuits import (
    AttentionPath,
    Bench,
    NoCircuitError,
    Yardstick,
    discover,
    every_circuit,
)
from headway.intervals import wilson
from headway.tasks import Task
from headway.training import Run, RunConfig, fast, held_out
from headway_experiments.arena.families import build_compiled, build_planted
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Measures, Runs
from headway_experiments.figures import Panel, Series, draw_panels, numbered
from headway_experiments.recipes import smoke
from headway_experiments.talk.induction import ordinary
from headway_experiments.tasks import Bigrams

FIRST = 7_000
"""The first seed of every family; nothing else has used the seeds from it on."""

SEEDS = {"D=1": 16, "D=2": 10, "D=3": 6, "bigrams": 6}
"""The number of seeds of each family of trained models."""

HOW = ("doubling D=1", "doubling D=2", "doubling D=3", "sequential D=3", "passing D=2")
BUILT = {f"by hand,{how}": partial(build_compiled, how, Path()) for how in HOW} | {
    f"planted,{seed}": partial(build_planted, f"planted {seed}", Path())
    for seed in range(FIRST, FIRST + 10)
}
"""Models whose weights are set by hand, and such that are built at random around a circuit."""

ABLATIONS = ("zero", "uniform", "own", "mean", "resample")
"""The contents of rows without a path, of a head that has paths."""

SEQUENCES, MOST = 128, 2_000
"""Held-out sequences, and the sets of paths that are judged at most, a model and ablation."""

FILE = "identifiability.json"
"""The file of a run's folder that keeps its circuits."""

Found = dict[str, dict[str, Any]]
"""By ablation: `circuits`, and `complete`, true if none can be missing; or `refused`, why none is
looked for."""


def runs_of(scale: str) -> Configs:
    """Retrieval at the flow minimum and in-context bigrams; families take turns."""
    if scale == "smoke":
        return {"D=1,seed=1": smoke(2, 1)}
    more = 5 if scale == "paper" else 1
    seeds = ([(family, FIRST + i) for i in range(more * n)] for family, n in SEEDS.items())
    turns = [one for turn in zip_longest(*seeds) for one in turn if one is not None]
    return {f"{family},seed={seed}": config(family, seed) for family, seed in turns}


def config(family: str, seed: int) -> RunConfig:
    """A run of a family: of the recipe `fast`, or of two layers on the synthetic text."""
    if family != "bigrams":
        return replace(fast(int(family[-1]), seed), threads=1)
    task = Bigrams(length=64, asked_at="in-context")
    return replace(ordinary(2, "small")["seed=0"], task=task, seed=seed, threads=1)


def circuits_of(run: Run) -> Found:
    """The minimal circuits of a run under every ablation; each is kept in its folder at once."""
    found: Found = run.read(FILE) or {}
    for ablation in ABLATIONS:
        if ablation not in found:
            found[ablation] = minimal(run.model(), run.task, ablation)
            with run.writing():
                run.write(FILE, found)
    return found


@cache
def built(name: str) -> Found:
    """The minimal circuits of one of the models that are `BUILT`."""
    known = BUILT[name]()
    return {ablation: minimal(known.model, known.task, ablation) for ablation in ABLATIONS}


def minimal(model: Any, task: Task, ablation: str) -> dict[str, Any]:
    """The minimal circuits of a model under an ablation, with the same threshold under all.

    It is the task's own, or else the loss that closes four fifths of the gap between the model's
    own loss and that without attention.
    """
    bench = Bench(model, task, held_out(task, SEQUENCES, 0, "cpu", "circuit"))
    how = {"threshold": Yardstick.of(bench).limits(bench)[-1], "ablation": ablation}
    try:
        found = discover(model, task, **how, sequences=SEQUENCES, trials=False, workers=1)
    except NoCircuitError as reason:
        return {"refused": str(reason)}
    every = every_circuit(model, task, found, sequences=SEQUENCES, most=MOST, workers=1)
    circuits = [[str(path) for path in paths] for paths in every.circuits]
    return {"circuits": circuits, "complete": every.complete}


def measured(runs: Runs) -> Measures:
    """The numbers of circuits, and of sets of heads, by model and ablation.

    A number is unknown if there is nothing to look for, or if not all sets were judged and fewer
    than two circuits were found.
    """
    names = [*BUILT] if len(runs) > 1 else [*BUILT][:1]
    found = {name: built(name) for name in names}
    found |= {name: circuits_of(run) for name, run in runs.items()}
    kinds = "circuits", "heads", "unknown", "own_most", "heads_first", "by_hand"
    measures: Measures = {f"identifiability_{kind}": {} for kind in kinds}
    circuits, heads, unknown, own, first, hand = measures.values()
    for name, ablations in found.items():
        for ablation, one in ablations.items():
            which = f"{name},{ablation}"
            if "refused" not in one and (one["complete"] or len(one["circuits"]) > 1):
                circuits[which] = float(len(one["circuits"]))
                sets = {frozenset(AttentionPath.parse(p).at for p in c) for c in one["circuits"]}
                heads[which] = float(len(sets))
            else:
                unknown[which] = 1.0
        counts = {a: circuits[f"{name},{a}"] for a in ABLATIONS if f"{name},{a}" in circuits}
        if len(counts) == len(ABLATIONS):
            own[name] = float(counts["own"] == max(counts.values()))
            more = [(heads[f"{name},{a}"] == 1) - (n == 1) for a, n in counts.items()]
            first[name] = sum(more) / len(more)
            if name.startswith("by hand"):
                hand[name] = float(set(counts.values()) == {1.0})
    return measures


def shares(found: Measures, of: str) -> dict[str, dict[str, tuple[int, int]]]:
    """By family and ablation, the models with one circuit or set of heads, and those with any.

    Args:
        found: what `measured` gives.
        of: `circuits` or `heads`.
    """
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for name, number in found[f"identifiability_{of}"].items():
        model, _, ablation = name.rpartition(",")
        family = counts.setdefault(model.partition(",")[0], {})
        one, any_ = family.get(ablation, (0, 0))
        family[ablation] = one + (number == 1), any_ + (number > 0)
    return counts


def drawn(runs: Runs) -> Drawn:
    """Shares of models with one circuit, and with one set of heads, by ablation."""
    found, panels = measured(runs), []
    for of, title in (("circuits", "one minimal circuit"), ("heads", "one set of heads")):
        series = []
        for i, (family, counts) in enumerate(shares(found, of).items()):
            known = {a: counts[a] for a in ABLATIONS if counts.get(a, (0, 0))[1]}
            places = [ABLATIONS.index(ablation) + 0.12 * (i - 2) for ablation in known]
            values = [one / total for one, total in known.values()]
            ends = [wilson(*count) for count in known.values()]
            look = numbered(i, marker=True, ls="none", ms=4)
            series.append(Series(places, values, look, family, ends))
        limits = {"ylim": (-0.04, 1.04), "xlim": (-0.6, len(ABLATIONS) - 0.4)}
        panels.append(Panel(title, series, "", "share of models", limits=limits, names=ABLATIONS))
    title = "Models with one minimal circuit, by ablation"
    return {"identifiability": (title, draw_panels(panels, columns=2))}


RUNS = Group("identifiability", "small models, by seed", runs_of)
TITLE = "how many minimal circuits small models have, under five ablations"
EXPERIMENTS = (Experiment(__file__, "identifiability", TITLE, (RUNS,), measured, drawn),)
