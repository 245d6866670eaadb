"""The heads that a model can spare: what they carry in other sequences serves as well.

A head whose exchange costs nothing is no part of a circuit, however sharply it attends. But of two
heads that do the same work each can be spared as long as the other is there. So as many are spared
as cost nothing when all of them are exchanged at once, those that alone cost least first.
"""

import hashlib
from collections.abc import Sequence

from headway.circuits.ablation import Bench
from headway.circuits.costs import Costs
from headway.circuits.exchange import Exchange
from headway.circuits.mechanism import Head
from headway.circuits.partners import partners
from headway.circuits.search import longest
from headway.circuits.subject import device_of
from headway.circuits.verdicts import LIMIT
from headway.errors import HeadwayError, note_once, require
from headway.training.environment import generator_for


def spared(bench: Bench) -> list[Head] | None:
    """The heads of a bench's model that can all be exchanged at once.

    They are exchanged on as many other sequences as the bench has. None if the model's attention
    cannot be exchanged; a note says why.
    """
    try:
        exchange = exchange_for(bench)
    except HeadwayError as reason:
        note_once(f"which heads are needed is not known before the search: {reason}")
        return None
    found = spared_by(Costs(exchange), bench.heads)
    bench.add_forwards(exchange.passes * len(exchange.batch.inputs) / bench.sequences)
    return found


def spared_by(costs: Costs, heads: Sequence[Head]) -> list[Head]:
    """The heads whose exchange costs less than the limit, all at once.

    One after the other is exchanged along with those before, and left out if it takes the cost to
    the limit: then it is needed as soon as these are gone.
    """
    alone = costs.alone(heads)
    cheap = [head for head in heads if alone[head].most < LIMIT]
    left = sorted(cheap, key=lambda head: alone[head].most)
    found: list[Head] = []
    while left:
        count = longest(len(left), lambda n: costs.together([*found, *left[:n]]).most < LIMIT)
        found += left[:count]
        left = left[count + 1 :]
    return sorted(found)


def exchange_for(bench: Bench) -> Exchange:
    """A bench's model on sequences of its own with partners.

    Raises:
        HeadwayError: if sequences have no partners, or heads cannot be exchanged.
    """
    seen = bench.batch.inputs.double().cpu().numpy().tobytes()
    name = hashlib.blake2b(seen, digest_size=8).hexdigest()
    generator = generator_for(device_of(bench.model), "exchange", name)
    drawn = partners(bench.task, bench.sequences, generator)
    exchange = Exchange.among(bench.model, bench.task, drawn)
    count, allowed = len(exchange.heads), f"{len(bench.heads)}, as its own tap shows"
    require(exchange.heads == bench.heads, "heads whose softmax is seen", count, allowed)
    return exchange
