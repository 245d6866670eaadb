import math
import random
from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from headway.tasks import IGNORE_INDEX
from headway_experiments.tasks import Bigrams
from headway_experiments.tasks.bigrams import synthetic
from sampling import read, seeded

quick = settings(max_examples=25)
seeds = st.integers(0, 2**31)


@st.composite
def tasks(draw):
    """Tasks of all kinds."""
    sizes = {"length": draw(st.integers(4, 30)), "n_tokens": draw(st.integers(4, 12))}
    sizes["n_triggers"] = draw(st.integers(1, 3))
    noise = draw(st.sampled_from([0.0, 0.3]))
    asked_at = draw(st.sampled_from(["all", "in-context"]))
    concentration = draw(st.sampled_from([None, 3.0]))
    return Bigrams(**sizes, noise=noise, asked_at=asked_at, concentration=concentration)


def sample(task, count=4, seed=0):
    generator = seeded(seed)
    draws = task.draw(count, generator)
    return draws, task.assemble(draws)


def expected_columns(tokens, output_of, noise_token, asked):
    """By the definition, position by position: the column in which each next token is
    asked.
    """
    followed = set()
    for token, following in pairwise(tokens):
        if following == noise_token:
            yield "noise" if asked == "all" or token in followed else ""
        elif token in followed:
            yield "in-context"
        else:
            yield "global"
        if output_of.get(token) == following:
            followed.add(token)


def reference_sequence(task, draw):
    """One sequence, token by token, as the docstrings say."""
    unigrams = task.chain.unigrams.tolist()
    bigrams = task.chain.bigrams.tolist()
    everywhere = range(len(unigrams))
    triggers = sorted(everywhere, key=lambda i: -unigrams[i])[: task.n_triggers]
    output_of = {}
    for trigger in triggers:
        while output_of.get(trigger, trigger) in triggers:
            output_of[trigger] = draw.choice(everywhere)
    tokens = draw.choices(everywhere, unigrams)
    while len(tokens) < task.length + 1:
        token = tokens[-1]
        if token in output_of:
            noisy = draw.random() < task.noise
            tokens.append(len(everywhere) if noisy else output_of[token])
        else:
            after_noise = token == len(everywhere)
            tokens += draw.choices(
                everywhere, unigrams if after_noise else bigrams[token]
            )
    return tokens


@given(task=tasks(), seed=seeds)
@quick
def test_every_token_is_asked_for_in_its_column(task, seed):
    (triggers, outputs, drawn), batch = sample(task, seed=seed)
    for row, tokens in enumerate(drawn.tolist()):
        pairs = zip(triggers[row].tolist(), outputs[row].tolist(), strict=True)
        output_of = dict(pairs)
        columns = expected_columns(tokens, output_of, task.noise_token, task.asked_at)
        for place, column in enumerate(columns):
            following = tokens[place + 1]
            targets = batch.targets[row, place].tolist()
            for name, target in zip(task.hops, targets, strict=True):
                expected = following if name == column else IGNORE_INDEX
                assert target == expected
        assert batch.inputs[row].tolist() == tokens[:-1]


@given(task=tasks(), seed=seeds)
@quick
def test_a_trigger_is_followed_by_its_output_or_by_noise(task, seed):
    (triggers, outputs, drawn), _ = sample(task, seed=seed)
    for row, tokens in enumerate(drawn.tolist()):
        pairs = zip(triggers[row].tolist(), outputs[row].tolist(), strict=True)
        output_of = dict(pairs)
        assert not set(output_of) & set(output_of.values())
        for token, following in pairwise(tokens):
            if token in output_of:
                assert following in (output_of[token], task.noise_token)


@given(task=tasks(), seed=seeds)
@quick
def test_every_position_is_read_and_there_are_no_roles(task, seed):
    _, batch = sample(task, seed=seed)
    assert task.n_read == task.length
    assert batch.targets.shape[1] == task.length
    assert batch.roles.shape == (4, 0, 0)
    assert set(task.judged) <= set(task.hops)
    assert task.kind == "bigrams"


@pytest.mark.parametrize(
    ("name", "first"), [("induction (all)", 0), ("induction (latest)", -1)]
)
@given(task=tasks(), seed=seeds)
@quick
def test_relations_point_at_what_followed_the_same_trigger(name, first, task, seed):
    (triggers, *_), batch = sample(task, seed=seed)
    edges = task.relations(batch)[name]
    for row, tokens in enumerate(batch.inputs.tolist()):
        known = triggers[row].tolist()
        expected = {}
        for query, token in enumerate(tokens):
            keys = [j + 1 for j in range(query) if tokens[j] == token]
            if token in known and keys:
                expected[query] = keys[first:]
        assert read(edges, row) == expected


@given(task=tasks(), seed=seeds)
@quick
def test_every_relation_but_that_to_the_own_token_is_a_path(task, seed):
    _, batch = sample(task, seed=seed)
    relations = task.relations(batch)
    uses = {name: edges.use for name, edges in relations.items()}
    assert uses == {**dict.fromkeys(relations, "path"), "own token": "stay"}


@given(task=tasks(), seed=seeds)
@quick
def test_own_and_previous_token_are_where_they_say(task, seed):
    _, batch = sample(task, seed=seed)
    relations = task.relations(batch)
    own = relations["own token"]
    previous = relations["previous token"]
    assert torch.equal(own.keys[..., 0], own.queries)
    assert own.queries[0].tolist() == list(range(task.length))
    assert torch.equal(previous.keys[..., 0], previous.queries - 1)


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_sequences_are_distributed_as_the_slow_sampler_s(noise):
    task = Bigrams(length=6, n_tokens=4, n_triggers=2, noise=noise, concentration=3.0)
    count = 4000
    (*_, fast), _ = sample(task, count)
    draw = random.Random(1)
    slow = torch.tensor([reference_sequence(task, draw) for _ in range(count)])
    for i, j in ((0, 1), (1, 2), (0, 5), (4, 6)):
        assert chance_of(pairs_at(fast, i, j), pairs_at(slow, i, j)) > 1e-4
    of_fast = Counter(map(tuple, fast[:, :3].tolist()))
    of_slow = Counter(map(tuple, slow[:, :3].tolist()))
    most = 6 * math.sqrt(count / 4)
    for triple, times in of_fast.items():
        assert abs(times - of_slow[triple]) < most


def pairs_at(tokens, i, j):
    """How often the tokens at two places are each pair of five."""
    pairs = tokens[:, i] * 5 + tokens[:, j]
    return torch.bincount(pairs, minlength=25).double()


def chance_of(counts, others):
    """The chance that counts of one distribution differ more: a chi-squared test."""
    both = counts + others
    is_met = both > 0
    squares = (counts - others)[is_met] ** 2
    statistic = (squares / both[is_met]).sum()
    freedom = (is_met.sum() - 1).double()
    return torch.special.gammaincc(freedom / 2, statistic / 2)


def test_the_same_generator_gives_the_same_draws():
    task = Bigrams(noise=0.2)
    once, _ = sample(task)
    again, _ = sample(task)
    other, _ = sample(task, seed=1)
    for first, second in zip(once, again, strict=True):
        assert torch.equal(first, second)
    assert not torch.equal(once[2], other[2])


def test_reference_losses_are_the_corpus_s_entropies():
    losses = Bigrams(n_tokens=16, exponent=0.0, concentration=None).references()
    assert losses == pytest.approx(dict.fromkeys(losses, math.log(16)))
    plain = Bigrams().references()
    assert plain["bigrams"] < plain["unigrams"] < plain["all tokens alike"]
    by_hop = Bigrams(noise=0.3).reference_losses()
    assert set(by_hop["all tokens alike"]) == {"in-context", "global", "noise"}
    assert set(by_hop["unigrams"]) == {"global"}
    assert set(by_hop["bigrams"]) == {"global"}
    in_context = Bigrams(asked_at="in-context").reference_losses()
    assert set(in_context) == {"all tokens alike"}


def test_a_pair_is_one_trigger_twice():
    task = Bigrams(
        length=8, n_tokens=9, n_triggers=3, layout="pair", asked_at="in-context"
    )
    (all_triggers, _, tokens), batch = sample(task, count=400)
    met_first = set()
    for sequence, row in enumerate(tokens.tolist()):
        triggers = all_triggers[sequence].tolist()
        first, last = (i for i, token in enumerate(row) if token in triggers)
        assert last == 7
        assert row[first] == row[7]
        assert row[first + 1] == row[8]
        asked = batch.targets[sequence, :, 0].tolist()
        assert asked == [IGNORE_INDEX] * 7 + [row[8]]
        met_first.add(first)
    assert met_first == set(range(6))


def test_tokens_alike_are_as_open_as_a_die():
    alike = synthetic(8, 0.0, None)
    of_a_die = pytest.approx(math.log(8))
    assert alike.unigram_entropy == alike.bigram_entropy
    assert alike.bigram_entropy == of_a_die


def test_the_synthetic_chain_is_a_function_of_its_numbers():
    once = synthetic.__wrapped__(65, 0.9, 12.0)
    again = synthetic.__wrapped__(65, 0.9, 12.0)
    assert torch.equal(once.bigrams, again.bigrams)
    for chain in (once, synthetic(65, 0.9, 0.1)):
        assert torch.allclose(chain.unigrams @ chain.bigrams, chain.unigrams, atol=1e-9)
    assert_close(once.bigrams.sum(1), torch.ones(65).double())
    # About as open as Shakespeare's characters are: 3.3 and 2.5 nats.
    assert once.unigram_entropy == pytest.approx(3.37, abs=0.01)
    assert once.bigram_entropy == pytest.approx(2.47, abs=0.01)
    assert synthetic(65, 0.9, 3.0).bigram_entropy < once.bigram_entropy
