"""The algorithm that is learnt, by setting: jumping over facts, or passing symbols on."""

from collections.abc import Callable, Mapping

from headway.theory import closed_form
from headway_experiments.experiment import Drawn, Experiment, Group, Measures, Runs
from headway_experiments.figures import Panel, draw_panels, share_panel
from headway_experiments.paper.cells import CURRICULA, LONGER, MODELS, Cell, runs_of, untaught
from headway_experiments.paper.ways import LABELS, Label, Way, ways


def measured(runs: Runs) -> Measures:
    """The way of every run (see `ways.Way`), and what the claims are judged by.

    `algorithm_label` numbers the labels in the order of `LABELS`; costs are of hops from x_2 on.
    """
    found = ways(runs)
    labels = {name: way.label for name, way in found.items()}
    layers = {name: len(way.layers) for name, way in found.items()}
    return ways_measured(found) | _by_block(labels, layers) | _by_change(labels)


def ways_measured(found: Mapping[str, Way]) -> Measures:
    """The label of every run, the layers that it depends on, and what cuts cost."""
    measured: Measures = {
        "algorithm_label": {name: float(LABELS.index(way.label)) for name, way in found.items()},
        "algorithm_layers": {name: float(len(way.layers)) for name, way in found.items()},
    }
    for cut in ("jumps", "passes"):
        measured[f"algorithm_{cut}_cost"] = {
            f"{name} {hop}": cost
            for name, way in found.items()
            for hop, cost in getattr(way, cut).items()
            if hop != "x_1"
        }
    return measured


def untaught_measured(runs: Runs) -> Measures:
    """The way of every run; and of those in the fewest layers, whether they learn all hops, and if
    so whether they jump."""
    found = ways(runs)
    tight = {name: found[name].label for name in runs if Cell.of(name).spare == 0}
    learnt = {name: float(label != "neither") for name, label in tight.items()}
    return ways_measured(found) | {
        "doubling_leaps": {n: got for n, got in learnt.items() if not Cell.of(n).mixture},
        "doubling_mixture": {n: got for n, got in learnt.items() if Cell.of(n).mixture},
        "doubling_jumps": {n: float(tight[n] == "jumps") for n, got in learnt.items() if got},
    }


def counts(found: Measures) -> dict[Cell, dict[Label, int]]:
    """The number of runs of every cell by label.

    Args:
        found: what `measured` gives.
    """
    return _counted({name: LABELS[int(n)] for name, n in found["algorithm_label"].items()})


def learnt(count: Mapping[Label, int]) -> int:
    """The number of runs of a cell that have learnt all hops."""
    return sum(count.values()) - count["neither"]


def _by_block(labels: Mapping[str, Label], layers: Mapping[str, int]) -> Measures:
    """Of the cells in which nothing is changed: labels of the runs that have learnt all hops, and
    the layers that they depend on against what their algorithm takes."""

    def share(label: Label, chosen: Callable[[Cell], bool]) -> dict[str, float]:
        return {
            name: float(each == label)
            for name, each in labels.items()
            if each != "neither" and not Cell.of(name).change and chosen(Cell.of(name))
        }

    def beyond(label: Label, least: Callable[[int], int]) -> dict[str, float]:
        cells = {name: Cell.of(name) for name, each in labels.items() if each == label}
        return {
            name: float(layers[name] - least(cell.depth))
            for name, cell in cells.items()
            if not cell.change and cell.depth >= 3 and cell.spare >= 1
        }

    roomy = {
        mixture: lambda c, m=mixture: c.depth == 3 and c.spare >= 1 and c.mixture == m
        for mixture in (False, True)
    }
    return {
        "algorithm_tight_jumps": share("jumps", lambda c: c.depth == 3 and c.spare == 0),
        "algorithm_full_jumps": share("jumps", roomy[False]),
        "algorithm_mixture_jumps": share("jumps", roomy[True]),
        "algorithm_mixture_passes": share("passes on", roomy[True]),
        "algorithm_jump_layers": beyond("jumps", closed_form),
        "algorithm_pass_layers": beyond("passes on", lambda depth: depth + 1),
    }


def _by_change(labels: Mapping[str, Label]) -> Measures:
    """The change of the share of runs that jump, by what is changed, and the runs that go on and
    keep their label; of runs that have learnt all hops."""
    there = _counted(labels)
    jump = {c: count["jumps"] / learnt(count) for c, count in there.items() if learnt(count)}

    def more(cell: Cell, base: Cell) -> dict[str, float]:
        both = cell in jump and base in jump
        return {str(cell): jump[cell] - jump[base]} if both else {}

    found: Measures = {f"algorithm_by_{what}": {} for what in ("mixture", "model", "curriculum")}
    for cell in there:
        base = cell._replace(change="")
        if cell.mixture and not cell.change and cell.depth == 3 and cell.spare >= 1:
            found["algorithm_by_mixture"] |= more(cell, cell._replace(mixture=False))
        if cell.change in MODELS:
            found["algorithm_by_model"] |= more(cell, base)
        if cell.change in CURRICULA:
            found["algorithm_by_curriculum"] |= more(cell, base)
    found["algorithm_kept"] = {
        name: float(labels[name] == labels[before])
        for name in labels
        if Cell.of(name).change == LONGER
        and (before := name.replace(f",{LONGER}", "")) in labels
        and "neither" not in (labels[name], labels[before])
    }
    return found


def _counted(labels: Mapping[str, Label]) -> dict[Cell, dict[Label, int]]:
    found: dict[Cell, dict[Label, int]] = {}
    for name, label in labels.items():
        found.setdefault(Cell.of(name), dict.fromkeys(LABELS, 0))[label] += 1
    return found


def shares(counts: Mapping[str, Mapping[Label, int]]) -> dict[str, dict[str, tuple[int, int]]]:
    """By setting, the runs that have learnt all hops; and of these, that jump, and that pass on."""
    found: dict[str, dict[str, tuple[int, int]]] = {"learnt": {}, **{s: {} for s in LABELS[:2]}}
    for setting, count in counts.items():
        done = learnt(count)
        found["learnt"][setting] = done, sum(count.values())
        for label in LABELS[:2] if done else ():
            found[label][setting] = count[label], done
    return found


def draw(runs: Runs) -> Drawn:
    """The block of depth, layers and mixture, and what is changed one at a time."""
    there = counts(measured(runs))
    changed = {cell._replace(change="") for cell in there if cell.change}
    block: dict[str, dict[str, dict[Label, int]]] = {}
    changes: dict[str, dict[str, dict[Label, int]]] = {}
    for cell, count in there.items():
        title = f"D = {cell.depth}, " + ("a mixture of depths" if cell.mixture else "full depth")
        if not cell.change:
            block.setdefault(title, {})[f"{cell.layers} layers"] = count
        if cell.change or cell in changed:
            name = cell.change or "as it is"
            changes.setdefault(f"{title}, {cell.layers} layers", {})[name] = count
    drawn = {"algorithms": ("Which algorithm is learnt", draw_panels(_panels(block), columns=2))}
    if changes:
        title = "Which algorithm is learnt, one thing changed at a time"
        drawn["algorithms-changes"] = title, draw_panels(_panels(changes), columns=2)
    return drawn


def _panels(groups: Mapping[str, Mapping[str, Mapping[Label, int]]]) -> list[Panel]:
    return [share_panel(title, "share", shares(some), [*some]) for title, some in groups.items()]


RUNS = Group("algorithms", "jumping or passing on", runs_of)
TITLE = "jump over facts, or pass symbols on: which of the two is learnt, and what decides"
UNTAUGHT = Group("doubling", "jumping where it must be, untaught", untaught)
UNTAUGHT_TITLE = "four to seven hops in the fewest layers, with no layer read out but the last"
EXPERIMENTS = (
    Experiment(__file__, "algorithms", TITLE, (RUNS,), measured, draw),
    Experiment(__file__, "doubling", UNTAUGHT_TITLE, (UNTAUGHT,), untaught_measured),
)
