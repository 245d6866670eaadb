"""The number of circuits that the flow allows, against a list; one with the fewest
paths.
"""

from dataclasses import replace
from functools import cache, reduce
from itertools import combinations, permutations, product
from operator import or_

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.relations.paths import AttentionPath, Relation
from headway.replace.ablation import Bench
from headway.replace.circuit import Circuit
from headway.theory import (
    closed_form,
    conditional_flow,
    count_circuits,
    facts_flow,
    fewest_paths,
    is_minimal_circuit,
    minimum_layers,
    retrieval_flow,
    solves,
    witness,
)
from headway_experiments.arena import compiled
from sampling import seeded

orders = st.sampled_from(["deep-first", "shallow-first"])


def allowed(flow, layers):
    """Every path that can be followed if all that can be brought is brought."""
    paths = []
    for layer, held in enumerate(flow.holdings(layers, True)[:layers]):
        for key, query in combinations(flow.roles, 2):
            if held[query] & held[key]:
                relation = Relation.between(query, key)
                paths.append(AttentionPath(layer, 0, relation))
    return paths


def without_supersets(sets):
    """Those of some sets that hold no other."""
    kept = []
    for one in sorted(set(sets), key=int.bit_count):
        if not any(other & one == other for other in kept):
            kept.append(one)
    return kept


def union(sets):
    """The bits of some sets together."""
    return reduce(or_, sets)


def listed(flow, layers):
    """The minimal circuits as sets of bits, from the two assumptions and nothing else.

    All minimal sets of paths by which a role holds a piece, layer by layer: it held it
    before, or a path brings it from a key that held it, found by a piece that both
    held.
    """
    bits = {}

    @cache
    def holding(role, piece, layer):
        if piece in flow.starts[role] or layer == 0:
            return [0] if piece in flow.starts[role] else []
        ways = list(holding(role, piece, layer - 1))
        for key in range(role):
            held = holding(key, piece, layer - 1)
            for sets in product(held, finding(role, key, layer - 1)):
                number = bits.setdefault((layer - 1, role, key), len(bits))
                ways.append(union(sets) | 1 << number)
        return without_supersets(ways)

    @cache
    def finding(role, key, layer):
        ways = []
        for piece in flow.pieces:
            of_role = holding(role, piece, layer)
            of_key = holding(key, piece, layer)
            ways += map(union, product(of_role, of_key))
        return without_supersets(ways)

    return holding(len(flow.roles) - 1, flow.goal, layers), bits


def as_paths(flow, bits, circuit):
    paths = []
    for (layer, query, key), bit in bits.items():
        if circuit >> bit & 1:
            relation = Relation.between(flow.roles[query], flow.roles[key])
            paths.append(AttentionPath(layer, 0, relation))
    return paths


@pytest.mark.parametrize(
    ("depth", "order", "layers"),
    [
        *((depth, "deep-first", None) for depth in range(1, 8)),
        *((depth, "shallow-first", None) for depth in range(1, 5)),
        *((3, order, None) for order in permutations((1, 2, 3))),
        *(
            (depth, "deep-first", layers)
            for depth, layers in [(1, 1), (1, 4), (2, 4), (2, 5)]
        ),
        (3, "deep-first", 4),
    ],
)
def test_the_count_is_that_of_a_list(depth, order, layers):
    flow = retrieval_flow(depth, order)
    count = count_circuits(depth, order, layers=layers)
    assert count.layers == (layers or flow.minimum_layers(True))
    circuits, bits = listed(flow, count.layers)
    assert count.circuits == len(circuits)
    assert {circuit.bit_count() for circuit in circuits} <= {2 * depth}
    for circuit in circuits[::17]:
        assert is_minimal_circuit(flow, as_paths(flow, bits, circuit))


@given(depth=st.integers(1, 8), order=orders, data=st.data())
@settings(max_examples=40)
def test_a_witness_is_minimal_and_less_or_more_is_not(depth, order, data):
    flow = retrieval_flow(depth, order)
    paths = list(witness(flow).paths)
    assert is_minimal_circuit(flow, paths)
    left_out = data.draw(st.sampled_from(paths))
    fewer = [path for path in paths if path != left_out]
    assert not solves(flow, fewer)
    assert not is_minimal_circuit(flow, fewer)
    spare = data.draw(st.sampled_from(allowed(flow, closed_form(depth))))
    assert not is_minimal_circuit(flow, [*paths, spare])


def test_circuits_of_other_problems_and_of_models():
    flow = conditional_flow(singled=True)
    assert is_minimal_circuit(flow, witness(flow).paths)
    for depth in (1, 2, 3, 4):
        known = compiled(depth)
        assert is_minimal_circuit(retrieval_flow(depth), sorted(known.required))
    broken = [AttentionPath.parse("L0.H0 s0←s2")]
    assert not is_minimal_circuit(retrieval_flow(1), broken)
    with pytest.raises(HeadwayError, match="roles are s1, s2, s0"):
        solves(retrieval_flow(1), [AttentionPath.parse("L0.H0 s0←s9")])


@given(
    depth=st.integers(1, 20),
    causal=st.booleans(),
    order=orders,
    codes_first=st.booleans(),
)
@settings(max_examples=40)
def test_a_witness_answers_in_the_fewest_layers_with_the_fewest_paths(
    depth, causal, order, codes_first
):
    flow = retrieval_flow(depth, order, codes_first=codes_first)
    found = witness(flow, causal)
    along = flow.along(found.paths, causal)
    assert flow.goal in along.stages[-1]["s0"]
    assert not along.broken
    assert len(along.stages) == found.layers + 1
    assert len(found.paths) == found.least
    assert fewest_paths(depth) == found.least
    assert found.fewest
    if not codes_first:
        assert found.layers == closed_form(depth, causal)
    if causal:
        assert found.layers == found.heads
        assert closed_form(depth) == found.heads
        rank = flow.roles.index
        for query, key in map(flow.ends, found.paths):
            assert rank(query) > rank(key)
    heads = [(*path.at, path.relation.ends[0]) for path in found.paths]
    assert len(set(heads)) == len(heads)


@pytest.mark.parametrize("depth", range(1, 9))
def test_the_witness_runs_as_a_transformer(depth):
    known = compiled(depth)
    found = witness(retrieval_flow(depth, codes_first=True))
    assert known.model.config.n_layers == found.layers
    assert minimum_layers(depth) == found.layers
    circuit = Circuit.of(found.paths)
    assert circuit.useful_layers == list(range(found.layers))
    batch = known.task.sample(256, seeded(depth))
    intact, replaced = Bench(known.model, known.task, batch).losses([{}, circuit])
    assert intact < 0.001
    assert replaced < 0.001
    with pytest.raises(HeadwayError, match=f"layers = {found.layers - 1} .*at least"):
        witness(retrieval_flow(depth, codes_first=True), layers=found.layers - 1)


def test_a_row_that_must_be_singled_out_needs_both_values():
    found = witness(conditional_flow(singled=True))
    assert {path[2] for path in found.paths} == {
        "ax.x←ax.a",
        "ay.y←ay.a",
        "xy.z←xy.x",
        "xy.z←xy.y",
        "a←ax.x",
        "a←ay.y",
        "a←xy.z",
    }
    assert found.layers == 3
    assert found.fewest
    assert conditional_flow().minimum_layers(causal=False) == 2
    assert conditional_flow(singled=True).minimum_layers(causal=False) == 3


def test_a_circuit_that_is_traced_where_branches_share_paths_has_none_to_spare():
    """Both values of the row come by way of x, so that their branches have paths in
    common.
    """
    flow = facts_flow(["xu", "ax", "xv", "uvz"], "a", "z", singled=True)
    found = witness(flow)
    assert len(found.paths) == 9
    assert is_minimal_circuit(flow, found.paths)


def test_what_cannot_be_reached_is_refused():
    flow = retrieval_flow(2)
    cut = replace(flow, starts=tuple(start - {"x_1"} for start in flow.starts))
    assert cut.minimum_layers(causal=False) is None
    with pytest.raises(HeadwayError, match=r"goal = 'x_2' .*can reach the query"):
        witness(cut)
