"""Hypothesis tests of a circuit as data, as Shi et al. (2024) define them (arXiv 2410.13032).

`hypotheses` makes them. The score of a sequence is minus its loss, the mean over the hops. An
effect is a mean absolute difference of scores.
"""

from dataclasses import dataclass
from typing import Any

from headway.circuits import Judgement, WrittenPath
from headway_experiments.hypotheses.tested_text import of_hypotheses

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
