"""The number of minimal circuits of small models, by what stands in rows without a path, and by
exchange."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.find import Exhaustive, candidates_among, discover, every_circuit
from headway.judge import NoCircuitError, Yardstick
from headway.relations import AttentionPath
from headway.replace import Bench
from headway.sweeps import Engine
from headway.tasks import Batch, Edges, Task
from headway.training import fast, held_out
from headway.training.files import is_there, read_json, write_json
from headway.userfile import load_named
from headway_experiments.arena.families import families
from headway_experiments.arena.tracr_programs import compiled_program, programs
from headway_experiments.asked import altered
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Measures
from headway_experiments.figures import draw_panels, share_panel
from headway_experiments.recipes import smoke
from headway_experiments.result_files import require_writable
from headway_experiments.talk.induction import ordinary

FIRST = 7_000
"""The first seed of every family; nothing else has used the seeds from it on."""

SEEDS = {"D=1": 16, "D=2": 10, "D=3": 6, "bigrams": 6}
"""The number of seeds of each family of trained models."""

HOW = ("doubling D=1", "doubling D=2", "doubling D=3", "sequential D=3", "passing D=2")
"""The models whose weights are set by hand."""

ABLATIONS = ("zero", "uniform", "own", "mean", "resample")
"""The contents of rows without a path, of a head that has paths."""

WAYS = (*ABLATIONS, "exchange")
"""The ways of counting circuits: by their loss under an ablation, or by what it costs to exchange
all that is beside them."""

SEQUENCES, MOST = 128, 2_000
"""Held-out sequences, and the sets of paths that are judged at most, a model and ablation."""

Found = dict[str, dict[str, Any]]
"""By way: `circuits`, and `complete`, true if none can be missing; or `refused`, why none is looked
for."""

Solved = tuple[Any, Any]
"""A model, and the task that it solves."""


def runs_of(scale: str) -> Configs:
    """Retrieval at the flow minimum and in-context bigrams; families take turns."""
    if scale == "smoke":
        return {"D=1,seed=1": smoke(2, 1)}
    text = ordinary(2, "small")["seed=0"]
    more = 5 if scale == "paper" else 1
    seeds = ([(family, FIRST + i) for i in range(more * n)] for family, n in SEEDS.items())
    turns = [one for turn in zip_longest(*seeds) for one in turn if one is not None]
    found: Configs = {}
    for family, seed in turns:
        base = fast(int(family[-1]), seed) if family != "bigrams" else text
        found[f"{family},seed={seed}"] = replace(base, seed=seed, threads=1)
    return found


class Models(Group):
    """Trained models and others, whose minimal circuits are kept in the folder `minimal`.

    Strangers are those of a folder `strangers` beside it (see `arena.families.strangers_in`).
    """

    def obtain(self, scale: str, folder: Path, engine: Engine | None) -> None:
        """Trains models; then looks for circuits, of those too that others made."""
        super().obtain(scale, folder, engine)
        require_writable(folder / "minimal")
        for name, made in self.models(scale, folder):
            place = folder / "minimal" / f"{name}.json"
            found: Found = read_json(place) if is_there(place) else {}
            if left := [way for way in WAYS if way not in found]:
                print(f"{name}: looking for all minimal circuits")
                made = cache(made)
                for way in left:
                    found[way] = minimal(made, way)
                    write_json(place, found)

    def found(self, scale: str, folder: Path) -> Mapping[str, Found]:
        """The circuits found so far, by model."""
        kept = folder / "minimal"
        names = [n for n, _ in self.models(scale, folder) if is_there(kept / f"{n}.json")]
        return {name: read_json(kept / f"{name}.json") for name in names}

    def gaps(self, scale: str, folder: Path) -> list[str]:
        """The runs that are not done, and the families that are not there."""
        there = Counter(name.partition(",")[0] for name, _ in self.models(scale, folder))
        left = there - Counter(name.partition(",")[0] for name in self.found(scale, folder))
        lacking = [] if scale == "smoke" else sorted({"Tracr", "strangers"} - {*there})
        gaps = [f"{n} of {there[one]} {one} are not looked into" for one, n in left.items()]
        return [*super().gaps(scale, folder), *gaps, *(f"{one} are not there" for one in lacking)]

    def models(self, scale: str, folder: Path) -> Iterator[tuple[str, Callable[[], Solved]]]:
        """All models by name, and what makes each."""
        for name, run in super().found(scale, folder).items():
            yield name, lambda run=run: (run.model(), run.task)
        yield from others(scale, folder)


def others(scale: str, folder: Path) -> Iterator[tuple[str, Callable[[], Solved]]]:
    """Models that are not trained here: set by hand, built at random around a circuit, compiled by
    Tracr into two heads, and those of the folder's strangers."""
    strangers = folder / "strangers"
    if is_there(strangers):  # a folder is data, and does not say by itself what is executed
        load_named("strangers", str((strangers / "strangers.py").resolve()))
    known = families(range(FIRST, FIRST + 10), 3, strangers if is_there(strangers) else None)

    def built(family: str, name: str) -> Solved:
        one = known[family].build(name, Path())
        return one.model, one.task

    def program(name: str) -> Solved:
        """With its own selectors as relations."""
        model, task = built("tracr", name)
        return model, offering(task, [own for own in task.names if own.startswith("selector ")])

    def stranger(name: str) -> Solved:
        """With the relations that its heads are read to follow, told none."""
        model, task = built("strangers", name)
        paths = discover(model, task, sequences=SEQUENCES, trials=False, workers=1).circuit.paths
        return model, offering(task, sorted({str(path.relation) for path in paths}))

    for name in HOW[:1] if scale == "smoke" else HOW:
        yield f"by hand,{name}", partial(built, "compiled", name)
    if scale == "smoke":
        return
    for name in known["planted"].names:
        yield f"planted,{name.split()[-1]}", partial(built, "planted", name)
    for name in known["tracr"].names:
        if programs()[name].origin == "shipped" and len(compiled_program(name).heads) == 2:
            yield f"Tracr,{name}", partial(program, name)
    for name in known["strangers"].names if "strangers" in known else ():
        yield f"strangers,{name.removeprefix('stranger ')}", partial(stranger, name)


def offering(task: Task, names: Iterable[str]) -> Task:
    """A task whose relations are some of its own, or of those that can be composed."""

    def relations(_: Task, batch: Batch) -> dict[str, Edges]:
        known = task.edges(batch)
        return {name: known[name] for name in names}

    return altered(task, relations=relations)


def minimal(made: Callable[[], Solved], way: str) -> dict[str, Any]:
    """The minimal circuits of a model: by losses under an ablation, or by exchange."""
    return by_exchange(made) if way == "exchange" else by_losses(made, way)


def by_exchange(made: Callable[[], Solved]) -> dict[str, Any]:
    """The minimal circuits of a model that are enough with all that is beside them exchanged."""
    try:
        model, task = made()
        found = discover(model, task, sequences=SEQUENCES, trials=False, workers=1)
        every = every_circuit(model, task, found, sequences=SEQUENCES, most=MOST)
    except HeadwayError as reason:
        return {"refused": str(reason)}
    circuits = sorted(sorted(map(str, paths)) for paths in every.circuits)
    return {"circuits": circuits, "complete": every.complete}


def by_losses(made: Callable[[], Solved], ablation: str) -> dict[str, Any]:
    """The minimal circuits of a model under an ablation, with the same threshold under all.

    It is the task's own, or else the loss that closes four fifths of the gap between the model's
    own loss and that without attention.
    """
    try:
        model, task = made()
        bench = Bench(model, task, held_out(task, SEQUENCES, 0, "cpu", "circuit"))
        how = {"threshold": Yardstick.of(bench).limits(bench)[-1], "ablation": ablation}
        found = discover(model, task, **how, sequences=SEQUENCES, trials=False, workers=1)
    except NoCircuitError as reason:
        return {"refused": str(reason)}
    bench = Bench(model, task, bench.batch, ablation)
    candidates = candidates_among(bench, found.circuit)
    search = Exhaustive(bench.losses, candidates, found.circuit, found.threshold, MOST)
    circuits = sorted(sorted(map(str, paths)) for paths in search.search())
    return {"circuits": circuits, "complete": search.searched == len(search.paths)}


def measured(found: Mapping[str, Found]) -> Measures:
    """The numbers of circuits, and of sets of heads, by model and way.

    A number is unknown if there is nothing to look for, or if not all sets were judged and fewer
    than two circuits were found.
    """
    kinds = "circuits", "heads", "unknown", "own_most", "heads_first", "by_hand"
    measures: Measures = {f"identifiability_{kind}": {} for kind in kinds}
    circuits, heads, unknown, own, first, hand = measures.values()
    for name, ways in found.items():
        for way, one in ways.items():
            which = f"{name},{way}"
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
    """By family and way, the models with one circuit or set of heads, and those with any.

    Args:
        found: what `measured` gives.
        of: `circuits` or `heads`.
    """
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for name, number in found[f"identifiability_{of}"].items():
        model, _, way = name.rpartition(",")
        family = "retrieval" if model.startswith("D=") else model.partition(",")[0]
        family = counts.setdefault(family, {})
        one, any_ = family.get(way, (0, 0))
        family[way] = one + (number == 1), any_ + (number > 0)
    return counts


def drawn(models: Mapping[str, Found]) -> Drawn:
    """Shares of models with one circuit, and with one set of heads, by way of counting."""
    found, panels = measured(models), []
    for of, title in (("circuits", "one minimal circuit"), ("heads", "one set of heads")):
        there = {
            family: {way: counts[way] for way in WAYS if counts.get(way, (0, 0))[1]}
            for family, counts in shares(found, of).items()
        }
        panels.append(share_panel(title, "share of models", there, WAYS))
    title = "Models with one minimal circuit, by way of counting"
    return {"identifiability": (title, draw_panels(panels, columns=2, shared=True))}


RUNS = Models("identifiability", "small models, by seed", runs_of)
TITLE = "how many minimal circuits small models have, under five ablations and by exchange"
EXPERIMENTS = (Experiment(__file__, "identifiability", TITLE, (RUNS,), measured, drawn),)
