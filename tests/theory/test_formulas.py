import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.theory import closed_form, fewest_paths, minimum_layers, theorem_1_bound

quick = settings(max_examples=25, deadline=None)


@pytest.mark.parametrize(
    ("depth", "causal", "unmasked", "theorem"),
    [(1, 2, 2, 1), (2, 3, 2, 2), (3, 3, 3, 2), (4, 4, 3, 2), (8, 5, 4, 3), (64, 8, 6, 5)],
)
def test_values_worked_out_by_hand(depth, causal, unmasked, theorem):
    assert closed_form(depth, causal=True) == causal
    assert closed_form(depth, causal=False) == unmasked
    assert theorem_1_bound(depth) == theorem


@pytest.mark.parametrize("causal", [True, False])
def test_theorem_1_never_exceeds_the_exact_minimum(causal):
    assert all(theorem_1_bound(d) <= closed_form(d, causal) for d in range(1, 3000))


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
    "function",
    [minimum_layers, closed_form, theorem_1_bound, fewest_paths],
)
@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_below_1_is_refused(function, depth):
    with pytest.raises(HeadwayError, match=rf"depth = {depth} .*at least 1"):
        function(depth)
