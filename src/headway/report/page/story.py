"""The way to the answer in words, made from the circuit's paths: chain or branches, and joins."""

from collections.abc import Iterable, Sequence

from headway.circuits import Path
from headway.circuits.routes import Routes, trace
from headway.report.findings import Findings
from headway.report.page.html import counted, listed, named, place_of
from headway.report.page.paths import found_by
from headway.tasks import Task


def the_way(findings: Findings) -> str:
    """How the circuit comes by its answer, as a few sentences; empty if unknown."""
    discovery = findings.discovery
    assert discovery is not None
    several = findings.several_heads
    routes = trace(findings.task, discovery.circuit.paths)
    if routes is None or not routes.legs:
        return ""
    told = f"<p>{_shape(routes, several)} {_rest(routes, several)}</p>"
    if not discovery.faithful:
        told += (
            "<p>As the circuit is <b>not</b> faithful, this tells how it could work, not how the"
            " model does.</p>"
        )
    return told


def branch_caption(task: Task, paths: Sequence[Path]) -> str:
    """A sentence on how the drawing shows branches; empty if there are none."""
    routes = trace(task, paths)
    join = None if routes is None else routes.last_join()
    if join is None:
        return ""
    return (
        f" Bands: the branches of {_and(join.branches)}, each marked with its symbol; they meet at"
        " the ring. Grey bands: what makes the place ready that is found there."
    )


def _shape(routes: Routes, several: bool) -> str:
    join = routes.last_join()
    if join is None:
        together: dict[tuple[Path, ...], list[str]] = {}
        for symbol, paths in routes.arrivals.items():
            together.setdefault(paths, []).append(symbol)
        if not together:
            return ""
        steps = [
            f"{_and(symbols)} {'reaches' if len(symbols) == 1 else 'reach'} the query along"
            f" {_paths(paths, several)}, found by {found_by(routes.legs[paths[0]])}"
            for paths, symbols in together.items()
        ]
        kind = "Broken off." if routes.missing else "A chain."
        return f"<b>{kind}</b> {_sentences(steps)} No branches meet on the way."
    count = {2: "Two", 3: "Three"}.get(len(join.branches), str(len(join.branches)))
    branches = [
        f"{named(symbol)} comes along {_paths(paths, several)}"
        for symbol, paths in join.branches.items()
    ]
    leg = routes.legs[join.path]
    brings = f" and brings {_and(leg.brings)}" if leg.brings else ""
    told = (
        f"<b>{count} branches that join.</b> {_sentences(branches)} They meet at"
        f" {_paths([join.path], several)}, which is found by {_and(join.branches)} together"
        f"{brings}."
    )
    if join.key_side:
        told += f" The place they meet at is made ready by {_paths(join.key_side, several)}."
    return told


def _rest(routes: Routes, several: bool) -> str:
    told = ""
    if routes.missing:
        told += f"By this account {_and(routes.missing)} <b>never</b> reaches the query. "
    if routes.idle:
        bring = "brings" if len(routes.idle) == 1 else "bring"
        idle = f"{counted(len(routes.idle), 'path')} {bring}"
        told += (
            f"{idle} nothing that an answer depends on: {_paths(routes.idle, several)}. They"
            " repeat or strengthen what others bring; the evidence says whether they are needed."
        )
    return told


def _paths(paths: Iterable[Path], several: bool) -> str:
    return ", ".join(place_of(path, several) for path in paths)


def _and(names: Iterable[str]) -> str:
    return listed(map(named, names))


def _sentences(parts: Sequence[str]) -> str:
    """Parts joined by semicolons, as one sentence."""
    return "; ".join(parts) + "."
