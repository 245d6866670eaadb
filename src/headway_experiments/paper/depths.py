"""One to five hops against the layers that solve them, one head a layer."""

import statistics
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from headway.dynamics import hop_steps
from headway.recipes import changed
from headway.sweeps import grid
from headway.tasks import Retrieval
from headway.theory import closed_form, theorem_1_bound
from headway.training import Deepening, Run, RunConfig, fast
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.figures import Panel, Series, draw_panels, numbered
from headway_experiments.reading import (
    SOLVED,
    correlations,
    is_solved,
    minimum,
    task_of,
)
from headway_experiments.recipes import crossed, paper, smoke


def small(depth: int = 3, layers: int = 3, seed: int = 0) -> RunConfig:
    """`fast` at the full depth with so many layers of one head, in less time, stopped
    when solved.

    It has smaller batches, a shorter cool-down and the same decay for all: it measures
    whether every hop is learnt, not how well. Where `fast` deepens (in the fewest
    layers), it differs from `fast` at the end only.
    """
    base = fast(depth, seed, n_layers=layers)
    ends = {"training.stop_below": 0.9 * SOLVED, "training.checkpoint_every": 0}
    if isinstance(base.training.curriculum, Deepening):
        return changed(base, ends)
    shorter = {
        "training.steps": 600 + 800 * depth,
        "training.batch_size": 64,
        "training.weight_decay": 0.05,
        "training.cooldown_steps": 400 + 200 * depth,
    }
    return changed(base, {**ends, **shorter})


def printed(depth: int = 3, layers: int = 3, seed: int = 0) -> RunConfig:
    """The recipe `paper` with so many layers."""
    return changed(paper(depth, seed), {"model.n_layers": layers})


def runs_of(scale: str) -> Configs:
    """One to five hops against the layers, one head a layer."""
    if scale == "smoke":
        return crossed((1, 2), (0,), smoke)
    config, layers = (printed, "1..8") if scale == "paper" else (small, "1..6")
    plan = grid(config, {"depth": "1..5", "layers": layers, "seed": "0..2"})
    return dict(plan.runs)


def measured(runs: Runs) -> Measures:
    """The hops that models learn against those that the theory allows; the least layers
    that solve D hops with any seed; and the steps at which x_1 is learnt with the most
    layers."""
    least = _least_layers(runs)
    first, never = _first_hop(runs)
    beyond = {}
    for name, run in runs.items():
        beyond[name] = float(learnt_hops(run) - reach(run.config))
    least_layers = {f"D={depth}": float(layers) for depth, layers in least.items()}
    first_hop = {f"D={depth}": step for depth, step in first.items()}
    return {
        "depths_beyond": beyond,
        "depths_least_layers": least_layers,
        "depths_above_minimum": _above_minimum(runs, least),
        "depths_correlation": correlations({"all depths": [*least.items()]}),
        "depths_first_hop": first_hop,
        "depths_first_hop_correlation": correlations({"all depths": [*first.items()]}),
        "depths_first_hop_not_reached": never,
    }


def _above_minimum(runs: Runs, least: Mapping[int, int]) -> dict[str, float]:
    """The fewest layers by depth, less the flow minimum where it is known."""
    proven = {_depth(run): minimum(run) for run in runs.values()}
    above = {}
    for depth, layers in least.items():
        bound = proven[depth]
        if bound is not None:
            above[f"D={depth}"] = float(layers - bound)
    return above


def _least_layers(runs: Runs) -> dict[int, int]:
    """The fewest layers of a run that solved its depth, by depth."""
    least: dict[int, int] = {}
    for run in runs.values():
        if is_solved(run):
            depth = _depth(run)
            layers = run.config.transformer.n_layers
            least[depth] = min(layers, least.get(depth, layers))
    return dict(sorted(least.items()))


def _first_hop(runs: Runs) -> tuple[dict[int, float], dict[str, float]]:
    """Of the runs with the most layers, the mean step by depth at which their first hop
    emerged, where it did in all of them; and the last steps of those in which it did
    not, by name."""
    most = max((run.config.transformer.n_layers for run in runs.values()), default=0)
    emerged: dict[int, list[float]] = {}
    never: dict[str, float] = {}
    for name, run in runs.items():
        if run.config.transformer.n_layers == most:
            metrics = run.metrics()
            step = hop_steps(metrics, run.task.hops)["x_1"]
            if step is None:
                never[name] = metrics[-1]["step"]
            else:
                emerged.setdefault(_depth(run), []).append(step)
    for name in never:
        emerged.pop(_depth(runs[name]), None)
    first = {depth: statistics.mean(steps) for depth, steps in sorted(emerged.items())}
    return first, never


def reach(config: RunConfig) -> int:
    """The most hops that the theory allows a model: the furthest x_j that its query can
    hold.
    """
    flow = config.task.flow()
    assert flow is not None  # as the retrieval problem has one
    holdings = flow.holdings(config.transformer.n_layers, config.transformer.causal)
    held = holdings[-1][flow.query]
    symbols = [piece for piece in held if piece.startswith("x_")]
    hops = [int(symbol.removeprefix("x_")) for symbol in symbols]
    return max(hops, default=0)


def learnt_hops(run: Run) -> int:
    """The hops that a run has learnt from x_1 on without a gap: their partial losses
    are below two thirds of what predicting the candidates' mean costs."""
    below = run.task.references()["mean of the candidates"] * 2 / 3
    losses = run.metrics()[-1]["partial"].values()
    learnt = takewhile(lambda loss: loss < below, losses)
    return len(list(learnt))


def _depth(run: Run) -> int:
    return task_of(run.config, Retrieval).depth


def drawn(runs: Runs) -> Drawn:
    """The models that solved their hops, by hops and layers."""
    solved = {}
    for run in runs.values():
        place = _depth(run), run.config.transformer.n_layers
        solved.setdefault(place, []).append(is_solved(run))
    counts = {place: (sum(each), len(each)) for place, each in solved.items()}
    deepest = max(depth for depth, _ in counts)
    figure = draw_panels([depths_panel(max(deepest, 2), counts)])
    return {"depths": ("Hops solved by so many layers, one head a layer", figure)}


def depths_panel(
    deepest: int, trained: Mapping[tuple[int, int], tuple[int, int]]
) -> Panel:
    """The least layers against the depth, and by depth and layers how many of the
    models solved.
    """
    depths = list(range(1, deepest + 1))
    causal = [closed_form(depth, True) for depth in depths]
    unmasked = [closed_form(depth, False) for depth in depths]
    theorem = [theorem_1_bound(depth) for depth in depths]
    shares = {place: solved / runs for place, (solved, runs) in trained.items()}
    every = [place for place, share in shares.items() if share == 1]
    some = [place for place, share in shares.items() if 0 < share < 1]
    none = [place for place, share in shares.items() if share == 0]
    series = [
        _steps(depths, causal, 0, "least, causal mask: ⌊log₂ D⌋ + 2"),
        _steps(depths, unmasked, 1, "least, no mask: ⌈log₃(4D + 1)⌉"),
        _steps(depths, theorem, 2, "theorem 1 (Musat 2024): ⌈log₃ 2D⌉"),
        *_dots(every, "trained: all seeds solved", marker="o", mfc=None),
        *_dots(some, "trained: some seeds solved", marker="o", mfc="none"),
        *_dots(none, "trained: none solved", marker="x", mfc=None),
    ]
    log = "x" if deepest > 40 else ""
    return Panel("", series, "D, retrieval steps", "layers", log=log)


def _steps(
    depths: Sequence[int], layers: Sequence[int], number: int, name: str
) -> Series:
    return Series(depths, layers, numbered(number, drawstyle="steps-post"), name)


def _dots(places: Sequence[tuple[int, int]], name: str, **look: Any) -> list[Series]:
    """Black dots at depths and layers, if there are any."""
    if not places:
        return []
    depths = [depth for depth, _ in places]
    layers = [n for _, n in places]
    return [
        Series(depths, layers, {"color": "black", **look, "ls": "none", "ms": 6}, name)
    ]


RUNS = Group("depths", "hops against layers", runs_of)
TITLE = "one to five hops against the layers that solve them"
EXPERIMENTS = (Experiment(__file__, "depths", TITLE, (RUNS,), measured, drawn),)
