"""Depths as Inspect's command line gives them."""

import pytest

from headway.errors import HeadwayError
from headway.language.inspecting import depths_of


@pytest.mark.parametrize(
    ("d", "depths"),
    [
        (None, [5]),
        (3, [3]),
        ("3", [3]),
        ("2..4", [2, 3, 4]),
        (["1", "2", "3"], [1, 2, 3]),
        ([4, "1..2", 4], [4, 1, 2]),
    ],
)
def test_depths_are_read(d, depths):
    assert depths_of(d, 5) == depths


@pytest.mark.parametrize("d", ["x", "", "4..2", 1.5, True, [1, None], [], {"1": 2}])
def test_what_is_no_depth_is_said(d):
    with pytest.raises(HeadwayError, match=r"^d = .* is not allowed: it must be "):
        depths_of(d, 5)
