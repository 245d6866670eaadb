"""How paths and chains are called."""

import pytest

from headway.relations.paths import AttentionPath
from headway.relations.roles import chain_letter


@pytest.mark.parametrize("text", ["L1.H0 s0←s2", "L1.H0 s0<-s2"])
def test_a_path_is_read_whichever_way_its_arrow_is_typed(text):
    assert AttentionPath.parse(text) == AttentionPath.of(1, 0, "s0←s2")


@pytest.mark.parametrize(
    ("chain", "letter"), [(0, "a"), (25, "z"), (26, "a'"), (51, "z'"), (52, "a''")]
)
def test_chains_beyond_the_alphabet_have_marks(chain, letter):
    assert chain_letter(chain) == letter
