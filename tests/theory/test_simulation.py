"""The least number of layers: simulated, in closed form, and within the theorem's
bound.
"""

import random
from functools import partial
from itertools import islice, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.theory import (
    closed_form,
    count_circuits,
    fewest_paths,
    minimum_layers,
    retrieval_flow,
    stretches,
    theorem_1_bound,
)

OF_A_DEPTH = (
    minimum_layers,
    closed_form,
    theorem_1_bound,
    fewest_paths,
    count_circuits,
)
ORDERS = ["deep-first", "shallow-first"]
quick = settings(max_examples=25)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("causal", [True, False])
def test_against_the_flow_of_sets_and_the_closed_form(causal, order):
    for depth in range(1, 65):
        layers = minimum_layers(depth, causal=causal, order=order)
        assert layers == closed_form(depth, causal)
        if depth < 33:
            assert layers == retrieval_flow(depth, order).minimum_layers(causal)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("causal", [True, False])
def test_the_closed_form_for_every_depth_to_4096(causal, order):
    for depth in range(1, 4097):
        assert minimum_layers(depth, causal=causal, order=order) == closed_form(
            depth, causal
        )


@given(
    depth=st.integers(1, 12),
    causal=st.booleans(),
    layers=st.integers(0, 5),
    rest=st.randoms(),
)
@quick
def test_stretches_are_what_the_flow_of_sets_holds(depth, causal, layers, rest):
    pairs = list(range(1, depth + 1))
    rest.shuffle(pairs)
    flow = retrieval_flow(depth, pairs)
    line = [piece for k in range(depth + 1) for piece in (f"p_{k}", f"x_{k}")]
    for (low, high), stage in zip(
        stretches(depth, causal, pairs), flow.holdings(layers, causal), strict=False
    ):
        for role, first, last in zip(flow.roles, low, high, strict=True):
            assert stage[role] == set(line[first : last + 1])


@pytest.mark.parametrize("depth", [127, 128, 300, 600])
@pytest.mark.parametrize("causal", [True, False])
def test_positions_see_those_of_blocks_before_theirs(depth, causal):
    """Positions are compared 256 at once; depth 600 has 1,201."""
    layers = closed_form(depth, causal)
    stages = islice(stretches(depth, causal), layers + 1)  # there is no end of them
    answered = [high[-1] == 2 * depth + 1 for _, high in stages]
    assert answered == [False] * layers + [True]


def test_no_order_of_the_pairs_needs_more_layers_and_some_need_fewer():
    for depth in range(1, 7):
        needed = {
            minimum_layers(depth, order=order)
            for order in permutations(range(1, depth + 1))
        }
        assert max(needed) == closed_form(depth)
        assert min(needed) >= closed_form(depth, causal=False)
    assert minimum_layers(4, order=[1, 2, 3, 4]) == 4
    assert {minimum_layers(4, order=order) for order in permutations(range(1, 5))} == {
        3,
        4,
    }
    shuffled = random.Random(0)
    for depth in (16, 33, 64):
        order = shuffled.sample(range(1, depth + 1), depth)
        assert minimum_layers(depth, order=order) <= closed_form(depth)


@pytest.mark.parametrize(
    ("depth", "causal", "unmasked", "theorem"),
    [
        (1, 2, 2, 1),
        (2, 3, 2, 2),
        (3, 3, 3, 2),
        (4, 4, 3, 2),
        (8, 5, 4, 3),
        (64, 8, 6, 5),
    ],
)
def test_values_worked_out_by_hand(depth, causal, unmasked, theorem):
    assert closed_form(depth, causal=True) == causal
    assert closed_form(depth, causal=False) == unmasked
    assert theorem_1_bound(depth) == theorem


@pytest.mark.parametrize("causal", [True, False])
def test_theorem_1_never_exceeds_the_exact_minimum(causal):
    for d in range(1, 3000):
        assert theorem_1_bound(d) <= closed_form(d, causal)


@given(power=st.integers(0, 200), offset=st.sampled_from([-1, 0, 1]))
@quick
def test_formulas_stay_exact_where_floats_would_not(power, offset):
    depth = max(1, 2**power + offset)
    layers = closed_form(depth, causal=True)
    assert 2 ** (layers - 2) <= depth < 2 ** (layers - 1)
    depth = max(1, 3**power + offset)
    assert 3 ** (closed_form(depth, causal=False) - 1) < 4 * depth + 1
    assert 3 ** closed_form(depth, causal=False) >= 4 * depth + 1
    assert 3 ** theorem_1_bound(depth) >= 2 * depth > 3 ** (theorem_1_bound(depth) - 1)


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        *(
            (each, (n,), f"depth = {n} .*(at least|from) 1")
            for each in OF_A_DEPTH
            for n in (0, -1)
        ),
        (count_circuits, (65,), "depth = 65"),
        (count_circuits, (2, [1]), r"order = \[1\]"),
        (partial(count_circuits, layers=-1), (2,), "layers = -1"),
        (
            partial(minimum_layers, order=[1, 2]),
            (3,),
            r"order = \[1, 2\] .*the numbers 1 to 3",
        ),
        (partial(minimum_layers, order=[1, 2, 2]), (3,), r"order = \[1, 2, 2\]"),
    ],
)
def test_bad_arguments_are_refused(function, given, message):
    with pytest.raises(HeadwayError, match=message):
        function(*given)
