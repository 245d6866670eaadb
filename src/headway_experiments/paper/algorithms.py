"""The algorithm that is learnt, by setting: jumping over facts, or passing symbols
on.
"""

from collections.abc import Mapping, Sequence

from headway.theory import closed_form
from headway_experiments.experiment import Drawn, Experiment, Group, Measures, Runs
from headway_experiments.figures import Panel, draw_panels, share_panel
from headway_experiments.paper.cells import (
    CURRICULA,
    LONGER,
    MODELS,
    Cell,
    runs_of,
    untaught,
)
from headway_experiments.paper.ways import LABELS, Label, Way, ways


def measured(runs: Runs) -> Measures:
    """The way of every run (see `ways.Way`), and what the claims are judged by.

    `algorithm_label` numbers the labels in the order of `LABELS`; costs are of hops
    from x_2 on.
    """
    way_of = ways(runs)
    labels = {name: way.label for name, way in way_of.items()}
    layers = {name: len(way.layers) for name, way in way_of.items()}
    return ways_measured(way_of) | _by_block(labels, layers) | _by_change(labels)


def ways_measured(way_of: Mapping[str, Way]) -> Measures:
    """The label of every run, the layers that it depends on, and what cuts cost."""
    labels = {}
    layers = dict[str, float]()
    jumps = {}
    passes = dict[str, float]()
    for name, way in way_of.items():
        labels[name] = float(LABELS.index(way.label))
        layers[name] = float(len(way.layers))
        jumps |= _beyond_first(name, way.jumps)
        passes |= _beyond_first(name, way.passes)
    return {
        "algorithm_label": labels,
        "algorithm_layers": layers,
        "algorithm_jumps_cost": jumps,
        "algorithm_passes_cost": passes,
    }


def _beyond_first(name: str, costs: Mapping[str, float]) -> dict[str, float]:
    """The costs of a run's hops from x_2 on."""
    return {f"{name} {hop}": cost for hop, cost in costs.items() if hop != "x_1"}


def untaught_measured(runs: Runs) -> Measures:
    """The way of every run; and of those in the fewest layers, whether they learn all
    hops, and if so whether they jump."""
    way_of = ways(runs)
    leaps = {}
    mixture = dict[str, float]()
    jumps = dict[str, float]()
    for name in runs:
        cell = Cell.of(name)
        label = way_of[name].label
        if cell.spare == 0:
            learnt = label != "neither"
            taught = mixture if cell.mixture else leaps
            taught[name] = float(learnt)
            if learnt:
                jumps[name] = float(label == "jumps")
    doubling = {
        "doubling_leaps": leaps,
        "doubling_mixture": mixture,
        "doubling_jumps": jumps,
    }
    return ways_measured(way_of) | doubling


def counts(measures: Measures) -> dict[Cell, dict[Label, int]]:
    """The number of runs of every cell by label.

    Args:
        measures: what `measured` gives.
    """
    numbers = measures["algorithm_label"]
    labels = {name: LABELS[int(number)] for name, number in numbers.items()}
    return _counted(labels)


def learnt(count: Mapping[Label, int]) -> int:
    """The number of runs of a cell that have learnt all hops."""
    return sum(count.values()) - count["neither"]


def _by_block(labels: Mapping[str, Label], layers: Mapping[str, int]) -> Measures:
    """Of the block: shares of ways, and how many layers more than needed are used."""
    tight = []
    full = []
    mixture = []
    more: Measures = {"jumps": {}, "passes on": {}}
    for name, label in labels.items():
        cell = Cell.of(name)
        if cell.change or label == "neither":
            continue
        if cell.depth == 3:
            roomy = mixture if cell.mixture else full
            runs = roomy if cell.spare else tight
            runs.append(name)
        if label in more and cell.depth >= 3 and cell.spare >= 1:
            least = closed_form(cell.depth) if label == "jumps" else cell.depth + 1
            more[label][name] = float(layers[name] - least)
    return {
        "algorithm_tight_jumps": _share("jumps", tight, labels),
        "algorithm_full_jumps": _share("jumps", full, labels),
        "algorithm_mixture_jumps": _share("jumps", mixture, labels),
        "algorithm_mixture_passes": _share("passes on", mixture, labels),
        "algorithm_jump_layers": more["jumps"],
        "algorithm_pass_layers": more["passes on"],
    }


def _share(
    label: Label, runs: Sequence[str], labels: Mapping[str, Label]
) -> dict[str, float]:
    """Tell if runs go one way."""
    return {name: float(labels[name] == label) for name in runs}


def _by_change(labels: Mapping[str, Label]) -> Measures:
    """The difference that each change makes to the share of runs that jump, and whether
    a run keeps its way when it is trained for longer."""
    jump = {}
    for cell, count in _counted(labels).items():
        if learnt(count):
            jump[cell] = count["jumps"] / learnt(count)
    mixture = {}
    model = dict[str, float]()
    curriculum = dict[str, float]()
    for cell, share in jump.items():
        base = cell._replace(change="")
        full = cell._replace(mixture=False)
        is_roomy = cell.depth == 3 and cell.spare >= 1
        if cell.mixture and not cell.change and is_roomy and full in jump:
            mixture[str(cell)] = share - jump[full]
        if cell.change in MODELS and base in jump:
            model[str(cell)] = share - jump[base]
        if cell.change in CURRICULA and base in jump:
            curriculum[str(cell)] = share - jump[base]
    return {
        "algorithm_by_mixture": mixture,
        "algorithm_by_model": model,
        "algorithm_by_curriculum": curriculum,
        "algorithm_kept": _kept(labels),
    }


def _kept(labels: Mapping[str, Label]) -> dict[str, float]:
    """Tell if runs that were trained for longer keep the way of the shorter run."""
    kept = {}
    for name, label in labels.items():
        before = labels.get(name.replace(f",{LONGER}", ""), "neither")
        if Cell.of(name).change == LONGER and "neither" not in (label, before):
            kept[name] = float(label == before)
    return kept


def _counted(labels: Mapping[str, Label]) -> dict[Cell, dict[Label, int]]:
    counted: dict[Cell, dict[Label, int]] = {}
    for name, label in labels.items():
        counted.setdefault(Cell.of(name), dict.fromkeys(LABELS, 0))[label] += 1
    return counted


def shares(
    counts: Mapping[str, Mapping[Label, int]],
) -> dict[str, dict[str, tuple[int, int]]]:
    """The runs that have learnt all hops, by setting; and of these, those that jump and
    those that pass on.
    """
    ways = LABELS[:2]
    shares: dict[str, dict[str, tuple[int, int]]] = {"learnt": {}}
    for label in ways:
        shares[label] = {}
    for setting, count in counts.items():
        done = learnt(count)
        shares["learnt"][setting] = done, sum(count.values())
        if done:
            for label in ways:
                shares[label][setting] = count[label], done
    return shares


def _title(cell: Cell) -> str:
    asked = "a mixture of depths" if cell.mixture else "full depth"
    return f"D = {cell.depth}, {asked}"


def draw(runs: Runs) -> Drawn:
    """The block of depth, layers and mixture, and what is changed one at a time."""
    by_cell = counts(measured(runs))
    changed = {cell._replace(change="") for cell in by_cell if cell.change}
    block: dict[str, dict[str, dict[Label, int]]] = {}
    changes: dict[str, dict[str, dict[Label, int]]] = {}
    for cell, count in by_cell.items():
        title = _title(cell)
        layers = f"{cell.layers} layers"
        if not cell.change:
            block.setdefault(title, {})[layers] = count
        if cell.change or cell in changed:
            name = cell.change or "as it is"
            changes.setdefault(f"{title}, {layers}", {})[name] = count
    drawn = {
        "algorithms": (
            "Which algorithm is learnt",
            draw_panels(_panels(block), columns=2),
        )
    }
    if changes:
        title = "Which algorithm is learnt, one thing changed at a time"
        drawn["algorithms-changes"] = title, draw_panels(_panels(changes), columns=2)
    return drawn


def _panels(groups: Mapping[str, Mapping[str, Mapping[Label, int]]]) -> list[Panel]:
    panels = []
    for title, counts in groups.items():
        panel = share_panel(title, "share", shares(counts), [*counts])
        panels.append(panel)
    return panels


RUNS = Group("algorithms", "jumping or passing on", runs_of)
TITLE = (
    "jump over facts, or pass symbols on: which of the two is learnt, and what decides"
)
UNTAUGHT = Group("doubling", "jumping where it must be, untaught", untaught)
UNTAUGHT_TITLE = (
    "four to seven hops in the fewest layers, with no layer read out but the last"
)
EXPERIMENTS = (
    Experiment(__file__, "algorithms", TITLE, (RUNS,), measured, draw),
    Experiment(__file__, "doubling", UNTAUGHT_TITLE, (UNTAUGHT,), untaught_measured),
)
