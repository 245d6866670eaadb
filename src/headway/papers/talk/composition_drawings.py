"""The figures of k-fold composition."""

from headway.papers.experiment import Drawn, GroupRuns
from headway.papers.talk.measures.composition import Way, asked, learnt, problem, way_of
from headway.training import Run


def curricula(runs: GroupRuns) -> Drawn:
    """The largest k by way of asking, with the most symbols; steps until k hops are learnt."""
    from headway.report.figures.curricula_plot import draw_curricula
    from headway.report.figures.waiting_plot import Waiting, draw_waiting

    group = list(runs["khop-curriculum"].values())
    mixtures = [problem(run) for run in group if way_of(run) == "mixture"]
    if not mixtures:
        return {}
    hardest = max(mixtures)
    panels: dict[str, list[Run]] = {}
    kinds: dict[tuple[Way, int], list[Run]] = {}
    for run in group:
        way, (symbols, _) = way_of(run), problem(run)
        if problem(run) == hardest:
            title = f"k = {hardest[1]} alone" if way == "alone" else way
            panels.setdefault(title, []).append(run)
        if way != "easy-to-hard":
            kinds.setdefault((way, symbols), []).append(run)
    groups = sorted({symbols for _, symbols in kinds})
    waiting = []
    for (way, symbols), them in sorted(kinds.items(), key=lambda kind: (kind[0][1], kind[0][0])):
        steps: dict[int, list[float | None]] = {}
        for run in them:
            for k in asked(run):
                steps.setdefault(k, []).append(learnt(run).get(k))
        label = f"N = {symbols}, " + ("each k alone" if way == "alone" else "all at once")
        budget = them[0].config.training.steps
        place = groups.index(symbols)
        waiting.append(Waiting(label, place, way == "mixture", dict(sorted(steps.items())), budget))
    return {
        "khop-curriculum": ("Hops learned, by what is asked", draw_curricula(panels)),
        "khop-waiting": ("Steps until k hops are learnt", draw_waiting(waiting)),
    }
