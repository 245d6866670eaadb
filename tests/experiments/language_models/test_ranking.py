"""The ranking, the order of hops and the effects of knock-outs, where the truth is known."""

import math
from random import Random

import numpy as np
import pytest
import torch

from headway.intervals import rank_correlation
from headway.language import questions
from headway_experiments.language_models.effects import effects, measure
from headway_experiments.language_models.following import relations
from headway_experiments.language_models.knockout import Trial, keep_of, trials
from headway_experiments.language_models.ranking import Measured, orders, ranking

LAYERS, HEADS = 6, 4


def measured(planted, count=40, noise=0.02, depth=3, seed=0):
    """Attention that is noise, but for `planted`: (relation, layer, head) → more to its own."""
    (question,) = questions("equations", depth, count=1)
    named = relations(question)
    generator = torch.Generator().manual_seed(seed)
    size = (count, len(named), LAYERS, HEADS)
    own = 0.1 + noise * torch.rand(size, generator=generator)
    others = 0.1 + noise * torch.rand(size, generator=generator)
    places = {one.name: i for i, one in enumerate(named)}
    for (name, layer, head), more in planted.items():
        own[:, places[name], layer, head] += more
    for i, one in enumerate(named):
        if not one.compared:
            others[:, i] = torch.nan
    return Measured(named, own, others, count // 2)


def test_what_follows_most_comes_first():
    planted = {("s2←s4", 3, 1): 0.5, ("answer←s6", 5, 2): 0.3, ("s0←s1", 0, 0): 0.2}
    best = ranking(measured(planted))
    assert [(one.relation, one.layer, one.head) for one in best[:3]] == list(planted)
    assert len({(one.layer, one.head) for one in best}) == LAYERS * HEADS
    for one, more in zip(best, planted.values(), strict=False):
        assert one.interval[0] < more < one.interval[1]
        assert one.more == pytest.approx(one.attention - one.others, abs=1e-6)


def test_places_in_the_text_do_not_rank():
    planted = {(name, 2, 2): 0.9 for name in ("s2←s1", "answer←s0", "previous token")}
    best = ranking(measured(planted))
    assert max(one.score for one in best) < 0.02


def test_the_ranking_does_not_see_the_questions_that_tell():
    """What is chosen by chance on the first half is nothing on the other."""
    first = ranking(measured({}, noise=0.5, count=24))[0]
    assert first.score > 0.1
    assert abs(first.more) < first.score
    seen = measured({})
    seen.own[seen.ranked_on :, :, 1, 1] += 0.5
    assert ranking(seen)[0].score < 0.02


def test_hops_that_climb_the_layers_are_in_order():
    planted = {
        (f"answer←s{2 * hop}", 2 * (hop - 1), head): 0.2 + 0.1 * head
        for hop in (1, 2, 3)
        for head in range(3)
    }
    text, answer = orders(measured(planted))
    assert text.correlation is None
    assert text.interval is None
    assert [hop.heads for hop in text.hops] == [(), (), ()]
    assert [hop.layer for hop in answer.hops] == [0, 2, 4]
    assert [hop.best for hop in answer.hops] == [(0, 2), (2, 2), (4, 2)]
    assert answer.hops[0].best_more == pytest.approx(0.4, abs=0.01)
    assert answer.correlation == pytest.approx(1)
    assert answer.interval == (pytest.approx(1), pytest.approx(1))


def test_the_same_heads_for_every_hop_are_in_no_order():
    planted = {
        (f"s{2 * hop - 2}←s{2 * hop}", layer, 0): 0.3 for hop in (1, 2, 3) for layer in range(5)
    }
    text, _ = orders(measured(planted))
    assert text.correlation == pytest.approx(0, abs=1e-9)
    assert text.interval == (pytest.approx(0, abs=1e-9),) * 2  # whichever heads are drawn


def test_an_order_that_few_heads_show_is_uncertain():
    """Some heads climb with the hops, others go down: drawing heads anew tells."""
    random = Random(2)
    planted = {
        (f"answer←s{2 * hop}", random.randrange(LAYERS), head): 0.3
        for hop in (1, 2, 3)
        for head in range(HEADS)
    }
    _, answer = orders(measured(planted))
    assert answer.interval is not None
    low, high = answer.interval
    assert low < 0 < high
    assert low < answer.correlation < high


def test_rank_correlation_is_that_of_the_ranks():
    random = Random(3)
    points = [(random.randrange(4), random.randrange(6)) for _ in range(40)]

    def ranks(values):
        return [sum(w < v for w in values) + (values.count(v) + 1) / 2 for v in values]

    x, y = (ranks([point[i] for point in points]) for i in (0, 1))
    assert rank_correlation(*zip(*points, strict=True)) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert rank_correlation([1, 1, 1], [2, 3, 4]) == 0


def everyone():
    return [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]


def test_drawn_heads_are_others_and_stand_as_told():
    ranked = sorted(everyone(), key=lambda head: Random(str(head)).random())
    tried = trials(ranked, [1, 5, 12], 3, ("a", 1))
    assert tried == trials(ranked, [1, 5, 12], 3, ("a", 1))
    assert tried != trials(ranked, [1, 5, 12], 3, ("a", 2))
    assert tried[0] == Trial("none", 0, frozenset())
    assert [(one.kind, one.top) for one in tried[1:8]] == [
        ("top", 1),
        *[("matched", 1), ("random", 1)] * 3,
    ]
    layers = [sum(place[0] == layer for place in ranked[:5]) for layer in range(LAYERS)]
    for one in tried[1:]:
        assert len(one.heads) == one.top
        best = set(ranked[: one.top])
        assert (one.heads == best) if one.kind == "top" else not one.heads & best
        if one.kind == "matched" and one.top == 5:
            drawn = [sum(place[0] == layer for place in one.heads) for layer in range(LAYERS)]
            assert drawn == layers
    assert len({one.heads for one in tried if one.kind == "random"}) > 6


def test_a_layer_without_other_heads_gives_those_of_the_nearest():
    ranked = [*((3, head) for head in range(HEADS)), *(one for one in everyone() if one[0] != 3)]
    drawn = next(one for one in trials(ranked, [4], 1, ()) if one.kind == "matched")
    assert all(layer in (2, 4) for layer, _ in drawn.heads)


def test_what_is_kept_is_all_but_the_heads():
    keep = keep_of([Trial("top", 2, frozenset({(0, 1), (4, 3)}))], LAYERS, HEADS)
    assert (~keep).nonzero().tolist() == [[0, 0, 1], [0, 4, 3]]


def answer(kind, top, right, wrong=-1.0):
    """An outcome: the log-probability of the first answer, and of the three others."""
    ended = [right, wrong, wrong, wrong]
    return {"kind": kind, "top": top, "said": ended, "ended": ended}


def lines(count, top, drawn):
    """Outcomes of questions: by chance right with these probabilities."""
    random = Random(5)

    def one(kind, number, p):
        return answer(kind, number, 0.0 if random.random() < p else -2.0)

    return [
        {
            "outcomes": [
                one("none", 0, 0.9),
                one("top", 3, top),
                *(one("random", 3, drawn) for _ in range(4)),
            ]
        }
        for _ in range(count)
    ]


def test_effects_are_paired_and_their_intervals_hold_the_truth():
    whole, top, drawn = effects(lines(200, 0.3, 0.7), [0] * 200)
    assert (whole.kind, whole.sets, whole.top_less) == ("none", 1, None)
    assert (top.top, top.sets, top.questions, top.top_less) == (3, 1, 200, None)
    assert (drawn.kind, drawn.sets) == ("random", 4)
    for one, truth in ((whole, 0.9), (top, 0.3), (drawn, 0.7)):
        mean, low, high = one.found["argmax"]
        assert low < truth < high
        assert low < mean < high
    assert drawn.top_less is not None
    mean, low, high = drawn.top_less["argmax"]
    assert low < -0.4 < high
    assert mean == pytest.approx(top.found["argmax"][0] - drawn.found["argmax"][0])
    assert drawn.top_less["margin"][0] == pytest.approx(2 * mean)  # 1 if right, -1 if not


def test_no_difference_is_seen_where_there_is_none():
    _, _, drawn = effects(lines(200, 0.5, 0.5), [0] * 200)
    assert drawn.top_less is not None
    _, low, high = drawn.top_less["argmax"]
    assert low < 0 < high


def test_measures_are_those_of_the_right_answer():
    found = measure(answer("none", 0, math.log(0.4), math.log(0.1)), 0)
    assert found == {
        "argmax": 1.0,
        "expectation": pytest.approx(4 / 7),
        "margin": pytest.approx(math.log(4)),
        "log_p": pytest.approx(math.log(0.4)),
        "mass": pytest.approx(0.7),
    }
    other = measure(answer("none", 0, math.log(0.4), math.log(0.1)), 2)
    assert other["argmax"] == 0
    assert other["expectation"] == pytest.approx(1 / 7)
    assert other["margin"] == pytest.approx(-math.log(4) / 3)


def test_a_favourite_answer_is_no_knowledge_and_makes_nothing_uncertain():
    """A model that always prefers the first answer: as many questions have each by design."""
    ranks = [0, 1, 2, 3] * 10
    told = [{"outcomes": [answer("none", 0, -0.1, -3.0)]} for _ in ranks]
    (whole,) = effects(told, ranks)
    assert whole.found["margin"] == (pytest.approx(0, abs=1e-9),) * 3
    assert whole.found["expectation"] == (pytest.approx(0.25),) * 3
    assert whole.found["argmax"][0] == 0.25
