"""The search: from a trained model's attention to a mechanism for every head.

The paper took its circuits apart by hand (Musat 2024, section 8 and appendix E): look
at a head's attention, guess a mechanism, keep the simplest guess that leaves the loss
small, until every head has one. Here heads that can be spared get their mean pattern
before (see `spared`). The guesses come from the attention along relations. Heads share
what may be lost between the model's own loss and the threshold, so that the first
cannot spend it all (`propose`). If that does not serve, heads are changed one by one
(`mended`). Then all that is not needed is removed (`simplify`).

There is a trap in replacing all heads at once. A head that joins the tokens of a pair
helps the heads above it to find where to attend. Once their attention is replaced as
well, they need no help, and the head below seems useless (the paper sees it too: made
uniform, its first layer costs only 0.05 to 0.10). So a mechanism must keep the loss low
in two ways: with every head replaced, and with the useful heads of the layers above it
attending freely.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations, product

from headway.relations.paths import AttentionPath
from headway.replace.ablation import Bench, First, Judging, Replaced, above
from headway.replace.circuit import Circuit
from headway.replace.heads import Head
from headway.replace.mechanism import Identity, Mean, Mechanism, Paths, Uniform
from headway.replace.patterns import Patterns

CANDIDATE_ATTENTION = (0.3, 0.1)
"""A head may use the paths along which it attends so much; tried in turn."""

DRAFT_MARGIN = 0.9
"""A draft stays below this part of the threshold, to hold on all sequences."""

MARGIN = 0.97
"""A circuit must stay below this part of the threshold on the sequences that it was
searched on, so that it stays below the threshold on others; or half-way between the
model's own loss and the threshold, if that is higher."""

LIKELIEST = 16
"""Changes that are judged together, those first that help most to first order."""

WORTHWHILE = 0.02
"""A change must close this share of what is left between the loss and the threshold."""

SPENT_FIRST = 0.8
"""The share of what may be lost that is open before any head is placed; the rest opens
head by head."""

DRAFT = 16
"""Sequences on which a first circuit is drafted."""

Candidates = Mapping[Head, Sequence[str]]
"""The relations that each head may follow, the likeliest first."""

PLAIN: tuple[Mechanism, ...] = (Uniform(), Identity())
"""Mechanisms that move nothing of use."""


def search(
    bench: Bench,
    threshold: float,
    among: Sequence[Sequence[str]],
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    spared: Collection[Head] | None = None,
) -> Circuit:
    """A mechanism for every head, each as simple as the threshold allows.

    Drafted on a few sequences, mended and settled on all of them. If no circuit is
    found below the threshold, the one with the least loss.

    Args:
        bench: judges candidates, first by a few sequences.
        threshold: the loss to stay below with every head replaced, and with useful
            heads free.
        among: the relations that heads may follow, tried in order until a draft serves.
        candidate_attention: see `CANDIDATE_ATTENTION`; tried until what is proposed
            serves.
        spared: the heads that are not needed: each gets its mean pattern, for good. The
            others have a path, if there is one that they may follow. None if that is
            not known of any head.
    """
    few = First(bench, min(DRAFT, bench.sequences))
    every = First(bench, bench.sequences)
    limit = max(MARGIN * threshold, (every.loss() + threshold) / 2)
    draft_limit = max(DRAFT_MARGIN * threshold, (few.loss() + threshold) / 2)
    scope = Scope.of(bench, spared)
    circuit = drafted(few, scope, draft_limit, among, candidate_attention)
    # What fewer relations drafted may be mended by all of them.
    most_paths = scope.candidates(among[-1], min(candidate_attention))
    for judge, most in ((few, draft_limit), (every, limit)):
        circuit = mended(judge, circuit, most_paths, most, scope.plain)
        most = max(most, above(worst_of(judge, circuit)))
        pairs = judge is every
        circuit = simplify(judge, circuit, most, pairs, scope.plain, scope.needed)
    return circuit


@dataclass(frozen=True)
class Scope:
    """The choices that a search has.

    Attributes:
        bench: with the model.
        heads: that may have paths.
        needed: heads of which each keeps a path.
        plain: mechanisms without a path that a head may get.
    """

    bench: Bench
    heads: Sequence[Head]
    needed: Collection[Head]
    plain: Sequence[Mechanism]

    @classmethod
    def of(cls, bench: Bench, spared: Collection[Head] | None) -> "Scope":
        """All but the heads that can be spared; None if that is not known of any."""
        if spared is None:
            return cls(bench, bench.heads, (), PLAIN)
        heads = [head for head in bench.heads if head not in spared]
        return cls(bench, heads, heads, ())

    def candidates(self, names: Sequence[str], least: float) -> Candidates:
        """The relations that each head may follow (see `candidate_paths`)."""
        by_head = candidate_paths(self.bench, names, least)
        return {head: by_head[head] for head in self.heads}


def drafted(
    few: First,
    scope: Scope,
    limit: float,
    among: Sequence[Sequence[str]],
    candidate_attention: Sequence[float],
) -> Circuit:
    """A circuit of the first relations among which one serves, else of the least loss.

    Args:
        few: judges it.
        scope: what it may have.
        limit: the loss to stay below.
        among: the relations that heads may follow, tried in order.
        candidate_attention: see `search`.
    """
    drafts = list[Circuit]()
    for names in among:
        sets = (scope.candidates(names, least) for least in candidate_attention)
        best = proposed(few, sets, limit)
        most_paths = scope.candidates(names, min(candidate_attention))
        draft = mended(few, best, most_paths, limit, scope.plain)
        drafts.append(draft)
        if worst_of(few, draft) < limit:
            break
    return min(drafts, key=partial(worst_of, few))


def proposed(few: First, sets: Iterable[Candidates], limit: float) -> Circuit:
    """The circuit of the first set of candidates that serves, else of the least loss.

    Args:
        few: judges them.
        sets: of paths that heads may have, tried in order.
        limit: the loss to stay below.
    """
    circuits = list[Circuit]()
    for candidates in sets:
        circuit = propose(few, candidates, limit)
        circuits.append(circuit)
        if worst_of(few, circuit) < limit:
            break
    return min(circuits, key=partial(worst_of, few))


def twice(
    circuit: Circuit, lowest: int = -1, rows: str | None = None
) -> list[Replaced]:
    """A circuit whole, and with its useful heads free from each layer upwards.

    With `rows`, these stand in rows without a path while heads are free.
    """
    used = {layer for (layer, _), mechanism in circuit.in_order if is_freed(mechanism)}
    last = max(used, default=-1)
    between = [layer for layer in sorted(used) if lowest < layer < last]
    below = circuit if rows is None else circuit.filled(rows)
    free = [free_above(below, layer) for layer in (lowest, *between)]
    return [circuit, *filter(None, free)]


def losses_twice(
    bench: Judging,
    circuits: Sequence[Circuit],
    limit: float = math.inf,
    lowest: Sequence[int] | None = None,
) -> list[float]:
    """The loss of each circuit, all heads replaced or useful ones free: the larger.

    Of two ways to fill rows without a path while heads are free the one with less loss
    counts.

    Args:
        bench: judges them.
        circuits: that are judged.
        limit: infinity stands for a loss that is not below it.
        lowest: of each, the lowest layer above which heads are free; by default there
            is none.
    """
    from_layer = [-1] * len(circuits) if lowest is None else lowest
    layered = [*zip(circuits, from_layer, strict=True)]
    both = [twice(circuit, layer) for circuit, layer in layered]
    losses = bench.worst(both, limit)
    if bench.free_rows is None:
        return losses
    # The other fill matters where the loss is not below the limit, or there is none.
    if limit == math.inf:
        may_be_less = list(range(len(losses)))
    else:
        may_be_less = [at for at, loss in enumerate(losses) if loss == math.inf]
    filled = [twice(*layered[at], bench.free_rows) for at in may_be_less]
    for at, loss in zip(may_be_less, bench.worst(filled, limit), strict=True):
        losses[at] = min(losses[at], loss)
    return losses


def worst_of(bench: Judging, circuit: Circuit) -> float:
    """The loss of one circuit (see `losses_twice`)."""
    return losses_twice(bench, [circuit])[0]


def mended(
    bench: Judging,
    circuit: Circuit,
    candidates: Candidates,
    threshold: float,
    plain: Sequence[Mechanism] = PLAIN,
) -> Circuit:
    """A circuit with one head after the other changed as helps most, until it serves.

    A head may get one path more or less, one alone, or a plain mechanism. Of the loss
    with every head replaced and those with useful heads free the worst counts; the
    changes that lower it most to first order are judged first. The search ends where
    none is `WORTHWHILE`.
    """
    loss = worst_of(bench, circuit)
    while loss >= threshold:
        tried = likeliest_changes(bench, circuit, candidates, plain)
        missing = loss - threshold
        limit = math.inf
        if missing < math.inf:
            limit = loss - WORTHWHILE * missing
        better = first_better(bench, circuit, tried, limit)
        if better is None:
            break
        circuit, loss = better
    return circuit


HeadChange = tuple[Head, Mechanism]
"""A head, and another mechanism for it."""


def likeliest_changes(
    bench: Judging,
    circuit: Circuit,
    candidates: Candidates,
    plain: Sequence[Mechanism],
) -> list[HeadChange]:
    """The changes of single heads that lower the loss to first order, best first.

    All of them if none has a slope: then what helps is not known before.
    """
    each = list[HeadChange]()
    for head, names in candidates.items():
        others = changes(circuit.mechanisms[head], names, plain)
        each += [(head, mechanism) for mechanism in others]
    worst = max(twice(circuit), key=bench.loss)
    gains = dict(zip(each, bench.gains(worst, each), strict=True))
    if not any(gains.values()):
        return each
    helpful = [change for change in each if gains[change] > 0]
    return sorted(helpful, key=lambda change: -gains[change])


def first_better(
    bench: Judging, circuit: Circuit, tried: Sequence[HeadChange], limit: float
) -> tuple[Circuit, float] | None:
    """The circuit after the best of the first changes below a limit, and its loss."""
    for start in range(0, len(tried), LIKELIEST):
        likeliest = tried[start : start + LIKELIEST]
        changed = [circuit.replacing(*change) for change in likeliest]
        losses = losses_twice(bench, changed, limit)
        least = min(losses)
        if least < math.inf:
            return changed[losses.index(least)], least
    return None


def changes(
    mechanism: Mechanism, names: Sequence[str], plain: Sequence[Mechanism] = PLAIN
) -> list[Mechanism]:
    """Other mechanisms of a head, with one change."""
    has = mechanism.relations if isinstance(mechanism, Paths) else frozenset[str]()
    more = [Paths(has | {name}) for name in names if name not in has]
    alone = [Paths(frozenset({name})) for name in names]
    less = [Paths(has - {name}) for name in sorted(has) if len(has) > 1]
    others = dict.fromkeys([*more, *alone, *less, *plain])
    return [other for other in others if other != mechanism]


def is_freed(mechanism: Mechanism) -> bool:
    """True if a head is freed with those above a layer, even without a path left."""
    return isinstance(mechanism, Paths) or mechanism.is_useful


def free_above(circuit: Circuit, layer: int) -> dict[Head, Mechanism]:
    """The mechanisms of a circuit, but for useful heads in layers above `layer`."""
    return {
        head: mechanism
        for head, mechanism in circuit.mechanisms.items()
        if head[0] <= layer or not is_freed(mechanism)
    }


def propose(bench: Judging, candidates: Candidates, threshold: float) -> Circuit:
    """A mechanism for every head, each the simplest that serves.

    Heads that are not among the candidates get their mean pattern. Then each of the
    others, from the first layer up, gets the fewest paths, most alike first, that keep
    the loss within the head's share while the heads above attend freely; if it has no
    candidate, it attends evenly.

    When n of N heads have a mechanism (those without a candidate have theirs from the
    start), a part b + (1 - b) n/N of the way from the
    model's own loss to the threshold may have been spent, where b is `SPENT_FIRST`.
    Where no number of paths is within that, the one with the least loss is taken.

    Args:
        bench: judges candidates.
        candidates: the relations of each head that may have paths, the likeliest first.
        threshold: the loss to stay below.
    """
    own = bench.loss()
    chosen: dict[Head, Mechanism] = {}
    for head in bench.heads:
        if head not in candidates:
            chosen[head] = Mean()
    for head, names in candidates.items():
        spent = (len(chosen) + 1) / len(bench.heads)
        part = SPENT_FIRST + (1 - SPENT_FIRST) * spent
        share = own + (threshold - own) * part
        chosen[head] = simplest(bench, chosen, head, names, share)
    return Circuit(chosen)


def simplest(
    bench: Judging,
    chosen: Mapping[Head, Mechanism],
    head: Head,
    names: Sequence[str],
    share: float,
) -> Mechanism:
    """The fewest paths of a head that keep the loss; else those that lose least.

    Args:
        bench: judges them.
        chosen: mechanisms of other heads, in place meanwhile.
        head: that gets paths.
        names: its relations, the likeliest first.
        share: the loss to stay below.
    """
    counts = range(1, len(names) + 1)
    options: list[Mechanism] = [Paths(frozenset(names[:count])) for count in counts]
    options = options or [Uniform()]
    trials = [{**chosen, head: option} for option in options]
    losses = bench.losses(trials, share)
    for option, loss in zip(options, losses, strict=True):
        if loss < math.inf:
            return option
    losses = bench.losses(trials)
    return options[losses.index(min(losses))]


def longest(most: int, holds: Callable[[int], bool]) -> int:
    """The largest n up to `most` for which a monotone condition holds."""
    if holds(most):
        return most
    fewer = range(1, most)
    return bisect_left(fewer, True, key=lambda n: not holds(n))


def simplify(
    bench: Judging,
    circuit: Circuit,
    threshold: float,
    pairs: bool = True,
    plain: Sequence[Mechanism] = PLAIN,
    needed: Collection[Head] = (),
) -> Circuit:
    """Removes all that can go below the threshold, steps of least loss first.

    A head with paths may become plain, or lose one of several; else its last may go,
    which leaves zeros; else two together. A needed head keeps a path. The loss must
    stay below the threshold with every head replaced and with the useful heads above
    free. All steps are tried alone, then taken in the order of their losses as long as
    they are possible together. Then, if the circuit was below the threshold at all,
    every path (and, with `pairs`, every pair) is necessary, but for the last of a
    needed head.
    """
    while True:
        possible = list[Step]()
        for steps in kinds_of_steps(circuit, plain, pairs):
            possible = possible_steps(bench, circuit, steps, threshold, needed)
            if possible:
                break
        if not possible:
            return circuit
        for step in possible:
            if possible_steps(bench, circuit, [step], threshold, needed):
                circuit = taken(circuit, step)


Step = tuple[tuple[AttentionPath, ...], Mechanism | None]
"""A simplification: some paths go, or all of a head's for a plain mechanism."""


def kinds_of_steps(
    circuit: Circuit, plain: Sequence[Mechanism], pairs: bool
) -> Iterator[list[Step]]:
    """Steps by their kind, in the order in which kinds are tried.

    First a head becomes plain, or loses one of several paths; then it loses its last;
    then two paths go together.
    """
    paths = circuit.paths
    by_head = [tuple(p for p in paths if p.at == head) for head in circuit.useful_heads]
    of_heads = [each for each in by_head if each]
    of_several: list[Step] = [
        ((path,), None) for path in paths if (path,) not in of_heads
    ]
    yield [*of_several, *product(of_heads, plain)]
    yield [(each, None) for each in of_heads if len(each) == 1]
    if pairs:
        yield [(pair, None) for pair in combinations(paths, 2)]


def taken(circuit: Circuit, step: Step) -> Circuit:
    """The circuit after a step; as it was, if it lacks one of the paths."""
    paths, to = step
    if not set(paths) <= set(circuit.paths):
        return circuit
    circuit = reduce(Circuit.without, paths, circuit)
    return circuit if to is None else circuit.replacing(paths[0].at, to)


def possible_steps(
    bench: Judging,
    circuit: Circuit,
    steps: Sequence[Step],
    threshold: float,
    needed: Collection[Head] = (),
) -> list[Step]:
    """The steps that keep both losses below the threshold, the least loss first.

    Steps after which a needed head has no path are none of them.
    """
    after = circuits_after(circuit, steps, needed)
    # Nothing below the lowest change moves: heads are free above it alone.
    lowest = [min(path.layer for path in paths) for paths, _ in after]
    losses = losses_twice(bench, [*after.values()], threshold, lowest)
    by_step = dict(zip(after, losses, strict=True))
    possible = [step for step, loss in by_step.items() if loss < math.inf]
    return sorted(possible, key=by_step.__getitem__)


def circuits_after(
    circuit: Circuit, steps: Sequence[Step], needed: Collection[Head]
) -> dict[Step, Circuit]:
    """The circuit after each of some steps that changes it and leaves needed heads a
    path.
    """
    kept = {head for head in needed if head in circuit.useful_heads}
    after = dict[Step, Circuit]()
    for step in steps:
        changed = taken(circuit, step)
        if changed != circuit and kept <= {*changed.useful_heads}:
            after[step] = changed
    return after


def uses_stays(patterns: Patterns, circuit: Circuit) -> bool:
    """True if a circuit has paths from roles to themselves."""
    return any(path.relation in patterns.used_as("stay") for path in circuit.paths)


def candidate_paths(
    bench: Bench, names: Sequence[str], least: float
) -> dict[Head, list[str]]:
    """The relations that every head attends along, most alike first.

    In the last layer a relation must be one of those that `Patterns.read` has: what
    ends elsewhere changes no answer. A wider relation that contains the one a head
    attends along has all of its attention, too; likeness (see `attention_along`) tells
    the two apart.
    """
    patterns = bench.patterns
    last = bench.model.n_layers - 1
    likeness = patterns.likeness
    by_head = dict[Head, list[str]]()
    for layer, head in bench.heads:
        attended = list[str]()
        for name in names:
            if patterns.attention[name][layer][head] >= least:
                attended.append(name)
        if layer == last:
            attended = [name for name in attended if name in patterns.read]
        likeness_of = {name: likeness[name][layer][head] for name in attended}
        attended.sort(key=lambda name, of=likeness_of: -of[name])
        by_head[layer, head] = attended
    return by_head


def candidates_among(
    bench: Bench, circuit: Circuit | None = None
) -> list[AttentionPath]:
    """The paths that a circuit may use.

    A path needs an attention of at least the least of `CANDIDATE_ATTENTION`; in the
    last layer it must end at a position that is read. Roles may keep what stands there
    (`s2←s2`) only if they do in the circuit that is given, whose own paths are among
    them.
    """
    relations = bench.patterns.used_as("path")
    if circuit and uses_stays(bench.patterns, circuit):
        relations += bench.patterns.used_as("stay")
    by_head = candidate_paths(bench, relations, min(CANDIDATE_ATTENTION))
    candidates = list[AttentionPath]()
    for head, names in by_head.items():
        candidates += [AttentionPath.of(*head, name) for name in names]
    own = circuit.paths if circuit else []
    return [*dict.fromkeys([*candidates, *own])]
