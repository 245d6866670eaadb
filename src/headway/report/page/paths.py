"""The one table of the circuit's paths: what is known of each, in columns that unfold."""

from markupsafe import Markup

from headway.circuits import PathHistory, Timeline
from headway.circuits.emergence import MATTERS, crossing
from headway.circuits.routes import trace
from headway.report.findings import Findings
from headway.report.page.charts import swatch
from headway.report.page.looks import path_looks
from headway.report.page.templating import of_run

MOST_ROWS = 24
"""Tables longer than this scroll by themselves."""


def path_table(findings: Findings) -> Markup:
    """All that is known of every path, a row per path, and what the columns mean.

    All columns are unfolded; the page's script folds them.
    """
    discovery, timeline = findings.discovery, findings.timeline
    assert discovery is not None
    paths = discovery.circuit.paths
    routes, looks = trace(findings.task, paths), path_looks(findings.task, paths)
    necessity = {n.path: n for n in discovery.evidence.necessity}
    histories = {} if timeline is None else {h.path: h for h in timeline.paths}
    rows = []
    for path in paths:
        history, felt, rise = histories.get(path), None, None
        if history is not None and timeline is not None:
            felt = crossing(timeline.steps, rises(history, timeline), MATTERS)
            rise = max(rises(history, timeline))
        leg, wanted = None, list[str]()
        if routes is not None:
            leg = routes.legs[path]
            wanted = [symbol for symbol, needs in routes.needs.items() if path in needs]
        again = discovery.evidence.stability(path)
        rows.append(
            (path, looks[path], history, felt, rise, necessity.get(path), again, leg, wanted)
        )
    return of_run(
        findings,
        "run/paths.html",
        rows=rows,
        routes=routes,
        join=None if routes is None else routes.last_join(),
        swatch=swatch,
        most_rows=MOST_ROWS,
    )


def rises(history: PathHistory, timeline: Timeline) -> list[float]:
    """By how much a path's knock-out raises the loss, at every checkpoint."""
    return [cut - loss for cut, loss in zip(history.loss_without, timeline.loss, strict=True)]
