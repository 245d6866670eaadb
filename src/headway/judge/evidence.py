"""The evidence for a circuit, as data, and how it is measured.

It is measured on sequences that the search for the circuit never saw, and guarantees
nothing about others; `certificate` has a bound for all of them.

With rows of corrupted sequences models are large: intervals are of as many sequences as
all else, and heads are replaced alone if useful.
"""

import math
from dataclasses import dataclass
from itertools import islice
from statistics import NormalDist

import torch
from jaxtyping import Float
from torch import Tensor

from headway import theory
from headway.errors import HeadwayError
from headway.judge.judgement import Judgement
from headway.judge.yardstick import Likenesses, Yardstick, likenesses
from headway.relations.paths import AttentionPath, ends_of
from headway.replace.ablation import Bench
from headway.replace.circuit import Circuit
from headway.replace.heads import Head, WrittenHead, WrittenLoss, WrittenPath
from headway.replace.mechanism import OF_CORRUPTED, fill_named, is_by_place
from headway.replace.patterns import Attention
from headway.replace.subject import Counted, Subject

DRAWN = 2048
"""Further sequences, for the intervals of losses."""


@dataclass(frozen=True)
class Necessity:
    """The loss of the circuit when one of its paths is cut, as the paper measures it.

    Attributes:
        path: layer, head and relation.
        attention: the model's own mean attention along the relation.
        loss: with every head replaced and this path cut.
    """

    path: WrittenPath
    attention: float
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
    """The evidence for a circuit. All losses are on held-out sequences.

    Attributes:
        judgement: what changes cost, by exchange, which the verdicts follow from; None
            if no part of the model can be exchanged.
        unjudged: why, in that case; else empty.
        intact: the partial losses of the model as it is.
        replaced: the partial losses with every head replaced by its mechanism.
        interval: 95 % interval of the loss with every head replaced, from `drawn`
            sequences.
        intact_interval: the same of the model as it is.
        drawn: further sequences, for the intervals.
        necessity: for every path, the loss when it alone is cut.
        trials: the same search on other samples.
        infeasible: paths between positions that share no piece at their layer, whatever
            the layers below did (section 5 of the paper); None if the task has no such
            theory.
        minimum: the flow minimum, the least number of layers by that theory; None
            likewise.
        sequences: how many held-out sequences the losses are over.
        alone: for every head the loss of the model with this head alone replaced by its
            mechanism. Its excess over the model's own loss tells what the head does
            beyond its mechanism.
        likeness: how like the model the circuit is.
    """

    judgement: Judgement | None
    unjudged: str
    intact: dict[str, WrittenLoss]
    replaced: dict[str, WrittenLoss]
    interval: tuple[WrittenLoss, WrittenLoss]
    intact_interval: tuple[WrittenLoss, WrittenLoss]
    drawn: Counted
    necessity: list[Necessity]
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
    judgement: tuple[Judgement | None, str],
) -> tuple[float, Evidence]:
    """Measures a circuit on a bench. `trials` are left empty.

    Args:
        bench: with sequences that the search for the circuit did not see.
        circuit: a mechanism for every head.
        attention: mean attention along every relation, by relation.
        yardstick: when the circuit is faithful.
        subject: draws further sequences.
        judgement: what changes cost (see `judged`).

    Returns: the loss that the circuit is to stay below on these sequences, and the
    evidence.
    """
    patterns = bench.patterns
    flow = bench.task.flow()
    intact, replaced = bench.errors([{}, circuit]).mean(1).tolist()
    threshold = yardstick.met(bench, sum(replaced) / len(replaced))
    is_large = patterns.rows in OF_CORRUPTED
    drawn = bench.sequences if is_large else DRAWN
    fresh = _fresh_losses(subject, circuit, patterns.rows, drawn)
    own, its = map(interval_of, fresh)
    return threshold, Evidence(
        *judgement,  # and why there is none
        intact=dict(zip(bench.hops, intact, strict=True)),
        replaced=dict(zip(bench.hops, replaced, strict=True)),
        interval=its,
        intact_interval=own,
        drawn=drawn,
        necessity=necessity(bench, circuit, attention),
        trials=[],
        infeasible=None if flow is None else infeasible(flow, circuit, patterns.causal),
        minimum=None if flow is None else flow.minimum_layers(patterns.causal),
        sequences=bench.sequences,
        alone=_alone(bench, circuit),
        likeness=likenesses(bench, circuit, yardstick),
    )


def _alone(bench: Bench, circuit: Circuit) -> dict[Head, float]:
    """The loss with each head alone replaced; of a large model, each useful head."""
    heads = sorted(circuit.mechanisms)
    if bench.patterns.rows in OF_CORRUPTED:
        heads = circuit.useful_heads
    losses = bench.losses([{head: circuit.mechanisms[head]} for head in heads])
    return dict(zip(heads, losses, strict=True))


def _fresh_losses(
    subject: Subject, circuit: Circuit, rows: str, count: int
) -> Float[Tensor, "two sequence"]:
    """The losses of the model as it is and of the circuit on further sequences."""
    losses = list[Tensor]()
    for bench in subject.fresh(circuit, rows, "interval", count, shared=True):
        errors = bench.errors([{}, circuit])
        losses.append(errors.mean(2).cpu())
    return torch.cat(losses, 1)


def judged(
    subject: Subject, circuit: Circuit, bench: Bench
) -> tuple[Judgement | None, str]:
    """The costs of exchanges in the model; None and why if nothing can be exchanged.

    Its passes count among those of the bench. No other thread may call the model
    meanwhile.
    """
    from headway.judge.by_exchange import judge
    from headway.replace.exchange import Exchange

    try:
        sequences = subject.partners(bench.sequences, "exchange")
        exchange = Exchange.among(subject.model, subject.task, sequences)
    except HeadwayError as error:
        return None, str(error)
    if is_by_place(bench.patterns.rows):
        circuit = circuit.filled(bench.patterns.rows)
    judgement = judge(exchange, circuit)
    bench.add_forwards(exchange.passes)
    return judgement, ""


def interval_of(losses: Float[Tensor, " sequence"]) -> tuple[float, float]:
    """The 95 % interval of the mean over sequences, corrected for skewness (Hall 1992).

    It reaches farther on the side of a long tail, where a few sequences carry much of
    the loss. Of an infinite loss both ends are infinite.
    """
    each = losses.double()
    count = len(losses)
    if not each.isfinite().all():
        return math.inf, math.inf
    mean = each.mean().item()
    least = min(each.min().item(), 0.0)
    spread = each.std(correction=0).item()
    standard = (each - mean) / (spread or 1.0)
    skew = (standard**3).mean().item()
    tail = NormalDist().inv_cdf(0.975) / count**0.5

    def off(normal: float) -> float:
        if not abs(skew) > 1e-6:
            return normal
        cubed = 1 + skew * (normal - skew / (6 * count))
        return 3 * (math.cbrt(cubed) - 1) / skew

    low = mean - spread * off(tail)
    return max(low, least), mean - spread * off(-tail)


def necessity(bench: Bench, circuit: Circuit, attention: Attention) -> list[Necessity]:
    """The loss without each path (the paper's step 6)."""
    paths = circuit.paths
    if bench.patterns.rows in OF_CORRUPTED:
        fill = fill_named(bench.patterns.rows)
        cut = [circuit.cut_to(path, fill) for path in paths]
    else:
        cut = [circuit.without(path) for path in paths]
    needed = list[Necessity]()
    for path, loss in zip(paths, bench.losses(cut), strict=True):
        share = attention[path.relation][path.layer][path.head]
        needed.append(Necessity(path, share, loss))
    return needed


def infeasible(
    flow: "theory.Flow", circuit: Circuit, causal: bool
) -> list[AttentionPath]:
    """The paths between roles that share no piece at their layer, whatever is below.

    Paths that are not between roles of the flow are left out.
    """
    deepest = max((path.layer for path in circuit.paths), default=0)
    held = [*islice(flow.layers(causal), deepest + 1)]
    visible = flow.visible(causal)
    impossible = list[AttentionPath]()
    for path in circuit.paths:
        if ends_of([path]) <= {*flow.roles}:
            query, key = (flow.roles.index(role) for role in flow.ends(path))
            attends = flow.attends(held[path.layer], path.layer) & visible
            if not attends[query, key]:
                impossible.append(path)
    return impossible
