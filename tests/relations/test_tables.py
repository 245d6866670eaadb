"""Tables of attention by tokens and places."""

import pytest
import torch

from headway.relations.tables import LARGEST, Tables

TOKENS = torch.randint(3, (32, 5), generator=torch.Generator().manual_seed(0))
SEEN = torch.ones(5, 5).tril()


def attention_by(keys):
    """Attention that is shared among some keys, of one head in one layer."""
    weights = keys * SEEN
    shares = weights / weights.sum(-1, keepdim=True)
    return shares[:, None, None]


BY_TOKEN = attention_by(torch.tensor([1.0, 8.0, 1.0])[TOKENS][:, None])
BY_PLACE = attention_by(torch.tensor([8.0, 1, 1, 1, 1]).expand(32, 1, 5))


@pytest.mark.parametrize("own", [BY_TOKEN, BY_PLACE], ids=["token", "place"])
def test_tables_tell_attention_by_token_and_by_place(own):
    tables = Tables(TOKENS, lambda: own)
    assert tables.are_possible
    assert tables.patterns(TOKENS).shape == own.shape
    torch.testing.assert_close(tables.patterns(TOKENS), own, atol=0.05, rtol=0)
    assert not tables.patterns(TOKENS).triu(1).any()


def test_tables_tell_attention_in_other_and_shorter_sequences():
    tables = Tables(TOKENS[:16], lambda: BY_TOKEN[:16])
    told = tables.patterns(TOKENS[16:, :4])
    torch.testing.assert_close(told, BY_TOKEN[16:, ..., :4, :4], atol=0.05, rtol=0)


def test_tables_tell_attention_by_what_heads_below_bring():
    is_before = torch.ones(5, 5).tril(-1) - torch.ones(5, 5).tril(-2)
    is_before[0, 0] = 1
    below = is_before.expand(32, 1, 5, 5)
    brought = TOKENS.roll(1, 1)
    brought[:, 0] = TOKENS[:, 0]
    above = attention_by(torch.tensor([1.0, 8.0, 1.0])[brought][:, None])[:, 0]
    own = torch.stack([below, above], 1)
    told = Tables(TOKENS, lambda: own).patterns(TOKENS)
    torch.testing.assert_close(told, own, atol=0.1, rtol=0)


def test_vectors_have_no_tables():
    own = torch.ones(2, 1, 1, 3, 3)
    assert not Tables(torch.zeros(2, 3), lambda: own).are_possible


IMPOSSIBLE = {
    "many tokens": torch.arange(2 * LARGEST).reshape(2, LARGEST),
    "long sequences": torch.zeros(2, LARGEST, dtype=torch.long),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_many_numbers_have_no_tables(what):
    inputs = IMPOSSIBLE[what]
    own = torch.ones(2, 1, 1, LARGEST, LARGEST)
    assert not Tables(inputs, lambda: own).are_possible


@pytest.mark.parametrize(("heads", "are_possible"), [(48, True), (50, False)])
def test_heads_below_count_as_many_numbers(heads, are_possible):
    own = torch.ones(32, 2, heads, 5, 5)
    assert Tables(TOKENS, lambda: own).are_possible == are_possible
