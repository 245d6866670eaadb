"""Relations that any sequence has, and mechanisms found by them where nobody named
roles.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from headway import IGNORE_INDEX, Batch, Edges, Task, discover
from headway.replace import attention_along
from headway.tasks import NO_KEY, general_relations
from sampling import read, seeded


def test_every_relation_of_a_short_sequence():
    tokens = torch.tensor([[3, 1, 3, 1, 3], [0, 1, 2, 3, 4]])
    relations = general_relations(tokens)
    first = {name: read(edges, 0) for name, edges in relations.items()}
    assert first["previous token"] == {1: [0], 2: [1], 3: [2], 4: [3]}
    assert first["first position"] == {1: [0], 2: [0], 3: [0], 4: [0]}
    assert first["same token"] == {2: [0], 3: [1], 4: [0, 2]}
    assert first["after same token"] == {2: [1], 3: [2], 4: [1, 3]}
    assert first["after latest same token"] == {2: [1], 3: [2], 4: [3]}
    assert first["own position"] == {n: [n] for n in range(5)}
    second = {name: read(edges, 1) for name, edges in relations.items()}
    assert second["3 back"] == {3: [0], 4: [1]}
    assert second["same token"] == {}
    stay = [name for name, edges in relations.items() if edges.use == "stay"]
    assert stay == ["own position"]


def test_vectors_have_places_alone():
    found = general_relations(torch.zeros(2, 4, 3), of_tokens=False)
    places = {"previous token", "2 back", "3 back", "first position", "own position"}
    assert set(found) == places


def test_edges_where_a_mask_holds_are_the_mask():
    mask = torch.rand(3, 6, 7, generator=seeded(0)) < 0.2
    edges = Edges.where(mask)
    again = torch.zeros_like(mask)
    for row in range(3):
        for query, keys in read(edges, row).items():
            again[row, query, keys] = True
    assert torch.equal(again, mask)


@dataclass(frozen=True)
class Latest(Task, registered=False):
    """Random tokens; asks at each of the last places for what followed its token the
    last time.
    """

    n_tokens: int = 5
    places: int = 20

    @property
    def vocabulary(self):
        return self.n_tokens

    def draw(self, count, generator):
        shape = (count, self.places)
        tokens = torch.randint(self.n_tokens, shape, generator=generator)
        return (tokens,)

    def assemble(self, draws):
        (tokens,) = draws
        after = general_relations(tokens)["after latest same token"]
        answers = torch.full_like(tokens, IGNORE_INDEX)
        sequences, rows = (after.queries != NO_KEY).nonzero(as_tuple=True)
        queries = after.queries[sequences, rows]
        keys = after.keys[sequences, rows, 0]
        answers[sequences, queries] = tokens[sequences, keys]
        return Batch(tokens, answers[:, -8:, None])


class Induction(torch.nn.Module):
    """Somebody's module: a head that brings the token before, one that matches it, two
    idle.
    """

    def forward(self, tokens):
        here = F.one_hot(tokens, 5).float()
        key = torch.arange(tokens.shape[1])
        query = key[:, None]
        future = torch.where(query < key, -torch.inf, 0.0)
        idle = future.expand(len(tokens), 1, -1, -1)
        is_previous = query - 1 == key
        behind = 40.0 * is_previous + future
        scores = torch.cat([behind.expand_as(idle), idle], 1)
        first = scores.softmax(-1)
        before = first[:, 0] @ here
        before[:, 0] = 0
        is_alike = here @ before.mT
        same = 60.0 * is_alike + 4.0 * key
        scores = torch.cat([same[:, None] + idle, idle], 1)
        second = scores.softmax(-1)
        read = second[:, 0] @ here
        return 12.0 * read[:, -8:]


def test_the_induction_circuit_is_found_where_nobody_named_a_relation():
    found = discover(Induction(), Latest(), trials=False, ablation="mean", sequences=16)
    assert found.faithful
    paths = {str(path) for path in found.circuit.paths}
    assert paths == {"L0.H0 previous token", "L1.H0 after latest same token"}


def test_a_relation_that_applies_nowhere_has_no_rows():
    found = general_relations(torch.arange(10).view(2, 5))
    assert read(found["same token"], 0) == {}
    assert read(found["same token"], 1) == {}
    patterns = torch.ones(2, 3, 1, 5, 5)
    along = attention_along(patterns, found["same token"])
    assert along.shape == (3, 1)
    assert not along.any()
