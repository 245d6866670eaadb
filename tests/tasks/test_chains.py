"""Chains of random vectors: the retrieval problem and the conditional one."""

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from headway.tasks import Conditional, Retrieval
from headway.tasks.retrieval import rotation
from sampling import read, sample

quick = settings(max_examples=25)
seeds = st.integers(0, 2**31)


few = st.integers(1, 5)


widths = st.sampled_from([2, 4, 6])


position_codes = st.sampled_from(["token", "pair"])


bases = [2.0, 100.0, 10_000.0]


orders = st.sampled_from(["deep-first", "shallow-first"])
retrieval = st.builds(
    Retrieval,
    depth=few,
    n_chains=few,
    d_token=widths,
    position_code=position_codes,
    position_base=st.sampled_from([*bases, None]),
    order=orders,
)


@st.composite
def conditional(draw):
    n_values = draw(st.integers(2, 4))
    n_chains = st.integers(1, n_values**2)
    return Conditional(
        n_values=n_values,
        n_chains=draw(n_chains),
        d_token=draw(widths),
        position_code=draw(position_codes),
        position_base=draw(st.sampled_from(bases)),
        order=draw(orders),
    )


def tokens_of(batch, d_token):
    vectors = batch.inputs[..., :d_token]
    return [[tuple(token) for token in row] for row in vectors.tolist()]


def role_of(task, batch, name):
    index = task.roles.index(name)
    return batch.roles[:, index]


def tokens_at(batch, positions, d_token):
    vectors = batch.inputs[..., :d_token]
    rows = positions[..., None].expand(-1, -1, d_token)
    return vectors.gather(1, rows)


def chi_square_p(counts):
    """The chance that equally likely cells give counts at least as uneven as these."""
    expected = counts.sum() / counts.numel()
    squares = (counts - expected) ** 2
    statistic = (squares / expected).sum()
    half_freedom = torch.tensor((counts.numel() - 1) / 2)
    return torch.special.gammaincc(half_freedom, statistic / 2).item()


def fitting_base(codes, d_token):
    """The base at which the longest wave spans 1.25 times the codes, or 2π if that is
    longer.
    """
    if d_token == 2:
        return 1.0
    longest = 1.25 * codes / (2 * math.pi)
    power = d_token / (d_token - 2)
    return max(1.0, longest) ** power


@given(task=st.one_of(retrieval, conditional()), seed=seeds)
@quick
def test_relations_point_at_the_positions_they_name(task, seed):
    batch = sample(task, 3, seed)
    relations = task.relations(batch)
    for query in task.roles:
        asking = role_of(task, batch, query)
        for key in task.roles:
            own = role_of(task, batch, key)[..., None]
            path = relations[f"{query}←{key}"]
            assert torch.equal(path.queries, asking)
            assert torch.equal(path.keys, own)


@given(task=st.one_of(retrieval, conditional()), seed=seeds)
@quick
def test_relations_to_other_chains_point_at_all_chains_but_the_own(task, seed):
    batch = sample(task, 3, seed)
    relations = task.relations(batch)
    for query in task.roles:
        asking = role_of(task, batch, query)
        for key in task.roles:
            name = f"{query}←{key} (other chains)"
            if task.n_chains == 1:
                assert name not in relations
                continue
            held = role_of(task, batch, key)
            others = relations[name]
            assert torch.equal(others.queries, asking)
            own_and_others = torch.cat([held[..., None], others.keys], dim=-1)
            in_order = own_and_others.sort(dim=-1).values
            every_chain = held.sort(dim=-1).values[:, None]
            assert torch.equal(in_order, every_chain.expand_as(in_order))


@given(task=st.one_of(retrieval, conditional()), seed=seeds)
@quick
def test_previous_token_is_one_back(task, seed):
    batch = sample(task, 3, seed)
    previous = task.relations(batch)["previous token"]
    assert torch.equal(previous.keys[..., 0], previous.queries - 1)
    all_but_the_first = list(range(1, task.length))
    assert previous.queries[0].tolist() == all_but_the_first


@given(task=st.one_of(retrieval, conditional()), seed=seeds)
@quick
def test_relations_between_roles_are_paths_and_others_are_measured(task, seed):
    batch = sample(task, 3, seed)
    uses = {}
    for query in task.roles:
        for key in task.roles:
            uses[f"{query}←{key}"] = "stay" if query == key else "path"
    for name, edges in task.relations(batch).items():
        assert edges.use == uses.get(name, "measured")


def code_numbers(task):
    """The number of every position, or of the pair, fact or row that it is in."""
    if task.position_code == "token":
        return list(range(task.length))
    n_pairs = (task.length - task.n_chains) // 2
    widths = [2] * n_pairs
    if isinstance(task, Conditional):
        facts = [2] * (2 * task.n_chains)
        rows = [3] * task.n_values**2
        widths = rows + facts if task.order == "deep-first" else facts + rows
    queries = [1] * task.n_chains
    return [i for i, width in enumerate(widths + queries) for _ in range(width)]


@given(task=st.one_of(retrieval, conditional()), seed=seeds)
@quick
def test_position_code_is_sines_then_cosines(task, seed):
    batch = sample(task, 3, seed)
    k = task.d_token
    numbers = code_numbers(task)
    base = task.position_base or fitting_base(numbers[-1] + 1, k)
    for position, number in enumerate(numbers):
        angles = [number * base ** (-2 * i / k) for i in range(k // 2)]
        sines = [math.sin(angle) for angle in angles]
        cosines = [math.cos(angle) for angle in angles]
        expected = torch.tensor(sines + cosines)
        here = batch.inputs[:, position, k:]
        assert_close(here, expected.expand_as(here), atol=1e-5, rtol=0)


TWO_STEPS = Retrieval(depth=2, n_chains=2, d_token=2)


FULL_TABLE = Conditional(n_values=2, n_chains=4, d_token=2)


FREE = {
    TWO_STEPS: {"s0": 2, "s2": 2, "s4": 2},
    FULL_TABLE: {"a": 4, "xy.z": 4, "xy.x": 1, "xy.y": 1},
}
"""Roles whose symbols are drawn apart, in so many chains."""


@pytest.mark.parametrize("task", FREE, ids=lambda task: task.kind)
def test_symbols_are_independent_and_standard_normal(task):
    count = 20_000
    batch = sample(task, count=count)
    drawn_apart = [role_of(task, batch, name)[:, :n] for name, n in FREE[task].items()]
    places = torch.cat(drawn_apart, 1)
    symbols = tokens_at(batch, places, 2).flatten(1).double()
    error_of_mean = math.sqrt(1 / count)
    assert symbols.mean(0).abs().max() < 5 * error_of_mean
    covariance = symbols.T @ symbols / count
    deviation = covariance - torch.eye(symbols.shape[1])
    error_of_variance = math.sqrt(2 / count)
    assert deviation.abs().max() < 5 * error_of_variance
    fourth_moment = (symbols**4).mean()
    error_of_moment = math.sqrt(96 / symbols.numel())
    assert abs(fourth_moment - 3) < 5 * error_of_moment


def hops_followed(tokens, query):
    """Find the query's token as the first of a pair, step to its partner, and so on."""
    firsts = tokens[::2]
    seconds = tokens[1::2]
    partner = dict(zip(firsts, seconds, strict=False))
    hops = []
    while query in partner:
        query = partner[query]
        hops.append(query)
    return hops


@given(task=retrieval, seed=seeds)
@quick
def test_following_the_tokens_gives_the_targets(task, seed):
    batch = sample(task, 3, seed)
    first_query = task.length - task.n_chains
    for tokens, targets in zip(
        tokens_of(batch, task.d_token), batch.targets, strict=True
    ):
        pairs = tokens[:first_query]
        queries = tokens[first_query:]
        for query, target in zip(queries, targets.tolist(), strict=True):
            hops = hops_followed(pairs, query)
            assert len(hops) == task.depth
            assert [tuple(vector) for vector in target] == hops
    assert task.n_hops == task.depth
    assert task.d_target == batch.targets[0, 0].numel()


@given(task=retrieval, seed=seeds)
@quick
def test_roles_are_those_of_definition_1(task, seed):
    batch = sample(task, 3, seed)
    last = 2 * task.depth
    assert task.roles == tuple(f"s{i}" for i in range(last + 1))
    for tokens, roles in zip(
        tokens_of(batch, task.d_token), batch.roles.tolist(), strict=True
    ):
        for chain in range(task.n_chains):
            s = [role[chain] for role in roles]
            assert s[0] >= task.length - task.n_chains
            for even in range(0, last, 2):
                assert tokens[s[even]] == tokens[s[even + 1]]
            for odd in range(1, last, 2):
                assert s[odd + 1] == s[odd] + 1
                assert s[odd] % 2 == 0


@given(task=retrieval, seed=seeds)
@quick
def test_blocks_stand_in_the_order_asked_for(task, seed):
    batch = sample(task, 3, seed)
    block_length = 2 * task.n_chains
    block = batch.roles // block_length
    for k in range(1, task.depth + 1):
        expected = task.depth - k if task.order == "deep-first" else k - 1
        key, value = 2 * k - 1, 2 * k
        assert (block[:, key] == expected).all()
        assert (block[:, value] == expected).all()
    if task.order == "deep-first":
        tokens = tokens_of(batch, task.d_token)[0]
        queries = tokens[-task.n_chains :]
        pairs = tokens[: -task.n_chains]
        last_values = tokens[1:block_length:2]
        answers = {hops_followed(pairs, query)[-1] for query in queries}
        assert set(last_values) == answers
    assert task.length == task.n_chains * (2 * task.depth + 1)


@pytest.mark.parametrize("order", ["deep-first", "shallow-first"])
def test_shuffles_are_uniform_and_independent(order):
    task = Retrieval(depth=2, n_chains=3, d_token=2, order=order)
    batch = sample(task, count=20_000)
    digits = torch.tensor([9, 3, 1])
    shuffles = []
    for role in (0, 1, 3):
        slots = batch.roles[:, role].argsort(dim=-1)
        codes = (slots * digits).sum(-1)
        _, number = codes.unique(return_inverse=True)
        shuffles.append(number)
    for one, other in combinations(shuffles, 2):
        both = 6 * one + other
        counts = torch.bincount(both, minlength=36).float()
        assert chi_square_p(counts) > 1e-4


@pytest.mark.parametrize("n_chains", [1, 2, 4])
def test_reference_losses_are_those_of_the_formula(n_chains):
    task = Retrieval(depth=2, n_chains=n_chains)
    of_the_mean = 1 - 1 / n_chains
    assert task.references() == {"zero": 1.0, "mean of the candidates": of_the_mean}
    by_hop = task.reference_losses()["mean of the candidates"]
    assert by_hop == dict.fromkeys(task.hops, of_the_mean)


@pytest.mark.parametrize("n_chains", [1, 2, 4])
def test_reference_losses_come_out(n_chains):
    task = Retrieval(depth=2, n_chains=n_chains)
    batch = sample(task, count=4000)
    hop_roles = [2 * int(name.removeprefix("x_")) for name in task.hops]
    places = batch.roles[:, hop_roles].flatten(1)
    symbols = tokens_at(batch, places, task.d_token)
    candidates = symbols.unflatten(1, (task.n_hops, n_chains))
    mean = candidates.mean(2)[:, None]
    predictions = {"zero": torch.zeros(()), "mean of the candidates": mean}
    expected = task.references()
    assert predictions.keys() == expected.keys()
    for name, prediction in predictions.items():
        squares = (batch.targets - prediction) ** 2
        losses = squares.mean((1, 2, 3))
        standard_error = losses.std() / math.sqrt(len(losses))
        difference = abs(losses.mean() - expected[name])
        assert difference <= 4.5 * standard_error + 1e-6


@given(task=retrieval, seed=seeds)
@quick
def test_rotated_copies_are_turned_by_one_map(task, seed):
    same = sample(replace(task, copies="same"), 4, seed)
    turned = sample(replace(task, copies="rotated"), 4, seed)
    k = task.d_token
    turn = rotation(k, torch.device("cpu"))
    assert_close(turn @ turn.T, torch.eye(k))
    assert_close(turned.targets, same.targets @ turn)
    for role in range(2 * task.depth + 1):
        positions = same.roles[:, role]
        before = tokens_at(same, positions, k)
        after = tokens_at(turned, positions, k)
        is_copy = role % 2 == 0 and role > 0
        expected = before @ turn if is_copy else before
        assert_close(after, expected)


@given(task=retrieval, seed=seeds)
@quick
def test_independent_copies_lead_one_step_and_no_further(task, seed):
    task = replace(task, copies="independent")
    batch = sample(task, 1, seed)
    (tokens,) = tokens_of(batch, task.d_token)
    pairs = tokens[: -task.n_chains]
    for query in tokens[-task.n_chains :]:
        assert len(hops_followed(pairs, query)) == 1
    first_chain = batch.roles[0, :, 0].tolist()
    held = [tokens[position] for position in first_chain]
    assert held[0] == held[1]
    assert len(set(held)) == 2 * task.depth


@given(task=retrieval, seed=seeds)
@quick
def test_of_independent_copies_the_seconds_of_the_pairs_are_asked(task, seed):
    task = replace(task, copies="independent")
    batch = sample(task, 1, seed)
    (tokens,) = tokens_of(batch, task.d_token)
    asked = [tuple(hop) for hop in batch.targets[0, 0].tolist()]
    chain = batch.roles[0, 0].argmin()
    positions = batch.roles[0, 2::2, chain].tolist()
    assert asked == [tokens[position] for position in positions]


def values_found(tokens, query, deep_first):
    """Find the query's two facts, and then the row that begins with both of their
    values.
    """
    facts = [i for i, token in enumerate(tokens[:-1]) if token == query]
    in_order = facts if deep_first else facts[::-1]
    y, x = (tokens[i + 1] for i in in_order)
    starts = range(len(tokens) - 2)
    (row,) = (i for i in starts if tokens[i : i + 2] == [x, y])
    z = tokens[row + 2]
    return [x, y, z]


@given(task=conditional(), seed=seeds)
@quick
def test_looking_the_tokens_up_gives_the_targets(task, seed):
    batch = sample(task, 3, seed)
    first_query = task.length - task.n_chains
    deep_first = task.order == "deep-first"
    sequences = tokens_of(batch, task.d_token)
    for tokens, targets in zip(sequences, batch.targets, strict=True):
        rest = tokens[:first_query]
        queries = tokens[first_query:]
        for query, target in zip(queries, targets.tolist(), strict=True):
            values = values_found(rest, query, deep_first)
            assert [tuple(vector) for vector in target] == values
    assert task.hops == ("x", "y", "z")


def table_of(task):
    """The positions of a table, which has three tokens a row."""
    length = 3 * task.n_values**2
    facts = task.length - task.n_chains - length
    start = 0 if task.order == "deep-first" else facts
    return range(start, start + length)


@given(task=conditional(), seed=seeds)
@quick
def test_the_table_holds_every_cell_once(task, seed):
    batch = sample(task, 3, seed)
    m = task.n_values
    for tokens in tokens_of(batch, task.d_token):
        table = [tokens[position] for position in table_of(task)]
        xs = table[::3]
        ys = table[1::3]
        zs = table[2::3]
        assert len(set(xs)) == m
        assert len(set(ys)) == m
        cells = Counter(zip(xs, ys, strict=True))
        assert cells == Counter(product(set(xs), set(ys)))
        assert len(set(zs)) == m * m


@given(task=conditional(), seed=seeds)
@quick
def test_no_two_queries_ask_for_one_row(task, seed):
    batch = sample(task, 3, seed)
    table = table_of(task)
    for asked in role_of(task, batch, "xy.z").tolist():
        assert len(set(asked)) == task.n_chains
        assert set(asked) <= set(table)


@given(task=conditional(), seed=seeds)
@quick
def test_the_table_holds_every_cell_once_and_no_two_queries_ask_for_one(task, seed):
    batch = sample(task, 3, seed)
    m = task.n_values
    facts = task.length - task.n_chains - 3 * m * m
    table_start = 0 if task.order == "deep-first" else facts
    table_end = table_start + 3 * m * m
    for tokens in tokens_of(batch, task.d_token):
        table = tokens[table_start:table_end]
        first, second, third = table[::3], table[1::3], table[2::3]
        rows = list(zip(first, second, strict=True))
        assert len(set(first)) == m
        assert len(set(second)) == m
        assert Counter(rows) == Counter(product(set(first), set(second)))
        assert len(set(third)) == m * m
    asked = role_of(task, batch, "xy.z")
    for row in asked.tolist():
        assert len(set(row)) == task.n_chains
    assert (asked >= table_start).all()
    assert (asked < table_end).all()


@pytest.mark.parametrize(("column", "value"), [(0, "x"), (1, "y")])
@given(task=conditional(), seed=seeds)
@quick
def test_rows_of_the_same_value_are_all_the_rows_that_hold_it(
    column, value, task, seed
):
    batch = sample(task, 3, seed)
    name = f"a←xy.{value} (rows of the same {value})"
    relation = task.relations(batch)[name]
    assert relation.use == "measured"
    own = role_of(task, batch, f"xy.{value}").tolist()
    queries = role_of(task, batch, "a").tolist()
    cells = table_of(task)[column::3]
    for row, tokens in enumerate(tokens_of(batch, task.d_token)):
        values = [tokens[position] for position in own[row]]
        same = [[cell for cell in cells if tokens[cell] == value] for value in values]
        assert read(relation, row) == dict(zip(queries[row], same, strict=True))
