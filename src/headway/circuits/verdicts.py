"""The five verdicts on a circuit: which hold, which do not, and which cannot be given."""

from headway.circuits.discovery import Discovery
from headway.circuits.mechanism import Paths


def held(discovery: Discovery) -> dict[str, bool | None]:
    """Whether the circuit is faithful, necessary, minimal, stable and feasible; None if unknown.

    Stable: the search finds this very circuit on every other sample at the same threshold. Of an
    unfaithful circuit, or of one without paths, most of this is unknown.
    """
    found, heads = discovery.certificate, len(discovery.circuit.mechanisms)
    same = [t.jaccard == 1 for t in found.trials if t.threshold == discovery.threshold]
    testable = untestable(discovery) is None
    nothing_replaced = discovery.faithful and kept_as_they_are(discovery) == heads
    feasible = discovery.feasible if discovery.circuit.paths else None
    if found.minimum is None:  # no number of layers can answer, or nobody knows how many can
        feasible = None if found.infeasible is None else False
    return {
        "faithful": None if nothing_replaced else discovery.faithful,
        "necessary": discovery.necessary if testable else None,
        "minimal": discovery.minimal if testable else None,
        "stable": all(same) if same else None,
        "feasible": feasible,
    }


def kept_as_they_are(discovery: Discovery) -> int:
    """How many heads without a path kept all of their own attention, so were not replaced."""
    mechanisms = discovery.circuit.mechanisms.values()
    kept = sum(isinstance(m, Paths) and not m.relations for m in mechanisms)
    return kept if discovery.ablation == "own" else 0


def untestable(discovery: Discovery) -> str | None:
    """Why cutting paths would show nothing, in a sentence; None if it does show something."""
    if not discovery.circuit.paths:
        return "There is nothing to drop: the circuit has no path."
    if not discovery.faithful:
        return (
            "Cannot be said: the whole circuit is not below the threshold, so without a part of it"
            " there is nothing to stay below."
        )
    return None
