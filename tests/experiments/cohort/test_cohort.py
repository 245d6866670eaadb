"""The cohorts on which blind reading is judged: their tasks are sound, and models
train.
"""

from itertools import pairwise

import pytest
import torch

from headway import IGNORE_INDEX, check_task
from headway.tasks import Batch
from headway_experiments.cohort.at_end import (
    Balanced,
    Beside,
    FirstOrLast,
    MostFrequent,
    Occurrence,
)
from headway_experiments.cohort.everywhere import (
    Addition,
    AfterMark,
    Alternating,
    BackBy,
    Blocks,
    EveryOther,
    Induction,
    LatestRun,
    OfSet,
    Rewritten,
    Smaller,
)
from headway_experiments.cohort.languages import LANGUAGES, NextLetters
from headway_experiments.cohort.members import COHORTS, MODELS
from headway_experiments.cohort.training import load, path_of, train

NOT_ASKED = IGNORE_INDEX


def drawn(task, count=64) -> Batch:
    return task.sample(count, torch.Generator().manual_seed(3))


def words(tokens: str) -> torch.Tensor:
    """A sequence of digits."""
    return torch.tensor([[int(token) for token in tokens]])


def answers_of(batch: Batch) -> list[int]:
    return batch.targets[0, :, 0].tolist()


@pytest.mark.parametrize("name", MODELS)
def test_every_task_is_sound(name):
    errors = [finding for finding in check_task(MODELS[name].task) if not finding.doubt]
    assert errors == []


def test_the_cohorts_share_no_seed_and_no_task():
    seeds = [member.seed for member in MODELS.values()]
    assert len(set(seeds)) == len(seeds)
    tasks = [member.task for member in MODELS.values()]
    assert len(set(tasks)) == len(tasks)
    assert all(len(cohort) >= 24 for cohort in COHORTS.values())


def test_the_cohort_for_judging_has_kinds_of_tasks_of_its_own():
    def kinds(cohort):
        tasks = [member.task for member in cohort.values()]
        return {getattr(task, "language", type(task).__name__) for task in tasks}

    former = kinds(COHORTS["choosing"]) | kinds(COHORTS["seen"])
    assert len(kinds(COHORTS["judging"]) - former) >= 6


WRONG_WORDS = {
    "tomita3": ("aba", "abb"),
    "tomita4": ("aaa", "aab"),
    "tomita7": ("ababa", "abab"),
    "a*b*": ("aba", "abb"),
    "a*b*c*": ("acb", "abc"),
    "(aa|bb)*": ("aba", "aab"),
    "(ab|aab)*": ("abb", "abaab"),
    "a*ba*": ("abab", "aba"),
    "no two alike": ("abb", "abac"),
    "dyck 1 kind deep 2": ("(((", "(()"),
    "dyck 1 kind deep 3": ("((((", "((()"),
    "dyck 1 kind deep 4": ("(((((", "(((()"),
    "dyck 2 kinds deep 1": ("(]", "()["),
    "dyck 2 kinds deep 2": ("([)", "([]"),
    "dyck 3 kinds deep 1": ("({", "{}("),
}
"""By language, what no word begins with, and what one does."""


def begins_a_word(language: str, letters: str) -> bool:
    automaton = LANGUAGES[language]
    state = 0
    for letter in letters:
        options = automaton.follows[state]
        state = options[automaton.letters.index(letter)]
        if state < 0:
            return False
    return True


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_its_words_alone(language):
    wrong, right = WRONG_WORDS[language]
    assert begins_a_word(language, right)
    assert not begins_a_word(language, wrong)


@pytest.mark.parametrize("language", LANGUAGES)
def test_letters_are_drawn_that_may_follow(language):
    task = NextLetters(language, 10, repeats=30)
    batch = drawn(task)
    for sequence, asked in zip(batch.inputs, batch.targets, strict=True):
        letters = "".join(task.tokens[token] for token in sequence[1:])
        assert begins_a_word(language, letters)
        for place, (letter, may_follow) in enumerate(
            zip(letters, asked[:-1], strict=True)
        ):
            told = dict(zip(task.hops, may_follow.tolist(), strict=True))
            assert told.get(letter, 1) == 1
            for hop, answer in told.items():
                if hop != "end":
                    assert answer == begins_a_word(language, letters[:place] + hop)


def test_answers_stand_where_they_should():
    run = LatestRun(8, 7).assemble((words("1223314"),))
    assert answers_of(run) == [NOT_ASKED, NOT_ASKED, 2, 2, 3, 3, 3]
    again = Induction(8, 6).assemble((words("121312"),))
    assert answers_of(again) == [NOT_ASKED, NOT_ASKED, 2, NOT_ASKED, 3, 1]
    latest = OfSet(8, 5, 2, "latest").assemble((words("51709"),))
    assert answers_of(latest) == [NOT_ASKED, 1, 1, 0, 0]
    first = OfSet(8, 5, 2, "first").assemble((words("51709"),))
    assert answers_of(first) == [NOT_ASKED, 1, 1, 1, 1]
    own = Blocks(8, 5, 2).assemble((words("12345"),))
    assert answers_of(own) == [1, 1, 3, 3, 5]
    former = Blocks(8, 5, 2, "last of former").assemble((words("12345"),))
    assert answers_of(former) == [NOT_ASKED, NOT_ASKED, 2, 2, 4]
    third = EveryOther(2, 5).assemble((words("10110"),))
    assert answers_of(third) == [1, 0, NOT_ASKED, NOT_ASKED, 1]
    marked = AfterMark(8, 6).assemble((words("105302"),))
    assert answers_of(marked) == [NOT_ASKED, NOT_ASKED, 5, 5, NOT_ASKED, 2]
    by_token = BackBy(4, 5).assemble((words("10213"),))
    assert answers_of(by_token) == [NOT_ASKED, 0, 1, 2, 0]
    in_turn = Alternating(8, 5, even=1, odd=3).assemble((words("45678"),))
    assert answers_of(in_turn) == [NOT_ASKED, NOT_ASKED, 5, 4, 7]
    smaller = Smaller(8, 5, most=2).assemble((words("20314"),))
    assert answers_of(smaller) == [0, 0, 2, 1, 2]
    rotated = Rewritten(8, 3, "rotated").assemble((words("521"),))
    assert answers_of(rotated) == [2, 1, 5]


def test_the_last_word_says_which_end_is_asked_for():
    batch = drawn(FirstOrLast(6, 5))
    for tokens, answer in zip(batch.inputs.tolist(), batch.targets, strict=True):
        asked = {6: tokens[0], 7: tokens[-2]}
        assert asked[tokens[-1]] == answer.item()


def test_sums_have_their_digits_in_order():
    batch = Addition(4, 2).assemble((words("3121"),))
    assert batch.inputs[0].tolist() == [3, 1, 2, 1, 1, 3]
    assert answers_of(batch) == [1, 3, 0]


def test_one_token_is_the_most_frequent():
    batch = drawn(MostFrequent(4, 9))
    counts = torch.nn.functional.one_hot(batch.inputs[:, :-1], 4).sum(1)
    most, second = counts.topk(2).values.unbind(1)
    assert (most > second).all()
    assert torch.equal(counts.argmax(1), batch.targets[:, 0, 0])
    is_last = batch.inputs[:, -2] == batch.targets[:, 0, 0]
    assert 0.2 < is_last.float().mean() < 0.9


def test_brackets_are_balanced_in_about_half():
    batch = drawn(Balanced(8), 512)
    balanced = batch.targets[:, 0, 0] == 1
    assert 0.4 < balanced.float().mean() < 0.8
    for tokens, told in zip(batch.inputs.tolist(), balanced.tolist(), strict=True):
        text = "".join("()"[token] for token in tokens[:-1])
        while "()" in text:
            text = text.replace("()", "")
        assert (text == "") == told


def test_the_value_is_that_after_the_occurrence():
    batch = drawn(Occurrence(4, 6, 3, which=2))
    for tokens, answer in zip(batch.inputs.tolist(), batch.targets, strict=True):
        places = [i for i in range(0, 12, 2) if tokens[i] == tokens[-1]]
        assert len(places) == 3
        assert tokens[places[1] + 1] == answer.item()


@pytest.mark.parametrize("side", ["before", "after"])
def test_the_neighbour_is_on_its_side(side):
    batch = drawn(Beside(10, 8, side))
    for tokens, answer in zip(batch.inputs.tolist(), batch.targets, strict=True):
        pairs = list(pairwise(tokens[:-1]))
        asked = (answer.item(), tokens[-1])
        assert (asked if side == "before" else asked[::-1]) in pairs


@pytest.mark.parametrize(
    "name", ["choosing copy", "choosing dyck deep 2", "choosing induction"]
)
def test_a_model_trains_a_little_and_is_loaded_again(name, tmp_path):
    learnt = train(name, tmp_path, steps=4)
    assert learnt.steps == 4
    assert path_of(name, tmp_path).exists()
    module, task, again = load(name, tmp_path)
    assert again == learnt
    tokens = drawn(task, 2).inputs
    elsewhere = tmp_path / "again"
    train(name, elsewhere, steps=4)
    twin, _, _ = load(name, elsewhere)
    assert torch.equal(module(tokens), twin(tokens))
