"""What expressions cost, given attention that was made by hand."""

import pytest
import torch

from headway.find.screen import BEST, Screen
from headway.relations import Composed, parse
from headway.relations.rows import ROWS, AttentionRows
from headway.relations.vocabulary import candidates, distinct

BITS = 400.0
"""What a bit in every row costs."""

SURE = 0.04
"""The most bits in every row that a sure mixture leaves."""


def drawn(sequences=24, length=8, tokens=5):
    """Sequences of random tokens."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randint(tokens, (sequences, length), generator=generator)
    return Composed(inputs)


def attention_along(relations, name, share=1.0):
    """A share of attention along a relation; the rest, and rows without a key, even."""
    weights = relations.weights(name)
    total = weights.sum(2, keepdim=True)
    even = relations.seen / relations.seen.sum(2, keepdim=True)
    along = share * weights / total.clamp(min=1e-9) + (1 - share) * even
    return torch.where(total > 0, along, even)


def screen_of(name, share=1.0, relations=None):
    """The screen of a head that looks along a relation."""
    relations = drawn() if relations is None else relations
    own = attention_along(relations, name, share)
    rows = torch.ones(relations.inputs.shape)
    return Screen(relations, own, own.mean(0), rows, BITS)


def bits_of(screen, *names):
    """What each expression costs, words and attention."""
    expressions = [parse(name) for name in names]
    return screen.price(screen.told(expressions)).tolist()


def untold(screen):
    """The bits of attention that the head's average does not tell."""
    own = screen.own.clamp(min=1e-9)
    average = screen.average.clamp(min=1e-9)
    apart = (screen.own * (own / average).log2()).sum(1)
    return screen.bits * (apart @ screen.counts).item()


ALL = ["previous token", "latest same token, else own position"]
ALL += ["all so far by weight (token 0 0.5)", "2 back and own position, else 3 back"]


@pytest.mark.parametrize("name", ALL)
def test_an_expression_that_tells_all_attention_costs_its_words(name):
    (bits,) = bits_of(screen_of(name), name)
    words = parse(name).price
    assert words <= bits <= words + SURE * BITS


def test_an_expression_that_tells_nothing_costs_as_much_as_the_average():
    screen = screen_of("first position")
    bits = bits_of(screen, "own position", "previous token")
    words = parse("own position").price
    assert min(bits) >= words + 0.99 * untold(screen)


def test_the_average_leaves_untold_what_depends_on_tokens():
    by_place, by_token = screen_of("2 back"), screen_of("latest same token")
    assert untold(by_place) <= SURE * BITS
    assert untold(by_token) >= 10 * untold(by_place)


def test_soft_attention_along_a_relation_costs_little():
    screen = screen_of("latest same token", 0.7)
    along, other = bits_of(screen, "latest same token", "latest other token")
    words = parse("latest same token").price
    assert along <= words + 0.25 * untold(screen)
    assert other >= 3 * along


def test_attention_may_be_sharp_for_some_tokens_and_soft_for_others():
    relations = drawn()
    sharp = attention_along(relations, "earliest same token")
    soft = attention_along(relations, "earliest same token", 0.3)
    is_sharp = (relations.tokens == 0)[..., None]
    own = torch.where(is_sharp, sharp, soft)
    rows = torch.ones(relations.inputs.shape)
    screen = Screen(relations, own, own.mean(0), rows, BITS)
    told = screen.told([parse("earliest same token")])
    of_all = (told.costs @ screen.counts).amin(1) * BITS
    of_groups = screen.price(told) - parse("earliest same token").price
    assert of_groups < 0.8 * of_all


def test_rows_that_do_not_matter_cost_nothing():
    relations = drawn()
    rows = torch.zeros(relations.inputs.shape)
    rows[:, 4:] = 1
    own = attention_along(relations, "latest same token")
    other = attention_along(relations, "own position")
    other[:, 4:] = own[:, 4:]
    screens = [
        Screen(relations, each, own.mean(0), rows, BITS) for each in (own, other)
    ]
    bits, bits_of_other = (bits_of(screen, "latest same token") for screen in screens)
    assert bits == bits_of_other


def test_rows_are_told_that_share_half_of_their_attention():
    screen = screen_of("2 back")
    names = ["2 back", "2 back and own position", "last 3", "own position"]
    shares = screen.rows_told([parse(name) for name in names])
    assert shares == pytest.approx([1, 1, 0, 0])


def test_rows_with_two_keys_cannot_tell():
    rows = torch.ones(24, 8)
    relations = drawn()
    own = attention_along(relations, "own position")
    own[:, 1] = relations.mask("previous token")[:, 1].float()
    told = Screen(relations, own, own.mean(0), rows, BITS)
    assert told.rows_told([parse("own position")]) == pytest.approx([1])
    few = Screen(relations, own, own.mean(0), rows * (torch.arange(8) < 2), BITS)
    # All count where no row could tell.
    assert few.rows_told([parse("own position")]) == pytest.approx([0.5])


def test_rows_count_as_much_as_they_matter():
    rows = torch.rand(24, 8, generator=torch.Generator().manual_seed(2))
    rows[0] = 0
    own = torch.rand(24, 8, 8)
    told = AttentionRows(drawn(), own, rows)
    assert torch.allclose(told.counts, rows[1:].flatten() / rows.sum())
    assert torch.equal(told.own, own[1:].flatten(0, 1))
    assert told.sequence.min() == 1
    assert torch.equal(told.matters[..., 0], rows > 0)


def test_of_many_rows_those_that_count_most_are_told():
    relations = drawn(sequences=400)
    rows = torch.rand(400, 8, generator=torch.Generator().manual_seed(2))
    told = AttentionRows(relations, relations.seen.float(), rows)
    least = rows.flatten().sort(descending=True).values[ROWS - 1]
    assert len(told.counts) == ROWS
    assert (rows[told.sequence, told.query] >= least).all()


def test_keys_of_rows_are_those_of_their_sequences():
    relations = drawn(sequences=40)
    rows = torch.ones(40, 8)
    told = AttentionRows(relations, relations.seen.float(), rows)
    expression = parse("latest same token")
    mask = relations.mask(expression).flatten(0, 1)
    assert torch.equal(told.keys(expression) > 0, mask)
    assert torch.equal(told.masks([expression])[0], mask)


def test_attention_to_a_sink_is_left_to_the_average():
    relations = drawn()
    half = 0.5 * attention_along(relations, "latest same token, else own position")
    own = torch.nn.functional.pad(half, (0, 1), value=0.5)
    screen = Screen(relations, own, own.mean(0), torch.ones(24, 8), BITS)
    name = "latest same token, else own position"
    (bits,) = bits_of(screen, name)
    assert bits <= parse(name).price + 0.5 * untold(screen)


def cheapest_of(screen):
    """The cheapest expression of one part or of several, in the first layer."""
    tried = candidates(screen.relations, 0)
    told = screen.told(distinct(tried, screen.relations, screen.matters))
    extended = screen.told(screen.extended(told))
    both = {**screen.cheapest(told, BEST), **screen.cheapest(extended, BEST)}
    return str(min(both, key=both.__getitem__))


FOUND = {
    "latest same token, else all so far": ["latest same token, else all so far"],
    "latest same token, else own position": ["latest same token, else own position"],
    "latest same token and first position": ["latest same token and first position"],
    "previous token for tokens 0–1, else first position": [
        "previous token for tokens 0–1, else first position",
        "first position for tokens 2–4, else previous token",
    ],
    "2 back for tokens 3, else own position for tokens 0, else first position": [
        "own position for tokens 0, else 2 back for tokens 3, else first position",
        "2 back for tokens 3, else own position for tokens 0, else first position",
    ],
}
"""By what a head looks at: what may be found, as it is as short."""


@pytest.mark.parametrize("name", FOUND)
def test_what_a_head_looks_at_is_the_cheapest(name):
    screen = screen_of(name, relations=drawn(sequences=48))
    assert cheapest_of(screen) in FOUND[name]


def test_what_a_head_looks_at_by_place_is_the_cheapest_beside_an_even_average():
    relations = drawn()
    own = attention_along(relations, "previous token and own position")
    even = attention_along(relations, "all so far")[0]
    screen = Screen(relations, own, even, torch.ones(24, 8), BITS)
    assert cheapest_of(screen) == "previous token and own position"


def extended_names(screen):
    """The names of what is proposed of more parts."""
    tried = candidates(screen.relations, 1)
    told = screen.told(distinct(tried, screen.relations, screen.matters))
    return [str(expression) for expression in screen.extended(told)]


def test_queries_are_not_told_apart_by_many_tokens():
    names = extended_names(screen_of("previous token", relations=drawn(tokens=200)))
    assert not any(" for tokens " in name for name in names)
    assert any(", else " in name for name in names)


def test_an_else_is_proposed_only_where_it_is_asked():
    names = extended_names(screen_of("own position"))
    assert not any(name.startswith("own position, else") for name in names)


def test_without_an_expression_nothing_is_cheapest():
    screen = screen_of("own position")
    assert screen.cheapest(screen.told([]), 3) == {}
