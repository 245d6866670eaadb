"""What hypothesis tests say of a circuit, as plain text of at most 80 columns."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headway.text import aligned, wrapped

if TYPE_CHECKING:
    from headway_experiments.hypotheses.tested import Comparison, Hypotheses


def of_hypotheses(found: "Hypotheses") -> str:
    """Every test with its verdict, its p-value and what it counted; then every path."""
    said = sentences(found)
    rows = [["test", "passed", "p-value"]]
    rows += [
        [name, "yes" if passed else "NO", of_p(found.p_values[name])]
        for name, passed in found.passed.items()
    ]
    lines = [*aligned(rows, "lll"), ""]
    for name, text in said.items():
        lines += wrapped(f"{name}: {text}")
    rows = [["path", "effect", "above", "free above", "above", "p-value"], *_cuts(found)]
    lines += ["", *aligned(rows, "lrrrrl", gap=2)]
    lines += wrapped(
        "effect: by how much the score changes without the path; free above: the same, with the"
        " useful heads above free; above: how many of"
        f" {len(found.minimality.effects)} random paths have less"
    )
    lines += wrapped(
        f"{found.sequences} fresh sequences, seed {found.seed}; a p-value of at most"
        f" {found.level:g} rejects"
    )
    return "\n".join(lines)


def sentences(found: "Hypotheses") -> dict[str, str]:
    """What every test says in a sentence, by its name."""
    return dict(_said(found))


def of_p(value: float) -> str:
    """A p-value in three digits."""
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"


def _cuts(found: "Hypotheses") -> Iterator[list[str]]:
    for cut in found.minimality.paths:
        forced = f"{cut.effect:.4f}", str(cut.above)
        yield [str(cut.path), *forced, f"{cut.free:.4f}", str(cut.above_free), of_p(cut.p_value)]


def _said(found: "Hypotheses") -> Iterator[tuple[str, str]]:
    """What every test says in a sentence."""
    one, other = found.equivalence, found.independence
    yield (
        "equivalence",
        f"the circuit's loss is {one.loss:.4f}, the model's {one.model_loss:.4f}; the circuit's is"
        f" lower in {one.better} of {found.sequences - one.ties} sequences ({one.ties} ties)",
    )
    also = "" if other.ablated_p_value > found.level else ": so the task itself ties scores"
    yield (
        "independence",
        "rejected if the score without the circuit depends on the model's own; without any"
        f" attention p is {of_p(other.ablated_p_value)}{also}",
    )
    cuts = found.minimality.paths
    weak = sum(cut.p_value <= found.level for cut in cuts)
    forced = sum(cut.forced_p_value <= found.level for cut in cuts)
    yield (
        "minimality",
        f"each path should matter more than {found.quantile:g} of random paths; rejected for"
        f" {weak} of {len(cuts)}, and for {forced} with every head replaced, as in the paper",
    )
    yield "sufficiency", _compared(found.sufficiency, "nearer to the model than", found.quantile)
    without = "leaving it out takes the model farther away than leaving out"
    yield "necessity", _compared(found.necessity, without, found.quantile)


def _compared(found: "Comparison", how: str, quantile: float) -> str:
    return (
        f"{how} {found.better} of {len(found.random)} random circuits; to pass, it must be shown"
        f" to be so of more than {quantile:g} of all"
    )
