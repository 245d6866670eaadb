"""The figures of associative memories, drawn from runs."""

from headway.papers.experiment import Drawn, GroupRuns
from headway.papers.talk.measures import memories as measures


def associative(runs: GroupRuns) -> Drawn:
    """What is kept against parameters, and accuracies against the number of items."""
    from headway.report.figures.capacity_plot import Kept, draw_capacity

    kinds = {"linear": "linear (d²)", "mlp": "MLP (2 m d)"}
    kept = []
    for kind, label in kinds.items():
        found, _, sizes = measures.kept(runs[f"memories-{kind}"])
        points = [(sizes[name.rpartition(",")[0]], nats) for name, nats in found.items()]
        kept.append(Kept(label, points))
    if not any(each.points for each in kept):
        return {}
    title = "Associations kept, N log N, against trained parameters"
    figure = draw_capacity(kept, "trained parameters", "N log N at 99 % accuracy, nats")
    return {"associative-memory": (title, figure)}


def gradient(runs: GroupRuns) -> Drawn:
    """Accuracy after one step against the width, and the errors of items of unequal frequency."""
    from headway.report.figures.memory_plot import draw_errors, draw_one_step

    drawn: Drawn = {}
    points = [
        (float(run.config.transformer.d_model), measures.known_share(run))
        for run in runs["memories-one-step"].values()
    ]
    if points:
        title = "Accuracy after one gradient step from zero, against the width"
        drawn["gradient-memory"] = title, draw_one_step(points)
    title = "Errors of memories of Zipf frequencies, against width and samples"
    drawn["zipf-memory"] = title, draw_errors(measures.zipf_errors(), measures.EXPECTED)
    return drawn
