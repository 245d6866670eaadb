"""Primitives: the keys of each, by hand; the arguments that are tried; and own ones."""

import by_hand
import pytest
import torch

from headway.errors import HeadwayError
from headway.relations import Composed, parse, primitive
from headway.relations.expressions import Keys, Picked
from headway.relations.primitives import (
    PRIMITIVES,
    Tokens,
    markers,
    offsets,
    offsets_ahead,
    ordinary,
    periods,
    periods_and_starts,
    places,
    ranges,
    separators,
)
from headway.relations.vocabulary import candidates, distinct

TOKENS = torch.tensor([[5, 3, 9, 3, 7, 5]])
RUNS = torch.tensor([[2, 2, 4, 2, 2, 2]])

KEYS = by_hand.read("""
own position: 0 1 2 3 4 5
previous token: - 0 1 2 3 4
first position: 0 0 0 0 0 0
all so far: 0 01 012 0123 01234 012345
all before: - 0 01 012 0123 01234
mirror position: - - - 2 1 0
next token: - - - - - -
3 back: - - - 0 1 2
2 ahead: - - - - - -
last 3: 0 01 012 123 234 345
every 2 back: - - 0 1 02 13
position 2: - - 2 2 2 2
every 3 from position 1: - 1 1 1 14 14
start of block of 4: 0 0 0 0 4 4
same token: - - - 1 - 0
other token: - 0 01 02 0123 1234
larger token: - 0 - 02 2 24
smaller token: - - 01 - 013 13
same or larger token: - 0 - 012 2 024
same or smaller token: - - 01 1 013 013
any token: 0 01 012 0123 01234 012345
token 3: - 1 1 13 13 13
token of 5–7,9: 0 0 02 02 024 0245
own run: 0 1 2 3 4 5
past token 9: 0 01 - 3 34 345
past token 3: 0 - 2 - 4 45
up to token 9: 0 01 01 01 01 01
up to token 3: 0 0 0 0 0 0
mirror across token 9: - - 2 1 0 -
aligned past token 9: - - 0 1 2 3
twice past token 9: - - 0 2 4 -
repeated token: - - - 3 3 35
new token: 0 01 012 012 0124 0124
single token: 0 01 012 02 024 24
token unlike its mirror: - - - 3 34 34
token like its mirror: - - - - - 5
token like its predecessor: - - - - - -
token unlike its predecessor: - 1 12 123 1234 12345
""")
"""Of TOKENS, whose positions read earlier ones."""

KEYS_AHEAD = by_hand.read("""
all before: - 0 01 012 0123 01234
every 2 back: - - 0 1 02 13
next token: 1 2 3 4 5 -
2 ahead: 2 3 4 5 - -
mirror position: 5 4 3 2 1 0
same token: 5 3 - 1 - 0
past token 9: 012345 012345 345 345 345 345
single token: 24 24 24 24 24 24
""")
"""Of TOKENS, whose positions read later ones, too."""


@pytest.mark.parametrize("name", KEYS)
def test_a_primitive_leads_where_it_says(name):
    mask = Composed(TOKENS).mask(name)[0]
    assert by_hand.keys_of(mask) == KEYS[name]


@pytest.mark.parametrize("name", KEYS_AHEAD)
def test_a_primitive_leads_to_later_positions_where_they_may_be_read(name):
    mask = Composed(TOKENS, ahead=True).mask(name)[0]
    assert by_hand.keys_of(mask) == KEYS_AHEAD[name]


def test_a_run_ends_where_another_token_stands():
    mask = Composed(RUNS).mask("own run")[0]
    assert by_hand.keys_of(mask) == ["0", "01", "2", "3", "34", "345"]


def test_every_primitive_is_worked_out():
    forms = {parse(name).primitive.form for name in {**KEYS, **KEYS_AHEAD}}
    assert forms == set(PRIMITIVES)


@pytest.mark.parametrize("way", ["aligned past", "twice past", "mirror across"])
def test_where_a_token_has_not_stood_yet_nothing_is_past_it(way):
    composed = Composed(TOKENS, ahead=True)
    mask = composed.mask(f"{way} token 9")[0]
    assert not mask[:2].any()
    assert mask[2:].any()


ARGUMENTS = {
    "12 back": ("{number} back", (12,)),
    "every 3 from position 0": ("every {period} from position {number}", (3, 0)),
    "token of 0–3,7": ("token of {tokens}", (Tokens(((0, 3), (7, 7))),)),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_are_read_as_they_are_written(name):
    form, arguments = ARGUMENTS[name]
    assert PRIMITIVES[form].arguments(name) == arguments
    assert PRIMITIVES[form].name(arguments) == name


@pytest.mark.parametrize("name", ["12 ahead", "back", "x back", "1234567890 back"])
def test_other_names_have_no_arguments(name):
    assert PRIMITIVES["{number} back"].arguments(name) is None


def test_a_period_is_not_zero():
    assert PRIMITIVES["every {period} back"].arguments("every 0 back") is None


def test_ranges_of_tokens_may_be_written_with_a_hyphen():
    assert Tokens.parse("0-3,7") == Tokens(((0, 3), (7, 7)))


def test_tokens_are_put_into_ranges():
    assert str(Tokens.of([7, 2, 0, 1])) == "0–2,7"


def test_both_ends_of_a_range_are_among_its_tokens():
    among = Tokens.parse("1–3,6").among(torch.arange(8))
    assert among.nonzero()[:, 0].tolist() == [1, 2, 3, 6]


WHOLE_NUMBERS = [([7, 1, 2, 3, 4], ["1–4", "7"]), ([5, 6], ["5–6"]), ([], [])]


@pytest.mark.parametrize(("numbers", "texts"), WHOLE_NUMBERS)
def test_whole_numbers_are_told_in_short(numbers, texts):
    assert ranges(numbers) == texts


LETTERS = torch.stack([torch.arange(n, n + 5) for n in range(9)])
"""Sequences of five of thirteen tokens."""

SEPARATED = torch.cat([LETTERS + 2, torch.tensor([[0, 20]]).expand(9, 2)], 1)
"""Each with 0 and 20 at its end."""

TRIED = {
    "offsets": (offsets, LETTERS, [(2,), (3,), (4,)]),
    "places": (places, LETTERS, [(1,), (2,), (3,), (4,)]),
    "periods": (periods, LETTERS, [(2,), (3,), (4,)]),
    "the longest periods": (periods, LETTERS.repeat(1, 2), [(n,) for n in range(2, 7)]),
    "the first places of periods": (
        periods_and_starts,
        LETTERS[:, :4],
        [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)],
    ),
    "later positions": (offsets_ahead, LETTERS, []),
    "markers of few tokens": (markers, TOKENS, [(3,), (5,), (7,), (9,)]),
    "markers of many tokens": (markers, SEPARATED, [(0,), (20,)]),
    "separators of few tokens": (separators, TOKENS, [(7,), (9,)]),
    "ordinary tokens of few": (ordinary, TOKENS, []),
    "ordinary tokens where none separates": (ordinary, LETTERS, []),
    "ordinary tokens above": (ordinary, SEPARATED[:, :6], [(Tokens(((2, 14),)),)]),
    "ordinary tokens below": (ordinary, SEPARATED[:, :5] - 2, []),
}
"""By what is tried: the rule, sequences, and the arguments."""


@pytest.mark.parametrize("what", TRIED)
def test_arguments_are_tried_that_the_sequences_may_have(what):
    rule, inputs, arguments = TRIED[what]
    assert rule(Composed(inputs)) == arguments


def test_no_offset_beyond_forty_is_tried():
    composed = Composed(torch.zeros(1, 60, dtype=torch.long))
    assert offsets(composed)[-1] == (40,)
    assert places(composed)[-1] == (40,)


def test_offsets_of_later_positions_are_tried_where_these_are_read():
    composed = Composed(LETTERS, ahead=True)
    assert offsets_ahead(composed) == [(2,), (3,), (4,)]


DIVISIBLE = "token divisible by {number}"


@pytest.fixture
def divisible():
    """A primitive of a user, who tries two numbers."""

    @primitive(DIVISIBLE, lambda _: [(2,), (3,)], needs="tokens", picked=True)
    def keys(at, number):
        return (at.tokens % number == 0)[:, None]

    yield keys
    del PRIMITIVES[DIVISIBLE]
    parse.cache_clear()


@pytest.mark.usefixtures("divisible")
def test_a_primitive_of_a_user_leads_where_it_says():
    mask = Composed(TOKENS).mask("token divisible by 3")[0]
    assert by_hand.keys_of(mask) == ["-", "1", "12", "123", "123", "123"]


@pytest.mark.usefixtures("divisible")
def test_a_primitive_of_a_user_is_tried_with_its_numbers_and_picked():
    composed = Composed(torch.arange(24).reshape(4, 6) % 11)
    names = {
        str(expression) for expression in distinct(candidates(composed, 0), composed)
    }
    own = {name for name in names if "divisible" in name}
    picked = {f"{which} token divisible by 3" for which in ("latest", "earliest")}
    assert {"token divisible by 2", "token divisible by 3", *picked} <= own
    assert "token divisible by 4" not in own


@pytest.mark.usefixtures("divisible")
def test_the_number_of_a_primitive_of_a_user_has_a_price():
    assert parse("token divisible by 3").price == 5 + 2


def test_without_the_user_there_is_no_such_primitive():
    with pytest.raises(HeadwayError, match="divisible"):
        parse("token divisible by 3")


@pytest.mark.parametrize(
    ("form", "allowed"),
    [
        ("odd and even", "without"),
        ("odd, else even", "without"),
        ("odd if larger", "without"),
        ("odd {count}", "with no argument but"),
    ],
)
def test_a_form_that_could_not_be_read_back_is_refused(form, allowed):
    with pytest.raises(HeadwayError, match=f"form = .* must be {allowed}"):
        primitive(form)
    assert form not in PRIMITIVES


def test_what_no_sequences_have_cannot_be_needed():
    with pytest.raises(HeadwayError, match="needs = 'token' is not allowed"):
        primitive("odd", needs="token")
    assert "odd" not in PRIMITIVES


def test_a_primitive_may_begin_as_a_move_does():
    form = "after a multiple of {number}"
    primitive(form)(lambda at, number: (at.tokens % number == 0)[:, None])
    try:
        name = "latest after a multiple of 3"
        assert str(parse(name)) == name
        assert parse(name) == Picked("latest", Keys(form, (3,)))
    finally:
        del PRIMITIVES[form]
        parse.cache_clear()
