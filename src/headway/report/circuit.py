"""A run's circuit as data: its places, its paths with their curves, and what the stream holds."""

from collections.abc import Sequence

from headway.circuits.flows import lost_without
from headway.circuits.mechanism import name_of
from headway.circuits.roles import joins_roles, places, symbol_order
from headway.paths import Path
from headway.report import schema
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.looks import path_looks, symbol_colours
from headway.tasks import Task
from headway.theory import is_code


def path_key(path: Path) -> str:
    """What a path is called in addresses and in the data of a page."""
    return f"{path.layer}.{path.head}.{path.relation}"


def place_data(task: Task) -> list[schema.Place]:
    """The roles of one chain, in the order of the sequence."""
    colours, standing = symbol_colours(task), places(task)
    groups = list(dict.fromkeys(place.group for place in standing))
    return [
        schema.Place(
            role=place.role,
            symbol=place.symbol,
            label=typeset(place.symbol or place.role),
            group=groups.index(place.group),
            colour=colours.get(place.symbol, 0),
        )
        for place in standing
    ]


def hop_data(task: Task, learnt: dict[str, float | None]) -> list[schema.Hop]:
    """What is asked for, each with the step at which it was learnt."""
    colours = symbol_colours(task)
    return [
        schema.Hop(hop, typeset(hop), hop in task.judged, learnt.get(hop), colours[hop])
        for hop in task.hops
    ]


def circuit_data(
    findings: Findings,
    steps: Sequence[int] = (),
    cells: dict[str, list[list[tuple[int, int]]]] | None = None,
) -> schema.Circuit | None:
    """What the heads do; None if that is not known.

    Args:
        findings: of a run.
        steps: of the page, for the curves of paths.
        cells: where relations lead in the examples.
    """
    discovery, task = findings.discovery, findings.task
    if discovery is None:
        return None
    circuit, model = discovery.circuit, findings.run.config.model
    return schema.Circuit(
        layers=model.n_layers,
        heads=model.n_heads,
        places=place_data(task),
        joined=joins_roles(task, circuit.paths),
        paths=path_data(findings, steps, cells or {}),
        idle=[
            schema.IdleHead(*head, does)
            for does, heads in circuit.idle_heads.items()
            for head in heads
        ],
        stream=stream(findings),
        loss=discovery.replaced_loss,
        intact=discovery.intact_loss,
        threshold=discovery.threshold,
        ablation=findings.ablation,
        faithful=discovery.faithful,
    )


def path_data(
    findings: Findings, steps: Sequence[int], cells: dict[str, list[list[tuple[int, int]]]]
) -> list[schema.CircuitPath]:
    """The paths of a circuit, with their curves at these steps."""
    discovery, timeline, task = findings.discovery, findings.timeline, findings.task
    assert discovery is not None
    paths = discovery.circuit.paths
    looks, standing = path_looks(task, paths), [place.role for place in places(task)]
    necessity = {n.path: n for n in discovery.evidence.necessity}
    lost = lost_without(task, paths, findings.causal) or {}
    histories = {} if timeline is None else {h.path: h for h in timeline.paths}
    found = []
    for path in paths:
        n, rest, history = necessity.get(path), lost.get(path), histories.get(path)
        query, key = path.relation.ends or ("", "")
        between = query in standing and key in standing
        look = looks[path]
        found.append(
            schema.CircuitPath(
                key=path_key(path),
                name=name_of(path.at),
                layer=path.layer,
                head=path.head,
                relation=path.relation,
                label=typeset(str(path)),
                query=standing.index(query) if between else None,
                attended=standing.index(key) if between else None,
                colour=look.colour,
                dashes=look.dashes,
                carries=[typeset(symbol) for symbol in look.carries],
                cells=cells.get(path.relation, []),
                attention=[] if history is None else at_steps(findings, history.attention, steps),
                without=[] if history is None else at_steps(findings, history.loss_without, steps),
                born=history and history.born,
                needed=history and history.needed,
                cut=n and n.loss,
                free=n and n.free,
                lost=[] if rest is None else list(map(path_key, rest.paths)),
                answers=[] if rest is None else list(map(typeset, rest.answers)),
            )
        )
    return found


def at_steps(
    findings: Findings, values: Sequence[float], steps: Sequence[int]
) -> list[float | None]:
    """A curve of the timeline at the steps of the page; None where it was not measured."""
    assert findings.timeline is not None
    when = dict(zip(findings.timeline.steps, values, strict=True))
    return [None if (value := when.get(step)) is None else short(value) for step in steps]


def short(value: float) -> float:
    """A measured number to four digits, which is what a drawing can show."""
    return float(f"{value:.4g}")


def stream(findings: Findings) -> list[list[list[str]]]:
    """The symbols at every place before the first layer and after each, along the circuit.

    Empty if the flow of information in the task is not known, or a path joins no two of its roles.
    """
    flow, discovery = findings.task.flow(), findings.discovery
    if flow is None or discovery is None:
        return []
    paths, standing = discovery.circuit.paths, [place.role for place in places(findings.task)]
    if not {end for path in paths for end in path.relation.ends or ("",)} <= {*flow.roles}:
        return []
    order = symbol_order(findings.task)
    along = flow.along(paths, findings.causal, findings.run.config.model.n_layers)
    return [
        [
            [
                typeset(piece)
                for piece in sorted(held[role], key=lambda one: _rank(order, one))
                if not is_code(piece)
            ]
            for role in standing
        ]
        for held in along.stages
    ]


def _rank(order: Sequence[str], symbol: str) -> tuple[int, str]:
    return order.index(symbol) if symbol in order else len(order), symbol
