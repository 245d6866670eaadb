"""The search finds circuits that are known."""

import math
from dataclasses import dataclass
from unittest.mock import Mock

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headway import Circuit, discover
from headway.find import Exhaustive, candidates_among, ways
from headway.find.search import candidate_paths, mended, simplify
from headway.judge import Yardstick
from headway.replace import Bench, Paths, Uniform, attention_along
from headway.tasks import Batch, Edges, Task, Tokens
from headway.training import held_out
from headway_experiments.arena import planted
from known_circuits import along, holds, words_of
from ruled import First4, bench_of
from sampling import seeded

HEAD = (0, 0)


def test_a_path_that_changes_no_answer_is_never_taken(solved):
    batch = held_out(solved.task, 32, 0, "cpu", "circuit")
    bench = Bench(solved.model(), solved.task, batch)
    read = bench.patterns.read
    assert "s0←s2" in read
    assert not {"s2←s1", "s2←s2"} & read
    paths = bench.patterns.used_as("path")
    whole_attention = [[1.0]] * solved.model().n_layers
    bench.patterns.attention = dict.fromkeys(paths, whole_attention)
    taken = candidate_paths(bench, paths, 0.3)
    assert {*taken[1, 0]} == {*paths}
    assert {*taken[2, 0]} == read & {*paths}
    assert {*taken[2, 0]} < {*paths}


class Shifted(nn.Module):
    """Position 1 attends to position 0; then every position takes what is two before
    it.
    """

    def forward(self, tokens):
        scores = torch.full((4, 4), -30.0).fill_diagonal_(0)
        scores[1, :2] = torch.tensor([0.0, -30.0])
        one_hot = F.one_hot(tokens, 6).float()
        pattern = scores.expand(len(tokens), 1, 4, 4).softmax(-1)
        read = pattern @ one_hot[:, None]
        shifted = F.pad(read[:, 0], (0, 0, 2, 0))
        return 40 * shifted[:, :4]


def test_where_positions_mix_after_attention_every_path_may_be_taken():
    found = discover(Shifted(), First4(), trials=False)
    assert found.faithful
    assert words_of(found.circuit) == ["L0.H0 mid←key"]


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
        others_look = at_key[:, :-1].amin(1) > 0.9
        off_its_own = (at_key[:, -1] - 0.6).abs()
        is_sure = others_look | (off_its_own < 0.1)
        right = F.one_hot(tokens[:, :1], 6)
        return 40.0 * right * is_sure[:, None, None]


@pytest.mark.parametrize("n_heads", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_heads_that_were_made_idle_come_back(n_heads):
    model = Window(n_heads)
    found = discover(model, First4(), trials=False, sequences=16)
    assert found.faithful
    circuit = found.circuit
    assert circuit.useful_heads == [(0, head) for head in range(n_heads - 1)]
    assert len(circuit.paths) == n_heads - 1
    bench = bench_of(model)
    candidates = candidates_among(bench, circuit)
    search = Exhaustive(bench.losses, candidates, circuit, found.threshold)
    first, *_ = search.search()
    assert len(first) == n_heads - 1


class Averaging(nn.Module):
    """Its head averages over every other position, of which one alone is not blank."""

    n_layers = n_heads = 1

    def forward(self, tokens, tap=None):
        shares = torch.eye(9).repeat(len(tokens), 1, 1, 1)
        shares[:, :, 8] = torch.tensor([0.248, 0.002] * 4 + [0.0])
        pattern = shares.log().softmax(-1)
        if tap is not None:
            pattern = tap(0, pattern)
        values = F.one_hot(tokens, 6).float()
        read = pattern @ values[:, None, :, 1:]
        return 40 * read[:, 0, 8:]


@dataclass(frozen=True)
class NotBlank(Task):
    """The answer is the one token at an even place that is not blank, less one."""

    vocabulary = 6
    roles = ("query", "key")
    targets = Tokens(5)

    def draw(self, count, generator):
        tokens = torch.randint(1, 6, (count, 9), generator=generator)
        half_place = torch.randint(4, (count, 1), generator=generator)
        return tokens, half_place

    def assemble(self, draws):
        tokens, half_place = draws
        key = 2 * half_place
        place = torch.arange(9)
        is_kept = (place % 2 == 1) | (place == key)
        tokens = tokens.where(is_kept, 0)
        query = torch.full_like(key, 8)
        roles = torch.stack([query, key], 1)
        answers = tokens.gather(1, key) - 1
        return Batch(tokens, answers[..., None], roles)


def test_a_head_that_averages_over_blanks_follows_the_one_key_that_is_none():
    """No exchange tells the two apart, as blanks carry nothing; the share of attention
    does.
    """
    found = discover(Averaging(), NotBlank(), trials=False, workers=1)
    assert words_of(found.circuit) == ["L0.H0 query←key"]
    assert holds(found) == [True, True, True]
    (look,) = found.looks
    assert look.explained == pytest.approx(0.248, abs=0.01)


def test_paths_that_heads_follow_are_found_where_fewer_would_serve():
    known = planted(1087)
    found = discover(known.model, known.task, trials=False, sequences=32)
    assert found.faithful is True
    assert found.ablation == "zero"
    assert set(found.circuit.paths) == set(known.required)


def test_a_circuit_that_does_not_serve_is_simplified_as_far_as_costs_nothing():
    bench = bench_of(Window(2))
    useless = along("query←mid", "query←query")
    worse = Circuit({(0, 0): useless, (0, 1): Uniform()})
    limit = math.nextafter(bench.loss(worse), math.inf)
    assert simplify(bench, worse, limit).paths == []


def test_no_head_is_made_plain_if_heads_above_look_for_what_it_brings():
    """A plain head is best with every head replaced, and worst with those above
    free.
    """

    def loss(candidate):
        mechanisms = getattr(candidate, "mechanisms", candidate)
        mechanism = mechanisms[HEAD]
        if not isinstance(mechanism, Paths):
            return 1.1 if isinstance(candidate, dict) else 0.1
        return 0.15 if "a" in mechanism.relations else 0.2

    def worst(groups, limit=math.inf):
        losses = [max(map(loss, group)) for group in groups]
        return [loss if loss < limit else math.inf for loss in losses]

    bench = Mock(spec=Bench, free_rows=None, worst=worst, loss=loss)
    bench.gains = lambda _, found: [1.0] * len(found)
    found = mended(bench, Circuit({HEAD: along("b")}), {HEAD: ["a"]}, 0.16)
    assert found.mechanisms == {HEAD: along("a", "b")}


def test_the_last_path_of_a_head_goes_too_if_zeros_serve_and_plain_attention_does_not():
    bench = Mock(spec=Bench, free_rows=None)

    def loss(candidate):
        return 0.0 if "Paths" in repr(candidate) else math.inf

    bench.worst = lambda groups, _: [loss(first) for first, *_ in groups]
    circuit = simplify(bench, Circuit({HEAD: along("a")}), 0.5)
    assert circuit == Circuit({HEAD: along()})


def test_of_circuits_that_do_not_serve_the_one_with_the_least_loss_is_taken(
    monkeypatch,
):
    tried = [Circuit({(0, head): Uniform()}) for head in range(3)]
    losses = [3.0, 1.0, 2.0]
    left = iter(tried)
    bench = Mock(Bench, patterns=Mock(used_as=lambda _: []))
    yardstick = Mock(Yardstick, limits=lambda _: [0.1, 0.2, 0.3])
    monkeypatch.setattr("headway.find.spared.spared_once", lambda _: None)
    monkeypatch.setattr(ways, "worst_of", lambda _, one: losses[tried.index(one)])
    monkeypatch.setattr(ways, "search", lambda *_: next(left))
    monkeypatch.setattr(ways, "candidates_among", lambda *_: range(99))
    assert ways.searched(bench, yardstick) == tried[1]


def first_keys(count):
    """Edges from the last of four positions to the first few, in two sequences."""
    queries = torch.full((2, 1), 3)
    return Edges(queries, torch.arange(count).expand(2, 1, count))


@pytest.mark.parametrize(
    ("count", "summed", "shared"), [(1, 0.5, 0.5), (2, 1.0, 1.0), (3, 1.0, 2 / 3)]
)
def test_a_relation_that_contains_anothers_keys_is_less_like_what_a_head_does(
    count, summed, shared
):
    """The head attends evenly to two keys."""
    patterns = torch.zeros(2, 1, 1, 4, 4)
    patterns[..., 3, :2] = 0.5
    edges = first_keys(count)
    assert attention_along(patterns, edges).item() == summed
    likeness = attention_along(patterns, edges, shared=True).item()
    assert likeness == pytest.approx(shared)


def test_a_relation_of_one_key_is_as_like_as_the_attention_along_it():
    patterns = torch.rand(2, 1, 1, 4, 4, generator=seeded(0))
    summed = attention_along(patterns, first_keys(1))
    shared = attention_along(patterns, first_keys(1), shared=True)
    assert torch.equal(summed, shared)


def test_of_relations_with_the_same_attention_the_one_most_like_a_head_comes_first():
    attention = {"more": [[1.0]], "pair": [[1.0]]}
    likeness = {"more": [[2 / 3]], "pair": [[1.0]]}
    patterns = Mock(attention=attention, likeness=likeness)
    bench = Mock(Bench, patterns=patterns, heads=[HEAD], model=Mock(n_layers=2))
    assert candidate_paths(bench, [*attention], 0.3) == {HEAD: ["pair", "more"]}
