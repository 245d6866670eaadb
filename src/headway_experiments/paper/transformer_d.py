"""Section 9 and appendix D: Transformer D in training, its circuit, and when its paths
emerged."""

from collections.abc import Collection, Mapping
from functools import partial
from itertools import pairwise

from headway.dynamics import EMERGES_AT, Timeline, saved_timeline
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
    """Section 9: Transformer D, 24 layers of one head without MLPs, D = 4; a checkpoint
    every 80 steps.

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
    losses: Row = {
        "d_val_loss": run.metrics()[-1]["val_loss"],
        "d_fall_over_plateau": _fall_over_plateau(run),
        "d_in_chain_order": in_order(run),
    }
    if not taken_apart(run):
        return losses
    discovery = saved_discovery(run)
    timeline = saved_timeline(run)
    paths = discovery.circuit.paths
    relations = [path.relation for path in paths]
    twins = {name for name in relations if relations.count(name) > 1}
    emerged = {history.path: history.emerged for history in timeline.paths}
    routes = trace(run.task, paths) if len(run.task.hops) > 1 else None
    return {
        **losses,
        "d_replaced_loss": discovery.replaced_loss,
        "d_twin_paths": len(twins),
        "d_last_over_first": _last_over_first(timeline),
        "d_looks_in_order": _looks_in_order(emerged) if routes else None,
        "d_induction_first": _induction_first(emerged) if routes else None,
        "d_reuse": _reuse(run, routes.needs) if routes else {},
    }


def _last_over_first(timeline: Timeline) -> float | None:
    """The step at which the last path emerged, over that of the first one."""
    dated = [
        history.emerged for history in timeline.paths if history.emerged is not None
    ]
    if not dated:
        return None
    # What emerged by chance at the start counts from the first checkpoint after it.
    first = max(min(dated), timeline.steps[1])
    return max(dated) / first


def _reuse(
    run: Run, needs: Mapping[str, Collection[AttentionPath]]
) -> dict[str, float]:
    """The number of paths that hops share with the next."""
    reuse = {}
    traced = [hop for hop in run.task.hops if hop in needs]
    for early, late in pairwise(traced):
        both = {*needs[early]} & {*needs[late]}
        reuse[f"{early}, {late}"] = len(both)
    return reuse


def _induction_first(emerged: Mapping[AttentionPath, float | None]) -> bool:
    """True if of all paths that lead from one pair to another s0←s2 emerged first."""
    leaps = {}
    for path, step in emerged.items():
        leads_between_facts = len({*facts(path.relation)}) > 1
        if leads_between_facts and step is not None:
            leaps[path] = step
    if not leaps:
        return False
    first = min(leaps, key=leaps.__getitem__)
    return first.relation == "s0←s2"


def _looks_in_order(emerged: Mapping[AttentionPath, float | None]) -> bool | None:
    """True if the query came to look at x_1, at x_2, … in this order, at either of
    their places; None if it looks at one of them only."""
    first: dict[int, float] = {}
    for path, step in emerged.items():
        ends = path.relation.ends or ("s0", "s0")
        query, key = (int(role[1:]) for role in ends)
        if query == 0 and key >= 2 and step is not None:
            fact = key // 2
            first[fact] = min(step, first.get(fact, step))
    if len(first) < 2:
        return None
    steps = [first[fact] for fact in sorted(first)]
    return steps == sorted(steps)


def _fall_over_plateau(run: Run) -> float | None:
    """The steps that x_1's loss takes from 90 % of its plateau to 0.25, against those
    that it stayed above; None if it never falls."""
    plateau = run.task.references()["mean of the candidates"]
    left = _first_below(run, 0.9 * plateau)
    down = _first_below(run, plateau / 3)
    if left is None or down is None:
        return None
    return (down - left) / left


def _first_below(run: Run, level: float) -> float | None:
    """The first step at which the loss of the first hop is below a level."""
    hop = run.task.hops[0]
    steps = (line["step"] for line in run.metrics() if line["partial"][hop] < level)
    return next(steps, None)


def figures_of(runs: Runs, name: str, stem: str, title: str) -> Drawn:
    """A figure of every run that has what it shows.

    Args:
        runs: those that are done.
        name: of the figure (see `headway.figure`).
        stem: what the drawings' names begin with.
        title: what their titles begin with.
    """
    from headway.report.figures.saving import figure

    needs_finding = name in ("circuit", "emergence")
    shown = having(runs, f"{name}.json") if needs_finding else runs
    drawn: Drawn = {}
    for run in shown:
        its_figure = figure(shown[run], name)
        drawn[f"{stem}-{run}"] = f"{title} of {run}", its_figure
    return drawn


def emerged(runs: Runs) -> Drawn:
    """Figure 7: circuits, and when their paths emerged."""
    dates = figures_of(runs, "emergence", "fig7-emergence", "Emergence of the paths")
    return figures_of(runs, "circuit", "fig7", "Circuit") | dates


def paths(runs: Runs) -> Drawn:
    """Appendix D: the attention along every path against the step."""
    drawn: Drawn = {}
    for name, run in having(runs, "emergence.json").items():
        panels = _attention_panels(saved_timeline(run))
        if panels:
            title = f"Attention along every path of {name} during training"
            drawn[f"appendix-d-{name}"] = (
                title,
                draw_panels(panels, columns=4, shared=True),
            )
    return drawn


def _attention_panels(timeline: Timeline) -> list[Panel]:
    """A panel for every path."""
    levels = {"": EMERGES_AT}
    limits = {"ylim": (-0.03, 1.05)}
    panels = []
    for i, history in enumerate(timeline.paths):
        emerged = "never" if history.emerged is None else f"{history.emerged:,.0f}"
        title = f"{history.path}: {emerged}"
        series = [Series(timeline.steps, history.attention, numbered(i))]
        y = "attention along the path"
        panels.append(Panel(title, series, y=y, levels=levels, limits=limits))
    return panels


def having(runs: Runs, file: str) -> Runs:
    """The runs whose folders hold a file."""
    return {name: run for name, run in runs.items() if run.read(file) is not None}


LOSSES = partial(figures_of, name="losses", stem="fig6", title="Losses during training")
D = Group("d", "Transformer D", transformer_d, taken_apart=True)

EXPERIMENTS = tuple(
    Experiment(__file__, name, title, (D,), partial(by_run, row=measured), draw)
    for name, title, draw in (
        ("fig6", "the losses of Transformer D during training (section 9)", LOSSES),
        (
            "fig7",
            "the circuit of Transformer D, and when its paths emerged (section 9)",
            emerged,
        ),
        ("appendix-d", "attention along every path during training", paths),
    )
)
