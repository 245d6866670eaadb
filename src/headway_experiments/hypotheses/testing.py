"""Testing a circuit as Shi et al. (2024) do; `tested` holds what the tests say."""

import math
import time
from collections.abc import Sequence
from pathlib import Path as FilePath
from random import Random
from typing import Any

from jaxtyping import Float
from torch import Tensor

from headway.circuits import (
    Bench,
    Circuit,
    Path,
    Replaced,
    Subject,
    ablated,
    device_of,
    free_above,
    idle_mechanisms,
    judged,
    require_fits,
    stream_of,
    with_path,
)
from headway.errors import HeadwayError, require
from headway.intervals import chance_of_at_least, chance_of_at_most
from headway.tasks import Task
from headway.training import Run, held_out, seed_of
from headway_experiments.hypotheses.independence import independence
from headway_experiments.hypotheses.random_routes import RandomRoutes
from headway_experiments.hypotheses.tested import (
    Comparison,
    Cut,
    Equivalence,
    Hypotheses,
    Independence,
    Minimality,
)

LEAST, MOST = 8, 4096
"""Sequences at least and at most."""

PERMUTATIONS = 1000
"""How often the order of sequences is drawn anew to test independence."""

TIE = 1e-6
"""Scores that differ by no more are equal but for rounding."""


def hypotheses(
    model: Run | str | FilePath | Any,
    task: Task | None = None,
    circuit: Circuit | FilePath | str | None = None,
    *,
    level: float = 0.05,
    epsilon: float = 0.1,
    quantile: float = 0.9,
    sequences: int = 128,
    random_circuits: int = 100,
    ablation: str | None = None,
    step: int | None = None,
    seed: int | None = None,
) -> Hypotheses:
    """Tests a circuit for equivalence, independence, minimality, sufficiency and necessity.

    On fresh sequences, of a stream that depends on the circuit and that nothing else draws from.
    Nothing is written.

    Args:
        model: a run or its folder; or a model together with its task and a circuit.
        task: the model's task, if a model is given.
        circuit: or a file that holds one; by default the run's own.
        level: p-values up to this reject.
        epsilon: how far from 1/2 the share of sequences in which the circuit scores above the model
            may be if the two are equivalent.
        quantile: of random paths and circuits that those of the circuit are held against.
        sequences: how many to draw.
        random_circuits: how many random paths, and random circuits, to compare with.
        ablation: what stands in rows without a path; by default what the file of the circuit says,
            or zero.
        step: the checkpoint, if a run is given; by default the last.
        seed: of the sequences and of all that is drawn; by default the run's, or 0.

    Raises:
        HeadwayError: if an argument is out of range, there are too few sequences or random circuits
            for a test that could reject, the circuit is of another model or task, has no path, or
            leaves none to compare it with.
    """
    require_enough(level, epsilon, quantile, sequences, random_circuits)

    def tested(subject: Subject) -> Hypotheses:
        started = time.perf_counter()
        tests = Tests(subject, sequences, random_circuits, quantile)
        return Hypotheses(
            *subject.about,
            sequences=sequences,
            level=level,
            epsilon=epsilon,
            quantile=quantile,
            equivalence=tests.equivalence(epsilon),
            independence=tests.independence(),
            minimality=tests.minimality(),
            sufficiency=tests.sufficiency(),
            necessity=tests.necessity(),
            seconds=round(time.perf_counter() - started, 3),
        )

    return judged(None, tested, model, task, circuit, ablation, step, seed)


def require_enough(
    level: float, epsilon: float, quantile: float, sequences: int, random_circuits: int
) -> None:
    """Makes sure that every test could reject.

    Raises:
        HeadwayError: if not; it says how many sequences or random circuits are enough.
    """
    for name, value in (("level", level), ("quantile", quantile)):
        require(0 < value < 1, name, value, "above 0 and below 1")
    require(0 <= epsilon < 0.5, "epsilon", epsilon, "from 0 and below 0.5")
    least = next(n for n in range(1, MOST + 2) if _lopsided(n, n, epsilon) <= level or n > MOST)
    if least > MOST or level * (1 + PERMUTATIONS) < 1:
        raise HeadwayError(
            f"level = {level:g} with epsilon = {epsilon:g} takes more than {MOST:,} sequences or"
            f" {PERMUTATIONS:,} permutations to reject anything: ask for a larger level"
        )
    given = f"for a test at level {level:g}"
    fits = isinstance(sequences, int) and max(least, LEAST) <= sequences <= MOST
    allowed = f"a whole number from {max(least, LEAST)} ({given}) to {MOST:,}"
    require(fits, "sequences", sequences, allowed)
    enough = math.ceil(math.log(level) / math.log(quantile))
    fits = isinstance(random_circuits, int) and enough <= random_circuits <= 10_000
    allowed = f"a whole number from {enough:,} ({given} and quantile {quantile:g}) to 10,000"
    require(fits, "random_circuits", random_circuits, allowed)


def _lopsided(better: int, count: int, epsilon: float) -> float:
    """The chance of a count at least as far from half, if the circuit wins with 1/2 + epsilon."""
    most = max(better, count - better)
    if 2 * most == count:
        return 1.0
    share = 0.5 + epsilon
    high, low = (chance_of_at_least(most, count, p) for p in (share, 1 - share))
    return min(1.0, high + low)


class Tests:
    """Circuit, model and fresh sequences, and every test of them.

    Raises:
        HeadwayError: if the circuit does not fit the model, has no path, or leaves none.
    """

    __test__ = False

    def __init__(self, subject: Subject, sequences: int, count: int, quantile: float):
        self.circuit, self.count, self.quantile = subject.circuit, count, quantile
        require_fits(self.circuit, subject.model)
        if not self.circuit.paths:
            raise HeadwayError("circuit: it has no path, so that there is nothing to test")
        stream = stream_of("hypotheses", self.circuit, subject.rows)
        batch = held_out(subject.task, sequences, subject.seed, device_of(subject.model), stream)
        self.bench = Bench(subject.model, subject.task, batch, subject.rows, ends=())
        self.seed = seed_of(subject.seed, stream, "drawn")
        self.routes = RandomRoutes(self.bench, Random(self.seed))
        self.routes.require_outside(self.circuit.paths)
        self.own, self.replaced, self.complement, self.ablated = self.scores(
            [{}, self.circuit, self.circuit.complement, ablated(self.bench)]
        )
        self.random = [Circuit.of(self.routes.other(self.circuit.paths)) for _ in range(count)]

    def scores(self, candidates: Sequence[Replaced]) -> Float[Tensor, "candidate sequence"]:
        """The score of every candidate in every sequence."""
        return -self.bench.errors(candidates).mean(-1).double().cpu()

    def equivalence(self, epsilon: float) -> Equivalence:
        """Is the circuit's score above the model's as often as below?"""
        apart = self.replaced - self.own
        better, ties = int((apart > TIE).sum()), int((apart.abs() <= TIE).sum())
        return Equivalence(
            loss=-self.replaced.mean().item(),
            model_loss=-self.own.mean().item(),
            better=better,
            ties=ties,
            p_value=_lopsided(better, len(apart) - ties, epsilon),
        )

    def independence(self) -> Independence:
        """Is the score without the circuit independent of the model's?"""
        with_it = independence(self.own, self.complement, PERMUTATIONS, self.seed)
        without = independence(self.own, self.ablated, PERMUTATIONS, self.seed)
        return Independence(*with_it, ablated_p_value=without[1])

    def minimality(self) -> Minimality:
        """Does each path of the circuit matter more than random ones that are added to it?"""
        inflated = list[tuple[Circuit, Path]]()
        for _ in range(self.count):
            added, circuit = sorted(self.routes.outside(self.circuit.paths)), self.circuit
            for path in added:
                circuit = with_path(circuit, path)
            inflated.append((circuit, self.routes.random.choice(added)))
        effects, free = self.effects(inflated)
        own = zip(*self.effects([(self.circuit, path) for path in self.circuit.paths]), strict=True)
        cuts = list[Cut]()
        for path, (effect, above_free) in zip(self.circuit.paths, own, strict=True):
            above = sum(effect > other for other in effects), sum(above_free > x for x in free)
            forced, p_free = (
                min(1.0, len(self.circuit.paths) * chance_of_at_most(n, self.count, self.quantile))
                for n in above
            )
            cuts.append(Cut(path, effect, above_free, *above, forced, max(forced, p_free)))
        return Minimality(tuple(cuts), tuple(effects), tuple(free))

    def effects(self, cuts: Sequence[tuple[Circuit, Path]]) -> tuple[list[float], list[float]]:
        """By how much the score changes without a path of a circuit.

        With every head replaced, and with the useful heads above the path free.
        """
        candidates = list[Replaced]()
        for circuit, path in cuts:
            both = circuit, circuit.without(path)
            candidates += [*both, *(free_above(one, path.layer) for one in both)]
        scores = self.scores(candidates).unflatten(0, (-1, 2, 2))
        forced, free = (scores[:, :, 0] - scores[:, :, 1]).abs().mean(-1).T.tolist()
        return forced, free

    def sufficiency(self) -> Comparison:
        """Is the circuit nearer to the model than random circuits are?"""
        idle = idle_mechanisms(self.circuit)
        others = self.scores([{**idle, **one.mechanisms} for one in self.random])
        return self.compared(self.replaced, others, nearer=True)

    def necessity(self) -> Comparison:
        """Is the model farther from itself without the circuit than without random circuits?"""
        others = self.scores([one.complement for one in self.random])
        return self.compared(self.complement, others, nearer=False)

    def compared(
        self,
        one: Float[Tensor, " sequence"],
        others: Float[Tensor, "circuit sequence"],
        nearer: bool,
    ) -> Comparison:
        """Holds one altered model against others, by how far they are from the model."""
        apart = (one - self.own).abs().mean().item()
        random = (others - self.own).abs().mean(1).tolist()
        better = sum(apart < other if nearer else apart > other for other in random)
        p_value = chance_of_at_least(better, self.count, self.quantile)
        return Comparison(apart, tuple(random), better, p_value)
