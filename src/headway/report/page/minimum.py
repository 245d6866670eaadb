"""How many layers would have been enough."""

from collections.abc import Sequence

from markupsafe import Markup

from headway.circuits import Path
from headway.circuits.least import Least
from headway.report.findings import Findings
from headway.report.page.html import named
from headway.report.page.templating import of_run
from headway.theory import (
    Flow,
    Holdings,
    chain_depth,
    closed_form,
    fewest_paths,
    is_code,
    theorem_1_bound,
)


def minimum(findings: Findings) -> Markup:
    """How many layers would have been enough."""
    flow = findings.task.flow()
    if flow is None:
        return of_run(findings, "run/minimum.html", flow=None)
    depth, (stages, broken) = chain_depth(flow), _stages(findings, flow)
    return of_run(
        findings,
        "run/minimum.html",
        flow=flow,
        depth=depth,
        other=Least.of(findings.task, not findings.causal),
        bound=None if depth is None else theorem_1_bound(depth),
        fewest=None if depth is None else fewest_paths(depth),
        formula=None if depth is None else closed_form(depth, findings.causal),
        stages=[f"symbols at the query, {title}" for title in stages],
        holdings=_holdings(flow, stages),
        broken=broken,
    )


def _stages(findings: Findings, flow: Flow) -> tuple[dict[str, Sequence[Holdings]], list[Path]]:
    """Who holds what after every layer, at best and along the circuit; where that is broken."""
    best = flow.holdings(findings.run.config.model.n_layers, findings.causal)
    paths = [] if findings.discovery is None else findings.discovery.circuit.paths
    known = all(set(path.relation.ends or [""]) <= {*flow.roles} for path in paths)
    if findings.discovery is None or not known:
        return {"at best": best}, []
    along = flow.along(paths, findings.causal, len(best) - 1)
    return {"at best": best, "along the circuit": along.stages}, list(along.broken)


def _holdings(flow: Flow, stages: dict[str, Sequence[Holdings]]) -> list[list[Markup]]:
    """The symbols at the query after every layer, by stage."""

    def said(held: Holdings) -> Markup:
        symbols = (piece for piece in held[flow.query] if not is_code(piece))
        ordered = sorted(symbols, key=lambda piece: (len(piece), piece))
        return Markup(", ").join(map(named, ordered))

    return [list(map(said, row)) for row in zip(*stages.values(), strict=True)]
