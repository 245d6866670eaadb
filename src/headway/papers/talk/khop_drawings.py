"""The figure of the k-hop problem."""

from headway.papers.experiment import Drawn, GroupRuns
from headway.papers.talk.measures.khop import find_attention, hop_accuracies, needed


def by_layers(runs: GroupRuns) -> Drawn:
    """Accuracy by k and layers, with the layers that k takes; losses and attention of the deepest
    run of the first seed."""
    from headway.report.figures.khop_plot import draw_khop

    group = runs["khop-depth"]
    table: dict[tuple[int, int], list[float]] = {}
    for run in group.values():
        for k, accuracy in hop_accuracies(run).items():
            table.setdefault((k, run.config.transformer.n_layers), []).append(accuracy)
    deepest = max(
        group.values(), key=lambda run: (run.config.transformer.n_layers, -run.config.seed)
    )
    least = {k: needed(k) for k, _ in table}
    attention = find_attention(deepest, max(least))
    figure = draw_khop(table, least, deepest, attention)
    return {"khop-depth": ("Hops against layers", figure)}
