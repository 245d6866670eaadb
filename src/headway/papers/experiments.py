"""The paper's figures as experiments: which runs each takes, what is measured, what is drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.circuits import saved_discovery, saved_timeline
from headway.papers import measures
from headway.papers.claims import Measures
from headway.training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GroupRuns = Mapping[str, Mapping[str, Run]]
"""The runs that are done, by group and name."""
Drawn = dict[str, tuple[str, "Figure"]]
"""Title and figure, by the name of its file."""


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper.

    Attributes:
        name: what `headway reproduce` calls it.
        title: what it shows.
        groups: the runs it takes (see `setups`).
        measure: the numbers that its claims are judged by.
        draw: its figures.
        missing: why it cannot be run yet; empty if it can.
    """

    name: str
    title: str
    groups: Sequence[str]
    measure: Callable[[GroupRuns], Measures]
    draw: Callable[[GroupRuns], Drawn]
    missing: str = ""


def _draw_bounds(_: GroupRuns) -> Drawn:
    from headway.report.figures.depth_plot import draw_depths

    return {"theorem1": ("Least layers against retrieval steps", draw_depths(64, {}))}


def _draw_flow(_: GroupRuns) -> Drawn:
    from headway.report.figures.flow_drawing import draw_flow
    from headway.theory import retrieval_flow, witness

    flow, title = retrieval_flow(5), "Positions that share information, layer by layer, D = 5"
    found = witness(flow)
    stages = flow.holdings(len({layer for layer, _, _ in found.paths}), True)
    return {"fig3": (title, draw_flow(flow, True, found.paths, stages, title))}


def _draw_layers(runs: GroupRuns) -> Drawn:
    from headway.report.figures.layers_plot import draw_layers

    figure = draw_layers(runs["ic"].values(), runs["non-ic"].values())
    return {"fig4": ("Final loss by number of layers", figure)}


def _draw_circuits(runs: GroupRuns) -> Drawn:
    from headway.report.figures import draw_circuit

    drawn: Drawn = {}
    for group, figure in (("abc", "fig5"), ("d", "fig7")):
        for name, run in runs.get(group, {}).items():
            if run.read("circuit.json") is not None:
                title = f"Circuit of {name}"
                found = saved_discovery(run)
                drawn[f"{figure}-{name}"] = title, draw_circuit(found, run.task, title)
    return drawn


def _draw_losses(runs: GroupRuns) -> Drawn:
    from headway.report.figures import draw_losses

    return {
        f"fig6-{name}": (
            f"Losses of {name} during training",
            draw_losses(run.metrics(), run.task.hop_names, run.task.reference_losses()),
        )
        for name, run in runs["d"].items()
    }


def _draw_births(runs: GroupRuns) -> Drawn:
    from headway.report.figures.births_plot import draw_births

    drawn = _draw_circuits(runs)
    for name, run in runs["d"].items():
        if run.read("emergence.json") is not None:
            figure = draw_births(saved_timeline(run))
            drawn[f"fig7-births-{name}"] = f"Births of the paths of {name}", figure
    return drawn


def _draw_maps(runs: GroupRuns) -> Drawn:
    from headway.report import Findings
    from headway.report.figures import draw_attention
    from headway.report.roles import block_starts, position_labels

    drawn: Drawn = {}
    for group in ("abc", "d"):
        for name, run in runs[group].items():
            found = Findings.of(run)
            labels = position_labels(run.task, found.example)
            starts = block_starts(run.task, found.example)
            figure = draw_attention(found.example_attention(), labels, found.useful_heads, starts)
            drawn[f"appendix-c-{group}-{name}"] = f"Attention maps of {name}", figure
    return drawn


def _draw_paths(runs: GroupRuns) -> Drawn:
    from headway.report.figures.births_plot import draw_paths

    return {
        f"appendix-d-{name}": (
            f"Attention along every path of {name} during training",
            draw_paths(saved_timeline(run)),
        )
        for name, run in runs["d"].items()
        if run.read("emergence.json") is not None
    }


def _nothing(_: GroupRuns) -> Drawn:
    return {}


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "fig2",
            "language models on five formulations (section 4)",
            (),
            lambda _: {},
            _nothing,
            missing="language models cannot be asked yet",
        ),
        Experiment(
            "theorem1",
            "the least number of layers (section 5, appendix B)",
            (),
            lambda _: measures.theorem_1(),
            _draw_bounds,
        ),
        Experiment(
            "fig3",
            "positions that share information (figures 3 and 8)",
            (),
            lambda _: measures.shared_information(),
            _draw_flow,
        ),
        Experiment(
            "fig4",
            "final losses by number of layers, with and without the curriculum (section 7)",
            ("ic", "non-ic"),
            lambda runs: measures.by_layers(runs["ic"], runs["non-ic"]),
            _draw_layers,
        ),
        Experiment(
            "fig5",
            "the circuits of Transformers A, B and C (section 8)",
            ("abc",),
            lambda runs: measures.circuits(runs["abc"]),
            _draw_circuits,
        ),
        Experiment(
            "fig6",
            "the losses of Transformer D during training (section 9)",
            ("d",),
            lambda runs: measures.emergence(runs["d"]),
            _draw_losses,
        ),
        Experiment(
            "fig7",
            "the circuit of Transformer D, and when its paths were born (section 9)",
            ("d",),
            lambda runs: measures.emergence(runs["d"]),
            _draw_births,
        ),
        Experiment(
            "appendix-c",
            "attention maps of every layer",
            ("abc", "d"),
            lambda runs: measures.circuits(runs["abc"]),
            _draw_maps,
        ),
        Experiment(
            "appendix-d",
            "attention along every path during training",
            ("d",),
            lambda runs: measures.emergence(runs["d"]),
            _draw_paths,
        ),
        Experiment(
            "appendix-e",
            "what replacing heads and cutting paths costs",
            ("abc",),
            lambda runs: measures.circuits(runs["abc"]),
            _nothing,
        ),
    )
}
