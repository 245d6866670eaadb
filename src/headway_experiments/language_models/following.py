"""Attention along the relations of a question: which heads follow a chain in words.

    z = 2        w = 3        d = z        g = w        What is the value of d?  …  Answer:
    s3  s4                    s1  s2                                         s0         answer

A relation leads from the last token of one role (query) to all tokens of another (keys), over which
attention is summed. A head that follows a chain attends to *its own* chain. It is compared with
attention to the same role of the other chains, as far as that stands before the query.
"""

import re
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from headway.errors import require
from headway.language import FORMULATIONS, Chains, LocalModel, Question, formulation
from headway.text import either
from headway_experiments.language_models.tap import shape, tapped, without_tap
from headway_experiments.language_models.tokens import Reading, reading

Kind = Literal["look-up", "induction", "read-out", "neighbour", "place"]

ANSWER = "answer"
"""The prompt's last token, where the answer is given, as a role."""
PREVIOUS = "previous token"


@dataclass(frozen=True)
class Relation:
    """A pair of roles.

    Attributes:
        name: such as `s2←s3`.
        query: the role that attends.
        key: the role that is attended to.
        kind: `look-up` from a symbol to where it was told of before; `induction` from there to
            what stands beside that; `read-out` from where the answer is given; `neighbour` on the
            same line; `place` if the place in the text alone tells the key.
        hop: the pair of the chain that it leads to, from 1; 0 for what is asked about, and for
            the previous token.
    """

    name: str
    query: str
    key: str
    kind: Kind
    hop: int

    @property
    def follows(self) -> bool:
        """Whether attending so follows the chain: symbols decide, not places in the text."""
        return self.kind in ("look-up", "induction", "read-out")

    @property
    def compared(self) -> bool:
        """Whether other chains have the same role."""
        return self.kind != "place"


def relations(question: Question) -> list[Relation]:
    """All relations of a question: the task's, those of the read-out, and the previous token."""
    found = [
        Relation(f"{query}←{key}", query, key, _kind(_pair(query), _pair(key), key), _pair(key))
        for query, key in question.links
    ]
    for number in range(2 * question.depth + 1):
        kind: Kind = "read-out" if number else "place"
        role = f"s{number}"
        found.append(Relation(f"{ANSWER}←{role}", ANSWER, role, kind, _pair(role)))
    return [*found, Relation(PREVIOUS, "", "", "place", 0)]


def _pair(role: str) -> int:
    """The pair on whose line a role stands: s1 and s2 on the first, s0 in the question."""
    return (int(re.sub(r"\D", "", role)) + 1) // 2


def _kind(query: int, key: int, role: str) -> Kind:
    if query == key:
        return "neighbour"
    return "look-up" if int(role[1:]) % 2 else "induction"


def require_chains(name: str, depth: int, chains: int) -> None:
    """Raises `HeadwayError` unless a formulation tells where every chain plays its roles, and has
    such a depth."""
    able = [known for known, one in FORMULATIONS.items() if isinstance(one, Chains)]
    one = formulation(name)
    require(name in able, "formulation", name, f"one whose chains can be compared: {either(able)}")
    require(chains >= 2, "chains", chains, "at least 2: a chain is compared with the others")
    one.require(depth, chains)


@dataclass(frozen=True)
class Attention:
    """Attention of every head along every relation of a question, averaged over the chains.

    Attributes:
        own: to one's own chain, [relation, layer, head], from 0 to 1.
        others: mean over the other chains, likewise; not a number for relations that are not
            compared.
    """

    own: Tensor
    others: Tensor


@torch.no_grad()
def attention(model: LocalModel, question: Question) -> Attention:
    """Reads a question once, and sums attention along its relations.

    Raises:
        HeadwayError: if the model's attention cannot be seen, or the prompt does not fit.
    """
    told = reading(model, question)
    ruler = Ruler.of(question, told)
    layers: dict[int, Tensor] = {}
    (count, heads), length = shape(model.model), len(told.ids)

    def record(layer: int, pattern: Tensor) -> Tensor:
        if pattern.shape[1:] != (heads, length, length):
            raise without_tap(model.model)
        layers[layer] = ruler(pattern[0].float().cpu())
        return pattern

    with tapped(model.model, record):
        model.model.base_model(input_ids=told.ids[None], use_cache=False)
    if sorted(layers) != list(range(count)):
        raise without_tap(model.model)
    own, others = torch.stack([layers[i] for i in sorted(layers)], 2)
    return Attention(own, others)


@dataclass(frozen=True)
class Ruler:
    """What to sum in a pattern: entries, each a query with its keys, that belong to relations.

    Attributes:
        queries: token of every entry, [entry].
        own: which keys belong to the query's own chain, [entry, token].
        others: the share that a key has in the mean over the other chains, likewise.
        mean: of entries to relations, [relation, entry].
        compared: the relations that other chains have too, [relation].
    """

    queries: Tensor
    own: Tensor
    others: Tensor
    mean: Tensor
    compared: Tensor

    @classmethod
    def of(cls, question: Question, told: Reading) -> "Ruler":
        """The ruler of a question."""
        length = len(told.ids)
        entries: list[tuple[int, int, list[int], list[list[int]]]] = []
        every = relations(question)
        for number, relation in enumerate(every):
            if relation.name == PREVIOUS:
                entries += [(number, at, [at - 1], []) for at in range(1, length)]
                continue
            for chain in range(question.chains):
                found = _entry(question, told, relation, chain)
                if found is not None:
                    entries.append((number, *found))
        own, others = torch.zeros(2, len(entries), length)
        mean = torch.zeros(len(every), len(entries))
        for i, (number, _, keys, rest) in enumerate(entries):
            mean[number, i] = 1
            own[i, keys] = 1
            for other in rest:
                others[i, other] = 1 / len(rest)
        return cls(
            torch.tensor([query for _, query, _, _ in entries]),
            own,
            others,
            mean / mean.sum(1, keepdim=True),
            torch.tensor([relation.compared for relation in every]),
        )

    def __call__(self, pattern: Tensor) -> Tensor:
        """The means [own or others, relation, head] of one layer's pattern [head, query, key]."""
        rows = pattern[:, self.queries]
        sums = torch.stack([(rows * keys).sum(2) for keys in (self.own, self.others)])
        found = torch.einsum("whe,re->wrh", sums, self.mean)
        found[1, ~self.compared] = torch.nan
        return found


def _entry(
    question: Question, told: Reading, relation: Relation, chain: int
) -> tuple[int, list[int], list[list[int]]] | None:
    """Query, own keys and the keys of every other chain; None where the chain lacks a role, or
    nothing to compare with stands before the query."""
    spans = question.spans
    if relation.query == ANSWER:
        if chain != question.asked:
            return None
        query = len(told.ids) - 1
    elif (chain, relation.query) in spans:
        query = told.tokens(spans[chain, relation.query])[-1]
    else:
        return None
    keys = {
        other: told.tokens(spans[other, relation.key])
        for other in range(question.chains)
        if (other, relation.key) in spans
    }
    before = [key for other, key in keys.items() if other != chain and key[-1] <= query]
    if relation.compared and not before:
        return None
    return query, keys[chain], before
