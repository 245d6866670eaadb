import json
import pathlib

import pytest
import torch
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

ORDERS = ["deep-first", "shallow-first"]


def holdings(depth, layers, *, causal, order="deep-first"):
    return retrieval_flow(depth, order).holdings(layers, causal)


quick = settings(max_examples=25)
orders = st.sampled_from(ORDERS)


def test_one_step_by_hand():
    assert holdings(1, 2, causal=True) == [
        {"s1": {"x_0", "p_1"}, "s2": {"p_1", "x_1"}, "s0": {"x_0", "p_0"}},
        {
            "s1": {"x_0", "p_1"},
            "s2": {"x_0", "p_1", "x_1"},
            "s0": {"x_0", "p_0", "p_1"},
        },
        {
            "s1": {"x_0", "p_1"},
            "s2": {"x_0", "p_1", "x_1"},
            "s0": {"x_0", "p_0", "p_1", "x_1"},
        },
    ]


def layers_until_answered(task, causal, seed):
    """The flow on a whole sampled sequence, every chain and row included, as sets of
    pieces.
    """
    batch = task.sample(1, torch.Generator().manual_seed(seed))
    tokens = [tuple(token) for token in batch.inputs[0, :, : task.d_token].tolist()]
    code = [tuple(numbers) for numbers in batch.inputs[0, :, task.d_token :].tolist()]
    held = [{("symbol", t), ("code", c)} for t, c in zip(tokens, code, strict=True)]
    queries = range(task.length - task.n_chains, task.length)
    goals = [("symbol", tuple(hops[-1])) for hops in batch.targets[0].tolist()]
    answered_after = {}
    layer = 0
    while len(answered_after) < len(goals):
        for query, goal in zip(queries, goals, strict=True):
            if goal in held[query]:
                answered_after.setdefault(query, layer)
        held = [
            set().union(
                *(
                    other
                    for key, other in enumerate(held)
                    if (not causal or key <= query) and own & other
                )
            )
            for query, own in enumerate(held)
        ]
        layer += 1
    return set(answered_after.values())


@given(
    task=st.one_of(
        st.builds(
            Retrieval,
            depth=st.integers(1, 5),
            n_chains=st.integers(1, 3),
            position_code=st.just("pair"),
            order=orders,
        ),
        st.builds(
            Conditional,
            n_values=st.integers(2, 3),
            n_chains=st.integers(1, 4),
            position_code=st.just("pair"),
            order=orders,
        ),
    ),
    causal=st.booleans(),
    seed=st.integers(0, 1000),
)
@quick
def test_the_proven_minimum_is_that_of_whole_sampled_sequences(task, causal, seed):
    assert layers_until_answered(task, causal, seed) == {
        task.flow().minimum_layers(causal)
    }


def test_a_relation_that_is_known_opens_a_shorter_way():
    flow = retrieval_flow(4, related=[("s0", "s8"), ("s8", "s7")])
    assert flow.minimum_layers(causal=True) == 1
    assert flow.along([AttentionPath.of(0, 0, "s0←s8")], True).broken == ()
    assert retrieval_flow(4).along([AttentionPath.of(0, 0, "s0←s8")], True).broken == (
        AttentionPath.of(0, 0, "s0←s8"),
    )
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
    along = retrieval_flow(2).along(
        [AttentionPath.of(0, 0, "s0←s4"), AttentionPath.of(1, 0, "s2←s1")], True
    )
    assert along.broken == (AttentionPath.of(0, 0, "s0←s4"),)
    assert along.stages[1]["s0"] == {"x_0", "p_0", "x_2", "p_2"}
    assert along.stages[2]["s2"] == {"x_0", "p_1", "x_1"}
    with pytest.raises(
        HeadwayError, match="'s0←s7' is not allowed: roles are s3, s4, s1, s2, s0"
    ):
        retrieval_flow(2).along([AttentionPath.of(0, 0, "s0←s7")], True)


@pytest.mark.parametrize("hops", range(1, 9))
def test_k_hop_needs_as_many_layers_as_a_chain_of_pairs_far_apart(hops):
    for gap in (2, 4, 8):
        for causal in (True, False):
            assert hop_flow(hops, gap).minimum_layers(causal) == closed_form(
                hops, causal
            )
    assert hop_flow(hops, 0).minimum_layers(causal=True) == closed_form(hops) - 1


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
            assert "x_1" in flow.holdings(4, causal)[-1]["s0"]
            assert "x_2" not in flow.holdings(4, causal)[-1]["s0"]
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
    flow, found = retrieval_flow(3), list(circuits(file))
    along = [flow.along(own, causal=True) for own in found]
    assert len(found) == 10
    assert all(flow.goal in one.stages[-1]["s0"] for one in along)
    assert [one.broken for one in along if one.broken] == broken
    assert (min(map(len, found)), max(map(len, found))) == paths
    assert fewest_paths(3) == 6
    # docs/experiments/recipes.md: in how many the query looks two facts ahead, or
    # further
    far = {"s0←s4", "s0←s5", "s0←s6"}
    assert sum(any(path.relation in far for path in own) for own in found) == jumping
