import math
import random
from collections import Counter

import pytest
import torch

from headway_experiments.tasks import Recall
from sampling import sample

TINY = Recall(n_subjects=2, n_relations=2, n_answers=3, n_noise=2, length=4)


def reference(task, draw):
    """One sequence, place by place: its tokens and its answer."""
    subject = draw.randrange(task.n_subjects)
    relation = draw.randrange(task.n_relations)
    places = list(range(task.length - 1))
    draw.shuffle(places)
    tokens = [
        task.first_noise + draw.randrange(task.n_noise) for _ in range(task.length)
    ]
    tokens[places[0]] = subject
    tokens[places[1]] = task.n_subjects + relation
    tokens[-1] = task.eos
    return (*tokens, task.facts()[subject, relation].item())


def test_sequences_come_as_often_as_from_the_reference_sampler():
    count = 24_000
    batch = sample(TINY, count)
    rows = torch.cat([batch.inputs, batch.targets[:, 0]], dim=1).tolist()
    draw = random.Random(0)
    ours = Counter(map(tuple, rows))
    theirs = Counter(reference(TINY, draw) for _ in range(count))
    assert set(ours) == set(theirs)
    cells = 2 * 2 * 6 * 2  # subjects, relations, pairs of places, noise
    assert len(ours) == cells
    expected = count / cells
    for counts in (ours, theirs):
        statistic = sum((n - expected) ** 2 / expected for n in counts.values())
        assert statistic < cells - 1 + 5 * math.sqrt(2 * (cells - 1))


LARGER = Recall(n_subjects=5, n_relations=3, n_answers=4, n_noise=6, length=9)


def test_every_kind_of_token_has_its_numbers():
    assert LARGER.vocabulary == LARGER.d_target
    assert LARGER.d_target == (5 + 3 + 6 + 1 + 12)


def test_a_sequence_asks_at_its_last_token():
    batch = sample(LARGER, 300)
    assert batch.inputs.shape == (300, 9)
    assert (batch.inputs[:, -1] == LARGER.eos).all()
    assert (batch.roles[:, 0] == 8).all()


def test_a_fact_is_asked_of_the_subject_and_the_relation():
    batch = sample(LARGER, 300)
    tokens = batch.inputs.gather(1, batch.roles[..., 0])
    subjects = tokens[:, 1]
    relations = tokens[:, 2] - 5
    assert set(subjects.tolist()) == set(range(5))
    assert set(relations.tolist()) == set(range(3))
    assert torch.equal(batch.targets.flatten(), LARGER.facts()[subjects, relations])


def test_all_other_tokens_are_noise():
    batch = sample(LARGER, 300)
    others = batch.inputs.scatter(1, batch.roles[..., 0], LARGER.first_noise)
    assert (others >= LARGER.first_noise).all()
    assert (others < LARGER.eos).all()


def test_answers_are_those_of_their_relation_alone():
    task = Recall(n_subjects=200, n_relations=3, n_answers=4)
    facts = task.facts()
    answers = task.answers()
    for relation in range(3):
        assert set(facts[:, relation].tolist()) == set(answers[relation].tolist())
    assert len(set(answers.flatten().tolist())) == 12
    assert answers.max() < task.vocabulary
    assert torch.equal(
        facts, Recall(n_subjects=200, n_relations=3, n_answers=4).facts()
    )


def test_attention_can_go_to_the_subject_and_to_the_relation():
    task = Recall()
    batch = sample(task, 20)
    relations = task.relations(batch)
    tokens = batch.inputs
    for name, low, high in (("EOS←subject", 0, 16), ("EOS←relation", 16, 20)):
        relation = relations[name]
        assert relation.use == "path"
        assert (relation.queries == task.length - 1).all()
        found = tokens.gather(1, relation.keys[..., 0])
        assert ((found >= low) & (found < high)).all()


def test_three_positions_need_no_noise():
    task = Recall(n_noise=0, length=3)
    batch = sample(task, 100)
    assert task.vocabulary == 16 + 4 + 1 + 32
    assert (batch.inputs[:, :2] < 20).all()


def test_references_are_logarithms_of_what_is_left():
    losses = Recall().references()
    assert losses["any answer"] == pytest.approx(math.log(32))
    assert losses["any answer of the relation"] == pytest.approx(math.log(8))
    assert losses["uniform"] == pytest.approx(math.log(16 + 4 + 8 + 1 + 32))
