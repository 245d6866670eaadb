"""Section 5 and appendix B: the least number of layers, and which positions share
information.
"""

from itertools import combinations, pairwise

from headway.theory import (
    Flow,
    minimum_layers,
    retrieval_flow,
    theorem_1_bound,
    witness,
)
from headway_experiments.experiment import Drawn, Experiment, Measures
from headway_experiments.figures import draw_panels
from headway_experiments.paper.depths import depths_panel


def theorem_1() -> Measures:
    """The exact minimum against the paper's bound, and a circuit of three layers for D
    = 3.
    """
    above = {}
    for depth in range(1, 65):
        bound = theorem_1_bound(depth)
        for mask, causal in (("causal", True), ("no mask", False)):
            layers = minimum_layers(depth, causal=causal)
            above[f"D={depth}, {mask}"] = float(layers - bound)
    minimal = witness(retrieval_flow(3))
    heads = {f"D=3, {minimal.layers} layers": float(minimal.heads)}
    return {"minimum_minus_bound": above, "witness_heads_d3": heads}


def bounds() -> Drawn:
    """Theorem 1: the least layers against D."""
    figure = draw_panels([depths_panel(64, {})])
    return {"theorem1": ("Least layers against retrieval steps", figure)}


def shared_information() -> Measures:
    """The roles that share a piece before any layer, and the growth of what they can
    get.
    """
    flow = retrieval_flow(5)
    return {
        "neighbours_share": _neighbours_share(flow),
        "reach_growth": _reach_growth(flow),
    }


def _neighbours_share(flow: Flow) -> dict[str, float]:
    """Tell if two positions share a piece at the start exactly if they stand side by
    side.
    """
    starts = dict(zip(flow.roles, flow.starts, strict=True))
    shares = {}
    for i, j in combinations(range(len(starts)), 2):
        first = f"s{i}"
        second = f"s{j}"
        share = bool(starts[first] & starts[second])
        are_neighbours = j - i == 1
        shares[f"{first}, {second}"] = float(share == are_neighbours)
    return shares


def _reach_growth(flow: Flow) -> dict[str, float]:
    """The largest factor by which a layer multiplies what a position holds."""
    growth = {}
    held = flow.holdings(4, causal=False)
    for layer, (before, after) in enumerate(pairwise(held)):
        factors = [len(after[role]) / len(before[role]) for role in before]
        growth[f"layer {layer}"] = max(factors)
    return growth


def flow() -> Drawn:
    """Figure 3: which positions share information."""
    from headway_experiments.paper.flow_figure import draw_flow

    flow = retrieval_flow(5)
    title = "Positions that share information, layer by layer, D = 5"
    minimal = witness(flow)
    layers = {path.layer for path in minimal.paths}
    stages = flow.holdings(len(layers), True)
    return {"fig3": (title, draw_flow(flow, True, minimal.paths, stages, title))}


LEAST = "the least number of layers (section 5, appendix B)"
SHARED = "positions that share information (figures 3 and 8)"
EXPERIMENTS = (
    Experiment(__file__, "theorem1", LEAST, (), theorem_1, bounds),
    Experiment(__file__, "fig3", SHARED, (), shared_information, flow),
)
