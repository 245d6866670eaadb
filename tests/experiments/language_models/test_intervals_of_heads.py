"""Intervals of heads hold the truth as often as they say, however few questions there are."""

import math
from collections import Counter
from random import Random

import pytest
import torch
from test_ranking import HEADS, LAYERS, answer

from headway.errors import HeadwayError
from headway.language import questions
from headway_experiments.language_models.effects import effects
from headway_experiments.language_models.following import relations
from headway_experiments.language_models.ranking import Measured, orders, ranking
from headway_experiments.language_models.student import quantile
from headway_experiments.language_models.study import Study


@pytest.mark.parametrize(
    ("share", "freedom", "t"),
    [
        (0.5, 1, 1.0),
        (0.95, 1, 12.7062),
        (0.95, 2, 4.3027),
        (0.95, 3, 3.1824),
        (0.95, 10, 2.2281),
        (0.99, 30, 2.7500),
        (0.999, 5, 6.8688),
        (0.95, 100_000, 1.9600),
        (1 - 1e-6, 1, 2e6 / math.pi),
    ],
)
def test_quantiles_are_those_of_the_tables(share, freedom, t):
    assert quantile(share, freedom) == pytest.approx(t, rel=2e-5)


@pytest.mark.parametrize("each", [2, 3, 13])
def test_intervals_of_effects_hold_the_truth_as_often_as_they_say(each):
    """A favourite answer moves the groups of questions apart; noise is in every question."""
    random, ranks, held, times = Random(each), [*range(4)] * each, 0, 600
    for _ in range(times):
        told = [
            {"outcomes": [answer("none", 0, random.gauss(-2.0 + 3 * rank, 1.0), -3.0)]}
            for rank in ranks
        ]
        for line, rank in zip(told, ranks, strict=True):
            ended = line["outcomes"][0]["ended"]
            ended[0], ended[rank] = ended[rank], ended[0]
        (whole,) = effects(told, ranks)
        _, low, high = whole.found["margin"]
        held += low <= 5.5 <= high
    assert held / times == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize(("n", "chains"), [(8, 4), (15, 4), (23, 6)])
def test_a_study_measures_every_right_answer_twice_or_is_refused(n, chains):
    least = 4 * chains
    with pytest.raises(HeadwayError, match=f"^n = {n} is not allowed: it must be .* {least}: "):
        Study("smollm2", "equations", 2, chains, n)
    study = Study("smollm2", "equations", 2, chains, least)
    measured = study.questions()[study.ranked_on :]
    assert set(Counter(one.correct for one in measured).values()) == {2}


@pytest.mark.parametrize("count", [4, 8, 20])
def test_heads_that_follow_nothing_are_followers_as_seldom_as_is_said(count):
    """In at most 5 % of all models there is one at all (and 2 % more by chance here)."""
    (question,) = questions("equations", 2, count=1)
    named = relations(question)
    generator = torch.Generator().manual_seed(count)
    wrong, models = 0, 200
    for _ in range(models):
        noise = 0.3 * torch.randn(count, len(named), LAYERS, HEADS, generator=generator)
        text, _ = orders(Measured(named, noise, torch.zeros_like(noise), count // 2))
        wrong += any(hop.heads for hop in text.hops)
    assert wrong / models <= 0.07


@pytest.mark.parametrize("count", [4, 8, 20])
def test_intervals_of_ranked_heads_hold_the_truth_as_often_as_they_say(count):
    (question,) = questions("equations", 2, count=1)
    named = relations(question)
    generator = torch.Generator().manual_seed(count)
    held, total = 0, 0
    for _ in range(40):
        noise = 0.3 * torch.randn(count, len(named), LAYERS, HEADS, generator=generator)
        for one in ranking(Measured(named, noise, torch.zeros_like(noise), count // 2)):
            held += one.interval[0] <= 0 <= one.interval[1]
            total += 1
    assert held / total == pytest.approx(0.95, abs=0.03)
