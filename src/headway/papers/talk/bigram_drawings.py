"""The figures of in-context bigrams, drawn from runs."""

from headway.papers.drawings import Drawn, GroupRuns
from headway.papers.measures.reading import Runs
from headway.papers.talk.measures.probes import PROBES, histories


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
        Panel(title, "loss of in-context outputs, nats", _losses(known), logarithmic=False)
        for title, known in (("Ordinary transformers", ordinary), ("Three weights", ways))
        if any(known.values())
    ]
    if panels:
        drawn["induction-losses"] = (
            "In-context outputs: losses against the step",
            draw_curves(panels),
        )
    probes = {name: [] for name in PROBES}
    for run in runs["induction-joint"].values():
        steps, found = histories(run)
        for name, values in found.items():
            probes[name].append((steps, values))
    if runs["induction-joint"]:
        panel = Panel("Memory recall", "share recalled", probes, logarithmic=True, top=1.05)
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
