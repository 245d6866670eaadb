"""Section 5 and appendix B: the least number of layers, and which positions share information."""

from itertools import combinations, pairwise

from headway.theory import minimum_layers, retrieval_flow, theorem_1_bound, witness
from headway_experiments.experiment import Drawn, Experiment, Measures
from headway_experiments.figures import draw_panels
from headway_experiments.paper.depths import depths_panel


def theorem_1() -> Measures:
    """The exact minimum against the paper's bound, and a circuit of three layers for D = 3."""
    found = witness(retrieval_flow(3))
    return {
        "minimum_minus_bound": {
            f"D={depth}, {mask}": float(
                minimum_layers(depth, causal=causal) - theorem_1_bound(depth)
            )
            for depth in range(1, 65)
            for mask, causal in (("causal", True), ("no mask", False))
        },
        "witness_heads_d3": {f"D=3, {found.layers} layers": float(found.heads)},
    }


def bounds() -> Drawn:
    """Theorem 1: the least layers against D."""
    figure = draw_panels([depths_panel(64, {})])
    return {"theorem1": ("Least layers against retrieval steps", figure)}


def shared_information() -> Measures:
    """The roles that share a piece before any layer, and the growth of what they can get."""
    depth = 5
    flow = retrieval_flow(depth)
    starts = dict(zip(flow.roles, flow.starts, strict=True))
    names = [f"s{i}" for i in range(2 * depth + 1)]
    neighbours = {
        f"{a}, {b}": float(bool(starts[a] & starts[b]) == (abs(i - j) == 1))
        for (i, a), (j, b) in combinations(enumerate(names), 2)
    }
    held = flow.holdings(4, causal=False)
    reached = [[len(pieces) for pieces in stage.values()] for stage in held]
    growth = {
        f"layer {layer}": max(after / before for before, after in zip(low, high, strict=True))
        for layer, (low, high) in enumerate(pairwise(reached))
    }
    return {"neighbours_share": neighbours, "reach_growth": growth}


def flow() -> Drawn:
    """Figure 3: which positions share information."""
    from headway_experiments.paper.flow_figure import draw_flow

    flow, title = retrieval_flow(5), "Positions that share information, layer by layer, D = 5"
    found = witness(flow)
    stages = flow.holdings(len({path.layer for path in found.paths}), True)
    return {"fig3": (title, draw_flow(flow, True, found.paths, stages, title))}


LEAST = "the least number of layers (section 5, appendix B)"
SHARED = "positions that share information (figures 3 and 8)"
EXPERIMENTS = (
    Experiment(__file__, "theorem1", LEAST, (), theorem_1, bounds),
    Experiment(__file__, "fig3", SHARED, (), shared_information, flow),
)
