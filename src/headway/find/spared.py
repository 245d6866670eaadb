"""The heads that a model can spare: what they carry in other sequences serves as well.

A head whose exchange costs nothing is no part of a circuit, however sharply it attends
(unless it is a mark, see below).
But of two heads that do the same work each can be spared as long as the other is there.
So as many are spared as cost nothing when all of them are exchanged at once, those that
alone cost least first.

Their mean patterns must cost nothing, either, since a circuit has these in their place.
To exchange a head that carries the same in all sequences costs nothing; to remove it
may: it is a bias, or a mark that tells another head where to look. It is spared unless
it follows a relation.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from headway.errors import HeadwayError, note_once, require
from headway.find.search import longest
from headway.judge.costs import Costs
from headway.judge.verdict import LIMIT
from headway.replace.ablation import Bench
from headway.replace.exchange import WHOLE_HEAD, Change, Exchange
from headway.replace.heads import Head
from headway.replace.mechanism import Mean
from headway.replace.subject import device_of
from headway.training.environment import generator_for

FOLLOWS = 0.8
"""The least share of attention where its relation leads for a head to follow it."""

LEAST = 64
"""Sequences, each with a partner, that heads are exchanged on at least."""

CostsOf = Callable[[Sequence[Sequence[Head]]], list[float]]
"""The costs of some sets of heads, each without what its heads do."""


def spared_once(bench: Bench) -> list[Head] | None:
    """The heads that can be spared, looked for when sequences are first asked about.

    A model of others must not be called by other threads meanwhile.
    """
    if "spared" not in bench.known:
        bench.known["spared"] = spared(bench)
    return bench.known["spared"]


def spared(bench: Bench) -> list[Head] | None:
    """The heads of a bench's model that can all be spared at once.

    They are exchanged on as many other sequences as the bench has, and on `LEAST` at
    least. None if the model's attention cannot be exchanged; a note says why.
    """
    try:
        exchange = exchanged_once(bench)
    except HeadwayError as reason:
        note_once(f"which heads are needed is not known before the search: {reason}")
        return None
    costs = Costs(exchange)
    absent = costs.of([Change({head: ()}) for head in bench.heads])
    tried = list[Head]()
    for head, cost in zip(bench.heads, absent, strict=True):
        if cost.most < LIMIT or not follows(bench, head):
            tried.append(head)
    can_go = spared_by(partial(costs_without, costs), tried)
    add_passes(bench, exchange)
    return can_go


def spared_by(costs_of: CostsOf, heads: Sequence[Head]) -> list[Head]:
    """The heads that cost less than the limit, all at once.

    One after the other is spared along with those before, and kept if it takes the cost
    to the limit: then it is needed as soon as these are gone. (As many as can be are
    spared in one step. Costs may fall again as more heads go; then fewer are spared
    than could be.)
    """
    costs = costs_of([[head] for head in heads])
    alone = dict(zip(heads, costs, strict=True))
    cheap = [head for head in heads if alone[head] < LIMIT]
    queue = sorted(cheap, key=alone.__getitem__)
    gone: list[Head] = []
    while queue:
        count = _how_many(costs_of, gone, queue)
        gone += queue[:count]
        queue = queue[count + 1 :]
    return sorted(gone)


def follows(bench: Bench, head: Head) -> bool:
    """True if a head's attention is like some relation that it may have as a path."""
    layer, number = head
    likeness = bench.patterns.likeness
    names = bench.patterns.used_as("path")
    return any(likeness[name][layer][number] >= FOLLOWS for name in names)


def _how_many(costs_of: CostsOf, gone: Sequence[Head], queue: Sequence[Head]) -> int:
    """The number of first heads of the queue that can be spared along with others."""

    def possible(count: int) -> bool:
        (cost,) = costs_of([[*gone, *queue[:count]]])
        return cost < LIMIT

    return longest(len(queue), possible)


def costs_without(costs: Costs, sets: Sequence[Sequence[Head]]) -> list[float]:
    """The costs of sets of heads: of exchange or of mean patterns, the larger."""
    exchanged = [Change(dict.fromkeys(heads, WHOLE_HEAD)) for heads in sets]
    by_mean = [Change({}, dict.fromkeys(heads, Mean())) for heads in sets]
    both = zip(costs.of(exchanged), costs.of(by_mean), strict=True)
    return [max(exchange.most, mean.most) for exchange, mean in both]


def add_passes(bench: Bench, exchange: Exchange, before: float = 0.0) -> None:
    """Adds an exchange's passes to a bench's, without those that were there before."""
    passes = exchange.passes - before
    sequences = passes * len(exchange.batch.inputs)
    bench.add_forwards(sequences / bench.sequences)


def exchanged_once(bench: Bench) -> Exchange:
    """A bench's model on sequences with partners, drawn when first asked for.

    Raises:
        HeadwayError: if sequences have no partners, or heads cannot be exchanged.
    """
    if "exchange" not in bench.known:
        bench.known["exchange"] = _exchange_for(bench)
    return bench.known["exchange"]


def _exchange_for(bench: Bench) -> Exchange:
    """A bench's model on sequences of its own with partners.

    Raises:
        HeadwayError: if sequences have no partners, or heads cannot be exchanged.
    """
    inputs = bench.batch.inputs.double().cpu().numpy()
    name = hashlib.blake2b(inputs.tobytes(), digest_size=8).hexdigest()
    generator = generator_for(device_of(bench.model), "exchange", name)
    count = max(bench.sequences, LEAST)
    exchange = Exchange.drawn(bench.model, bench.task, count, generator)
    are_all = exchange.heads == bench.heads
    n_seen = len(exchange.heads)
    allowed = f"{len(bench.heads)}, as its own tap shows"
    require(are_all, "heads whose softmax is seen", n_seen, allowed)
    return exchange
