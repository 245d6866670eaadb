"""The figures of in-context bigrams, drawn from runs."""

from headway.papers.experiment import Drawn, GroupRuns, Runs
from headway.papers.talk.measures import noise
from headway.papers.talk.measures.probes import PROBES, histories

RANKS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Fractions of the full rank that are drawn."""


def induction(runs: GroupRuns) -> Drawn:
    """One layer against two; and the probes of the three memories, trained together."""
    from headway.report.figures.curves_plot import Panel, draw_curves

    drawn: Drawn = {}
    ordinary = {
        "one layer": runs["induction-one-layer"],
        "two layers": runs["induction-two-layers"],
    }
    ways = {"together": runs["induction-joint"], "one by one": runs["induction-stages"]}
    panels = [
        Panel(title, "loss of in-context outputs, nats", _losses(known))
        for title, known in (("Ordinary transformers", ordinary), ("Three weights", ways))
        if any(known.values())
    ]
    if panels:
        drawn["induction-losses"] = (
            "In-context outputs: losses against the step",
            draw_curves(panels),
        )
    if runs["induction-joint"]:
        panel = Panel(
            "Memory recall",
            "share recalled",
            _recalls(runs["induction-joint"]),
            logarithmic=True,
            top=1.05,
        )
        title = "Memory-recall probes of the three trained weights"
        drawn["induction-recall"] = title, draw_curves([panel])
    return drawn


def _losses(known: dict[str, Runs]) -> dict[str, list[tuple[list[int], list[float]]]]:
    """The held-out loss of in-context outputs of every run, by what it is called."""
    curves = {}
    for name, runs in known.items():
        curves[name] = [
            (
                [line["step"] for line in run.metrics()],
                [line["partial"]["in-context"] for line in run.metrics()],
            )
            for run in runs.values()
        ]
    return curves


def three_steps(runs: GroupRuns) -> Drawn:
    """The probes after every step."""
    from headway.report.figures.curves_plot import Panel, draw_curves

    if not runs["three-gradient-steps"]:
        return {}
    panel = Panel(
        "Memory recall", "share recalled", _recalls(runs["three-gradient-steps"]), top=1.05
    )
    title = "Memory-recall probes after each of three gradient steps"
    return {"three-gradient-steps": (title, draw_curves([panel]))}


def _recalls(runs: Runs) -> dict[str, list[tuple[list[int], list[float]]]]:
    """Every probe at every checkpoint of every run."""
    probes = {name: [] for name in PROBES}
    for run in runs.values():
        steps, found = histories(run)
        for name, values in found.items():
            probes[name].append((steps, values))
    return probes


def noisy_recall(runs: GroupRuns) -> Drawn:
    """What the last MLP and attention add for the noise, against the step; and what is said at
    clean outputs with the last MLP cut to low rank."""
    from headway.report.figures.curves_plot import Panel, draw_curves

    found = [noise.histories(run) for run in runs["noisy-recall"].values()]
    cut = [noise.by_fraction(run, RANKS) for run in runs["noisy-recall"].values()]
    if not found:
        return {}
    parts = {
        "last MLP": [(steps, mlp) for steps, mlp, _ in found],
        "last attention": [(steps, attention) for steps, _, attention in found],
    }
    says = {
        "the output": [(RANKS, [one[rank].output for rank in RANKS]) for one in cut],
        "the noise token": [(RANKS, [one[rank].noise for rank in RANKS]) for one in cut],
    }
    panels = [
        Panel("For noise, against the output", "margin in logits", parts, {"neither": 0.0}),
        Panel(
            "Clean outputs, last MLP cut",
            "share that says",
            says,
            against="fraction of the full rank",
            top=1.05,
        ),
    ]
    title = "Noise: what the last layer's parts say, and what is said without its MLP"
    return {"noisy-recall": (title, draw_curves(panels))}
