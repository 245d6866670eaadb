"""The evidence for a circuit, as data, and how it is measured.

It is measured on sequences that the search for the circuit never saw, and guarantees nothing about
others; `certificate` has a bound for all of them.

With `corrupted` rows models are large: pairs, back-ups, other rows and layers one by one are left
out, intervals are of as many sequences as all else, and heads are replaced alone if useful.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from statistics import NormalDist

import torch
from jaxtyping import Float
from torch import Tensor

from headway import theory
from headway.circuits.ablation import Bench, First
from headway.circuits.mechanism import (
    Circuit,
    Corrupted,
    KnockOut,
    WrittenHead,
    WrittenLoss,
    WrittenPath,
)
from headway.circuits.patterns import ABLATIONS, Attention
from headway.circuits.search import free_above
from headway.circuits.subject import Counted, Subject
from headway.circuits.yardstick import Likenesses, Yardstick, likenesses
from headway.relations.paths import AttentionPath

DRAWN = 2048
"""Further sequences, for the intervals of losses."""


@dataclass(frozen=True)
class Necessity:
    """The losses of the circuit when one of its paths is cut.

    Attributes:
        path: layer, head and relation.
        attention: the model's own mean attention along the relation.
        loss: with every head replaced and this path cut.
        free: the same, with the useful heads of the layers above attending freely; if rows are
            `corrupted`, that of the model as it is, with this path alone cut.
    """

    path: WrittenPath
    attention: float
    loss: WrittenLoss
    free: WrittenLoss

    @property
    def worst(self) -> float:
        """The loss without the path, in the one of the two ways that costs more."""
        return max(self.loss, self.free)


@dataclass(frozen=True)
class Pair:
    """Two paths that can be dropped together, or of which one can stand in for the other.

    Attributes:
        first: a path of the circuit.
        second: another; or one outside it that can do the work of the first.
        loss: without both; or with the second in the place of the first.
    """

    first: WrittenPath
    second: WrittenPath
    loss: WrittenLoss


@dataclass(frozen=True)
class Trial:
    """One more search, on another sample.

    Attributes:
        paths: of the circuit that was found.
        jaccard: paths in both circuits / paths in either.
    """

    paths: list[WrittenPath]
    jaccard: float


@dataclass(frozen=True)
class Evidence:
    """The evidence for a circuit. All losses are those of the targets, on held-out sequences.

    Attributes:
        intact: the partial losses of the model as it is.
        replaced: the partial losses with every head replaced by its mechanism.
        interval: 95 % interval of the loss with every head replaced, from `drawn` sequences.
        intact_interval: the same of the model as it is.
        drawn: further sequences, for the intervals.
        variants: the loss with every head replaced, by what stands in rows without a path.
        necessity: for every path, the losses when it alone is cut.
        droppable: the pairs of paths that could be dropped together.
        pairs: how many pairs were tried; none if a path can be dropped by itself.
        backups: paths outside the circuit that could stand in for paths in it.
        trials: the same search on other samples.
        infeasible: paths between positions that share no piece at their layer, whatever the
            layers below did (section 5 of the paper); None if the task has no such theory.
        minimum: the flow minimum, the least number of layers by that theory; None likewise.
        sequences: how many held-out sequences the losses are over.
        alone: for every head the loss of the model with this head alone replaced by its mechanism.
            Its excess over the model's own loss tells what the head does beyond its mechanism.
        likeness: how like the model the circuit is.
    """

    intact: dict[str, WrittenLoss]
    replaced: dict[str, WrittenLoss]
    interval: tuple[WrittenLoss, WrittenLoss]
    intact_interval: tuple[WrittenLoss, WrittenLoss]
    drawn: Counted
    variants: dict[str, WrittenLoss]
    necessity: list[Necessity]
    droppable: list[Pair]
    pairs: int
    backups: list[Pair]
    trials: list[Trial]
    infeasible: list[WrittenPath] | None
    minimum: int | None
    sequences: Counted
    alone: dict[WrittenHead, WrittenLoss]
    likeness: Likenesses


def evidence_for(
    bench: Bench,
    circuit: Circuit,
    attention: Attention,
    yardstick: Yardstick,
    subject: Subject,
) -> tuple[float, Evidence]:
    """Measures a circuit on a bench. `trials` (searches on other samples) are left empty.

    Args:
        bench: with sequences that the search for the circuit did not see.
        circuit: a mechanism for every head.
        attention: mean attention along every relation, by relation.
        yardstick: when the circuit is faithful.
        subject: draws further sequences.

    Returns: the loss that the circuit is to stay below on these sequences, and the evidence.
    """
    intact, replaced = bench.errors([{}, circuit]).mean(1).tolist()
    loss = sum(replaced) / len(replaced)
    threshold = yardstick.met(bench, loss)
    flow, patterns = bench.task.flow(), bench.patterns
    few = patterns.rows == "corrupted"
    heads = circuit.useful_heads if few else sorted(circuit.mechanisms)
    alone = bench.losses([{head: circuit.mechanisms[head]} for head in heads])
    drawn = bench.sequences if few else DRAWN
    more = subject.fresh(circuit, patterns.rows, "interval", drawn, shared=True)
    losses = torch.cat([one.errors([{}, circuit]).mean(2).cpu() for one in more], 1)
    own, its = map(interval_of, losses)
    needed = necessity(bench, circuit, attention)
    spared = few or not all(loss < threshold <= n.worst for n in needed)
    pairs = [] if spared else combinations(circuit.paths, 2)
    without_both = {(a, b): circuit.without(a).without(b) for a, b in pairs}
    return threshold, Evidence(
        intact=dict(zip(bench.hops, intact, strict=True)),
        replaced=dict(zip(bench.hops, replaced, strict=True)),
        interval=its,
        intact_interval=own,
        drawn=drawn,
        variants=variants(bench, circuit),
        necessity=needed,
        droppable=serving(bench, without_both, threshold),
        pairs=len(without_both),
        backups=[] if few else backups(bench, circuit, attention, threshold),
        trials=[],
        infeasible=None if flow is None else infeasible(flow, circuit, patterns.causal),
        minimum=None if flow is None else flow.minimum_layers(patterns.causal),
        sequences=bench.sequences,
        alone=dict(zip(heads, alone, strict=True)),
        likeness=likenesses(bench, circuit, yardstick),
    )


def interval_of(losses: Float[Tensor, " sequence"]) -> tuple[float, float]:
    """The 95 % interval of the mean over sequences, corrected for skewness (Hall 1992).

    It reaches farther on the side of a long tail, where a few sequences carry much of the loss.
    Of an infinite loss both ends are infinite.
    """
    each, count = losses.double(), len(losses)
    if not each.isfinite().all():
        return math.inf, math.inf
    mean, spread = each.mean().item(), each.std(correction=0).item()
    skew = (((each - mean) / (spread or 1.0)) ** 3).mean().item()
    tail = NormalDist().inv_cdf(0.975) / count**0.5

    def off(normal: float) -> float:
        cubed = 1 + skew * (normal - skew / (6 * count))
        return 3 * (math.cbrt(cubed) - 1) / skew if abs(skew) > 1e-6 else normal

    return max(mean - spread * off(tail), 0.0), mean - spread * off(-tail)


def variants(bench: Bench, circuit: Circuit) -> dict[str, float]:
    """The loss with every head replaced, for every way to fill rows that have no path."""
    own, corrupted = bench.patterns.rows, bench.task.is_corrupted
    every = [rows for rows in ABLATIONS if rows != "corrupted" or corrupted]
    known = [own] if own == "corrupted" else every
    filled = [circuit if rows == own else circuit.filled(rows) for rows in known]
    return dict(zip(known, bench.losses(filled), strict=True))


def necessity(bench: Bench, circuit: Circuit, attention: Attention) -> list[Necessity]:
    """The cost of cutting each path (the paper's step 6)."""
    paths = circuit.paths
    if bench.patterns.rows == "corrupted":
        cut = [circuit.replacing(path.at, Corrupted()) for path in paths]
        free = [{path.at: KnockOut(frozenset({path.relation}))} for path in paths]
    else:
        cut = [circuit.without(path) for path in paths]
        free = [free_above(one, path.layer) for one, path in zip(cut, paths, strict=True)]
    losses, n = bench.losses([*cut, *free]), len(paths)
    return [
        Necessity(path, attention[path.relation][path.layer][path.head], *losses[i::n])
        for i, path in enumerate(paths)
    ]


def backups(
    bench: Bench, circuit: Circuit, attention: Attention, threshold: float, least: float = 0.3
) -> list[Pair]:
    """Paths outside the circuit that work as well as one of its own.

    Another head that attends along the same relation (at least `least` of its attention) takes
    the path over: the loss of the circuit without the one and with the other stays below the
    threshold (see `serving`).
    """
    own = set(circuit.paths)
    swapped = {
        (path, by): circuit.without(path).adding(by)
        for path in circuit.paths
        for by in (AttentionPath(*head, path.relation) for head in bench.heads)
        if by not in own and attention[by.relation][by.layer][by.head] >= least
    }
    return serving(bench, swapped, threshold)


def serving(
    bench: Bench, changed: Mapping[tuple[AttentionPath, AttentionPath], Circuit], threshold: float
) -> list[Pair]:
    """The pairs of paths of which the circuit so changed stays below the threshold.

    Both with every head replaced and with the useful heads above the lower of the two free.
    """
    twice = [(free_above(one, min(a.layer, b.layer)), one) for (a, b), one in changed.items()]
    losses = First(bench, bench.sequences).worst(twice, threshold)
    return [Pair(*pair, x) for pair, x in zip(changed, losses, strict=True) if x < math.inf]


def infeasible(flow: "theory.Flow", circuit: Circuit, causal: bool) -> list[AttentionPath]:
    """The paths between roles that share no piece at their layer, whatever is below.

    Paths that are not between roles of the flow are left out.
    """
    deepest = max((path.layer for path in circuit.paths), default=0)
    held = [*islice(flow.layers(causal), deepest + 1)]

    def is_possible(path: AttentionPath) -> bool:
        query, key = (flow.roles.index(role) for role in flow.ends(path))
        found = flow.attends(held[path.layer], path.layer) & flow.visible(causal)
        return bool(found[query, key])

    joining = [p for p in circuit.paths if {*(p.relation.ends or (None,))} <= {*flow.roles}]
    return [path for path in joining if not is_possible(path)]
