"""Attention paths and their relations: written, read and sorted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.relations.paths import AttentionPath, Relation

numbers = st.integers(0, 99)
roles = st.sampled_from(["s0", "s12", "ax.a", "EOS", "subject", "last place"])


between_roles = st.builds(Relation.between, roles, roles)


other_names = st.sampled_from(
    ["previous token", "find^2", "s0←s2 (other chains)", "y_1"]
)
relations = st.one_of(between_roles, other_names.map(Relation))


@given(numbers, numbers, relations)
def test_a_path_is_read_as_it_is_written(layer, head, relation):
    path = AttentionPath(layer, head, relation)
    assert str(path) == f"L{layer}.H{head} {relation}"
    parsed = AttentionPath.parse(str(path))
    assert parsed == path
    assert path == (layer, head, str(relation))
    assert isinstance(parsed.relation, Relation)
    assert path.at == (layer, head)


@given(roles, roles)
def test_a_relation_between_roles_knows_its_ends(query, key):
    relation = Relation.between(query, key)
    assert relation == f"{query}←{key}"
    assert relation.ends == (query, key)


def test_paths_are_sorted_as_information_flows():
    texts = ["L10.H0 s0←s2", "L2.H1 s0←s2", "L2.H0 s4←s3", "L2.H0 s2←s1"]
    paths = sorted(AttentionPath.parse(text) for text in texts)
    in_order = [str(path) for path in paths]
    assert in_order == ["L2.H0 s2←s1", "L2.H0 s4←s3", "L2.H1 s0←s2", "L10.H0 s0←s2"]


NO_PATHS = [
    "",
    "L1.H0",
    "L1.H0 ",
    "1.0 s0←s2",
    "L1.H0s0←s2",
    "L-1.H0 s0←s2",
    "l1.h0 s0←s2",
    "L1.H0 s0←s2\nL2.H0 s0←s2",
    "L1234567.H0 s0←s2",
    ("L1.H0 s0←s2",),
    None,
    3,
]


@pytest.mark.parametrize("text", NO_PATHS)
def test_what_is_no_path_is_refused(text):
    with pytest.raises(
        HeadwayError, match=r"path = .* must be written as L1\.H0 s0←s2"
    ):
        AttentionPath.parse(text)
