"""The tables of the pages on algorithms and on the paper, as their results make
them.
"""

import statistics
from collections import Counter

from headway.dynamics.emergence import EMERGES_AT
from headway.intervals import wilson
from headway_experiments.paper import algorithms
from headway_experiments.paper.cells import Cell
from headway_experiments.paper.curricula import WAYS
from headway_experiments.paper.ways import HALF, LABELS


def of_all_seeds(*found):
    """Measures of each run, of several scales together."""
    names = ("label", "layers", "jumps_cost", "passes_cost")
    return {
        f"algorithm_{name}": {
            run: value
            for each in found
            for run, value in each[f"algorithm_{name}"].items()
        }
        for name in names
    }


def cells_and_labels(found):
    """A line a cell, in Markdown: labels, and the layers that the runs depend on."""
    lines = [
        "| setting | layers | learnt | jumps | passes on | both | passes, then jumps |"
        " depends on layers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    then = Counter(Cell.of(name) for name in begins_by_passing(found))
    used = {}
    for name, layers in found["algorithm_layers"].items():
        if found["algorithm_label"][name] != LABELS.index("neither"):
            used.setdefault(Cell.of(name), []).append(int(layers))
    for cell, count in algorithms.counts(found).items():
        told = [f"{algorithms.learnt(count)} of {sum(count.values())}"]
        between = algorithms.shares({"": count})
        for label in LABELS[:2]:
            ends = [wilson(*share) for share in between[label].values()]
            interval = "".join(f" ({low:.2f}..{high:.2f})" for low, high in ends)
            told.append(f"{count[label]}{interval}")
        told += [str(count["both"]), str(then[cell]), spread(used.get(cell, []))]
        setting = f"D = {cell.depth}, {'mixture' if cell.mixture else 'full depth'}"
        if cell.change:
            setting += f", {cell.change}"
        lines.append(f"| {setting} | {cell.layers} | " + " | ".join(told) + " |")
    return "\n".join(lines) + "\n"


def begins_by_passing(found):
    """The runs with the label `both` whose x_2 depends on passes alone, so that a later
    hop takes jumps."""
    jumps, passes = found["algorithm_jumps_cost"], found["algorithm_passes_cost"]
    both = [
        n
        for n, label in found["algorithm_label"].items()
        if LABELS[int(label)] == "both"
    ]
    return [
        name
        for name in both
        if (hop := f"{name} x_2") in passes and passes[hop] >= HALF > jumps[hop]
    ]


def spread(numbers):
    """Whole numbers, the most frequent ones first: 3 × 8, 4 × 2."""
    every = sorted(set(numbers), key=lambda n: (-numbers.count(n), n))
    return ", ".join(f"{n} × {numbers.count(n)}" for n in every) or "–"


def ways_of_asking(found):
    """A line a way of asking for a chain: in how many seeds the answer was learnt, its
    loss at the end, and the steps at which hops were learnt, averaged over the seeds in
    which they were."""
    steps = {}
    for name, step in found["curriculum_steps"].items():
        way, hop, _ = name.split(" ")
        steps.setdefault((way, hop), []).append(step)
    hops = sorted({hop for _, hop in steps})
    lines = [
        "| asked for | x_3 learnt | its loss at the end | "
        + " | ".join(hops)
        + " learnt at step |",
        "|---|---|---|" + "---|" * len(hops),
    ]
    for way in WAYS:
        losses = list(found[f"curriculum_{way}"].values())
        learnt = sum(loss < EMERGES_AT for loss in losses)
        told = ", ".join(f"{loss:.3f}" for loss in losses)
        means = [
            statistics.mean(steps[way, hop]) if (way, hop) in steps else None
            for hop in hops
        ]
        when = " | ".join("–" if mean is None else f"{mean:.0f}" for mean in means)
        lines.append(f"| `{way}` | {learnt} of {len(losses)} | {told} | {when} |")
    return "\n".join(lines) + "\n"
