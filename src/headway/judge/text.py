"""Circuits, their evidence and their timelines as plain text of at most 80 columns."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headway.judge.looks import of_looks
from headway.judge.verdicts import Verdict, roles_of, to_type, verdicts
from headway.judge.yardstick import percent
from headway.relations.paths import AttentionPath
from headway.replace.mechanism import LISTED, Circuit, name_of
from headway.text import aligned, at_step, counted, enumerated, rounded, wrapped

if TYPE_CHECKING:
    from headway.judge.discovery import Discovery

WORDS = {True: "yes", False: "NO", None: "?"}
"""Verdicts as words."""


def of_discovery(found: "Discovery", run: object = None, with_verdicts: bool = True) -> str:
    """Heads and what they do, the verdicts with their numbers, and every path's losses.

    Args:
        found: what is shown.
        run: the folder for the lines to type next; they are Python without it.
        with_verdicts: false where verdicts are shown apart, as on a page.
    """
    circuit, lines = found.circuit, of_looks(found.looks, found.circuit, found.faithful)
    others = [] if found.looks else found.circuit.useful_heads
    heads = [f"{name_of(head)}: {circuit.mechanisms[head]}" for head in others]
    lines += [line for one in (*heads, *circuit.idle_lines) for line in wrapped(one)]
    if found.faithful and not circuit.paths:
        lines += wrapped(without_paths(circuit))
    lines += beside_lines(found)
    if with_verdicts:
        lines += ["", *verdict_lines(verdicts(found), run)]
    lines += ["", *likeness_table(found), ""]
    if circuit.paths:
        lines += path_table(found)
        lines += wrapped(
            "exchanged: the cost of exchanging or cutting this path alone, as a share of the"
            " answers that exchanging every head changes, or of the loss that it adds"
        )
        lines += wrapped("cut: the loss with this path cut and all other heads replaced")
        if found.evidence.trials:
            lines += wrapped("again: in how many searches with another sample it was found")
    lines += wrapped(flow_line(found))
    cost = f"{found.candidates} candidates at the cost of {found.forwards:.0f} forward passes"
    took = "" if found.seconds is None else f", {found.seconds:.1f} s"
    lines += wrapped(f"{cost}{took}")
    return "\n".join(lines)


def without_paths(circuit: Circuit) -> str:
    """What attention brings in a faithful circuit that has no path."""
    if tabled := circuit.tabled_heads:
        names = enumerated(map(name_of, tabled))
        brought = f"attention brings what tables of tokens and places say ({names})"
    else:
        brought = "what attention brings is not needed, or from the same places in all sequences"
    return f"no head has a path: {brought}; the rest is computed position by position, in MLPs"


def verdict_lines(given: Sequence[Verdict], run: object = None) -> list[str]:
    """Verdicts one below the other: name, word, reason, and the line to type next (`to_type`)."""
    names = max(len(one.name) for one in given) + 2
    indent = " " * (names + 5)
    lines = []
    for one in given:
        first = one.name.ljust(names) + WORDS[one.holds]
        lines += wrapped(one.because, first.ljust(len(indent)), indent)
        if line := one.next and to_type(one.next, run):
            lines += wrapped(f"next: {line}", indent, indent)
    return lines


def beside_lines(found: "Discovery") -> list[str]:
    """The heads without a path, by what exchanging them shows that they do."""
    judgement = found.evidence.judgement
    if judgement is None:
        return []
    lines = list[str]()
    for role, heads in roles_of(judgement.heads).items():
        names = ", ".join(map(name_of, heads[:LISTED]))
        more = f" and {len(heads) - LISTED} more" if len(heads) > LISTED else ""
        lines += wrapped(f"{role}: {names}{more}")
    return lines


def flow_line(found: "Discovery") -> str:
    """The size of the circuit beside the flow minimum, and what the theory says of its paths."""
    evidence, circuit = found.evidence, found.circuit
    heads, layers = len(circuit.useful_heads), len(circuit.useful_layers)
    size = f"{counted(heads, 'useful head')} in {counted(layers, 'layer')}"
    if evidence.infeasible is None:
        return f"flow: not known of this task; {size}"
    if evidence.minimum is None:
        return f"flow: no number of layers can answer; {size}"
    size += f", flow minimum {evidence.minimum}"
    if evidence.infeasible:
        paths = enumerated(evidence.infeasible, "or")
        return f"flow: along {paths} the two positions hold nothing in common by then; {size}"
    return f"flow: {size}"


def likeness_table(found: "Discovery") -> list[str]:
    """Intact, circuit, complement and ablated, each with its loss and its agreement."""
    evidence, likeness = found.evidence, found.evidence.likeness
    rows = [["", "loss", "answers", "sequences", "R²", "faithfulness"]]
    rows.append(["intact", f"{found.intact_loss:.4f}", *["100.0 %"] * 2, "1.000", "1.000"])
    beside = ["complement"] if found.circuit.paths else []
    for name in ("circuit", *beside, "ablated"):
        one = getattr(likeness, name)
        numbers = ["-" if x is None else f"{x:.3f}" for x in (one.r2, one.faithfulness)]
        shares = map(percent, (one.agreement, one.sequence_agreement))
        rows.append([name, f"{one.loss:.4f}", *shares, *numbers])
    by_hop = (
        f"{hop} {rounded(loss)} ({percent(likeness.circuit.agreement_by_hop[hop])})"
        for hop, loss in evidence.replaced.items()
    )
    its, own = (
        " to ".join(map(rounded, interval))
        for interval in (evidence.interval, evidence.intact_interval)
    )
    lines = _table(rows, "<>>>>>")
    lines += wrapped(
        "answers: the share that is the intact model's own; sequences: the share of which all"
        " answers are"
    )
    lines += wrapped(f"the circuit hop by hop: {', '.join(by_hop)}")
    above = "below" if found.replaced_loss < found.threshold else "not below"
    lines += wrapped(
        f"every head replaced, {found.ablation} rows: the loss is {above} {found.threshold:.3g}; on"
        f" {evidence.drawn} more sequences {its} (95 %), and the model's own {own}"
    )
    return lines


def path_table(
    found: "Discovery", emerged: Mapping[AttentionPath, float | None] | None = None
) -> list[str]:
    """Every path of a circuit: its attention, its cost, the loss without it, its emergence."""
    trials, judgement = found.evidence.trials, found.evidence.judgement
    costs = {} if judgement is None else judgement.paths
    rows = [["path", "attention", "exchanged", "cut"]]
    rows[0] += ["emerged"] if emerged is not None else ["again"] if trials else []
    for n in found.evidence.necessity:
        cost = f"{costs[n.path].most:.2f}" if n.path in costs else "-"
        row = [str(n.path), f"{n.attention:.2f}", cost, f"{n.loss:.3f}"]
        if emerged is not None:
            row.append(at_step(emerged.get(n.path)))
        elif trials:
            row.append(f"{sum(n.path in trial.paths for trial in trials)} of {len(trials)}")
        rows.append(row)
    return _table(rows, "<".ljust(len(rows[0]), ">"))


def _table(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Rows as columns (see `aligned`), broken where the terminal is too narrow."""
    lines = aligned(rows, sides)
    return [part for line in lines for part in wrapped(line, rest="    ")]
