"""What came of many questions, summed up."""

from headway.intervals import wilson
from headway.language.tally import Outcome, tally


def outcome(depth, answer, draws=1, chance=0.25, nearer=0.25):
    return Outcome(depth, answer is not None, answer is True, draws, chance, nearer)


def test_what_was_never_answered_counts_apart():
    told = [outcome(1, True), outcome(1, False, 3), outcome(1, None, 10), outcome(1, True, 2)]
    found = tally(told)
    assert found["accuracy"] == 2 / 4
    assert found["of_answered"] == 2 / 3
    assert found["unanswered"] == 1 / 4
    assert found["draws"] == (1 + 3 + 10 + 2) / 4
    assert (found["accuracy_low"], found["accuracy_high"]) == wilson(2, 4)
    assert (found["of_answered_low"], found["of_answered_high"]) == wilson(2, 3)
    assert (found["chance"], found["questions"]) == (0.25, 4)
    assert "nearer_chance" not in found


def test_every_depth_has_shares_of_its_own():
    found = tally([outcome(3, True), outcome(2, False), outcome(2, None)])
    assert (found["D=3 accuracy"], found["D=2 accuracy"], found["accuracy"]) == (1, 0, 1 / 3)
    assert (found["D=2 unanswered"], found["D=3 unanswered"]) == (0.5, 0)
    assert (found["D=2 questions"], found["D=3 questions"]) == (2, 1)


def test_there_is_no_share_of_what_there_is_none_of():
    found = tally([outcome(1, None, 5)])
    assert found["accuracy"] == 0
    assert found["unanswered"] == 1
    assert not [name for name in found if "of_answered" in name]
    assert tally([]) == {"questions": 0}


def test_relatives_have_a_nearer_chance():
    found = tally([outcome(2, True, chance=1 / 16)])
    assert (found["chance"], found["nearer_chance"]) == (1 / 16, 1 / 4)
