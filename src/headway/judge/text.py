"""Circuits and the evidence for them as plain text, as wide as the terminal."""

from collections.abc import Mapping, Sequence

from headway.judge.discovery import Discovery
from headway.judge.evidence import Trial
from headway.judge.looks import of_looks
from headway.judge.verdict import Verdict, roles_of, verdicts
from headway.judge.yardstick import Likeness, Yardstick, percent
from headway.relations.paths import AttentionPath
from headway.replace.circuit import LISTED, Circuit
from headway.replace.heads import name_of
from headway.text import aligned, at_step, counted, enumerated, rounded, width, wrapped

BELOW = "    "

WORDS = {True: "yes", False: "NO", None: "?"}
"""Verdicts as words."""

JUST = "; close to the limit: other sequences may say otherwise"


def of_discovery(discovery: Discovery, run: object = None) -> str:
    """Heads and what they do, the verdicts with their numbers, and every path's losses.

    Args:
        discovery: what is shown.
        run: the folder for the lines to type next; they are Python without it.
    """
    lines = head_lines(discovery)
    names = names_in(discovery.circuit)
    lines += ["", *verdict_lines(verdicts(discovery), run, names), ""]
    lines += evidence_lines(discovery)
    return "\n".join(lines)


def head_lines(discovery: Discovery) -> list[str]:
    """The heads of a discovery, and what they do."""
    circuit = discovery.circuit
    lines = of_looks(discovery.looks, circuit, discovery.faithful)
    if not discovery.looks:
        for head in circuit.useful_heads:
            said = f"{name_of(head)}: {circuit.mechanisms[head]}"
            lines += wrapped(said, whole=names_in(circuit))
    for idle in circuit.idle_lines:
        lines += wrapped(idle)
    if discovery.faithful and not circuit.paths:
        lines += wrapped(without_paths(circuit))
    return lines + beside_lines(discovery)


def names_in(circuit: Circuit) -> list[str]:
    """The names that no line breaks: paths and their relations."""
    names = [str(path) for path in circuit.paths]
    return [*names, *(path.relation for path in circuit.paths)]


def evidence_lines(discovery: Discovery) -> list[str]:
    """The evidence of a discovery: likeness, paths, flow, and what it cost."""
    lines = [*likeness_table(discovery), ""]
    if discovery.circuit.paths:
        lines += path_table(discovery)
        lines += wrapped(
            "exchanged: the cost of exchanging or cutting this path, as a share of"
            " the answers that exchanging every head changes, or of the loss that it"
            " adds; ways are tried until one clearly costs"
        )
        lines += wrapped(
            f"cut: the {discovery.yardstick.metric} with this path cut and all other"
            " heads replaced"
        )
        if discovery.evidence.trials:
            lines += wrapped(
                "again: in how many searches with another sample it was found"
            )
    lines += wrapped(flow_line(discovery), whole=names_in(discovery.circuit))
    cost = (
        f"{discovery.candidates} candidates at the cost of {discovery.forwards:.0f}"
        " forward passes"
    )
    if discovery.seconds is not None:
        cost += f", {discovery.seconds:.1f} s"
    return lines + wrapped(cost)


def without_paths(circuit: Circuit) -> str:
    """A sentence on attention in a faithful circuit that has no path."""
    brought = (
        "what attention brings is not needed, or from the same places in all sequences"
    )
    if circuit.tabled_heads:
        names = enumerated(map(name_of, circuit.tabled_heads))
        brought = f"attention brings what tables of tokens and places say ({names})"
    return (
        f"no head has a path: {brought}; the rest is computed position by position,"
        " in MLPs"
    )


def verdict_lines(
    given: Sequence[Verdict], run: object = None, whole: Sequence[str] = ()
) -> list[str]:
    """Verdicts: name, word, reason, and the line to type next (see `Next`).

    Args:
        given: the verdicts.
        run: the folder for the lines to type next; they are Python without it.
        whole: names that no line breaks.
    """
    column = max(len(verdict.name) for verdict in given) + 2
    indent = " " * (column + 5)
    lines = list[str]()
    for verdict in given:
        start = verdict.name.ljust(column) + WORDS[verdict.holds]
        start = start.ljust(len(indent))
        close = JUST * verdict.is_close
        lines += wrapped(verdict.because + close, start, indent, whole)
        step = verdict.next
        line = step and (step.in_python() if run is None else step.in_shell(run))
        if line:
            lines += wrapped(f"next: {line}", indent, indent)
    return lines


def beside_lines(discovery: Discovery) -> list[str]:
    """The heads without a path, by what exchanging them shows that they do."""
    judgement = discovery.evidence.judgement
    if judgement is None:
        return []
    lines = list[str]()
    for role, heads in roles_of(judgement.heads).items():
        names = ", ".join(map(name_of, heads[:LISTED]))
        if len(heads) > LISTED:
            names += f" and {len(heads) - LISTED} more"
        lines += wrapped(f"{role}: {names}")
    return lines


def flow_line(discovery: Discovery) -> str:
    """The size of the circuit beside the flow minimum, and the theory of its paths."""
    evidence = discovery.evidence
    heads = counted(len(discovery.circuit.useful_heads), "useful head")
    layers = counted(len(discovery.circuit.useful_layers), "layer")
    size = f"{heads} in {layers}"
    if evidence.infeasible is None:
        return f"flow: not known of this task; {size}"
    if evidence.minimum is None:
        return f"flow: no number of layers can answer; {size}"
    size += f", flow minimum {evidence.minimum}"
    if evidence.infeasible:
        paths = enumerated(evidence.infeasible, "or")
        in_common = "the two positions hold nothing in common by then"
        return f"flow: along {paths} {in_common}; {size}"
    return f"flow: {size}"


def likeness_table(discovery: Discovery) -> list[str]:
    """Intact, circuit, complement and ablated, each with its loss and its agreement."""
    likeness = discovery.evidence.likeness
    yardstick = discovery.yardstick
    own = rounded(yardstick.measured(discovery.intact_loss))
    rows = [
        ["", yardstick.metric, "answers", "sequences", "R²", "faithfulness"],
        ["intact", own, "100.0 %", "100.0 %", "1.000", "1.000"],
        _likeness_row("circuit", likeness.circuit, yardstick),
    ]
    if discovery.circuit.paths:
        rows.append(_likeness_row("complement", likeness.complement, yardstick))
    rows.append(_likeness_row("ablated", likeness.ablated, yardstick))
    lines = _table(rows, "<>>>>>")
    lines += wrapped(
        "answers: the share that is the intact model's own;"
        " sequences: the share of which all answers are"
    )
    lines += wrapped(f"the circuit hop by hop: {_hops(discovery)}")
    lines += wrapped(_replaced(discovery))
    return lines


def _replaced(discovery: Discovery) -> str:
    """The loss with every head replaced, beside its limit, and on more sequences."""
    evidence = discovery.evidence
    yardstick = discovery.yardstick
    good_side = "above" if yardstick.sign < 0 else "below"
    is_good = discovery.replaced_loss < discovery.threshold
    side = good_side if is_good else f"not {good_side}"
    limit = yardstick.measured(discovery.threshold)
    its = _interval(evidence.interval, yardstick)
    own = _interval(evidence.intact_interval, yardstick)
    return (
        f"every head replaced, {discovery.ablation} rows:"
        f" the {yardstick.metric} is {side} {limit:.3g};"
        f" on {evidence.drawn} more sequences {its} (95 %), and the model's own {own}"
    )


def _likeness_row(name: str, altered: Likeness, yardstick: Yardstick) -> list[str]:
    """The likeness of an altered model to the intact one, as cells of a table."""
    row = [name, rounded(yardstick.measured(altered.loss))]
    row += [percent(altered.agreement), percent(altered.sequence_agreement)]
    for number in (altered.r2, altered.faithfulness):
        row.append("-" if number is None else f"{number:.3f}")
    return row


def _hops(discovery: Discovery) -> str:
    """The circuit's loss of every hop, with the share of answers that agree."""
    evidence = discovery.evidence
    agreement = evidence.likeness.circuit.agreement_by_hop
    hops = list[str]()
    for hop, loss in evidence.replaced.items():
        measured = rounded(discovery.yardstick.measured(loss))
        hops.append(f"{hop} {measured} ({percent(agreement[hop])})")
    return ", ".join(hops)


def _interval(ends: tuple[float, float], yardstick: Yardstick) -> str:
    """The interval of a metric, given that of the loss, as it is printed."""
    low, high = sorted(map(yardstick.measured, ends))
    return f"{rounded(low)} to {rounded(high)}"


def path_table(
    discovery: Discovery,
    emerged: Mapping[AttentionPath, float | None] | None = None,
    indent: int = 0,
) -> list[str]:
    """Every path of a circuit: attention, cost, loss without it, emergence.

    Args:
        discovery: of the circuit.
        emerged: the step at which each path did, in the place of how often it was found
            again.
        indent: columns that are taken before each line.
    """
    trials = discovery.evidence.trials
    judgement = discovery.evidence.judgement
    costs = judgement.paths if judgement else {}
    head = ["path", "attention", "exchanged", "cut"]
    if emerged is not None:
        head.append("emerged")
    elif trials:
        head.append("again")
    rows = [head]
    for needed in discovery.evidence.necessity:
        path = needed.path
        cost = f"{costs[path].most:.2f}" if path in costs else "-"
        cut = discovery.yardstick.measured(needed.loss)
        row = [str(path), f"{needed.attention:.2f}", cost, rounded(cut)]
        if emerged is not None:
            row.append(at_step(emerged.get(path)))
        elif trials:
            row.append(_how_often(path, trials))
        rows.append(row)
    return _table(rows, "<".ljust(len(head), ">"), indent)


def _how_often(path: AttentionPath, trials: Sequence[Trial]) -> str:
    """The number of trials that led to a path, and of all."""
    times = sum(path in trial.paths for trial in trials)
    return f"{times} of {len(trials)}"


def _table(rows: Sequence[Sequence[str]], sides: str, indent: int = 0) -> list[str]:
    """Rows as columns (see `aligned`); where the terminal is too narrow, the first cell
    has a line of its own.
    """
    whole = aligned(rows, sides, indent)
    if max(map(len, whole)) <= width() - indent:
        return whole
    lines = list[str]()
    numbers = aligned([row[1:] for row in rows], sides[1:], indent + len(BELOW))
    for row, line in zip(rows, numbers, strict=True):
        lines += wrapped(row[0], rest=BELOW)
        lines += wrapped(f"{BELOW}{line}", rest=BELOW)
    return lines
