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
    together = {}
    for name in ("label", "layers", "jumps_cost", "passes_cost"):
        measure = f"algorithm_{name}"
        together[measure] = {}
        for of_scale in found:
            together[measure] |= of_scale[measure]
    return together


def cells_and_labels(found):
    """A line a cell, in Markdown: labels, and the layers that the runs depend on."""
    lines = [
        "| setting | layers | learnt | jumps | passes on | both | passes, then jumps |"
        " depends on layers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    then = Counter(Cell.of(name) for name in begins_by_passing(found))
    used = layers_used(found)
    for cell, count in algorithms.counts(found).items():
        cells = [setting_of(cell), str(cell.layers)]
        cells.append(f"{algorithms.learnt(count)} of {sum(count.values())}")
        shares = algorithms.shares({"": count})
        for label in LABELS[:2]:
            interval = "".join(map(interval_of, shares[label].values()))
            cells.append(f"{count[label]}{interval}")
        cells += [str(count["both"]), str(then[cell]), spread(used.get(cell, []))]
        lines.append(line_of(cells))
    return "\n".join(lines) + "\n"


def line_of(cells):
    return "| " + " | ".join(cells) + " |"


def interval_of(share):
    low, high = wilson(*share)
    return f" ({low:.2f}..{high:.2f})"


def setting_of(cell):
    """A cell in words."""
    how = "mixture" if cell.mixture else "full depth"
    setting = f"D = {cell.depth}, {how}"
    return f"{setting}, {cell.change}" if cell.change else setting


def layers_used(found):
    """How many layers the runs of each cell depend on that learnt the task."""
    used = {}
    for name, layers in found["algorithm_layers"].items():
        if found["algorithm_label"][name] != LABELS.index("neither"):
            used.setdefault(Cell.of(name), []).append(int(layers))
    return used


def begins_by_passing(found):
    """The runs with the label `both` whose x_2 depends on passes alone, so that a later
    hop takes jumps."""
    jumps = found["algorithm_jumps_cost"]
    passes = found["algorithm_passes_cost"]
    runs = []
    for name, label in found["algorithm_label"].items():
        hop = f"{name} x_2"
        is_both = LABELS[int(label)] == "both"
        if is_both and hop in passes and passes[hop] >= HALF > jumps[hop]:
            runs.append(name)
    return runs


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
    head = ["asked for", "x_3 learnt", "its loss at the end", *hops]
    head[-1] += " learnt at step"
    lines = [line_of(head), "|" + "---|" * len(head)]
    for way in WAYS:
        losses = list(found[f"curriculum_{way}"].values())
        learnt = sum(loss < EMERGES_AT for loss in losses)
        cells = [f"`{way}`", f"{learnt} of {len(losses)}"]
        cells.append(", ".join(f"{loss:.3f}" for loss in losses))
        cells += [mean_step(steps.get((way, hop))) for hop in hops]
        lines.append(line_of(cells))
    return "\n".join(lines) + "\n"


def mean_step(steps):
    return f"{statistics.mean(steps):.0f}" if steps else "–"
