"""Questions: the paper's to the letter, thousands of others solved from their text
alone, what counts as an answer, and the command that writes them."""

import random
from collections import Counter

import pytest
from appendix import DRAWS, examples, written
from hypothesis import given
from hypothesis import strategies as st
from solver import solve

from headway.errors import HeadwayError
from headway_experiments.language import FORMULATIONS, matched, questions
from headway_experiments.language.question import AROUND, FINAL


@pytest.mark.parametrize("section", DRAWS)
def test_the_papers_examples_to_the_letter(section):
    prompt, correct, acceptable = examples()[section]
    question = written(section)
    assert question.prompt == prompt
    assert question.correct == correct
    assert question.acceptable == acceptable
    assert solve(prompt) == {correct}


def cells():
    """Some depths and numbers of chains of every formulation, the extremes among
    them.
    """
    for name, one in FORMULATIONS.items():
        for chains in range(1, 17):
            deepest = one.deepest(chains)
            for depth in sorted({1, 2, 3, 4, 5, 6, deepest} & {*range(1, deepest + 1)}):
                yield name, depth, chains


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_solver_that_reads_the_text_agrees(name):
    draw = random.Random(1)
    for formulation, depth, chains in cells():
        if formulation != name:
            continue
        for question in questions(name, depth, chains, 24, seed=draw.randrange(10**6)):
            assert solve(question.prompt) == {question.correct}
            assert question.correct in question.nearer
            assert set(question.nearer) <= set(question.acceptable)
            assert len(set(question.acceptable)) == FORMULATIONS[name].answers(chains)
            assert question.depth == depth
            assert question.chains == chains


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_answer_is_right_equally_often(name):
    count = 3 * FORMULATIONS[name].answers(4)
    ranks = Counter(q.acceptable.index(q.correct) for q in questions(name, count=count))
    assert set(ranks.values()) == {3}
    assert len(ranks) == FORMULATIONS[name].answers(4)


def test_a_question_is_a_pure_function_of_its_number():
    many = [q.prompt for q in questions("equations", count=50, seed=3)]
    few = [q.prompt for q in questions("equations", count=13, seed=3)]
    assert many[:13] == few
    assert len(set(many)) == 50
    assert [q.prompt for q in questions("equations", count=13, seed=4)] != few


@pytest.mark.parametrize(
    ("name", "depth", "chains", "said"),
    [
        (
            "equations",
            7,
            4,
            "depth = 7 is not allowed: it must be from 1 to 6 for equations",
        ),
        ("kingdoms", 6, 4, "depth = 6 is not allowed: it must be from 1 to 5"),
        ("kingdoms", 5, 13, "chains = 13 is not allowed: it must be from 1 to 12"),
        ("functions", 4, 4, "from 1 to 3 for functions with chains = 4"),
        (
            "functions",
            2,
            1,
            "chains = 1 is not allowed: it must be from 2 to 10 for functions",
        ),
        (
            "riddles",
            1,
            4,
            "formulation = 'riddles' is not allowed: it must be one of equations",
        ),
    ],
)
def test_names_that_run_out_are_told_at_once(name, depth, chains, said):
    with pytest.raises(HeadwayError, match=said):
        questions(name, depth, chains)


PLACES = ("London", "New York", "Paris")
OTHER = [
    "",
    ".",
    "paris",
    "in Paris",
    "Paris London",
    "Par is",
    "Paris?",
    ".Paris",
    "New  York",
]


@pytest.mark.parametrize(
    "text", ["Paris", " Paris\n", "Paris!", "'Paris.'", '"Paris".', "**Paris**."]
)
def test_white_space_quotes_and_a_final_stop_do_not_count(text):
    assert matched(text, PLACES) == "Paris"


@pytest.mark.parametrize("text", OTHER)
def test_anything_else_is_no_answer(text):
    assert matched(text, PLACES) is None


@given(st.text(alphabet=AROUND + " \t\n"), st.text(alphabet=AROUND + FINAL + " \t\n"))
def test_every_acceptable_answer_is_found_in_what_may_stand_around_it(before, after):
    for name in FORMULATIONS:
        (question,) = questions(name, count=1)
        for answer in question.acceptable:
            assert matched(before + answer + after, question.acceptable) == answer
