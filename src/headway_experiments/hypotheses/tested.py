"""Hypothesis tests of a circuit as data, as Shi et al. (2024) define them (arXiv 2410.13032).

`hypotheses` makes them. The score of a sequence is minus its loss, the mean over the hops. An
effect is a mean absolute difference of scores.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headway.circuits import Judgement, WrittenPath
from headway.text import aligned, wrapped

IDEAL = ("equivalence", "independence", "minimality")
"""Tests that are passed as long as they do not reject."""

FLEXIBLE = ("sufficiency", "necessity")
"""Tests that are passed if they reject."""


@dataclass(frozen=True)
class Equivalence:
    """Circuit and model are better than each other equally often.

    H0: |P(the circuit's score is above the model's) - 1/2| <= epsilon. Sequences with equal scores
    are left out. The p-value is that of P = 1/2 + epsilon, which is the largest.

    Attributes:
        loss: of the circuit.
        model_loss: of the model.
        better: in how many sequences the circuit's score is above the model's.
        ties: in how many they are equal.
        p_value: of a count at least as far from half. H0 is rejected, and the test failed, if it is
            small.
    """

    loss: float
    model_loss: float
    better: int
    ties: int
    p_value: float


@dataclass(frozen=True)
class Independence:
    """Without the circuit, nothing is left that makes the model's score high or low.

    H0: the score of the complement (see `Likenesses`) is independent of the model's own.

    Attributes:
        criterion: of Hilbert and Schmidt, of the two scores (see `independence`).
        p_value: by permutations. H0 is rejected, and the test failed, if it is small.
        ablated_p_value: of the model with every head uniform in the complement's place. If it is
            small, too, the two scores depend on each other whatever the circuit is.
    """

    criterion: float
    p_value: float
    ablated_p_value: float


@dataclass(frozen=True)
class Cut:
    """One path of the circuit held against random ones outside of it.

    Attributes:
        path: of the circuit.
        effect: by how much the score changes without it, with every head replaced.
        free: the same, with the useful heads of the layers above attending freely.
        above: how many of the random paths have a smaller effect.
        above_free: the same, with these heads free.
        forced_p_value: of `above`, times the number of the circuit's paths (Bonferroni), at most 1.
        p_value: likewise of `above` or of `above_free`, whichever is larger: a path that matters
            in one of the two ways is not rejected.
    """

    path: WrittenPath
    effect: float
    free: float
    above: int
    above_free: int
    forced_p_value: float
    p_value: float


@dataclass(frozen=True)
class Minimality:
    """Every path of the circuit matters more than most random paths that are added to it.

    H0, for every path: P(its effect is above that of a random path) >= quantile. A random route is
    added to the circuit, and one path of it that is not the circuit's is cut again. The test is
    failed if H0 is rejected for any path.

    Attributes:
        paths: each of the circuit's.
        effects: of the random paths, with every head replaced.
        free_effects: of the random paths, with the useful heads above free.
    """

    paths: tuple[Cut, ...]
    effects: tuple[float, ...]
    free_effects: tuple[float, ...]

    @property
    def p_value(self) -> float:
        """The least p-value of its paths."""
        return min(cut.p_value for cut in self.paths)

    @property
    def forced_p_value(self) -> float:
        """The least of its paths with every head replaced, as the paper tests it."""
        return min(cut.forced_p_value for cut in self.paths)


@dataclass(frozen=True)
class Comparison:
    """The circuit held against random circuits with as many paths or more.

    H0: P(the circuit does better than a random one) <= quantile. The test is passed if H0 is
    rejected.

    Attributes:
        apart: how far the scores with the circuit are from the model's.
        random: the same of the random circuits.
        better: how many of them it does better than.
        p_value: of doing better than so many or more.
    """

    apart: float
    random: tuple[float, ...]
    better: int
    p_value: float


@dataclass(frozen=True)
class Hypotheses(Judgement):
    """All five tests of a circuit.

    Attributes:
        sequences: how many were drawn.
        level: p-values up to this are small.
        epsilon: as `hypotheses` was given it.
        quantile: likewise.
        equivalence: of circuit and model.
        independence: of complement and model.
        minimality: of the circuit.
        sufficiency: with every head replaced, better is nearer to the model than a random circuit.
        necessity: without the circuit's paths, better is farther from the model than without a
            random circuit's.
        seconds: wall time.
    """

    sequences: int
    level: float
    epsilon: float
    quantile: float
    equivalence: Equivalence
    independence: Independence
    minimality: Minimality
    sufficiency: Comparison
    necessity: Comparison
    seconds: float

    @property
    def p_values(self) -> dict[str, float]:
        """Of every test; of minimality the least of all paths."""
        return {name: getattr(self, name).p_value for name in (*IDEAL, *FLEXIBLE)}

    @property
    def passed(self) -> dict[str, bool]:
        """Whether the circuit passes every test: not rejected, or rejected (see the tests)."""
        small = {name: value <= self.level for name, value in self.p_values.items()}
        return {name: one != (name in IDEAL) for name, one in small.items()}

    def __str__(self):
        return of_hypotheses(self)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data."""
        return {**super().to_json(), "passed": self.passed}


def of_hypotheses(found: Hypotheses) -> str:
    """Every test with its verdict, its p-value and what it counted; then every path."""
    rows = [["test", "passed", "p-value"]]
    rows += [
        [name, "yes" if passed else "NO", of_p(found.p_values[name])]
        for name, passed in found.passed.items()
    ]
    lines = [*aligned(rows, "lll"), ""]
    for name, text in _said(found):
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


def of_p(value: float) -> str:
    """A p-value in three digits."""
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"


def _cuts(found: Hypotheses) -> Iterator[list[str]]:
    for cut in found.minimality.paths:
        forced = f"{cut.effect:.4f}", str(cut.above)
        yield [str(cut.path), *forced, f"{cut.free:.4f}", str(cut.above_free), of_p(cut.p_value)]


def _said(found: Hypotheses) -> Iterator[tuple[str, str]]:
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


def _compared(found: Comparison, how: str, quantile: float) -> str:
    return (
        f"{how} {found.better} of {len(found.random)} random circuits; to pass, it must be shown"
        f" to be so of more than {quantile:g} of all"
    )
