"""A run's circuit as data: places, paths with their curves, evidence, and what flows along it."""

from collections.abc import Sequence

from headway.judge.flows import least_layers, lost_without
from headway.judge.roles import joins_roles, places, symbol_order
from headway.relations.paths import AttentionPath
from headway.replace import ABLATIONS
from headway.report import schema
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.looks import path_looks, symbol_colours
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

Cells = dict[str, list[list[tuple[int, int]]]]
"""Cells of relations in every example: pairs of positions, query and key."""


def path_key(path: AttentionPath) -> str:
    """The name of a path in addresses and in the data of a page."""
    return f"{path.layer}.{path.head}.{path.relation}"


def circuit_data(findings: Findings, cells: Cells | None = None) -> schema.Circuit | None:
    """The mechanisms of heads; None if that is not known.

    Args:
        findings: of a run.
        cells: where relations lead in the examples; without them it is not told what is lost
            without a path either.
    """
    if findings.discovery is None:
        return None
    task, paths = findings.task, findings.paths
    colours, looks, standing = symbol_colours(task), path_looks(task, paths), places(task)
    lost = lost_without(task, paths, findings.causal) or {} if cells is not None else {}
    cells = cells or _in_chain(task, paths)

    def data_of(path: AttentionPath) -> schema.CircuitPath:
        rest, look = lost.get(path), looks[path]
        return schema.CircuitPath(
            key=path_key(path),
            layer=path.layer,
            head=path.head,
            label=typeset(str(path)),
            colour=look.colour,
            carries=[typeset(symbol) for symbol in look.carries],
            cells=cells.get(path.relation, []),
            lost=[] if rest is None else list(map(path_key, rest.unfound + rest.lacking)),
            answers=[] if rest is None else list(map(typeset, rest.answers)),
        )

    return schema.Circuit(
        layers=findings.run.config.model.n_layers,
        places=[
            schema.Place(
                role=place.role,
                label=typeset(place.symbol or place.role),
                colour=colours.get(place.symbol, 0),
            )
            for place in standing
        ],
        paths=list(map(data_of, paths)),
        tables=findings.discovery.circuit.tabled_heads,
    )


def _in_chain(task: Task, paths: Sequence[AttentionPath]) -> Cells:
    """The places that paths join in one chain; nothing if one joins no two of them."""
    if not joins_roles(task, paths):
        return {}
    roles = [place.role for place in places(task)]
    ends = {path.relation: path.relation.ends or ("", "") for path in paths}
    return {name: [[(roles.index(q), roles.index(k))]] for name, (q, k) in ends.items()}


def evidence(findings: Findings) -> schema.Table | None:
    """The answers that need each path; None without a path."""
    found, timeline = findings.discovery, findings.timeline
    if found is None or not findings.paths:
        return None
    judgement = found.evidence.judgement
    costs = {} if judgement is None else {p: c.most for p, c in judgement.paths.items()}
    measured = {n.path: (n.attention, costs.get(n.path), n.loss) for n in found.evidence.necessity}
    emerged = {} if timeline is None else {h.path: h.emerged for h in timeline.paths}
    curves = "" if timeline is None else f" (curves: of {timeline.sequences} others)"
    looks, rows = path_looks(findings.task, findings.paths), list[list[schema.Cell]]()
    for path in findings.paths:
        carries, step = ", ".join(map(typeset, looks[path].carries)), emerged.get(path)
        numbers = *measured.get(path, (None, None, None)), None if step is None else round(step)
        rows.append([typeset(str(path)), carries or None, *numbers])
    return schema.Table(
        title="",
        head=["path", "carries", "attention", "cost exchanged", "loss cut", "emerges at step"],
        rows=rows,
        keys=list(map(path_key, findings.paths)),
        note=(
            f"At the last step, on {found.evidence.sequences} sequences{curves}. Cost exchanged:"
            " what exchanging or cutting the path alone costs, as a share of the answers that"
            " exchanging every head changes, or of the loss that it adds. Loss cut: of the circuit"
            f" ({ABLATIONS[found.ablation]}) without the path. Whole:"
            f" {rounded(found.replaced_loss)}; threshold: {rounded(found.threshold)}."
        ),
    )


def stream(findings: Findings) -> schema.Table | None:
    """The symbols at every place before the first layer and after each, along the circuit.

    None if the flow of information in the task is not known, or a path joins no two of its roles.
    """
    if (along := findings.along) is None:
        return None
    standing = [place.role for place in places(findings.task)]
    rows: list[list[schema.Cell]] = [
        [
            f"layer {after - 1}" if after else "embedding",
            *(" ".join(symbols(findings.task, held, role)) for role in standing),
        ]
        for after, held in reversed(list(enumerate(along.stages)))
    ]
    note = "Symbols at each place of one chain, if heads copy all that stands where they look."
    return schema.Table("", ["after", *standing], rows, note=note)


def symbols(task: Task, held: Holdings, role: str) -> list[str]:
    """The symbols that a role holds, as they are printed, those nearest to the query first."""
    order = symbol_order(task)
    rank = {symbol: i for i, symbol in enumerate(order)}
    found = [piece for piece in held[role] if not is_code(piece)]
    found.sort(key=lambda one: (rank.get(one, len(order)), one))
    return [typeset(piece) for piece in found]


def minimum(findings: Findings) -> schema.Section:
    """The flow minimum, and what the query can hold layer by layer, at best and by the circuit."""
    flow = findings.task.flow()
    if flow is None:
        why = "the task does not say how information must flow to its answers."
        return schema.Section("Minimum", [f"The flow minimum of this task is not known: {why}"])
    ways = {"at best": flow.holdings(findings.run.config.model.n_layers, findings.causal)}
    ways |= {} if findings.along is None else {"along the circuit": findings.along.stages}
    rows = [
        [layers, *(", ".join(symbols(findings.task, held, flow.query)) for held in stages)]
        for layers, stages in enumerate(zip(*ways.values(), strict=False))
    ]
    table = schema.Table("symbols at the query", ["layers", *ways], rows)
    return schema.Section("Minimum", [_sentence(findings, flow)], [table])


def _sentence(findings: Findings, flow: Flow) -> str:
    causal, depth, least = findings.causal, chain_depth(flow), flow.minimum_layers(findings.causal)
    if least is None:
        return "The answer never reaches the query, so no number of layers is enough."
    if depth is None:
        return f"Information needs at least {least} layers to reach the query, by simulation."
    formula, times, other = (
        ("⌊log₂ D⌋ + 2 under the causal mask", "doubles", "without a mask")
        if causal
        else ("⌈log₃(4D + 1)⌉ without a mask", "triples", "with the causal mask")
    )
    return (
        f"In closed form the minimum is {formula}: what the query can reach {times} with every"
        f" layer. For D = {depth} that is {closed_form(depth, causal)}; {other} it is"
        f" {least_layers(flow, not causal)}. The lower bound of Musat (2024), theorem 1,"
        f" is {theorem_1_bound(depth)}; no circuit has fewer than {fewest_paths(depth)} paths."
    )
