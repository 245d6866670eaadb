"""The five verdicts on a circuit: which hold, which do not, and which cannot be given."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headway.text import counted, enumerated, rounded

if TYPE_CHECKING:
    from headway.circuits.discovery import Discovery


def held(discovery: "Discovery") -> dict[str, bool | None]:
    """Whether the circuit is faithful, necessary, minimal, stable and feasible; None if unknown.

    Stable: the search finds this very circuit on every other sample at the same threshold. Of an
    unfaithful circuit, or of one without paths, most of this is unknown.
    """
    found = discovery.evidence
    same = [t.jaccard == 1 for t in found.trials if t.threshold == discovery.threshold]
    feasible = discovery.feasible if discovery.circuit.paths else None
    if found.minimum is None:  # no number of layers can answer, or nobody knows how many can
        feasible = None if found.infeasible is None else False
    return {
        "faithful": discovery.faithful,
        "necessary": discovery.necessary,
        "minimal": discovery.minimal,
        "stable": all(same) if same else None,
        "feasible": feasible,
    }


def untestable(discovery: "Discovery") -> str | None:
    """Why cutting paths would show nothing, in a sentence; None if it does show something."""
    if not discovery.circuit.paths:
        return "There is nothing to drop: the circuit has no path."
    if not discovery.faithful:
        return (
            "Cannot be said: the whole circuit is not below the threshold, so without a part of it"
            " there is nothing to stay below."
        )
    return None


def reasons(discovery: "Discovery") -> dict[str, list[str]]:
    """Why the circuit has each property, or has not, or why that cannot be said, in sentences."""
    cannot = untestable(discovery)
    return {
        "faithful": list(_faithful(discovery)),
        "necessary": [cannot] if cannot else list(_necessary(discovery)),
        "minimal": [cannot] if cannot else list(_minimal(discovery)),
        "stable": list(_stable(discovery)),
        "feasible": list(_feasible(discovery)),
    }


def _faithful(discovery: "Discovery") -> Iterator[str]:
    found, at = discovery.evidence, discovery.threshold
    (low, high), (own_low, own_high) = found.interval, found.intact_interval
    replaced, intact = rounded(discovery.replaced_loss), rounded(discovery.intact_loss)
    yield (
        f"With every head replaced the loss is {replaced} ({rounded(low)} to {rounded(high)}),"
        f" {'' if discovery.faithful else 'not '}below the threshold {at:.3g}; of the model as it"
        f" is, {intact} ({rounded(own_low)} to {rounded(own_high)})."
    )
    if low < at <= high:
        yield "The interval contains the threshold: other sequences could change the verdict."
    above = [hop for hop, loss in found.replaced.items() if loss >= at]
    if discovery.faithful and above:
        yield f"That is the mean: alone, {enumerated(above)} lies above {at:.3g}."


def _necessary(discovery: "Discovery") -> Iterator[str]:
    necessity, at = discovery.evidence.necessity, discovery.threshold
    if spare := [n.path for n in necessity if n.worst < at]:
        yield f"The loss stays below {at:.3g} without {enumerated(spare, 'or')} (each alone)."
        return
    least, tried = min(necessity, key=lambda n: n.worst), len(necessity)
    yield (
        f"Without any one of its {counted(tried, 'path')} the loss is {at:.3g} or more, with every"
        f" head replaced or {free(discovery.ablation)}, whichever is worse; the least,"
        f" {rounded(least.worst)}, without {least.path}."
    )
    if helpers := [n.path for n in necessity if n.loss < at]:
        yield (
            "With every head replaced, as the paper tests it, that holds for"
            f" {tried - len(helpers)} of {tried}; {enumerated(helpers)}"
            f" {'is' if len(helpers) == 1 else 'are'} needed by the heads above only."
        )


def free(ablation: str) -> str:
    """The other way in which a path is cut, beside that with every head replaced."""
    if ablation == "corrupted":
        return "with the path alone cut in the model as it is"
    return "with the useful heads above it free"


def _minimal(discovery: "Discovery") -> Iterator[str]:
    found = discovery.evidence
    tried = counted(found.pairs, "pair")
    if not discovery.necessary:
        yield "A path can be dropped by itself."
    if found.droppable:
        pairs = (f"{p.first} with {p.second} (loss {rounded(p.loss)})" for p in found.droppable)
        yield f"Of {tried} tried, droppable together: {'; '.join(pairs)}."
    elif found.pairs:
        yield f"No two paths can be dropped together ({tried} tried)."
        if discovery.minimal:
            yield "Three or more at once were not tried."
    elif len(discovery.circuit.paths) > 1:
        yield "Pairs of paths were not tried."
    else:
        yield "There is no pair of paths to try."


def _stable(discovery: "Discovery") -> Iterator[str]:
    trials, at = discovery.evidence.trials, discovery.threshold
    same = [trial.jaccard for trial in trials if trial.threshold == at]
    others = [jaccard for jaccard in same if jaccard < 1]
    if not same:
        yield "The search was not repeated on other sequences."
    elif not others:
        yield f"On {counted(len(same), 'other sample')} the same search finds this very circuit."
    else:
        likeness = enumerated(f"{jaccard:.2f}" for jaccard in others)
        yield (
            f"On {counted(len(others), 'other sample')} the same search finds another circuit:"
            f" Jaccard {likeness}."
        )
        if len(others) < len(same):
            yield f"On {len(same) - len(others)} it finds this one."
    if moved := [f"{t.jaccard:.2f} at {t.threshold:.3g}" for t in trials if t.threshold != at]:
        yield f"With another threshold: Jaccard {enumerated(moved)}."


def _feasible(discovery: "Discovery") -> Iterator[str]:
    found, circuit = discovery.evidence, discovery.circuit
    heads, layers = len(circuit.useful_heads), len(circuit.useful_layers)
    size = f"{counted(heads, 'useful head')} in {counted(layers, 'layer')}"
    if found.infeasible is None:
        yield f"How information must flow in this task is not known. {size}."
    elif found.minimum is None:
        yield f"No number of layers can answer. {size}."
    elif not circuit.paths:
        yield "There is no path that could be impossible."
    else:
        if found.infeasible:
            paths = enumerated(found.infeasible, "or")
            yield (
                f"Information cannot flow along {paths}: the two positions hold nothing in common"
                " by then."
            )
        else:
            yield "Along every path the two positions can hold a piece in common by then."
        beyond = [(layers - found.minimum, "layer"), (heads - found.minimum, "head")]
        yield (
            f"{size}; flow minimum {counted(found.minimum, 'layer')}, with a head in each:"
            f" {enumerated(_beyond(*one) for one in beyond)}."
        )


def _beyond(spare: int, thing: str) -> str:
    side = "below" if spare < 0 else "above"
    return f"{counted(abs(spare), thing) if spare else f'no {thing}'} {side} it"
