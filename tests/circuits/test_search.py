"""The search finds circuits that are known, quickly or slowly the same."""

from dataclasses import dataclass

import pytest
import torch
from reference import SlowBench
from torch import nn

from headway.circuits import Bench, attention_along, discover
from headway.circuits.candidates import candidate_paths, ends_read, relation_attention, searched
from headway.circuits.search import search
from headway.tasks import Batch, Edges, Task
from headway.training import held_out
from headway_experiments.arena import compiled, planted


@pytest.mark.parametrize("make", [lambda: compiled(2), lambda: planted(3), lambda: planted(11)])
def test_the_quick_search_finds_what_the_slow_one_finds(make):
    known = make()
    batch = held_out(known.task, 12, 0, "cpu", "circuit")
    bench = Bench(known.model, known.task, batch)
    attention = relation_attention(known.model, known.task, batch)
    paths = searched(bench.patterns, "path")
    slow = SlowBench(Bench(known.model, known.task, batch))
    found = search(bench, attention, paths, 0.05)
    assert search(slow, attention, paths, 0.05) == found
    assert set(known.required) <= set(found.paths)
    assert bench.forwards < slow.forwards / 2


def test_the_quick_search_finds_what_the_slow_one_finds_in_a_trained_model(solved):
    batch = held_out(solved.task, 64, 0, "cpu", "circuit")
    bench = Bench(solved.model(), solved.task, batch)
    attention = relation_attention(solved.model(), solved.task, batch)
    paths = searched(bench.patterns, "path")
    found = search(bench, attention, paths, 0.05)
    assert search(SlowBench(bench), attention, paths, 0.05) == found
    assert found.paths


def test_a_path_that_changes_no_answer_is_never_taken(solved):
    batch = held_out(solved.task, 32, 0, "cpu", "circuit")
    bench = Bench(solved.model(), solved.task, batch)
    read = ends_read(bench.model, bench.patterns, batch)
    assert "s0←s2" in read
    assert not {"s2←s1", "s2←s2"} & read
    paths = searched(bench.patterns, "path")
    everywhere = {name: [[1.0]] * solved.model().n_layers for name in paths}
    beyond_reach = bench.loss() / 2  # so that nothing is taken away once it was taken
    found = search(bench, everywhere, paths, beyond_reach, read=read)
    last = {path.relation for path in found.paths if path.layer == 2}
    assert last
    assert last <= read
    unread = search(bench, everywhere, ["s2←s1"], beyond_reach)
    assert any(path.layer == 2 for path in unread.paths)


class Shifted(nn.Module):
    """Position 1 attends to position 0; then every position takes what is two before it."""

    def forward(self, tokens):
        scores = torch.full((4, 4), -30.0).fill_diagonal_(0)
        scores[1] = torch.tensor([0.0, -30.0, -30.0, -30.0])
        one_hot = nn.functional.one_hot(tokens, 6).float()
        heads = (scores.expand(len(tokens), 1, 4, 4).softmax(-1) @ one_hot[:, None])[:, 0]
        return 40 * nn.functional.pad(heads, (0, 0, 2, 0))[:, :4]


@dataclass(frozen=True)
class First4(Task):
    """Reads 4 tokens; the answer is the first."""

    vocabulary = 6
    roles = ("query", "mid", "key")

    def draw(self, count, generator):
        return (torch.randint(0, 6, (count, 4), generator=generator),)

    def assemble(self, draws):
        (tokens,) = draws
        roles = torch.tensor([[3], [1], [0]]).expand(len(tokens), 3, 1)
        return Batch(tokens, tokens[:, :1, None], roles)


def test_where_positions_mix_after_attention_every_path_may_be_taken():
    found = discover(Shifted(), First4(), trials=False)
    assert found.faithful
    assert [str(path) for path in found.circuit.paths] == ["L0.H0 mid←key"]


def test_a_relation_that_contains_anothers_keys_is_less_like_what_a_head_does():
    generator = torch.Generator().manual_seed(0)
    queries = torch.full((2, 1), 3)
    pair, more = (Edges(queries, torch.arange(n).expand(2, 1, n)) for n in (2, 3))
    one = Edges(queries, torch.zeros(2, 1, 1, dtype=torch.long))
    patterns = torch.zeros(2, 1, 1, 4, 4)
    patterns[..., 3, :2] = 0.5  # it attends evenly to both keys of the pair
    summed = [attention_along(patterns, edges).item() for edges in (one, pair, more)]
    shared = [attention_along(patterns, edges, shared=True).item() for edges in (one, pair, more)]
    assert summed == [0.5, 1, 1]
    assert shared == pytest.approx([0.5, 1, 2 / 3])
    drawn = torch.rand(2, 1, 1, 4, 4, generator=generator)
    assert torch.equal(attention_along(drawn, one), attention_along(drawn, one, shared=True))
    names = {"more": [[1.0]], "pair": [[1.0]]}
    likeness = {"more": [[2 / 3]], "pair": [[1.0]]}
    assert candidate_paths([(0, 0)], names, [*names], 0.3) == {(0, 0): ["more", "pair"]}
    assert candidate_paths([(0, 0)], names, [*names], 0.3, likeness) == {(0, 0): ["pair", "more"]}
