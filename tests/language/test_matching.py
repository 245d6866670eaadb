"""Which acceptable answer a text gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.language import FORMULATIONS, questions
from headway.language.matching import AROUND, FINAL, matched

PLACES = ("London", "New York", "Paris")


@pytest.mark.parametrize(
    "text",
    [
        "Paris",
        " Paris\n",
        "Paris.",
        "Paris!",
        '"Paris"',
        "'Paris.'",
        '"Paris".',
        "**Paris**",
        "`Paris`.",
    ],
)
def test_white_space_quotes_and_a_final_stop_do_not_count(text):
    assert matched(text, PLACES) == "Paris"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "paris",
        "PARIS",
        "in Paris",
        "Paris London",
        "Par is",
        "Paris?",
        ".Paris",
        "New  York",
    ],
)
def test_anything_else_is_no_answer(text):
    assert matched(text, PLACES) is None


def test_numbers_are_not_looked_for_in_sentences():
    assert matched("2.", ("0", "1", "2", "3")) == "2"
    for text in ("-2", "2.0", "e = 2", "two", "2 2", "22"):
        assert matched(text, ("0", "1", "2", "3")) is None


@given(st.text(), st.sampled_from(PLACES))
def test_what_is_matched_is_the_text_but_for_its_ends(text, place):
    found = matched(text, PLACES)
    assert found is None or found in text
    dropped = set(text) <= set(AROUND + " \n")
    assert (matched(text + place + text, PLACES) == place) or not dropped


@given(st.text(alphabet=AROUND + " \t\n"), st.text(alphabet=AROUND + FINAL + " \t\n"))
def test_every_acceptable_answer_is_found_in_what_may_stand_around_it(before, after):
    for name in FORMULATIONS:
        (question,) = questions(name, count=1)
        for answer in question.acceptable:
            assert matched(before + answer + after, question.acceptable) == answer
