"""The search finds circuits that are known."""

import math
from dataclasses import dataclass
from unittest.mock import Mock

import pytest
import torch
from torch import nn

from headway import Circuit, discover
from headway.find import Exhaustive, candidates_among, ways
from headway.find.search import candidate_paths, mended, simplify
from headway.judge import Yardstick, verdicts
from headway.replace import Bench, Paths, Uniform, attention_along
from headway.tasks import Batch, Edges, Task, Tokens
from headway.training import held_out
from headway_experiments.arena import planted
from ruled import First4


def test_a_path_that_changes_no_answer_is_never_taken(solved):
    batch = held_out(solved.task, 32, 0, "cpu", "circuit")
    bench = Bench(solved.model(), solved.task, batch)
    read = bench.patterns.read
    assert "s0←s2" in read
    assert not {"s2←s1", "s2←s2"} & read
    paths = bench.patterns.used_as("path")
    bench.patterns.attention = {
        name: [[1.0]] * solved.model().n_layers for name in paths
    }
    taken = candidate_paths(bench, paths, 0.3)
    assert set(taken[2, 0]) == read & set(paths) < set(taken[1, 0]) == set(paths)


class Shifted(nn.Module):
    """Position 1 attends to position 0; then every position takes what is two before
    it.
    """

    def forward(self, tokens):
        scores = torch.full((4, 4), -30.0).fill_diagonal_(0)
        scores[1] = torch.tensor([0.0, -30.0, -30.0, -30.0])
        one_hot = nn.functional.one_hot(tokens, 6).float()
        heads = (scores.expand(len(tokens), 1, 4, 4).softmax(-1) @ one_hot[:, None])[
            :, 0
        ]
        return 40 * nn.functional.pad(heads, (0, 0, 2, 0))[:, :4]


def test_where_positions_mix_after_attention_every_path_may_be_taken():
    found = discover(Shifted(), First4(), trials=False)
    assert found.faithful
    assert [str(path) for path in found.circuit.paths] == ["L0.H0 mid←key"]


class Window(nn.Module):
    """Its last head does the task alone, by attention to the key of about 0.6 that no
    path has.

    The others do it, too, if all of them attend to the key.
    """

    n_layers = 1

    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = n_heads

    def forward(self, tokens, tap=None):
        pattern = torch.eye(4).repeat(len(tokens), self.n_heads, 1, 1)
        pattern[:, :-1, 3] = torch.tensor([0.97, 0.01, 0.01, 0.01])
        pattern[:, -1, 3] = torch.tensor([0.6, 0.2, 0.1, 0.1])
        pattern = pattern if tap is None else tap(0, pattern)
        at_key = pattern[:, :, 3, 0]
        others, last = at_key[:, :-1].amin(1) > 0.9, (at_key[:, -1] - 0.6).abs() < 0.1
        right = nn.functional.one_hot(tokens[:, :1], 6).float()
        return 40 * right * (others | last)[:, None, None].float()


@pytest.mark.parametrize("n_heads", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_heads_that_were_made_idle_come_back(n_heads):
    task, model = First4(), Window(n_heads)
    found = discover(model, task, trials=False, sequences=16)
    assert found.faithful
    assert [path.at for path in found.circuit.paths] == [
        (0, head) for head in range(n_heads - 1)
    ]
    bench = Bench(model, task, held_out(task, 16, 0, "cpu", "circuit"))
    candidates = candidates_among(bench, found.circuit)
    every = Exhaustive(
        bench.losses, candidates, found.circuit, found.threshold
    ).search()
    assert len(every[0]) == n_heads - 1


class Averaging(nn.Module):
    """Its head averages over every other position, of which one alone is not blank."""

    n_layers = n_heads = 1

    def forward(self, tokens, tap=None):
        scores = torch.eye(9).repeat(len(tokens), 1, 1, 1).log()
        scores[:, :, 8] = torch.tensor([0.248, 0.002] * 4 + [0.0]).log()
        pattern = scores.softmax(-1)
        pattern = pattern if tap is None else tap(0, pattern)
        read = pattern @ nn.functional.one_hot(tokens, 6)[:, None, :, 1:].float()
        return 40 * read[:, 0, 8:]


@dataclass(frozen=True)
class NotBlank(Task):
    """The answer is the one token at an even place that is not blank, less one."""

    vocabulary = 6
    roles = ("query", "key")
    targets = Tokens(5)

    def draw(self, count, generator):
        drawn = torch.randint(1, 6, (count, 9), generator=generator)
        return drawn, torch.randint(4, (count, 1), generator=generator)

    def assemble(self, draws):
        (tokens, at), even = draws, torch.arange(9) % 2 == 0
        key = 2 * at
        tokens = tokens.where(~even | (torch.arange(9) == key), 0)
        roles = torch.stack([torch.full_like(key, 8), key], 1)
        return Batch(tokens, tokens.gather(1, key)[..., None] - 1, roles)


def test_a_head_that_averages_over_blanks_follows_the_one_key_that_is_none():
    """No exchange tells the two apart, as blanks carry nothing; the share of attention
    does.
    """
    found = discover(Averaging(), NotBlank(), trials=False, workers=1)
    assert [str(path) for path in found.circuit.paths] == ["L0.H0 query←key"]
    assert [one.holds for one in verdicts(found)] == [True, True, True]
    (look,) = found.looks
    assert look.explained == pytest.approx(0.248, abs=0.01)


def test_paths_that_heads_follow_are_found_where_fewer_would_serve():
    known = planted(1087)
    found = discover(known.model, known.task, trials=False, sequences=32)
    assert (found.faithful, found.ablation) == (True, "zero")
    assert set(found.circuit.paths) == set(known.required)


def test_a_circuit_that_does_not_serve_is_simplified_as_far_as_costs_nothing():
    task, model = First4(), Window(2)
    bench = Bench(model, task, held_out(task, 16, 0, "cpu", "circuit"))
    worse = Circuit(
        {(0, 0): Paths(frozenset({"query←mid", "query←query"})), (0, 1): Uniform()}
    )
    loss = bench.loss(worse)
    assert simplify(bench, worse, math.nextafter(loss, math.inf)).paths == []


def test_no_head_is_made_plain_if_heads_above_look_for_what_it_brings():
    """A plain head is best with every head replaced, and worst with those above
    free.
    """

    def loss(one):
        mechanism = getattr(one, "mechanisms", one)[0, 0]
        if not isinstance(mechanism, Paths):
            return 1.1 if isinstance(one, dict) else 0.1
        return 0.15 if "a" in mechanism.relations else 0.2

    def worst(groups, limit=math.inf):
        losses = [max(map(loss, group)) for group in groups]
        return [one if one < limit else math.inf for one in losses]

    bench = Mock(spec=Bench, free_rows=None, worst=worst, loss=loss)
    bench.gains = lambda _, found: [1.0] * len(found)
    found = mended(
        bench, Circuit({(0, 0): Paths(frozenset({"b"}))}), {(0, 0): ["a"]}, 0.16
    )
    assert found.mechanisms == {(0, 0): Paths(frozenset({"a", "b"}))}


def test_the_last_path_of_a_head_goes_too_if_zeros_serve_and_plain_attention_does_not():
    bench = Mock(spec=Bench, free_rows=None)
    bench.worst = lambda some, _: [
        0.0 if "Paths" in repr(x) else math.inf for x, *_ in some
    ]
    assert simplify(bench, Circuit({(0, 0): Paths(frozenset({"a"}))}), 0.5) == Circuit(
        {(0, 0): Paths(frozenset())}
    )


def test_of_circuits_that_do_not_serve_the_one_with_the_least_loss_is_taken(
    monkeypatch,
):
    tried = [Circuit({(0, head): Uniform()}) for head in range(3)]
    losses, left = dict(zip(map(str, tried), (3.0, 1.0, 2.0), strict=True)), iter(tried)
    bench = Mock(Bench, patterns=Mock(used_as=lambda _: []))
    monkeypatch.setattr("headway.find.spared.spared_once", lambda _: None)
    monkeypatch.setattr(ways, "worst_of", lambda _, one: losses[str(one)])
    monkeypatch.setattr(ways, "search", lambda *_: next(left))
    monkeypatch.setattr(ways, "candidates_among", lambda *_: range(99))
    assert (
        ways.searched(bench, Mock(Yardstick, limits=lambda _: [0.1, 0.2, 0.3]))
        == tried[1]
    )


def test_a_relation_that_contains_anothers_keys_is_less_like_what_a_head_does():
    generator = torch.Generator().manual_seed(0)
    queries = torch.full((2, 1), 3)
    pair, more = (Edges(queries, torch.arange(n).expand(2, 1, n)) for n in (2, 3))
    one = Edges(queries, torch.zeros(2, 1, 1, dtype=torch.long))
    patterns = torch.zeros(2, 1, 1, 4, 4)
    patterns[..., 3, :2] = 0.5  # it attends evenly to both keys of the pair
    summed = [attention_along(patterns, edges).item() for edges in (one, pair, more)]
    shared = [
        attention_along(patterns, edges, shared=True).item()
        for edges in (one, pair, more)
    ]
    assert summed == [0.5, 1, 1]
    assert shared == pytest.approx([0.5, 1, 2 / 3])
    drawn = torch.rand(2, 1, 1, 4, 4, generator=generator)
    assert torch.equal(
        attention_along(drawn, one), attention_along(drawn, one, shared=True)
    )
    both = {"more": [[1.0]], "pair": [[1.0]]}
    along = Mock(attention=both, likeness={"more": [[2 / 3]], "pair": [[1.0]]})
    bench = Mock(Bench, patterns=along, heads=[(0, 0)], model=Mock(n_layers=2))
    assert candidate_paths(bench, [*both], 0.3) == {(0, 0): ["pair", "more"]}
