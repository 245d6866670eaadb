"""The number of minimal circuits of small models, by what stands in rows without a
path, and by exchange."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.find import Exhaustive, candidates_among, discover, every_circuit
from headway.judge import NoCircuitError, Yardstick
from headway.relations import AttentionPath
from headway.replace import Bench, Head
from headway.sweeps import Engine
from headway.tasks import Batch, Edges, Task
from headway.training import fast, held_out
from headway.training.files import is_there, read_json, write_json
from headway.userfile import load_named
from headway_experiments.arena.families import Family, families
from headway_experiments.arena.tracr_programs import compiled_program, programs
from headway_experiments.asked import altered
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Measures
from headway_experiments.figures import Panel, draw_panels, share_panel
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
"""The ways of counting circuits: by their loss under an ablation, or by what it costs
to exchange all that is beside them."""

SEQUENCES, MOST = 128, 2_000
"""Held-out sequences, and the sets of paths that are judged at most, a model and
ablation.
"""

Found = dict[str, dict[str, Any]]
"""By way: `circuits`, and `complete`, true if none can be missing; or `refused`, why
none is looked for."""

Solved = tuple[Any, Any]
"""A model, and the task that it solves."""


def runs_of(scale: str) -> Configs:
    """Retrieval at the flow minimum and in-context bigrams; families take turns."""
    if scale == "smoke":
        return {"D=1,seed=1": smoke(2, 1)}
    text = ordinary(2, "small")["seed=0"]
    times = 5 if scale == "paper" else 1
    configs: Configs = {}
    for i in range(times * max(SEEDS.values())):
        for family, count in SEEDS.items():
            if i < times * count:
                seed = FIRST + i
                base = text
                if family != "bigrams":
                    depth = int(family[-1])
                    base = fast(depth, seed)
                configs[f"{family},seed={seed}"] = replace(base, seed=seed, threads=1)
    return configs


class Models(Group):
    """Trained models and others, whose minimal circuits are kept in the folder
    `minimal`.

    Strangers are those of a folder `strangers` beside it (see
    `arena.families.strangers_in`).
    """

    def obtain(self, scale: str, folder: Path, engine: Engine | None) -> None:
        """Trains models; then looks for circuits, of those too that others made."""
        super().obtain(scale, folder, engine)
        require_writable(folder / "minimal")
        for name, made in self.models(scale, folder):
            place = folder / "minimal" / f"{name}.json"
            by_way: Found = read_json(place) if is_there(place) else {}
            if left := [way for way in WAYS if way not in by_way]:
                print(f"{name}: looking for all minimal circuits")
                made = cache(made)
                for way in left:
                    by_way[way] = minimal(made, way)
                    write_json(place, by_way)

    def found(self, scale: str, folder: Path) -> Mapping[str, Found]:
        """The circuits found so far, by model."""
        by_model = {}
        for name, _ in self.models(scale, folder):
            place = folder / "minimal" / f"{name}.json"
            if is_there(place):
                by_model[name] = read_json(place)
        return by_model

    def gaps(self, scale: str, folder: Path) -> list[str]:
        """The runs that are not done, and the families that are not there."""
        models = self.models(scale, folder)
        planned = Counter(_family(name) for name, _ in models)
        looked_into = self.found(scale, folder)
        done = Counter(_family(name) for name in looked_into)
        gaps = list(super().gaps(scale, folder))
        for family, count in (planned - done).items():
            gaps.append(f"{count} of {planned[family]} {family} are not looked into")
        if scale != "smoke":
            lacking = {"Tracr", "strangers"} - {*planned}
            gaps += [f"{family} are not there" for family in sorted(lacking)]
        return gaps

    def models(
        self, scale: str, folder: Path
    ) -> Iterator[tuple[str, Callable[[], Solved]]]:
        """All models by name, and what makes each."""
        for name, run in super().found(scale, folder).items():
            yield name, lambda run=run: (run.model(), run.task)
        yield from others(scale, folder)


def others(scale: str, folder: Path) -> Iterator[tuple[str, Callable[[], Solved]]]:
    """Models that are not trained here: set by hand, built at random around a circuit,
    compiled by Tracr into two heads, and those of the folder's strangers."""
    strangers = folder / "strangers"
    has_strangers = is_there(strangers)
    if has_strangers:  # a folder is data, and does not say by itself what is executed
        load_named("strangers", str((strangers / "strangers.py").resolve()))
    seeds = range(FIRST, FIRST + 10)
    known = families(seeds, 3, strangers if has_strangers else None)
    for name in HOW[:1] if scale == "smoke" else HOW:
        yield f"by hand,{name}", partial(_built, known["compiled"], name)
    if scale == "smoke":
        return
    for name in known["planted"].names:
        seed = name.removeprefix("planted ")
        yield f"planted,{seed}", partial(_built, known["planted"], name)
    for name in known["tracr"].names:
        is_shipped = programs()[name].origin == "shipped"
        if is_shipped and len(compiled_program(name).heads) == 2:
            yield f"Tracr,{name}", partial(_program, known["tracr"], name)
    for name in known["strangers"].names:
        stem = name.removeprefix("stranger ")
        yield f"strangers,{stem}", partial(_stranger, known["strangers"], name)


def _built(family: Family, name: str) -> Solved:
    known = family.build(name, Path())
    return known.model, known.task


def _program(family: Family, name: str) -> Solved:
    """With its own selectors as relations."""
    model, task = _built(family, name)
    selectors = [
        relation for relation in task.names if relation.startswith("selector ")
    ]
    return model, offering(task, selectors)


def _stranger(family: Family, name: str) -> Solved:
    """With the relations that its heads are read to follow, told none."""
    model, task = _built(family, name)
    discovery = discover(model, task, sequences=SEQUENCES, trials=False, workers=1)
    relations = {str(path.relation) for path in discovery.circuit.paths}
    return model, offering(task, sorted(relations))


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
    """The minimal circuits of a model that are enough with all that is beside them
    exchanged.
    """
    try:
        model, task = made()
        discovery = discover(model, task, sequences=SEQUENCES, trials=False, workers=1)
        every = every_circuit(model, task, discovery, sequences=SEQUENCES, most=MOST)
    except HeadwayError as reason:
        return {"refused": str(reason)}
    circuits = [sorted(map(str, paths)) for paths in every.circuits]
    circuits.sort()
    return {"circuits": circuits, "complete": every.complete}


def by_losses(made: Callable[[], Solved], ablation: str) -> dict[str, Any]:
    """The minimal circuits of a model under an ablation, with the same threshold under
    all.

    It is the task's own, or else the loss that closes four fifths of the gap between
    the model's own loss and that without attention.
    """
    try:
        model, task = made()
        batch = held_out(task, SEQUENCES, 0, "cpu", "circuit")
        bench = Bench(model, task, batch)
        how: dict[str, Any] = {"ablation": ablation, "sequences": SEQUENCES}
        how["threshold"] = Yardstick.of(bench).limits(bench)[-1]
        discovery = discover(model, task, **how, trials=False, workers=1)
    except NoCircuitError as reason:
        return {"refused": str(reason)}
    bench = Bench(model, task, batch, ablation)
    candidates = candidates_among(bench, discovery.circuit)
    search = Exhaustive(
        bench.losses, candidates, discovery.circuit, discovery.threshold, MOST
    )
    circuits = [sorted(map(str, paths)) for paths in search.search()]
    return {
        "circuits": sorted(circuits),
        "complete": search.searched == len(search.paths),
    }


def measured(by_model: Mapping[str, Found]) -> Measures:
    """The numbers of circuits, and of sets of heads, by model and way.

    A number is unknown if there is nothing to look for, or if not all sets were judged
    and fewer than two circuits were found.
    """
    measures = _counted(by_model)
    circuits = measures["identifiability_circuits"]
    heads = measures["identifiability_heads"]
    own = {}
    first = {}
    hand = {}
    for name in by_model:
        runs = [f"{name},{way}" for way in ABLATIONS]
        if all(run in circuits for run in runs):
            most = max(circuits[run] for run in runs)
            own[name] = float(circuits[f"{name},own"] == most)
            more = [(heads[run] == 1) - (circuits[run] == 1) for run in runs]
            first[name] = sum(more) / len(more)
            if name.startswith("by hand"):
                is_only = all(circuits[run] == 1 for run in runs)
                hand[name] = float(is_only)
    measures["identifiability_own_most"] = own
    measures["identifiability_heads_first"] = first
    measures["identifiability_by_hand"] = hand
    return measures


def _counted(by_model: Mapping[str, Found]) -> Measures:
    """The minimal circuits of every model and way, and their sets of heads, where
    known.
    """
    circuits = {}
    heads = {}
    unknown = {}
    for name, ways in by_model.items():
        for way, answer in ways.items():
            run = f"{name},{way}"
            if _is_known(answer):
                circuits[run] = float(len(answer["circuits"]))
                heads[run] = float(len(_sets_of_heads(answer["circuits"])))
            else:
                unknown[run] = 1.0
    return {
        "identifiability_circuits": circuits,
        "identifiability_heads": heads,
        "identifiability_unknown": unknown,
    }


def _is_known(answer: Mapping[str, Any]) -> bool:
    """Tell if all minimal circuits are found, or at least more than one."""
    if "refused" in answer:
        return False
    return answer["complete"] or len(answer["circuits"]) > 1


def _sets_of_heads(circuits: Sequence[Sequence[str]]) -> set[frozenset[Head]]:
    """The heads of each circuit, every set once."""
    sets = set()
    for paths in circuits:
        heads = frozenset(AttentionPath.parse(path).at for path in paths)
        sets.add(heads)
    return sets


def shares(measures: Measures, of: str) -> dict[str, dict[str, tuple[int, int]]]:
    """The models with one circuit or set of heads, and those with any, by family and
    way.

    Args:
        measures: what `measured` gives.
        of: `circuits` or `heads`.
    """
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for name, number in measures[f"identifiability_{of}"].items():
        model, _, way = name.rpartition(",")
        family = "retrieval" if model.startswith("D=") else _family(model)
        ways = counts.setdefault(family, {})
        single, some = ways.get(way, (0, 0))
        ways[way] = single + (number == 1), some + (number > 0)
    return counts


def _family(model: str) -> str:
    return model.partition(",")[0]


def drawn(models: Mapping[str, Found]) -> Drawn:
    """Shares of models with one circuit, and with one set of heads, by way of
    counting.
    """
    measures = measured(models)
    panels = [
        _shares_panel(measures, "circuits", "one minimal circuit"),
        _shares_panel(measures, "heads", "one set of heads"),
    ]
    title = "Models with one minimal circuit, by way of counting"
    return {"identifiability": (title, draw_panels(panels, columns=2, shared=True))}


def _shares_panel(measures: Measures, of: str, title: str) -> Panel:
    """The shares of models by family and way, where there are models."""
    by_family: dict[str, dict[str, tuple[int, int]]] = {}
    for family, counts in shares(measures, of).items():
        by_family[family] = {}
        for way in WAYS:
            single, some = counts.get(way, (0, 0))
            if some:
                by_family[family][way] = single, some
    return share_panel(title, "share of models", by_family, WAYS)


RUNS = Models("identifiability", "small models, by seed", runs_of)
TITLE = (
    "how many minimal circuits small models have, under five ablations and by exchange"
)
EXPERIMENTS = (
    Experiment(__file__, "identifiability", TITLE, (RUNS,), measured, drawn),
)
