"""Section 9 and appendix D: Transformer D in training, its circuit, and when its paths
emerged."""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise

from headway.dynamics import EMERGES_AT, saved_timeline
from headway.judge import saved_discovery, trace
from headway.recipes import changed
from headway.relations import AttentionPath
from headway.training import Run
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Runs
from headway_experiments.figures import Panel, Series, draw_panels, numbered
from headway_experiments.paper.ways import facts
from headway_experiments.reading import Row, by_run, in_order, taken_apart
from headway_experiments.recipes import paper, roomy, smoke


def transformer_d(scale: str) -> Configs:
    """Section 9: Transformer D, 24 layers of one head without MLPs, D = 4; a checkpoint every 80
    steps.

    Small: four seeds of `fast` with 7 layers, which have MLPs.
    """
    match scale:
        case "paper":
            printed = {
                "model.n_layers": 24,
                "model.d_model": 512,
                "model.d_head": 16,
                "model.d_mlp": 0,
                "training.steps": 6_400,
                "training.batch_size": 256,
                "training.checkpoint_every": 80,
            }
            return {"D": changed(paper(4), printed)}
        case "small":
            return {f"seed={seed}": roomy(4, seed) for seed in range(4)}
        case _:
            return {"seed=1": smoke(3, 1)}


def measured(run: Run) -> Row:
    """One run of Transformer D; its circuit, if it was found and dated."""
    found: Row = {
        "d_val_loss": run.metrics()[-1]["val_loss"],
        "d_fall_over_plateau": _fall_over_plateau(run),
        "d_in_chain_order": in_order(run),
    }
    if not taken_apart(run):
        return found
    discovery, timeline = saved_discovery(run), saved_timeline(run)
    paths, hops = discovery.circuit.paths, run.task.hops
    relations = [path.relation for path in paths]
    emerged = {history.path: history.emerged for history in timeline.paths}
    dated = sorted(step for step in emerged.values() if step is not None)
    routes = trace(run.task, paths) if len(hops) > 1 else None
    needs = {hop: {*routes.needs[hop]} for hop in hops if hop in routes.needs} if routes else {}
    return {
        **found,
        "d_replaced_loss": discovery.replaced_loss,
        "d_twin_paths": len({name for name in relations if relations.count(name) > 1}),
        # What emerged by chance at the start counts from the first checkpoint after it.
        "d_last_over_first": dated[-1] / max(dated[0], timeline.steps[1]) if dated else None,
        "d_looks_in_order": _looks_in_order(emerged) if routes else None,
        "d_induction_first": _induction_first(emerged) if routes else None,
        "d_reuse": {
            f"{early}, {late}": len(needs[early] & needs[late]) for early, late in pairwise(needs)
        },
    }


def _induction_first(emerged: Mapping[AttentionPath, float | None]) -> bool:
    """True if of all paths that lead from one pair to another s0←s2 emerged first."""
    leaps = {path for path in emerged if len({*facts(path.relation)}) > 1}
    between = {path: step for path in leaps if (step := emerged[path]) is not None}
    return bool(between) and min(between, key=between.__getitem__).relation == "s0←s2"


def _looks_in_order(emerged: Mapping[AttentionPath, float | None]) -> bool | None:
    """True if the query came to look at x_1, at x_2, … in this order, at either of their places;
    None if it looks at one of them only."""
    first: dict[int, float] = {}
    for path, step in emerged.items():
        query, key = (int(role[1:]) for role in path.relation.ends or ("s0", "s0"))
        if query == 0 and key >= 2 and step is not None:
            first[key // 2] = min(step, first.get(key // 2, step))
    steps = [first[number] for number in sorted(first)]
    return steps == sorted(steps) if len(steps) > 1 else None


def _fall_over_plateau(run: Run) -> float | None:
    """The steps that x_1's loss takes from 90 % of its plateau to 0.25, against those that it
    stayed above; None if it never falls."""
    metrics, hop = run.metrics(), run.task.hops[0]
    plateau = run.task.references()["mean of the candidates"]
    left = next((m["step"] for m in metrics if m["partial"][hop] < 0.9 * plateau), None)
    down = next((m["step"] for m in metrics if m["partial"][hop] < plateau / 3), None)
    if left is None or down is None:
        return None
    return (down - left) / left


def figures_of(runs: Runs, name: str, stem: str, title: str) -> Drawn:
    """A figure of every run that has what it shows.

    Args:
        runs: those that are done.
        name: of the figure (see `headway.figure`).
        stem: what the drawings' names begin with.
        title: what their titles begin with.
    """
    from headway.report.figures.saving import figure

    there = having(runs, f"{name}.json") if name in ("circuit", "emergence") else runs
    return {f"{stem}-{run}": (f"{title} of {run}", figure(there[run], name)) for run in there}


def emerged(runs: Runs) -> Drawn:
    """Figure 7: circuits, and when their paths emerged."""
    dates = figures_of(runs, "emergence", "fig7-emergence", "Emergence of the paths")
    return figures_of(runs, "circuit", "fig7", "Circuit") | dates


def paths(runs: Runs) -> Drawn:
    """Appendix D: the attention along every path against the step."""
    drawn: Drawn = {}
    how = {
        "y": "attention along the path",
        "levels": {"": EMERGES_AT},
        "limits": {"ylim": (-0.03, 1.05)},
    }
    for name, run in having(runs, "emergence.json").items():
        timeline, panels = saved_timeline(run), []
        for i, history in enumerate(timeline.paths):
            emerged = "never" if history.emerged is None else f"{history.emerged:,.0f}"
            series = [Series(timeline.steps, history.attention, numbered(i))]
            panels.append(Panel(f"{history.path}: {emerged}", series, **how))
        if panels:
            title = f"Attention along every path of {name} during training"
            drawn[f"appendix-d-{name}"] = title, draw_panels(panels, columns=4, shared=True)
    return drawn


def having(runs: Runs, file: str) -> Runs:
    """Those whose folders hold a file."""
    return {name: run for name, run in runs.items() if run.read(file) is not None}


LOSSES = partial(figures_of, name="losses", stem="fig6", title="Losses during training")
D = Group("d", "Transformer D", transformer_d, taken_apart=True)

EXPERIMENTS = tuple(
    Experiment(__file__, name, title, (D,), partial(by_run, row=measured), draw)
    for name, title, draw in (
        ("fig6", "the losses of Transformer D during training (section 9)", LOSSES),
        ("fig7", "the circuit of Transformer D, and when its paths emerged (section 9)", emerged),
        ("appendix-d", "attention along every path during training", paths),
    )
)
