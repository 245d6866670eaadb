"""Which algorithm is learnt in which setting, as a figure and as a table."""

from collections import Counter
from collections.abc import Mapping

from headway.language.accuracy import wilson
from headway.papers.claims import Measures
from headway.papers.drawings import Drawn, GroupRuns
from headway.papers.measures.algorithms import algorithms, counts, learnt
from headway.papers.measures.ways import HALF, LABELS, Label
from headway.papers.setups.algorithms import Cell

Share = tuple[float, float, float]
"""A share, and its 95 % interval (Wilson): from and to."""


def shares(count: Mapping[Label, int]) -> dict[str, Share]:
    """The share of runs that have learnt all hops; and of these, that jump, and that pass on."""
    runs, done = sum(count.values()), learnt(count)
    found = {"learnt": (done / runs, *wilson(done, runs))}
    for label in LABELS[:2] if done else ():
        found[label] = count[label] / done, *wilson(count[label], done)
    return found


def table(found: Measures) -> str:
    """A line a cell, in Markdown: labels, and the layers that the runs depend on.

    Args:
        found: what `measures.algorithms` gives.
    """
    lines = [
        "| setting | layers | learnt | jumps | passes on | both | passes, then jumps |"
        " depends on layers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    then = Counter(Cell.of(name) for name in begins_by_passing(found))
    used: dict[Cell, list[int]] = {}
    for name, layers in found["algorithm_layers"].items():
        if found["algorithm_label"][name] != LABELS.index("neither"):
            used.setdefault(Cell.of(name), []).append(int(layers))
    for cell, count in counts(found).items():
        told = [f"{learnt(count)} of {sum(count.values())}"]
        between = shares(count)
        for label in LABELS[:2]:
            share = between.get(label)
            interval = f" ({share[1]:.2f} to {share[2]:.2f})" if share else ""
            told.append(f"{count[label]}{interval}")
        told += [str(count["both"]), str(then[cell]), spread(used.get(cell, []))]
        setting = f"D = {cell.depth}, {'mixture' if cell.mixture else 'full depth'}"
        if cell.change:
            setting += f", {cell.change}"
        lines.append(f"| {setting} | {cell.layers} | " + " | ".join(told) + " |")
    return "\n".join(lines) + "\n"


def begins_by_passing(found: Measures) -> list[str]:
    """The runs with the label `both` whose x_2 depends on passes alone, so that a later hop takes
    jumps.

    Args:
        found: what `measures.algorithms` gives.
    """
    jumps, passes = found["algorithm_jumps_cost"], found["algorithm_passes_cost"]
    both = [n for n, label in found["algorithm_label"].items() if LABELS[int(label)] == "both"]
    return [
        name
        for name in both
        if (hop := f"{name} x_2") in passes and passes[hop] >= HALF > jumps[hop]
    ]


def spread(numbers: list[int]) -> str:
    """Whole numbers, the most frequent ones first: 3 × 8, 4 × 2."""
    every = sorted(set(numbers), key=lambda n: (-numbers.count(n), n))
    return ", ".join(f"{n} × {numbers.count(n)}" for n in every) or "–"


def draw(runs: GroupRuns) -> Drawn:
    """The block of depth, layers and mixture, and what is changed one at a time."""
    from headway.report.figures.phases_plot import Phase, draw_phases

    there = counts(algorithms(runs["algorithms"]))
    changed = {cell._replace(change="") for cell in there if cell.change}
    block: dict[str, list[Phase]] = {}
    changes: dict[str, list[Phase]] = {}
    for cell, count in there.items():
        title = f"D = {cell.depth}, " + ("a mixture of depths" if cell.mixture else "full depth")
        rows = f"{cell.layers} layers"
        if not cell.change:
            block.setdefault(title, []).append(Phase(rows, count, shares(count)))
        if cell.change or cell in changed:
            name = cell.change or "as it is"
            changes.setdefault(f"{title}, {rows}", []).append(Phase(name, count, shares(count)))
    columns = {"learnt": "share of runs", **dict.fromkeys(LABELS[:2], "share of those")}
    drawn = {"algorithms": ("Which algorithm is learnt", draw_phases(block, columns))}
    if changes:
        title = "Which algorithm is learnt, one thing changed at a time"
        drawn["algorithms-changes"] = title, draw_phases(changes, columns)
    return drawn
