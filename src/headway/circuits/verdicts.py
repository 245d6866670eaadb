"""The verdicts on a circuit, as data: which hold, which do not, which cannot be given, and why.

Every view shows this list. `RUN` in a line to type stands for the run's folder; lines of Python
suppose a `model`, its `task`, and `found`, what `discover` found.
"""

import math
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.circuits.looks import EXPLAINED
from headway.circuits.mechanism import Head, name_of
from headway.circuits.yardstick import AGREES, percent
from headway.relations.paths import AttentionPath
from headway.text import counted, enumerated, rounded

if TYPE_CHECKING:
    from headway.circuits.discovery import Discovery
    from headway.circuits.exhaustive import MinimalCircuits

LAYERWISE = 0.9
"""The least share of its answers with which the model goes on from what its circuit computed."""

APART, ASTRAY, TIMES = 0.05, 0.03, 2
"""A rival must lead elsewhere in at least this share of the rows that matter. There a path is not
followed if it has less attention than `ASTRAY`, or the rival more than `TIMES` as much."""

NO_PATH = "the circuit has no path"
NOT_FAITHFUL = "the whole circuit is not faithful, so cutting a part of it shows nothing"


@dataclass(frozen=True)
class Verdict:
    """One verdict on a circuit.

    Attributes:
        name: what the circuit is, or is not.
        holds: None if that cannot be said.
        because: the reason, with its numbers and the ablation that they hold for.
        next: a line to type that helps on; None if there is none.
    """

    name: str
    holds: bool | None
    because: str
    next: str | None = None


def verdicts(found: "Discovery", every: "MinimalCircuits | None" = None) -> list[Verdict]:
    """The verdicts on a circuit, always the same seven in the same order.

    Args:
        found: the circuit, and the evidence for it.
        every: all minimal circuits of the model, if they are known.
    """
    return [
        _faithful(found),
        _own(found),
        *_cut(found),
        _unique(found, every),
        _stable(found),
        _feasible(found),
    ]


def _faithful(found: "Discovery") -> Verdict:
    evidence, yardstick = found.evidence, found.yardstick
    like, loss, limit = evidence.likeness.circuit, found.replaced_loss, found.threshold
    ends = (evidence.interval, evidence.intact_interval)
    its, own = (" to ".join(map(rounded, interval)) for interval in ends)
    because = (
        f"{_rows(found)} the loss is {rounded(loss)}, the model's own {rounded(found.intact_loss)}"
        f" (on {evidence.drawn} more sequences, 95 %: {its}, and {own}); "
    )
    if yardstick.loss is not None:
        because += f"{'' if loss < limit else 'not '}below {limit:.3g}"
    else:
        because += (
            f"{percent(like.faithfulness)} of the gap to {yardstick.ablated} ablation is closed (at"
            f" least {percent(yardstick.closes[-1])}; {percent(like.median_faithfulness)} in the"
            " median)"
        )
        if yardstick.ablated != "corrupted":
            least, r2 = AGREES[yardstick.measure], "-" if like.r2 is None else f"{like.r2:.3f}"
            because += (
                f", and {percent(like.agreement)} of answers agree (at least {percent(least)})"
                if yardstick.measure == "agreement"
                else f", and R² is {r2} (at least {least})"
            )
    if found.faithful:
        close = evidence.interval[0] < limit <= evidence.interval[1]
        more = _again(found, sequences=4 * evidence.sequences)
        return Verdict("faithful", True, because, more if close else None)
    others = [(x, rows) for rows, x in evidence.variants.items() if rows != found.ablation]
    least, best = min(others, default=(math.inf, ""))
    if least < min(limit, loss):
        because += f"; with rows {best} it is {rounded(least)}"
        return Verdict("faithful", False, because, _again(found, ablation=best))
    if not evidence.alone:
        return Verdict("faithful", False, because)
    alone, worst = max((loss, head) for head, loss in evidence.alone.items())
    because += f"; replacing {name_of(worst)} alone takes the loss to {rounded(alone)}"
    return Verdict("faithful", False, because, _map(worst))


def _own(found: "Discovery") -> Verdict:
    name = "the model's own"
    if not found.circuit.useful_heads:
        return Verdict(name, None, NO_PATH)
    useful = [look for look in found.looks if look.head in found.circuit.useful_heads]
    if not useful:
        return Verdict(name, None, "neither heads nor layers were looked at again one by one")
    for head, rival in ((look.head, rival) for look in useful for rival in look.rivals):
        wins = rival.instead >= EXPLAINED and rival.instead > TIMES * rival.follows
        if 1 - rival.same >= APART and (wins or rival.follows < ASTRAY):
            two = f"{rival.rival} rather than" if wins else f"neither {rival.rival} nor"
            because = (
                f"{name_of(head)} follows {two} {rival.relation}: {percent(rival.instead)} and"
                f" {percent(rival.follows)} of its attention in the {percent(1 - rival.same)} of"
                " rows where the two differ"
            )
            path, other = (AttentionPath.of(*head, x) for x in (rival.relation, rival.rival))
            line = f"{_without(path)}{f'.adding({str(other)!r})' if wins else ''})"
            return Verdict(name, False, because, line)
    least = min(useful, key=lambda look: look.explained)
    parts = "paths and tables" if found.circuit.tabled_heads else "paths"
    explained = (
        f"its {parts} have {percent(least.explained)} or more of heads' attention where it matters"
        f" (least: {name_of(least.head)})"
    )
    if least.explained < EXPLAINED:
        because = f"its {parts} do not explain {name_of(least.head)}; {explained}"
        return Verdict(name, False, because, _map(least.head))
    if not (layers := found.evidence.likeness.layerwise):
        because = f"there is no layer above to go on; {explained}"
        return Verdict(name, found.faithful or None, because)
    at = layers.index(min(layers))
    because = (
        f"{_rows(found)}, with the circuit in layers 0 to {at} alone, {percent(layers[at])} of the"
        f" model's answers stay (at least {percent(LAYERWISE)}); {explained}"
    )
    if layers[at] >= LAYERWISE:
        return Verdict(name, True, because)
    other = "own" if found.ablation != "own" else "mean"
    return Verdict(name, False, because, _again(found, ablation=other))


def _cut(found: "Discovery") -> list[Verdict]:
    """The verdicts *necessary* and *minimal*, on what happens without one path and without two."""
    evidence, at, rows = found.evidence.necessity, found.threshold, _rows(found)
    if found.necessary is None:
        return [_untestable(name, found) for name in ("necessary", "minimal")]
    if spared := [n.path for n in evidence if n.worst < at]:
        alone = f"without {enumerated(spared, 'or')} (each alone)"
        because = f"{rows} the loss stays below {at:.3g} {alone}"
        necessary = Verdict("necessary", False, because, f"{_without(spared[0])})")
        return [necessary, Verdict("minimal", False, "a path can be dropped by itself")]
    least = min(evidence, key=lambda n: n.worst)
    because = (
        f"{rows} cutting any one of its {counted(len(evidence), 'path')} takes the loss to"
        f" {rounded(least.worst)} or more, other heads replaced or free (least: {least.path});"
        f" the threshold is {at:.3g}"
    )
    pairs, tried = found.evidence.droppable, counted(found.evidence.pairs, "pair")
    both = "; ".join(f"{p.first} with {p.second} (loss {rounded(p.loss)})" for p in pairs)
    minimal = Verdict("minimal", True, f"{rows} no two paths can go together ({tried} tried)")
    if found.minimal is None:
        minimal = Verdict("minimal", None, "pairs of paths were not tried")
    elif pairs:
        spare = f"{rows}, of {tried} tried, droppable together: {both}"
        minimal = Verdict("minimal", False, spare, _again(found, all=""))
    return [Verdict("necessary", True, because), minimal]


def _unique(found: "Discovery", every: "MinimalCircuits | None") -> Verdict:
    if not found.circuit.paths:
        return _untestable("unique", found)
    if every is None:
        because = "not every set of paths was judged"
        return Verdict("unique", None, because, _again(found, all=""))
    count = counted(len(every.circuits), "minimal circuit")
    because = f"{_rows(found)} {count} among {counted(len(every.candidates), 'candidate path')}"
    others = [one for one in every.circuits if set(one) != set(found.circuit.paths)]
    if others:
        shared = f"; {counted(len(every.core), 'path')} in all of them"
        return Verdict("unique", False, because + shared)
    if not every.complete:
        because += f" of up to {every.searched}, and larger sets were not judged"
        return Verdict("unique", None, because, _again(found, all="", most=10 * every.most))
    return Verdict("unique", True if every.circuits else None, because)


def _stable(found: "Discovery") -> Verdict:
    same = [trial.jaccard for trial in found.evidence.trials]
    if not same:
        because = "the search was not repeated on other sequences"
        more = None if "circuit" in found.asked else _again(found, trials=True)  # it was given
        return Verdict("stable", None, because, more)
    if not (found.circuit.paths or any(trial.paths for trial in found.evidence.trials)):
        return _untestable("stable", found)
    holds, likeness = all(jaccard == 1 for jaccard in same), enumerated(f"{x:.2f}" for x in same)
    because = f"on {counted(len(same), 'other sample')} the search finds "
    because += "this very circuit" if holds else f"circuits like it to {likeness} (Jaccard)"
    more = _again(found, sequences=4 * found.evidence.sequences)
    return Verdict("stable", holds, because, None if holds else more)


def _feasible(found: "Discovery") -> Verdict:
    evidence, circuit = found.evidence, found.circuit
    heads, layers = len(circuit.useful_heads), len(circuit.useful_layers)
    size = f"{counted(heads, 'useful head')} in {counted(layers, 'layer')}"
    if evidence.infeasible is None:
        return Verdict("feasible", None, f"the flow of this task is not known; {size}")
    if evidence.minimum is None:
        return Verdict("feasible", False, f"no number of layers can answer; {size}")
    size += f", flow minimum {evidence.minimum}"
    if not circuit.paths:
        return Verdict("feasible", None, f"{NO_PATH}; {size}")
    if evidence.infeasible:
        paths = enumerated(evidence.infeasible, "or")
        because = f"along {paths} the two positions hold nothing in common by then; {size}"
        return Verdict("feasible", False, because, "headway theory RUN")
    because = f"along every path the two positions can hold a piece in common by then; {size}"
    return Verdict("feasible", True, because)


def to_type(line: str, run: object = None) -> str | None:
    """A line to type next: with a run's folder in it, or as Python where there is no run.

    None if it takes a run, and there is none.
    """
    if run is not None or " RUN" not in line:
        return line.replace(" RUN", f" {run}")
    if not line.startswith("headway circuit RUN"):
        return None
    every = "--all" in line
    called = "every_circuit(model, task, found" if every else "discover(model, task"
    for name, value in re.findall(r"--(\w+) (?!--)(\S+)", line):
        if name == "circuit":
            value = "found.circuit"
        elif not (value[0].isdigit() or value == "True"):
            value = repr(value)
        if not every or name in ("sequences", "most"):
            called += f", {name}={value}"
    return f"headway.{called})"


def _rows(found: "Discovery") -> str:
    return f"with {found.ablation} rows"


def _untestable(name: str, found: "Discovery") -> Verdict:
    if found.circuit.paths:
        return Verdict(name, None, NOT_FAITHFUL)
    if not (heads := found.circuit.useful_heads):
        return Verdict(name, None, NO_PATH)
    because = f"{NO_PATH}, only tables of tokens and places: {enumerated(map(name_of, heads))}"
    return Verdict(name, None, because, _map(heads[0]))


def _without(path: AttentionPath) -> str:
    """The beginning of a line that measures the circuit without a path."""
    return f"headway.discover(model, task, circuit=found.circuit.without({str(path)!r})"


def _again(found: "Discovery", **more: Any) -> str:
    """A line that studies the run again, by what was asked for and some more options."""
    words = ["headway circuit RUN"]
    for name, value in {**found.asked, **more}.items():
        words += [f"--{name}", shlex.quote(str(value))] if value != "" else [f"--{name}"]
    return " ".join(words)


def _map(head: Head) -> str:
    """A line that shows where a head looks."""
    return f"headway report RUN  # Look inside, {name_of(head)}"
