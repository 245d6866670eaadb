"""Chains of random vectors: the retrieval problem and the conditional one."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.tasks import Conditional, Retrieval
from headway.tasks.retrieval import rotation
from sampling import read, sample

quick = settings(max_examples=25)
seeds = st.integers(0, 2**31)
retrieval = st.builds(
    Retrieval,
    depth=st.integers(1, 5),
    n_chains=st.integers(1, 5),
    d_token=st.sampled_from([2, 4, 6]),
    position_code=st.sampled_from(["token", "pair"]),
    position_base=st.sampled_from([2.0, 100.0, 10_000.0, None]),
    order=st.sampled_from(["deep-first", "shallow-first"]),
)


@st.composite
def conditional(draw):
    n_values = draw(st.integers(2, 4))
    return Conditional(
        n_values=n_values,
        n_chains=draw(st.integers(1, n_values**2)),
        d_token=draw(st.sampled_from([2, 4, 6])),
        position_code=draw(st.sampled_from(["token", "pair"])),
        position_base=draw(st.sampled_from([2.0, 100.0, 10_000.0])),
        order=draw(st.sampled_from(["deep-first", "shallow-first"])),
    )


def tokens_of(batch, d_token):
    return [[tuple(token) for token in row] for row in batch.inputs[..., :d_token].tolist()]


def role_of(task, batch, name):
    return batch.roles[:, task.roles.index(name)]


def tokens_at(batch, positions, d_token):
    return batch.inputs[..., :d_token].gather(1, positions[..., None].expand(-1, -1, d_token))


def chi_square_p(counts):
    """The chance that equally likely cells give counts at least as uneven as these."""
    expected = counts.sum() / counts.numel()
    statistic = ((counts - expected) ** 2 / expected).sum()
    return torch.special.gammaincc(torch.tensor((counts.numel() - 1) / 2.0), statistic / 2).item()


def fitting_base(codes, d_token):
    """The base at which the longest wave spans 1.25 times the codes, or 2π if that is longer."""
    if d_token == 2:
        return 1.0
    return max(1.0, 1.25 * codes / (2 * math.pi)) ** (d_token / (d_token - 2))


@given(task=st.one_of(retrieval, conditional()), seed=seeds)
@quick
def test_relations_point_at_the_positions_they_name(task, seed):
    batch = sample(task, 3, seed)
    relations = task.relations(batch)
    role = dict(zip(task.roles, batch.roles.unbind(1), strict=True))
    for query in task.roles:
        for key in task.roles:
            path = relations[f"{query}←{key}"]
            assert torch.equal(path.queries, role[query])
            assert torch.equal(path.keys, role[key][..., None])
            if task.n_chains == 1:
                assert f"{query}←{key} (other chains)" not in relations
                continue
            others = relations[f"{query}←{key} (other chains)"]
            assert torch.equal(others.queries, role[query])
            own_and_others = torch.cat([role[key][..., None], others.keys], dim=-1)
            all_chains = role[key].sort(dim=-1).values[:, None].expand_as(own_and_others)
            assert torch.equal(own_and_others.sort(dim=-1).values, all_chains)

    previous = relations["previous token"]
    assert torch.equal(previous.keys[..., 0], previous.queries - 1)
    assert previous.queries[0].tolist() == list(range(1, task.length))
    pairs = {f"{q}←{k}": "path" if q != k else "stay" for q in task.roles for k in task.roles}
    for name, edges in relations.items():
        assert edges.use == pairs.get(name, "measured")


def code_numbers(task):
    """The number of every position, or of the pair, fact or row that it is in."""
    if task.position_code == "token":
        return list(range(task.length))
    widths = [2] * ((task.length - task.n_chains) // 2)
    if isinstance(task, Conditional):
        facts, rows = [2] * (2 * task.n_chains), [3] * task.n_values**2
        widths = rows + facts if task.order == "deep-first" else facts + rows
    widths = widths + [1] * task.n_chains
    return [i for i, width in enumerate(widths) for _ in range(width)]


@given(task=st.one_of(retrieval, conditional()), seed=seeds)
@quick
def test_position_code_is_sines_then_cosines(task, seed):
    batch = sample(task, 3, seed)
    k, numbers = task.d_token, code_numbers(task)
    base = task.position_base or fitting_base(numbers[-1] + 1, k)
    for position, number in enumerate(numbers):
        angles = [number * base ** (-2 * i / k) for i in range(k // 2)]
        expected = torch.tensor([math.sin(a) for a in angles] + [math.cos(a) for a in angles])
        here = batch.inputs[:, position, k:]
        torch.testing.assert_close(here, expected.expand_as(here), atol=1e-5, rtol=0)


FREE = {
    Retrieval(depth=2, n_chains=2, d_token=2): {"s0": 2, "s2": 2, "s4": 2},
    Conditional(n_values=2, n_chains=4, d_token=2): {"a": 4, "xy.z": 4, "xy.x": 1, "xy.y": 1},
}
"""Roles whose symbols are drawn apart, in so many chains."""


@pytest.mark.parametrize("task", FREE, ids=lambda task: task.kind)
def test_symbols_are_independent_and_standard_normal(task):
    count = 20_000
    batch = sample(task, count=count)
    places = torch.cat([role_of(task, batch, name)[:, :n] for name, n in FREE[task].items()], 1)
    symbols = tokens_at(batch, places, 2).flatten(1).double()
    assert symbols.mean(0).abs().max() < 5 * count**-0.5
    covariance = symbols.T @ symbols / count
    assert (covariance - torch.eye(symbols.shape[1])).abs().max() < 5 * math.sqrt(2 / count)
    assert abs((symbols**4).mean() - 3) < 5 * math.sqrt(96 / symbols.numel())


def hops_followed(tokens, query):
    """Find the query's token as the first of a pair, step to its partner, and so on."""
    partner = dict(zip(tokens[::2], tokens[1::2], strict=False))
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
    for tokens, targets in zip(tokens_of(batch, task.d_token), batch.targets, strict=True):
        pairs, queries = tokens[:first_query], tokens[first_query:]
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
    for tokens, roles in zip(tokens_of(batch, task.d_token), batch.roles.tolist(), strict=True):
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
    block = batch.roles // (2 * task.n_chains)
    for k in range(1, task.depth + 1):
        expected = task.depth - k if task.order == "deep-first" else k - 1
        assert (block[:, 2 * k - 1 : 2 * k + 1] == expected).all()
    if task.order == "deep-first":
        first_block = tokens_of(batch, task.d_token)[0][: 2 * task.n_chains]
        queries = tokens_of(batch, task.d_token)[0][-task.n_chains :]
        pairs = tokens_of(batch, task.d_token)[0][: -task.n_chains]
        assert set(first_block[1::2]) == {hops_followed(pairs, query)[-1] for query in queries}
    assert task.length == task.n_chains * (2 * task.depth + 1)


@pytest.mark.parametrize("order", ["deep-first", "shallow-first"])
def test_shuffles_are_uniform_and_independent(order):
    task = Retrieval(depth=2, n_chains=3, d_token=2, order=order)
    batch = sample(task, count=20_000)
    codes = []
    for role in (0, 1, 3):
        slots = batch.roles[:, role].argsort(dim=-1)
        codes.append((slots * torch.tensor([9, 3, 1])).sum(-1).unique(return_inverse=True)[1])
    for one, other in ((0, 1), (0, 2), (1, 2)):
        counts = torch.bincount(6 * codes[one] + codes[other], minlength=36).float()
        assert chi_square_p(counts) > 1e-4


@pytest.mark.parametrize("n_chains", [1, 2, 4])
def test_reference_losses_come_out(n_chains):
    task = Retrieval(depth=2, n_chains=n_chains)
    batch = sample(task, count=4000)
    expected = task.references()
    assert expected == {"zero": 1.0, "mean of the candidates": 1 - 1 / n_chains}
    by_hop = task.reference_losses()["mean of the candidates"]
    assert by_hop == dict.fromkeys(task.hops, 1 - 1 / n_chains)

    hop_roles = [2 * int(name.removeprefix("x_")) for name in task.hops]
    places = batch.roles[:, hop_roles].flatten(1)[..., None].expand(-1, -1, task.d_token)
    candidates = batch.inputs[..., : task.d_token].gather(1, places)
    candidates = candidates.unflatten(1, (task.n_hops, n_chains))
    predictions = {"zero": torch.zeros(()), "mean of the candidates": candidates.mean(2)[:, None]}
    for name, prediction in predictions.items():
        losses = ((batch.targets - prediction) ** 2).mean((1, 2, 3))
        standard_error = losses.std() / math.sqrt(len(losses))
        assert abs(losses.mean() - expected[name]) <= 4.5 * standard_error + 1e-6


@given(task=retrieval, seed=seeds)
@quick
def test_rotated_copies_are_turned_by_one_map(task, seed):
    same, turned = (sample(replace(task, copies=copies), 4, seed) for copies in ("same", "rotated"))
    k = task.d_token
    turn = rotation(k, torch.device("cpu"))
    torch.testing.assert_close(turn @ turn.T, torch.eye(k))
    torch.testing.assert_close(turned.targets, same.targets @ turn)
    for role in range(2 * task.depth + 1):
        at = same.roles[:, role, :, None].expand(-1, -1, 2 * k)
        before, after = (batch.inputs.gather(1, at)[..., :k] for batch in (same, turned))
        expected = before @ turn if role % 2 == 0 and role > 0 else before
        torch.testing.assert_close(after, expected)


@given(task=retrieval, seed=seeds)
@quick
def test_independent_copies_lead_one_step_and_no_further(task, seed):
    task = replace(task, copies="independent")
    batch = sample(task, 1, seed)
    rows = tokens_of(batch, task.d_token)[0]
    for query in range(task.length - task.n_chains, task.length):
        assert len(hops_followed(rows[: -task.n_chains], rows[query])) == 1
    held = {role: rows[at] for role, at in enumerate(batch.roles[0, :, 0].tolist())}
    assert held[0] == held[1]
    assert len(set(held.values())) == 2 * task.depth
    asked = [tuple(hop) for hop in batch.targets[0, 0].tolist()]
    chain = batch.roles[0, 0].argmin()
    seconds = [rows[at] for at in batch.roles[0, 2::2, chain].tolist()]
    assert asked == seconds


def values_found(tokens, query, deep_first):
    """Find the query's two facts, and then the row that begins with both of their values."""
    facts = [i for i, token in enumerate(tokens[:-1]) if token == query]
    y, x = (tokens[i + 1] for i in (facts if deep_first else reversed(facts)))
    (row,) = (i for i in range(len(tokens) - 2) if (tokens[i], tokens[i + 1]) == (x, y))
    return [x, y, tokens[row + 2]]


@given(task=conditional(), seed=seeds)
@quick
def test_looking_the_tokens_up_gives_the_targets(task, seed):
    batch = sample(task, 3, seed)
    first_query = task.length - task.n_chains
    for tokens, targets in zip(tokens_of(batch, task.d_token), batch.targets, strict=True):
        for query, target in zip(tokens[first_query:], targets.tolist(), strict=True):
            found = values_found(tokens[:first_query], query, task.order == "deep-first")
            assert [tuple(vector) for vector in target] == found
    assert task.hops == ("x", "y", "z")


@given(task=conditional(), seed=seeds)
@quick
def test_the_table_holds_every_cell_once_and_no_two_queries_ask_for_one(task, seed):
    batch = sample(task, 3, seed)
    m = task.n_values
    facts = task.length - task.n_chains - 3 * m * m
    table_start = 0 if task.order == "deep-first" else facts
    for tokens in tokens_of(batch, task.d_token):
        table = tokens[table_start : table_start + 3 * m * m]
        rows = list(zip(table[::3], table[1::3], strict=True))
        x_values, y_values = set(table[::3]), set(table[1::3])
        assert len(x_values) == len(y_values) == m
        assert Counter(rows) == Counter((x, y) for x in x_values for y in y_values)
        assert len(set(table[2::3])) == m * m
    asked = role_of(task, batch, "xy.z")
    assert all(len(set(row)) == task.n_chains for row in asked.tolist())
    assert ((asked >= table_start) & (asked < table_start + 3 * m * m)).all()


@given(task=conditional(), seed=seeds)
@quick
def test_rows_of_the_same_value_are_all_the_rows_that_hold_it(task, seed):
    batch = sample(task, 3, seed)
    relations = task.relations(batch)
    m = task.n_values
    first_row = 0 if task.order == "deep-first" else 4 * task.n_chains
    for column, value in enumerate("xy"):
        relation = relations[f"a←xy.{value} (rows of the same {value})"]
        assert relation.use == "measured"
        own, queries = (role_of(task, batch, name).tolist() for name in (f"xy.{value}", "a"))
        positions = range(first_row + column, first_row + 3 * m * m, 3)
        for row, tokens in enumerate(tokens_of(batch, task.d_token)):
            same = [[p for p in positions if tokens[p] == tokens[at]] for at in own[row]]
            assert read(relation, row) == dict(zip(queries[row], same, strict=True))
