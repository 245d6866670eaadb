import json
import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.relations.paths import AttentionPath
from headway.replace import Circuit
from headway.tasks import Conditional, Retrieval
from headway.theory import (
    closed_form,
    facts_flow,
    fewest_paths,
    hop_flow,
    retrieval_flow,
)
from sampling import seeded

ORDERS = ["deep-first", "shallow-first"]


def holdings(depth, layers, *, causal, order="deep-first"):
    return retrieval_flow(depth, order).holdings(layers, causal)


quick = settings(max_examples=25)
orders = st.sampled_from(ORDERS)


def test_one_step_by_hand():
    first, second, third = holdings(1, 2, causal=True)
    assert first == {"s1": {"x_0", "p_1"}, "s2": {"p_1", "x_1"}, "s0": {"x_0", "p_0"}}
    assert second["s1"] == {"x_0", "p_1"}
    assert second["s2"] == {"x_0", "p_1", "x_1"}
    assert second["s0"] == {"x_0", "p_0", "p_1"}
    assert third["s1"] == second["s1"]
    assert third["s2"] == second["s2"]
    assert third["s0"] == {"x_0", "p_0", "p_1", "x_1"}


def layers_until_answered(task, causal, seed):
    """The flow on a whole sampled sequence, every chain and row included, as sets of
    pieces.
    """
    batch = task.sample(1, seeded(seed))
    held = []
    for row in batch.inputs[0]:
        symbol, code = row.tensor_split([task.d_token])
        held.append({("symbol", *symbol.tolist()), ("code", *code.tolist())})
    queries = range(task.length - task.n_chains, task.length)
    goals = [("symbol", *hops[-1].tolist()) for hops in batch.targets[0]]
    answered_after = {}
    layer = 0
    while len(answered_after) < len(goals):
        for query, goal in zip(queries, goals, strict=True):
            if goal in held[query]:
                answered_after.setdefault(query, layer)
        held = [read_by(query, held, causal) for query in range(len(held))]
        layer += 1
    return set(answered_after.values())


def read_by(query, held, causal):
    """What a position holds after a layer: all that shares a piece with its own."""
    visible = held[: query + 1] if causal else held
    sharing = [pieces for pieces in visible if pieces & held[query]]
    return set().union(*sharing)


pairs = {"position_code": st.just("pair"), "order": orders}
few = st.integers(1, 3)
chains = st.builds(Retrieval, depth=st.integers(1, 5), n_chains=few, **pairs)
rows = st.integers(1, 4)
tables = st.builds(Conditional, n_values=st.integers(2, 3), n_chains=rows, **pairs)


@given(st.one_of(chains, tables), st.booleans(), st.integers(0, 1000))
@quick
def test_the_proven_minimum_is_that_of_whole_sampled_sequences(task, causal, seed):
    minimum = task.flow().minimum_layers(causal)
    assert layers_until_answered(task, causal, seed) == {minimum}


def test_a_relation_that_is_known_opens_a_shorter_way():
    flow = retrieval_flow(4, related=[("s0", "s8"), ("s8", "s7")])
    assert flow.minimum_layers(causal=True) == 1
    path = AttentionPath.of(0, 0, "s0←s8")
    assert flow.along([path], True).broken == ()
    unrelated = retrieval_flow(4)
    assert unrelated.along([path], True).broken == (path,)
    with pytest.raises(HeadwayError, match=r"role = 's9' .*one of s7, s8"):
        retrieval_flow(4, related=[("s0", "s9")])


def test_heads_of_a_layer_copy_what_stood_there_before_it():
    """s2 takes x_0 over from s1 in the layer in which s3 takes over what s2 held
    before.
    """
    paths = [AttentionPath.parse(text) for text in ("L0.H0 s2←s1", "L0.H1 s3←s2")]
    before, after = retrieval_flow(2).along(paths, causal=False).stages
    assert after["s2"] == before["s2"] | {"x_0"}
    assert after["s3"] == before["s3"] | {"p_1"}


def test_a_broken_path_still_brings_what_stands_there():
    broken = AttentionPath.of(0, 0, "s0←s4")
    whole = AttentionPath.of(1, 0, "s2←s1")
    along = retrieval_flow(2).along([broken, whole], True)
    assert along.broken == (broken,)
    assert along.stages[1]["s0"] == {"x_0", "p_0", "x_2", "p_2"}
    assert along.stages[2]["s2"] == {"x_0", "p_1", "x_1"}
    with pytest.raises(
        HeadwayError, match="'s0←s7' is not allowed: roles are s3, s4, s1, s2, s0"
    ):
        retrieval_flow(2).along([AttentionPath.of(0, 0, "s0←s7")], True)


@pytest.mark.parametrize("hops", range(1, 9))
def test_k_hop_needs_as_many_layers_as_a_chain_of_pairs_far_apart(hops):
    for gap in (2, 4, 8):
        flow = hop_flow(hops, gap)
        for causal in (True, False):
            assert flow.minimum_layers(causal) == closed_form(hops, causal)
    adjoining = hop_flow(hops, 0)
    assert adjoining.minimum_layers(causal=True) == closed_form(hops) - 1


@pytest.mark.parametrize(
    ("facts", "goal", "message"),
    [
        (["aa"], "a", "facts = 'aa' .*each once"),
        (["a"], "a", "facts = 'a' .*two or more"),
        (["ab", "ab"], "b", r"facts = \['ab', 'ab'\] .*each said once"),
        (["ab"], "c", "goal = 'c' .*a symbol of one of ab"),
        (["abc"], "ab", "goal = 'ab' .*a symbol of one of abc"),
        ([], "c", r"facts = \[\] .*one or more"),
    ],
)
def test_bad_facts_are_refused(facts, goal, message):
    with pytest.raises(HeadwayError, match=message):
        facts_flow(facts, "a", goal)


def test_without_copies_no_number_of_layers_can_answer():
    for causal in (True, False):
        once = Retrieval(depth=1, copies="independent").flow()
        assert once.minimum_layers(causal) == 2
        for depth in (2, 3, 5):
            flow = Retrieval(depth=depth, copies="independent").flow()
            assert flow.minimum_layers(causal) is None
            at_last = flow.holdings(4, causal)[-1]
            assert "x_1" in at_last["s0"]
            assert "x_2" not in at_last["s0"]
            rotated = Retrieval(depth=depth, copies="rotated").flow()
            assert rotated.minimum_layers(causal) == closed_form(depth, causal)


RESULTS = pathlib.Path(__file__).parents[2] / "results"


def circuits(file):
    for result in json.loads((RESULTS / file).read_text())["results"]:
        yield Circuit.from_json(result["circuit"]).paths


@pytest.mark.parametrize(
    ("file", "broken", "paths", "jumping"),
    [
        ("fast_recipe_mixture.json", [], (7, 12), 3),
        (
            "fast_recipe_full_depth.json",
            [(AttentionPath.of(2, 0, "s0←s6"),)],
            (7, 14),
            10,
        ),
    ],
)
def test_they_respect_the_flow_but_for_one_path(file, broken, paths, jumping):
    flow = retrieval_flow(3)
    of_seeds = list(circuits(file))
    assert len(of_seeds) == 10
    breaks = []
    for circuit in of_seeds:
        along = flow.along(circuit, causal=True)
        assert flow.goal in along.stages[-1]["s0"]
        if along.broken:
            breaks.append(along.broken)
    assert breaks == broken
    sizes = sorted(map(len, of_seeds))
    assert (sizes[0], sizes[-1]) == paths
    assert fewest_paths(3) == 6
    # docs/experiments/recipes.md: in how many the query looks two facts ahead, or
    # further
    far = {"s0←s4", "s0←s5", "s0←s6"}
    relations = [{path.relation for path in circuit} for circuit in of_seeds]
    assert sum(not far.isdisjoint(of_circuit) for of_circuit in relations) == jumping
