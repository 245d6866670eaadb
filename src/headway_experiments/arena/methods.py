"""Every method of the arena. One is a function from a subject to an answer.

Edges are attention paths here: a head along a relation. To cut one is to set the head's
attention to zero there. Methods of the literature are written after their papers, for
such edges.
"""

import random
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from headway.find import discover
from headway.judge import THRESHOLD, NoCircuitError
from headway.models import attention_patterns
from headway.relations import AttentionPath
from headway.replace import Bench, Circuit, Head, Paths, along_all
from headway.tasks import Task
from headway_experiments.arena.acdc import acdc
from headway_experiments.arena.attribution import Attribution
from headway_experiments.arena.subject import Answer, Subject
from headway_experiments.asked import altered

Method = Callable[[Subject], Answer]

STEPS = 5
"""Points that gradients are integrated over, as in Hanna et al."""

SEEN = 0.05
"""The share of a table's row from which on a key counts as looked at."""


def headway(subject: Subject) -> Answer:
    """`headway.discover`: paths of the circuit or not, then by the cost of exchanging
    them.

    A circuit ranks no path outside it, so that there the ranking goes on with that of
    EAP-IG. There is no path in the answer where the search is refused.
    """
    paths = _attributed(subject)
    how = {"threshold": THRESHOLD, "sequences": len(subject.batch.inputs), "seed": 0}
    try:
        discovery = discover(
            subject.model, subject.task, trials=False, workers=1, **how
        )
    except NoCircuitError:
        return Answer(paths, frozenset(), subject.passes)
    chosen, pairs = _named(subject, discovery.circuit)
    paths |= dict.fromkeys(chosen, 2.0)
    judgement = discovery.evidence.judgement
    costs = {} if judgement is None else judgement.paths
    for path, cost in costs.items():
        if path in chosen:
            paths[path] = 2 + cost.most / (1 + cost.most)
    return Answer(paths, chosen, subject.passes + discovery.forwards, pairs)


def _attributed(subject: Subject) -> dict[AttentionPath, float]:
    """The scores of EAP-IG, of which the largest is 1."""
    scores = Attribution(steps=STEPS)(subject).paths
    largest = max(scores.values(), default=0.0) or 1.0
    return {path: min(score / largest, 1.0) for path, score in scores.items()}


def blind(subject: Subject) -> Answer:
    """`headway.discover`, told no relation of the task but its roles."""
    task = altered(subject.task, relations=Task.relations)
    discovery = discover(subject.model, task, seed=0, trials=False, workers=1)
    chosen, pairs = _named(subject, discovery.circuit)
    paths = {path: float(path in chosen) for path in subject.paths}
    return Answer(paths, chosen, discovery.forwards, pairs)


def _named(
    subject: Subject, circuit: Circuit
) -> tuple[frozenset[AttentionPath], Tensor]:
    """A circuit's paths along the relations of the arena, and its pairs of positions.

    A path along another relation gets the name of the one that shares most pairs with
    it (F1). Of a head that is read by a table, pairs are those with a share of `SEEN`
    or more.
    """
    patterns = Bench(subject.model, subject.task, subject.batch).patterns
    pairs = torch.zeros_like(subject.pairs([]))
    chosen: set[AttentionPath] = set()
    for layer, head in circuit.useful_heads:
        mechanism = circuit.mechanisms[layer, head]
        if isinstance(mechanism, Paths):
            looks = {name: patterns.alone(name) > 0 for name in mechanism.relations}
        else:
            looks = {"": patterns.dense(mechanism, (layer, head)) >= SEEN}
        for name, look in looks.items():
            pairs[:, layer, head] += look
            relation = name if name in subject.relations else _likest(subject, look)
            chosen.add(AttentionPath.of(layer, head, relation))
    return frozenset(chosen), pairs.clamp(max=1)


def _likest(subject: Subject, look: Tensor) -> str:
    """The relation whose pairs of positions are most like some, by their Jaccard
    index.
    """
    shared = (look * subject.cells).sum((1, 2, 3))
    alike = shared / (look + subject.cells).sum((1, 2, 3))
    names = list(subject.relations)
    return names[int(alike.argmax())]


def head_ablation(subject: Subject) -> Answer:
    """Every head ablated alone. A path counts by its head's loss and its share of
    attention.
    """
    shares = attention(subject).paths
    rise = _rise(subject)
    of_paths = {path: rise[path.at] * share for path, share in shares.items()}
    return Answer(of_paths)


@torch.no_grad()
def _rise(subject: Subject) -> dict[Head, float]:
    """The rise of the loss without each head."""
    own = subject.loss().item()
    rise: dict[Head, float] = {}
    for layer, head in subject.heads:
        keep = torch.ones(subject.model.n_layers, subject.model.n_heads, 1, 1, 1)
        keep[layer, head] = 0
        loss = subject.loss(lambda at, keep=keep: keep[at])
        rise[layer, head] = loss.item() - own
    return rise


def naming(subject: Subject) -> Answer:
    """No search: every head that ablation misses, by the one relation that it attends
    most like.

    A head is missed if the model's loss without it is not below the threshold.
    """
    rise = _rise(subject)
    own = subject.loss().item()
    chosen = set()
    paths = dict.fromkeys(subject.paths, 0.0)
    for head, nearest in _nearest(subject).items():
        named = AttentionPath.of(*head, nearest)
        paths[named] = rise[head]
        if own + rise[head] >= THRESHOLD:
            chosen.add(named)
    return Answer(paths, frozenset(chosen))


def _nearest(subject: Subject) -> dict[Head, str]:
    """The relation that most of each head's attention is along."""
    patterns = attention_patterns(subject.model, subject.batch.inputs)
    like = along_all(patterns, subject.task.edges(subject.batch), shared=True)
    nearest = {}
    for layer, head in subject.heads:
        shares = {name: like[name][layer][head] for name in subject.relations}
        nearest[layer, head] = max(shares, key=lambda name: shares[name])
    return nearest


def attention(subject: Subject) -> Answer:
    """Attention alone, along a relation where it applies."""
    rows = subject.cells.amax(-1).sum((1, 2))
    counts = rows.clamp(min=1).tolist()
    count = dict(zip(subject.relations, counts, strict=True))
    along = subject.along(subject.attention())
    shares = {path: total / count[path.relation] for path, total in along.items()}
    return Answer(shares)


def chance(subject: Subject) -> Answer:
    """Random scores: what no method may be worse than."""
    rng = random.Random(subject.known.name)
    return Answer({path: rng.random() for path in subject.paths})


METHODS: dict[str, Method] = {
    "headway": headway,
    "blind": blind,
    "EAP": Attribution(),
    "EAP corrupted": Attribution("message"),
    "EAP-IG": Attribution(steps=STEPS),
    "EAP-IG corrupted": Attribution("message", STEPS),
    "GIM": Attribution(gentle=True),
    "PEAP": Attribution("values", unsigned=True),
    "ACDC": acdc,
    "ACDC corrupted": partial(acdc, corrupted=True),
    "head ablation": head_ablation,
    "naming": naming,
    "attention": attention,
    "random": chance,
}
"""All methods by name. To add one, write a function as above and enter it here."""
