"""The figures of every experiment, drawn from its runs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headway.circuits import saved_discovery, saved_timeline
from headway.papers.depths import SOLVED
from headway.papers.measures import studies
from headway.papers.measures.reading import least_heads, task_of
from headway.tasks import Retrieval
from headway.training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GroupRuns = Mapping[str, Mapping[str, Run]]
"""The runs that are done, by group and name."""
Drawn = dict[str, tuple[str, "Figure"]]
"""Title and figure, by the name of its file."""


def bounds(_: GroupRuns) -> Drawn:
    """Theorem 1: the least layers against D."""
    from headway.report.figures.depth_plot import draw_depths

    return {"theorem1": ("Least layers against retrieval steps", draw_depths(64, {}))}


def flow(_: GroupRuns) -> Drawn:
    """Figure 3: which positions share information."""
    from headway.report.figures.flow_drawing import draw_flow
    from headway.theory import retrieval_flow, witness

    flow, title = retrieval_flow(5), "Positions that share information, layer by layer, D = 5"
    found = witness(flow)
    stages = flow.holdings(len({path.layer for path in found.paths}), True)
    return {"fig3": (title, draw_flow(flow, True, found.paths, stages, title))}


def layers(runs: GroupRuns) -> Drawn:
    """Figure 4: final losses by number of layers."""
    from headway.report.figures.layers_plot import draw_layers

    figure = draw_layers(runs["ic"].values(), runs["non-ic"].values())
    return {"fig4": ("Final loss by number of layers", figure)}


def circuits(runs: GroupRuns) -> Drawn:
    """Figures 5 and 7: the circuit of every run."""
    from headway.report.figures import draw_circuit

    drawn: Drawn = {}
    for group, figure in (("abc", "fig5"), ("d", "fig7")):
        for name, run in runs.get(group, {}).items():
            if run.read("circuit.json") is not None:
                title = f"Circuit of {name}"
                found = saved_discovery(run)
                drawn[f"{figure}-{name}"] = title, draw_circuit(found, run.task, title)
    return drawn


def losses(runs: GroupRuns) -> Drawn:
    """Figure 6: the losses of every run."""
    from headway.report.figures import draw_losses

    return {
        f"fig6-{name}": (
            f"Losses of {name} during training",
            draw_losses(run.metrics(), run.task.hops, run.task.references()),
        )
        for name, run in runs["d"].items()
    }


def births(runs: GroupRuns) -> Drawn:
    """Figure 7: circuits, and when their paths were born."""
    from headway.report.figures.births_plot import draw_births

    drawn = circuits(runs)
    for name, run in runs["d"].items():
        if run.read("emergence.json") is not None:
            figure = draw_births(saved_timeline(run))
            drawn[f"fig7-births-{name}"] = f"Births of the paths of {name}", figure
    return drawn


def maps(runs: GroupRuns) -> Drawn:
    """Appendix C: the attention of every layer."""
    from headway.circuits.roles import block_starts, position_labels
    from headway.report import Findings
    from headway.report.figures import draw_attention

    drawn: Drawn = {}
    for group in ("abc", "d"):
        for name, run in runs[group].items():
            found = Findings.of(run)
            labels = position_labels(run.task, found.example)
            starts = block_starts(run.task, found.example)
            figure = draw_attention(found.example_attention(), labels, found.useful_heads, starts)
            drawn[f"appendix-c-{group}-{name}"] = f"Attention maps of {name}", figure
    return drawn


def paths(runs: GroupRuns) -> Drawn:
    """Appendix D: the attention along every path against the step."""
    from headway.report.figures.births_plot import draw_paths

    return {
        f"appendix-d-{name}": (
            f"Attention along every path of {name} during training",
            draw_paths(saved_timeline(run)),
        )
        for name, run in runs["d"].items()
        if run.read("emergence.json") is not None
    }


def depths(runs: GroupRuns) -> Drawn:
    """Which models solved how many hops with how many layers."""
    from headway.report.figures import depth_plot

    solved: dict[tuple[int, int], list[bool]] = {}
    for run in runs["depths"].values():
        place = task_of(run.config, Retrieval).depth, run.config.transformer.n_layers
        solved.setdefault(place, []).append(run.metrics()[-1]["val_loss"] < SOLVED)
    counts = {place: (sum(each), len(each)) for place, each in solved.items()}
    deepest = max(depth for depth, _ in counts)
    figure = depth_plot.draw_depths(max(deepest, 2), counts)
    return {"depths": ("Hops solved by so many layers, one head a layer", figure)}


def curricula(runs: GroupRuns) -> Drawn:
    """The partial losses of every way of asking."""
    from headway.report.figures import curricula_plot

    ways: dict[str, list[Run]] = {}
    for name, run in runs["curricula"].items():
        ways.setdefault(name.split(",")[0], []).append(run)
    title = "Partial losses against the step, by the way of asking"
    return {"curricula": (title, curricula_plot.draw_curricula(ways))}


def heads(runs: GroupRuns) -> Drawn:
    """How many heads circuits use, over seeds."""
    from headway.report.figures.spread_plot import draw_counts

    measured = studies.circuits(runs["circuits"])
    sizes: dict[str, list[float]] = {}
    for name, heads in measured["circuits_useful_heads"].items():
        sizes.setdefault(name.split(",")[0], []).append(heads)
    if not sizes:
        return {}
    config = next(iter(runs["circuits"].values())).config
    least = least_heads(config)
    level = None if least is None else (f"{least} would do", float(least))
    return {"circuits": ("Useful heads, over seeds", draw_counts(sizes, "useful heads", level))}


def lengths(runs: GroupRuns) -> Drawn:
    """When the first hop is learnt, against the length of the sequence."""
    from headway.report.figures.spread_plot import draw_growth

    steps = studies.lengths(runs["lengths"])["lengths_steps"]
    points = [(runs["lengths"][name].task.length, step) for name, step in steps.items()]
    if not points:
        return {}
    figure = draw_growth(points, "positions in a sequence", "step at which x₁ emerges")
    return {"lengths": ("Emergence of the first hop, by length of the sequence", figure)}


def nothing(_: GroupRuns) -> Drawn:
    """No figure."""
    return {}
