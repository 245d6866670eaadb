"""The five verdicts on a circuit, each with its reason in words."""

from dataclasses import dataclass

from headway.circuits import Discovery, Paths
from headway.report.page.html import counted, listed, named, number, place_of


@dataclass(frozen=True)
class Verdict:
    """One property of a circuit.

    Attributes:
        name: the property.
        holds: whether the circuit has it; none if that cannot be said.
        words: why, as HTML.
    """

    name: str
    holds: bool | None
    words: str


def verdicts(discovery: Discovery, several_heads: bool) -> list[Verdict]:
    """The five verdicts. What an unfaithful circuit or one without paths cannot show is left open:
    of what is above the threshold already, no path can be dropped below it."""
    return [
        _faithful(discovery),
        _necessary(discovery, several_heads),
        _minimal(discovery, several_heads),
        _stable(discovery),
        _feasible(discovery, several_heads),
    ]


def _faithful(discovery: Discovery) -> Verdict:
    found, at = discovery.certificate, discovery.threshold
    low, high = found.interval
    side = "below" if discovery.faithful else "<b>not</b> below"
    words = (
        f"With every head replaced the loss is {number(discovery.replaced_loss)}"
        f" ({_interval(found.interval)}), {side} the threshold {at:g}; of the model as it is,"
        f" {number(discovery.intact_loss)} ({_interval(found.intact_interval)})."
    )
    mechanisms = discovery.circuit.mechanisms.values()
    kept = sum(isinstance(m, Paths) and not m.relations for m in mechanisms)
    if discovery.ablation == "own" and kept:
        words += (
            f" But {counted(kept, 'head')} without a path, of {len(mechanisms)}, kept all of their"
            " own attention: these were not replaced."
        )
        if discovery.faithful and kept == len(mechanisms):
            return Verdict("faithful", None, words)
    if low < at <= high:
        words += " The interval holds the threshold: other sequences could turn the verdict."
    above = [hop for hop, loss in found.replaced.items() if loss >= at]
    if discovery.faithful and above:
        words += f" That is the mean: alone, {listed(map(named, above))} lies above {at:g}."
    return Verdict("faithful", discovery.faithful, words)


def _necessary(discovery: Discovery, several: bool) -> Verdict:
    found, at = discovery.certificate.necessity, discovery.threshold
    if (why := untestable(discovery)) is not None:
        return Verdict("necessary", None, why)
    if discovery.necessary:
        least = min(found, key=lambda n: n.worst)
        above = [place_of(n.path, several) for n in found if n.loss < at]
        words = (
            f"Without any one of its {counted(len(found), 'path')} the loss is {at:g} or more, with"
            " every head replaced or with the useful heads above it free, whichever is worse; the"
            f" least, {number(least.worst)}, without {place_of(least.path, several)}."
        )
        if above:
            words += (
                f" With every head replaced, as the paper tests it, that holds for"
                f" {len(found) - len(above)} of {len(found)}; {listed(above)}"
                f" {'is' if len(above) == 1 else 'are'} needed by the heads above only."
            )
        return Verdict("necessary", True, words)
    spare = [place_of(n.path, several) for n in found if n.worst < at]
    words = f"The loss stays below {at:g} without {listed(spare, 'or')} (each alone)."
    return Verdict("necessary", False, words)


def _minimal(discovery: Discovery, several: bool) -> Verdict:
    found = discovery.certificate
    if (why := untestable(discovery)) is not None:
        return Verdict("minimal", None, why)
    words = []
    if not discovery.necessary:
        words.append("A path can be dropped by itself.")
    if found.droppable:
        pairs = "; ".join(
            f"{place_of(pair.first, several)} with {place_of(pair.second, several)}"
            f" (loss {number(pair.loss)})"
            for pair in found.droppable
        )
        words.append(f"Of {counted(found.pairs, 'pair')} tried, droppable together: {pairs}.")
    else:
        words.append(
            "There is no pair of paths to try."
            if found.pairs == 0
            else f"No two paths can be dropped together ({counted(found.pairs, 'pair')} tried)."
        )
    if discovery.minimal and found.pairs:
        words.append("Three or more at once were not tried.")
    return Verdict("minimal", discovery.minimal, " ".join(words))


def _stable(discovery: Discovery) -> Verdict:
    same = [t for t in discovery.certificate.trials if t.threshold == discovery.threshold]
    if not same:
        return Verdict("stable", None, "The search was not repeated on other sequences.")
    holds = all(trial.jaccard == 1 for trial in same)
    other = [t for t in same if t.jaccard < 1] or same
    samples = counted(len(other), "other sample")
    if holds:
        words = f"On {samples} the same search finds this very circuit."
    else:
        counts = listed(f"{t.jaccard:.2f}" for t in other)
        words = f"On {samples} the same search finds another circuit: Jaccard {counts}."
        if len(other) < len(same):
            words += f" On {len(same) - len(other)} it finds this one."
    moved = [t for t in discovery.certificate.trials if t not in same]
    if moved:
        told = listed(f"{t.jaccard:.2f} at {t.threshold:.3g}" for t in moved)
        words += f" With another threshold: Jaccard {told}."
    return Verdict("stable", holds, words)


def _feasible(discovery: Discovery, several: bool) -> Verdict:
    found, circuit = discovery.certificate, discovery.circuit
    heads, layers = len(circuit.useful_heads), len(circuit.useful_layers)
    size = f"{counted(heads, 'useful head')} in {counted(layers, 'layer')}"
    if found.infeasible is not None and found.minimum is None:
        return Verdict("feasible", False, f"No number of layers can answer. {size.capitalize()}.")
    if found.infeasible is None or found.minimum is None:
        unknown = "How information must flow in this task is not known."
        return Verdict("feasible", None, f"{unknown} {size.capitalize()}.")
    least = found.minimum
    if not circuit.paths:
        return Verdict("feasible", None, "There is no path that could be impossible.")
    if found.infeasible:
        words = (
            "No flow of information allows "
            + listed([place_of(path, several) for path in found.infeasible], "or")
            + ": the two positions hold nothing in common by then."
        )
    else:
        words = "Along every path the two positions can hold a piece in common by then."
    words += f" {size}; flow minimum {counted(least, 'layer')}, with a head in each: "
    words += f"{_beyond(layers - least, 'layer')} and {_beyond(heads - least, 'head')}."
    return Verdict("feasible", not found.infeasible, words)


def untestable(discovery: Discovery) -> str | None:
    """Why dropping paths shows nothing, if it does not."""
    if not discovery.circuit.paths:
        return "There is nothing to drop: the circuit has no path."
    if not discovery.faithful:
        return (
            "Cannot be said: the whole circuit is not below the threshold, so without a part of it"
            " there is nothing to stay below."
        )
    return None


def _interval(interval: tuple[float, float]) -> str:
    return f"{number(interval[0])} to {number(interval[1])}"


def _beyond(spare: int, thing: str) -> str:
    if spare == 0:
        return f"no {thing} above it"
    return f"{counted(abs(spare), thing)} {'below' if spare < 0 else 'above'} it"
