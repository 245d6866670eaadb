"""Expressions: written and read, their keys and weights by hand, and their prices."""

import by_hand
import pytest
import torch

from headway.errors import HeadwayError
from headway.relations import Composed, Edges, parse
from headway.relations.expressions import (
    Both,
    Else,
    For,
    Given,
    If,
    Keys,
    Moved,
    OfQueries,
    Picked,
    Run,
    Since,
    Weighed,
)
from headway.relations.primitives import Tokens

TOKENS = torch.tensor([[5, 3, 9, 3, 7, 5]])
RUNS = torch.tensor([[2, 2, 4, 2, 2, 2]])

SAME = Keys("same token")
ANY = Keys("any token")
OWN = Keys("own position")
MIRROR = Keys("mirror position")
EVERY = Keys("every {period} from position {number}", (3, 1))
OF = Keys("token of {tokens}", (Tokens(((0, 3), (7, 7))),))
MINE = Given("mine")
HALF = ((0, 0.5), (12, 0.25))

FORMS = {
    "mine": MINE,
    "same token": SAME,
    "every 3 from position 1": EVERY,
    "token of 0–3,7": OF,
    "latest same token": Picked("latest", SAME),
    "earliest token of 0–3,7": Picked("earliest", OF),
    "third smallest any token": Picked("smallest", ANY, 3),
    "second latest mine": Picked("latest", MINE, 2),
    "latest run of same token": Run(SAME),
    "mirror position if the same token": If(MIRROR, same=True),
    "mirror position if another token": If(MIRROR, same=False),
    "after same token": Moved(SAME, 1),
    "before fourth latest same token": Moved(Picked("latest", SAME, 4), -1),
    "after latest run of same token": Moved(Run(SAME), 1),
    "same token and own position": Both(SAME, OWN),
    "same token and own position and mine": Both(SAME, Both(OWN, MINE)),
    "mine for tokens 0–3,7": For(MINE, Tokens(((0, 3), (7, 7)))),
    "mine by weight (token 0 0.5, token 12 0.25)": Weighed(MINE, HALF),
    "mine for queries of mine": OfQueries(MINE, MINE),
    "since latest same token": Since(Picked("latest", SAME)),
    "last 3": Keys("last {period}", (3,)),
    "same token, else mine": Else(SAME, MINE),
    "same token, else mine, else own position": Else(SAME, Else(MINE, OWN)),
    "same token and own position for tokens 7": For(Both(SAME, OWN), Tokens(((7, 7),))),
    "mine for tokens 7 by weight (token 0 0.5, token 12 0.25), else own position": Else(
        Weighed(For(MINE, Tokens(((7, 7),))), HALF), OWN
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_an_expression_is_read_as_it_is_written(name):
    assert str(FORMS[name]) == name
    assert parse(name, frozenset({"mine"})) == FORMS[name]


def test_the_name_of_a_relation_given_comes_before_all_words():
    name = "same token, else own position"
    assert parse(name, frozenset({name})) == Given(name)


KEYS = by_hand.read("""
after same token: - - - 2 - 1
before same token: - - - 0 - -
after 2 back: - - 1 2 3 4
after own position: - - - - - -
smallest larger token: - 0 - 0 2 4
largest smaller token: - - 0 - 0 13
smallest any token: 0 1 1 13 13 13
latest token 3: - 1 1 3 3 3
earliest token 3: - 1 1 1 1 1
second latest token 3: - - - 1 1 1
second earliest larger token: - - - 2 - 4
mirror position if the same token: - - - - - 0
mirror position if another token: - - - 2 1 -
mirror position if the same token, else own position: 0 1 2 3 4 0
second smallest any token: - 0 0 0 0 05
third smallest any token: - - 2 2 4 4
second largest any token: - 1 0 0 4 4
smallest same or larger token: - 0 - 1 2 0
largest token of 0–5: 0 0 0 0 0 05
earliest token of 7,9: - - 2 2 2 2
2 back and own position: 0 1 02 13 24 35
2 back for tokens 7–9,3: - - 0 1 2 -
2 back for tokens 7–9,3, else own position: 0 1 0 1 2 5
after aligned past token 9: - - 1 2 3 4
after same token, else 3 back, else first position: 0 0 0 2 1 1
since latest token 3: - 1 12 3 34 345
since same token: - - - 123 - 012345
""")
"""Of TOKENS."""

KEYS_OF_RUNS = by_hand.read("""
latest run of same token: - 0 - 01 3 34
latest run of token 2: 0 01 01 3 34 345
latest run of token 4: - - 2 2 2 2
second earliest same token: - - - 1 1 1
third latest token 2: - - - 0 1 3
fourth earliest token 2: - - - - 4 4
earliest own run: 0 0 2 3 3 3
""")
"""Of RUNS."""

KEYS_AHEAD = by_hand.read("""
last 3: 0 01 012 123 234 345
before same token: 4 2 - 0 - -
latest token 3: 3 3 3 3 3 3
latest run of other token: 1234 45 345 45 5 1234
""")
"""Of TOKENS, whose positions read later ones, too."""


@pytest.mark.parametrize("name", KEYS)
def test_an_expression_leads_where_it_says(name):
    mask = Composed(TOKENS).mask(name)[0]
    assert by_hand.keys_of(mask) == KEYS[name]


@pytest.mark.parametrize("name", KEYS_OF_RUNS)
def test_an_expression_tells_keys_in_a_row_apart(name):
    mask = Composed(RUNS).mask(name)[0]
    assert by_hand.keys_of(mask) == KEYS_OF_RUNS[name]


@pytest.mark.parametrize("name", KEYS_AHEAD)
def test_an_expression_leads_to_later_positions_where_they_may_be_read(name):
    mask = Composed(TOKENS, ahead=True).mask(name)[0]
    assert by_hand.keys_of(mask) == KEYS_AHEAD[name]


def test_a_relation_given_can_be_for_some_tokens():
    two_back = Composed(TOKENS).mask("2 back")
    composed = Composed(TOKENS, given={"mine": Edges.where(two_back)})
    mask = composed.mask("mine for tokens 7-9, else first position")[0]
    assert by_hand.keys_of(mask) == ["0", "0", "0", "0", "2", "0"]


def test_an_expression_can_be_for_queries_that_a_relation_given_names():
    thirds = (TOKENS == 3)[:, None].expand(1, 6, 6).tril()
    composed = Composed(TOKENS, given={"third": Edges.where(thirds)})
    mask = composed.mask("last 2 for queries of third, else first position")[0]
    assert by_hand.keys_of(mask) == ["0", "01", "0", "23", "0", "0"]


def weights_of(name, query):
    """The weights of a query's keys."""
    return Composed(TOKENS).weights(name)[0, query].tolist()


def test_keys_count_by_their_tokens():
    name = "all so far by weight (token 3 0.5, token 5 0.25)"
    assert weights_of(name, 2) == [0.25, 0.5, 1, 0, 0, 0]


ELSE = "same token by weight (token 3 0.5), else own position"
ELSE_WEIGHED = "same token, else own position by weight (token 9 0.25)"
FOR = "all so far for tokens 9 by weight (token 3 0.5)"
WEIGHTS = [
    (ELSE, 3, [0, 0.5, 0, 0, 0, 0]),
    (ELSE, 5, [1, 0, 0, 0, 0, 0]),
    (ELSE, 2, [0, 0, 1, 0, 0, 0]),
    (ELSE_WEIGHED, 5, [1, 0, 0, 0, 0, 0]),
    (ELSE_WEIGHED, 2, [0, 0, 0.25, 0, 0, 0]),
    (FOR, 2, [1, 0.5, 1, 0, 0, 0]),
    (FOR, 3, [0, 0, 0, 0, 0, 0]),
]


@pytest.mark.parametrize(("name", "query", "weights"), WEIGHTS)
def test_weights_count_where_their_part_has_keys(name, query, weights):
    assert weights_of(name, query) == weights


def test_keys_have_the_same_mask_whatever_they_weigh():
    composed = Composed(TOKENS)
    weighed = composed.mask("all before by weight (token 3 0.5)")
    assert torch.equal(weighed, composed.mask("all before"))


PARTS = {
    "own position": 1,
    "after second latest same token": 1,
    "mirror across token 7": 1,
    "all so far by weight (token 3 0.5)": 1,
    "2 back, else own position": 2,
    "2 back, else 3 back, else own position": 3,
    "2 back and own position": 2,
    "2 back for tokens 1–3": 2,
    "2 back for tokens 1–3 by weight (token 3 0.5)": 2,
    "2 back for tokens 1–3, else own position": 3,
}


@pytest.mark.parametrize("name", PARTS)
def test_a_reader_counts_the_parts_of_an_expression(name):
    assert parse(name).parts == PARTS[name]


CHEAPEST_FIRST = [
    "own position",
    "2 back",
    "latest same token",
    "token 3",
    "9 back",
    "second latest same token",
    "repeated token",
    "third latest same token",
    "2 back, else own position",
    "2 back for tokens 3, else own position",
    "2 back for tokens 3,5, else own position",
    "all so far by weight (token 3 0.5, token 5 0.5)",
]


def test_what_is_simpler_to_say_is_cheaper():
    prices = [parse(name).price for name in CHEAPEST_FIRST]
    assert prices == sorted(set(prices))


PRICES = {
    "own position": 5,
    "3 back": 5 + 2,
    "every 3 from position 1": 5 + 2 + 1,
    "token 3": 5 + 3,
    "token 900": 5 + 3,
    "token of 0–3,7": 5 + 2 * 3,
    "repeated token": 2 * 5,
    "mirror across token 3": 3 * 5 + 3,
    "latest same token": 5 + 2,
    "third latest same token": 5 + 3 * 2,
    "latest run of same token": 5 + 2 * 2,
    "mirror position if another token": 5 + 2,
    "after same token": 5 + 2,
    "same token and own position": 5 + 5 + 2,
    "same token for tokens 0–3,7": 5 + 2 * 3,
    "same token by weight (token 3 0.5, token 5 0.5)": 5 + 2 * 8,
    "3 back, else own position": 5 + 2 + 5 + 2,
}
"""In bits: 5 a primitive, 2 another word, 3 a range of tokens, 8 a weight."""


@pytest.mark.parametrize("name", PRICES)
def test_every_word_and_number_has_a_price(name):
    assert parse(name).price == pytest.approx(PRICES[name])


def test_a_relation_given_costs_a_word():
    assert MINE.price == OWN.price


REFUSED = [
    "",
    "other",
    "latest",
    "smallest",
    "fifth latest same token",
    "second same token",
    "latest run of",
    "0 forward",
    "every 0 back",
    "every 0 from position 1",
    "past token",
    "same token, else",
    "same token, else other",
    "same token and",
    "after",
    "mirror position if",
    "all so far by weight (token 3 0.5) and first position",
    "all so far by weight (token 3)",
    "token of 3–",
    "own position for tokens all",
    "own position for tokens 3–",
    "own position for tokens 1-2-3",
    f"own position for tokens {10**30}",
    "own\nposition",
]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_made_of_the_words_is_refused_in_one_line(name):
    with pytest.raises(HeadwayError, match=r"relation = .* is not allowed") as refused:
        Composed(TOKENS).mask(name)
    assert "\n" not in str(refused.value)


def test_how_weights_are_written_is_told():
    with pytest.raises(HeadwayError, match=r"own position by weight \(token 0 0.92"):
        parse("own position by weight (all)")


VALUES = ["larger token", "largest same token", "smallest own position", "any token"]


@pytest.mark.parametrize("name", VALUES)
def test_without_an_order_no_token_is_larger(name):
    unordered = Composed(TOKENS, ordered=False)
    with pytest.raises(HeadwayError, match="these sequences have no order of tokens"):
        unordered.mask(name)


OF_TOKENS = ["latest same token", "token 3", "own position for tokens 3"]
OF_TOKENS += ["mirror position if another token"]


@pytest.mark.parametrize("name", OF_TOKENS)
def test_vectors_have_no_tokens(name):
    vectors = Composed(torch.zeros(2, 5, 3), of_tokens=False)
    with pytest.raises(HeadwayError, match="these sequences have no tokens"):
        vectors.mask(name)
