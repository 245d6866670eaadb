"""The way of a circuit to its answer in sentences, and what each path has to do with it."""

from collections.abc import Iterator, Sequence

from headway.circuits.flows import Join, Leg, Routes, trace
from headway.paths import Path
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.text import counted, enumerated


def story(findings: Findings) -> list[str]:
    """The way to the answer; empty where symbols are not known."""
    if findings.discovery is None:
        return []
    routes = trace(findings.task, findings.discovery.circuit.paths)
    if routes is None or not routes.legs:
        return []
    return list(_story(routes, findings.discovery.faithful))


def _story(routes: Routes, faithful: bool) -> Iterator[str]:
    if (join := routes.last_join()) is not None:
        yield from _branches(routes, join)
    elif routes.arrivals:
        yield from _chain(routes)
    if routes.missing:
        yield f"By this account {_names(routes.missing)} never reaches the query."
    if routes.idle:
        bring = "brings" if len(routes.idle) == 1 else "bring"
        yield (
            f"{counted(len(routes.idle), 'path')} {bring} nothing that an answer depends on:"
            f" {_along(routes.idle)}. They repeat or strengthen what others bring; the evidence"
            " says whether they are needed."
        )
    if not faithful:
        yield (
            "As the circuit is not faithful, this tells how it could work, not how the model does."
        )


def _branches(routes: Routes, join: Join) -> Iterator[str]:
    ways = [f"{typeset(s)} comes along {_along(paths)}" for s, paths in join.branches.items()]
    number = {2: "Two", 3: "Three"}.get(len(ways), str(len(ways)))
    yield f"{number} branches that join: {'; '.join(ways)}."
    meet = (
        f"They meet at {typeset(str(join.path))}, found by {_names(list(join.branches))} together"
    )
    brings = routes.legs[join.path].brings
    yield meet + (f", which brings {_names(brings)}." if brings else ".")
    if join.key_side:
        yield f"The place they meet at is made ready by {_along(join.key_side)}."


def _chain(routes: Routes) -> Iterator[str]:
    together: dict[tuple[Path, ...], list[str]] = {}
    for symbol, paths in routes.arrivals.items():
        together.setdefault(paths, []).append(symbol)
    yield "The way is broken off." if routes.missing else "The way is a chain."
    for paths, symbols in together.items():
        reach = "reaches" if len(symbols) == 1 else "reach"
        found = found_by(routes.legs[paths[0]])
        yield f"{_names(symbols)} {reach} the query along {_along(paths)}, found by {found}."


def found_by(leg: Leg) -> str:
    """What a path can find its key by."""
    if leg.together:
        return "the code they share"
    if leg.by:
        return _names(leg.by)
    return f"the code {_names(leg.codes)}" if leg.codes else "nothing that they share"


def _along(paths: Sequence[Path]) -> str:
    return ", ".join(typeset(str(path)) for path in paths)


def _names(symbols: Sequence[str]) -> str:
    return enumerated(map(typeset, symbols))
