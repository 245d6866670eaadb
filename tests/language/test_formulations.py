"""Questions: the paper's to the letter, and thousands of others solved from their text alone."""

import random
from collections import Counter

import pytest
from appendix import FACTS, examples
from solver import solve

from headway.errors import HeadwayError
from headway.language import FORMULATIONS, questions
from headway.language.formulations import places


@pytest.mark.parametrize("section", FACTS)
def test_the_papers_examples_to_the_letter(section):
    formulation, facts = FACTS[section]
    prompt, correct, acceptable = examples()[section]
    told = formulation.tell(facts)
    assert told.prompt == prompt
    assert told.correct == correct
    assert told.acceptable == acceptable
    assert solve(prompt) == {correct}
    assert (told.depth, told.chains) == (formulation.default_depth, 4)


def cells():
    """Some depths and numbers of chains of every formulation, the extremes among them."""
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
            assert (question.depth, question.chains) == (depth, chains)


@pytest.mark.slow
def test_a_hundred_thousand_questions():
    draw, every = random.Random(2), list(cells())
    told = 0
    while told < 100_000:
        name, depth, chains = draw.choice(every)
        for question in questions(name, depth, chains, 250, seed=draw.randrange(10**6)):
            assert solve(question.prompt) == {question.correct}
            assert question.correct in question.acceptable
            told += 1


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_answer_is_right_equally_often(name):
    count = 3 * FORMULATIONS[name].answers(4)
    ranks = Counter(q.acceptable.index(q.correct) for q in questions(name, count=count))
    assert set(ranks.values()) == {3}
    assert len(ranks) == FORMULATIONS[name].answers(4)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_asked_chain_stands_anywhere(name):
    """What is asked about gives nothing away: neither its place nor its name."""
    lines = Counter(q.prompt.split("\n")[0] for q in questions(name, count=200))
    assert max(lines.values()) < 40


def test_a_question_is_a_pure_function_of_its_number():
    many = [q.prompt for q in questions("equations", count=50, seed=3)]
    few = [q.prompt for q in questions("equations", count=13, seed=3)]
    assert many[:13] == few
    assert len(set(many)) == 50
    assert [q.prompt for q in questions("equations", count=13, seed=4)] != few


@pytest.mark.parametrize("section", FACTS)
def test_relations_lead_where_they_say(section):
    formulation, facts = FACTS[section]
    question = formulation.tell(facts)
    for spans in question.relations.values():
        assert all(key[1] <= query[0] for query, key in spans)  # as a causal mask allows
    text = question.prompt

    def said(name):
        query, key = question.relations[name][0]
        return text[slice(*query)], text[slice(*key)]

    expected = {
        "A.1": {
            "s0←s1": ("s", "s"),
            "s2←s1": ("p", "s"),
            "s2←s3": ("p", "p"),
            "s8←s10": ("a", "1"),
        },
        "A.2": {"s0←s2": ("Rose", "Peter"), "s8←s10": ("Alice", "Berlin")},
        "A.3": {"s0←s1": ("Chronogy", "Chronogy"), "s2←s3": ("Zephyrium", "Zephyrium")},
        "A.4": {
            "f0←f2": ("f", "a"),
            "f2←t.f": ("a", "a"),
            "i2←t.i": ("0", "0"),
            "i2←t.v": ("0", "3"),
        },
        "A.5": {
            "q←w2": ("Eve", "lawyer"),
            "c2←r2": ("mothers", "mother"),
            "l2←l1": ("Brazil", "Lily"),
        },
    }
    for name, words in expected[section].items():
        assert said(name) == words


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_span_holds_its_word(name):
    for question in questions(name, count=20):
        words = {question.prompt[a:b] for a, b in question.spans.values()}
        assert all(word.isalnum() for word in words)
        assert question.correct in words


@pytest.mark.parametrize(
    ("name", "depth", "chains", "said"),
    [
        ("equations", 7, 4, "depth = 7 is not allowed: it must be from 1 to 6 for equations"),
        ("equations", 0, 4, "depth = 0"),
        ("kingdoms", 6, 4, "depth = 6 is not allowed: it must be from 1 to 5"),
        ("kingdoms", 5, 13, "chains = 13 is not allowed: it must be from 1 to 12"),
        ("functions", 4, 4, "from 1 to 3 for functions with chains = 4"),
        ("functions", 2, 11, "chains = 11"),
        ("functions", 2, 1, "chains = 1 is not allowed: it must be from 2 to 10 for functions"),
        ("relatives", 4, 17, "chains = 17"),
        ("lives-with", 5, 0, "chains = 0"),
        ("riddles", 1, 4, "formulation = 'riddles' is not allowed: it must be one of equations"),
    ],
)
def test_names_that_run_out_are_told_at_once(name, depth, chains, said):
    with pytest.raises(HeadwayError, match=said):
        questions(name, depth, chains)


def test_a_depth_that_is_named_twice_is_asked_once():
    assert places(("equations", "kingdoms"), (2, 1, 2, 6, 6), 4) == (
        *(("equations", 2), ("equations", 1), ("equations", 6)),
        *(("kingdoms", 2), ("kingdoms", 1)),
    )
