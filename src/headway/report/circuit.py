"""A run's circuit as data: places, paths with their curves, evidence, and what flows
along it.
"""

from collections import Counter
from collections.abc import Sequence

from headway.judge import Discovery
from headway.judge.flows import Lost, least_layers, lost_without
from headway.judge.roles import joins_roles, places, symbol_order
from headway.relations.paths import AttentionPath
from headway.replace import ABLATIONS
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.looks import Look, path_looks, symbol_colours
from headway.report.schema import Cell, Circuit, CircuitPath, Place, Section, Table
from headway.tasks import Task
from headway.text import rounded
from headway.theory import (
    Flow,
    Holdings,
    chain_depth,
    closed_form,
    fewest_paths,
    is_code,
    theorem_1_bound,
)

Leads = list[list[tuple[int, int]]]
"""Pairs of positions, query and key, that a relation joins in every example."""

Cells = dict[str, Leads]
"""These pairs by the name of the relation."""

NOTHING_LOST = Lost((), (), ())


def path_key(path: AttentionPath) -> str:
    """The name of a path in addresses and in the data of a page."""
    return f"{path.layer}.{path.head}.{path.relation}"


def circuit_data(findings: Findings, cells: Cells | None = None) -> Circuit | None:
    """The mechanisms of heads; None if that is not known.

    Args:
        findings: of a run.
        cells: where relations lead in the examples; without them it is not told what is
            lost without a path either.
    """
    if findings.discovery is None:
        return None
    task = findings.task
    paths = findings.paths
    looks = path_looks(task, paths)
    lost = {}
    if cells is not None:
        lost = lost_without(task, paths, findings.causal) or {}
    cells = cells or _in_chain(task, paths)
    names = _names_at_arrows(task, findings.discovery)
    shown = list[CircuitPath]()
    for path in paths:
        lost_here = lost.get(path, NOTHING_LOST)
        leads = cells.get(path.relation, [])
        shown.append(_path_data(path, names[path], looks[path], leads, lost_here))
    return Circuit(
        layers=findings.run.config.model.n_layers,
        places=_place_data(task),
        paths=shown,
        tables=findings.discovery.circuit.tabled_heads,
    )


def _place_data(task: Task) -> list[Place]:
    """The roles of one chain, with the colours of their symbols."""
    colours = symbol_colours(task)
    data = list[Place]()
    for place in places(task):
        label = typeset(place.symbol or place.role)
        data.append(Place(place.role, label, colours.get(place.symbol, 0)))
    return data


def _names_at_arrows(task: Task, discovery: Discovery) -> dict[AttentionPath, str]:
    """A label that tells each path from others drawn beside it: its head, if the layer
    has several, and its relation, unless the roles that it joins stand below their
    columns.
    """
    roles = {place.role for place in places(task)}
    heads = Counter(layer for layer, _ in discovery.circuit.mechanisms)
    names: dict[AttentionPath, str] = {}
    for path in discovery.circuit.paths:
        words = [f"H{path.head}"] if heads[path.layer] > 1 else []
        if not roles.issuperset(path.relation.ends or ("",)):
            words.append(typeset(path.relation))
        names[path] = " · ".join(words)
    return names


def _path_data(
    path: AttentionPath, name: str, look: Look, leads: Leads, lost: Lost
) -> CircuitPath:
    """A path, its look, where it leads, and what is lost without it."""
    return CircuitPath(
        key=path_key(path),
        layer=path.layer,
        head=path.head,
        label=typeset(str(path)),
        name=name,
        colour=look.colour,
        carries=[typeset(symbol) for symbol in look.carries],
        cells=leads,
        lost=[path_key(other) for other in lost.unfound + lost.lacking],
        answers=[typeset(answer) for answer in lost.answers],
    )


def _in_chain(task: Task, paths: Sequence[AttentionPath]) -> Cells:
    """The places that paths join in one chain; nothing if one joins no two of them."""
    if not joins_roles(task, paths):
        return {}
    roles = [place.role for place in places(task)]
    cells: Cells = {}
    for path in paths:
        query, key = path.relation.ends or ("", "")
        cells[path.relation] = [[(roles.index(query), roles.index(key))]]
    return cells


def evidence(findings: Findings) -> Table | None:
    """The answers that need each path; None without a path."""
    discovery = findings.discovery
    if discovery is None or not findings.paths:
        return None
    looks = path_looks(findings.task, findings.paths)
    measured = _measured(discovery)
    emerged = findings.emerged
    carried = {path: ", ".join(map(typeset, looks[path].carries)) for path in looks}
    carries = ["carries"] if any(carried.values()) else []
    rows = list[list[Cell]]()
    for path in findings.paths:
        symbols = [carried[path] or None for _ in carries]
        costs = measured.get(path, [None] * 3)
        step = emerged.get(path)
        rows.append([typeset(str(path)), *symbols, *costs, step and round(step)])
    return Table(
        title="",
        head=[
            "path",
            *carries,
            "attention",
            "cost exchanged",
            "loss cut",
            "emerges at step",
        ],
        rows=rows,
        keys=[path_key(path) for path in findings.paths],
        note=_evidence_note(discovery),
    )


def _measured(discovery: Discovery) -> dict[AttentionPath, list[Cell]]:
    """The attention along every path, the cost of its exchange, and the loss without
    it.
    """
    judgement = discovery.evidence.judgement
    costs = {} if judgement is None else judgement.paths
    measured: dict[AttentionPath, list[Cell]] = {}
    for need in discovery.evidence.necessity:
        cost = costs[need.path].most if need.path in costs else None
        measured[need.path] = [need.attention, cost, need.loss]
    return measured


def _evidence_note(discovery: Discovery) -> str:
    """The meaning of the columns of the evidence."""
    rows = ABLATIONS[discovery.ablation]
    whole = rounded(discovery.replaced_loss)
    return (
        f"At the last step, on {discovery.evidence.sequences} sequences. Attention: "
        "the mean along the path. Cost exchanged: what exchanging or cutting the path "
        "costs (see the verdicts); ways are tried until one clearly does. Loss cut: "
        f"with every head replaced by what the circuit says ({rows}), and this path "
        "left out: one that only tells heads above where to look hardly moves it. "
        f"With all paths it is {whole}."
    )


def stream(findings: Findings) -> Table | None:
    """The symbols at every place before the first layer and after each, along the
    circuit.

    None if the flow of information in the task is not known, or a path joins no two of
    its roles.
    """
    if findings.along is None:
        return None
    roles = [place.role for place in places(findings.task)]
    rows = list[list[Cell]]()
    for layers, held in enumerate(findings.along.stages):
        after = f"layer {layers - 1}" if layers else "embedding"
        rows.append(
            [after, *(" ".join(symbols(findings.task, held, role)) for role in roles)]
        )
    rows.reverse()
    note = (
        "Symbols at each place of one chain, if heads copy all that stands "
        "where they look."
    )
    return Table("", ["after", *roles], rows, note=note)


def symbols(task: Task, held: Holdings, role: str) -> list[str]:
    """The symbols that a role holds, as they are printed, those nearest to the query
    first.
    """
    order = symbol_order(task)
    rank = {symbol: i for i, symbol in enumerate(order)}
    standing = [symbol for symbol in held[role] if not is_code(symbol)]
    standing.sort(key=lambda symbol: (rank.get(symbol, len(order)), symbol))
    return [typeset(symbol) for symbol in standing]


def minimum(findings: Findings) -> Section | None:
    """The flow minimum, and what the query can hold layer by layer, at best and by the
    circuit; None if the task does not say how information must flow to its answers.
    """
    flow = findings.task.flow()
    if flow is None:
        return None
    n_layers = findings.run.config.model.n_layers
    ways = {"at best": flow.holdings(n_layers, findings.causal)}
    if findings.along is not None:
        ways["along the circuit"] = findings.along.stages
    rows = list[list[Cell]]()
    for layers, stages in enumerate(zip(*ways.values(), strict=False)):
        at_query = [symbols(findings.task, held, flow.query) for held in stages]
        rows.append([layers, *map(", ".join, at_query)])
    table = Table("symbols at the query", ["layers", *ways], rows)
    return Section("Minimum", [_sentence(findings, flow)], [table])


def _sentence(findings: Findings, flow: Flow) -> str:
    """The flow minimum in closed form where there is one, and what else the theory
    says.
    """
    causal = findings.causal
    depth = chain_depth(flow)
    least = flow.minimum_layers(causal)
    if least is None:
        return "The answer never reaches the query, so no number of layers is enough."
    if depth is None:
        return (
            f"Information needs at least {least} layers to reach the query, by "
            "simulation."
        )
    if causal:
        formula, times = "⌊log₂ D⌋ + 2 under the causal mask", "doubles"
        other = "without a mask"
    else:
        formula, times = "⌈log₃(4D + 1)⌉ without a mask", "triples"
        other = "with the causal mask"
    value = closed_form(depth, causal)
    other_value = least_layers(flow, not causal)
    bound = theorem_1_bound(depth)
    paths = fewest_paths(depth)
    return (
        f"In closed form the minimum is {formula}: what the query can reach "
        f"{times} with every"
        f" layer. For D = {depth} that is {value}; {other} it is {other_value}. "
        "The lower bound of"
        f" Musat (2024), theorem 1, is {bound}; no circuit has fewer than {paths} "
        "paths."
    )
