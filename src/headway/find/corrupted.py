"""Circuits by corrupted sequences, of models with very many heads.

Every head attends as it does in the corrupted sequence (`Batch.corrupted`), where the
answer cannot be known, but for those of the circuit. One backward pass tells how much
of the gap between the two losses a path in a head would close, to first order
(attribution patching: Nanda 2023; Syed et al.
2023). Forward passes judge: the fewest heads, in this order, that close enough, and of
these none that can be spared.

Corruption leaves the heads below as they were that bring what those heads look for. So
a second backward pass, in the model as it is, ranks paths below by what they do for the
attention along the circuit's. Of the first, each is cut by itself: where much of that
attention goes, it belongs to the circuit, too.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import torch
from jaxtyping import Bool
from torch import Tensor

from headway.judge.yardstick import Yardstick
from headway.models import attention_patterns
from headway.relations.paths import AttentionPath
from headway.replace.ablation import Bench, Measured, Replaced, above
from headway.replace.circuit import Circuit
from headway.replace.heads import Head
from headway.replace.mechanism import Corrupted, KnockOut, Paths
from headway.replace.patterns import Attention, along_all, tap_of

BRINGS = 0.1
"""The least share of attention along paths that a path below them must carry."""

COUNTS = (1, 2, 4, 8, 16)
"""Heads that are tried together, until the loss is below the threshold."""

MOST = 20
"""Heads that a circuit names at most."""

Effects = Mapping[AttentionPath, float]
"""To first order, by path."""


@torch.no_grad()
def circuit_for(
    bench: Bench, yardstick: Yardstick, candidate_attention: Sequence[float]
) -> Circuit:
    """The fewest heads, a path each, that take the loss below a limit, and their needs.

    Args:
        bench: whose rows without a path are `corrupted`.
        yardstick: has the loss to stay below with all other heads as in the corrupted
            sequences. Of a gap, half of what may be left open is kept for other
            sequences.
        candidate_attention: the least attention along a path beyond that in the
            corrupted sequences, tried in order until the loss is below the threshold;
            else the circuit with the least loss is taken.
    """
    limit = yardstick.limits(bench)[-1]
    threshold = limit if yardstick.loss else (bench.loss() + limit) / 2
    search = _Search(bench)
    chosen = search.best(threshold, candidate_attention)
    most = max(threshold, above(search.loss(chosen)))
    chosen = search.without_spare(chosen, most)
    for path in _needs(bench, chosen, candidate_attention[0]):
        heads = {other.at for other in chosen}
        fits = len(chosen) < MOST and path.at not in heads
        if fits and search.loss([*chosen, path]) < most:
            chosen = [*chosen, path]
    return Circuit.of(chosen, search.idle)


class _Search:
    """A search for paths that take the loss below a limit.

    Args:
        bench: with the model and its sequences.
    """

    def __init__(self, bench: Bench):
        self.bench = bench
        self.idle = dict.fromkeys(bench.heads, Corrupted())

    def loss(self, paths: Sequence[AttentionPath]) -> float:
        """The loss with all heads but those of some paths as in the corrupted
        sequences.
        """
        return self.bench.loss(Circuit.of(paths, self.idle))

    def best(
        self, threshold: float, candidate_attention: Sequence[float]
    ) -> list[AttentionPath]:
        """The fewest paths by their effects that serve, else those of the least
        loss.
        """
        patterns = self.bench.patterns
        gains = _effects(self.bench, self.idle, Paths)
        more = along_all(patterns.own - patterns.corrupted, patterns.relations)
        tried = list[list[AttentionPath]]()
        for least, count in product(candidate_attention, COUNTS):
            paths = _best(gains, more, least)[:count]
            tried.append(paths)
            if self.loss(paths) < threshold:
                break
        return min(tried, key=self.loss)

    def without_spare(
        self, paths: list[AttentionPath], most: float
    ) -> list[AttentionPath]:
        """Some paths but for those without which the loss stays below a limit."""
        chosen = paths
        for path in reversed(paths):
            fewer = [other for other in chosen if other != path]
            if self.loss(fewer) < most:
                chosen = fewer
        return chosen


def _best(effects: Effects, attention: Attention, least: float) -> list[AttentionPath]:
    """For every head the attended path of largest effect, the largest first."""
    best: dict[Head, AttentionPath] = {}
    for path in sorted(effects, key=lambda path: -effects[path]):
        along = attention[path.relation][path.layer][path.head]
        if effects[path] > 0 and along >= least:
            best.setdefault(path.at, path)
    return list(best.values())


def _effects(
    bench: Bench,
    replaced: Replaced,
    kind: type[Paths] | type[KnockOut],
    measured: Measured | None = None,
) -> Effects:
    """The gain of every path that is put in or knocked out."""
    names = bench.patterns.used_as("path")
    paths = [AttentionPath.of(*head, name) for head in bench.heads for name in names]
    changes = [(path.at, kind(frozenset({path.relation}))) for path in paths]
    gains = bench.gains(replaced, changes, measured, bench.sequences)
    return dict(zip(paths, gains, strict=True))


def _needs(
    bench: Bench, paths: Sequence[AttentionPath], least: float
) -> list[AttentionPath]:
    """The paths below others without which much of the attention along these is lost.

    The first `MOST` by their effect on the log-odds of that attention, to first order,
    are cut in the model as it is, one by one. Relations that lead all queries to one
    place are left out: what is brought from there is the same everywhere, so it tells
    no key from others.
    """
    if not paths:
        return []
    looked = _Looked(bench, paths)
    lost = _effects(bench, {}, KnockOut, looked.log_odds)
    told = {path: effect for path, effect in lost.items() if looked.tells_apart(path)}
    best = _best(told, bench.patterns.attention, least)
    below = [path for path in best if path not in paths]
    shares = {path: looked.share_lost(path) for path in below[:MOST]}
    needed = [path for path in shares if shares[path] >= BRINGS]
    return sorted(needed, key=lambda path: -shares[path])


class _Looked:
    """The attention along some paths, and what of it is lost without others.

    Args:
        bench: with the model and its sequences.
        paths: whose attention counts.
    """

    def __init__(self, bench: Bench, paths: Sequence[AttentionPath]):
        self.bench = bench
        self.paths = paths
        self.patterns = bench.patterns

    def cells(self, path: AttentionPath) -> Bool[Tensor, "sequence query key"]:
        """The cells that a path leads to."""
        return self.patterns.one_hot(frozenset({path.relation})) > 0

    def along(self, seen: Tensor, path: AttentionPath, part: slice) -> Tensor:
        """Mean attention along a path, given that of its head in some sequences."""
        cells = self.cells(path)[part]
        rows = cells.any(2).sum().clamp(min=1)
        return (seen * cells).sum() / rows

    def log_odds(self, part: slice, _: Tensor, seen: Sequence[Tensor]) -> Tensor:
        """The log-odds of attention along all paths, in some sequences."""
        attention = list[Tensor]()
        for path in self.paths:
            of_head = seen[path.layer][:, path.head]
            attention.append(self.along(of_head, path, part))
        return torch.stack(attention).logit(1e-6).sum()

    def tells_apart(self, path: AttentionPath) -> bool:
        """True if a path does not lead all queries to one place."""
        cells = self.cells(path)
        queries = cells.any(2).sum(1)
        keys = cells.any(1).sum(1)
        is_apart = (queries < 2) | (keys > 1)
        return bool(is_apart.any())

    def share_lost(self, path: AttentionPath) -> float:
        """The share of the attention along all paths that is lost when one is cut."""
        cut = {path.at: KnockOut(frozenset({path.relation}))}
        tap = tap_of(self.patterns, [cut], slice(None))
        seen = attention_patterns(self.bench.model, self.bench.batch.inputs, tap)
        self.bench.add_forwards(1.0)
        left = list[float]()
        whole = list[float]()
        for path in self.paths:
            left_along = self.along(seen[:, *path.at], path, slice(None))
            left.append(left_along.item())
            along = self.patterns.attention[path.relation]
            whole.append(along[path.layer][path.head])
        return 1 - sum(left) / sum(whole)
