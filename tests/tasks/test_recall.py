import math
import random
from collections import Counter

import pytest
import torch

from headway.errors import HeadwayError
from headway.tasks import RecallConfig, make_task

TINY = RecallConfig(n_subjects=2, n_relations=2, n_answers=3, n_noise=2, length=4)


def sample(config, count, seed=0):
    task = make_task(config)
    return task, task.sample(count, torch.Generator().manual_seed(seed))


def reference(task, draw):
    """One sequence, place by place: its tokens and its answer."""
    config = task.config
    subject, relation = draw.randrange(config.n_subjects), draw.randrange(config.n_relations)
    places = list(range(config.length - 1))
    draw.shuffle(places)
    tokens = [task.first_noise + draw.randrange(config.n_noise) for _ in range(config.length)]
    tokens[places[0]] = subject
    tokens[places[1]] = task.first_relation + relation
    tokens[-1] = task.eos
    return (*tokens, task.facts[subject, relation].item())


def test_sequences_come_as_often_as_from_the_reference_sampler():
    count = 24_000
    task, batch = sample(TINY, count)
    rows = torch.cat([batch.inputs[..., 0], batch.targets[:, 0]], dim=1).tolist()
    draw = random.Random(0)
    ours, theirs = Counter(map(tuple, rows)), Counter(reference(task, draw) for _ in range(count))
    assert set(ours) == set(theirs)
    cells = 2 * 2 * 6 * 2  # subjects, relations, pairs of places, noise
    assert len(ours) == cells
    expected = count / cells
    for counts in (ours, theirs):
        statistic = sum((n - expected) ** 2 / expected for n in counts.values())
        assert statistic < cells - 1 + 5 * math.sqrt(2 * (cells - 1))


def test_sequences_are_made_as_told():
    config = RecallConfig(n_subjects=5, n_relations=3, n_answers=4, n_noise=6, length=9)
    task, batch = sample(config, 300)
    assert task.vocabulary == task.d_target == 5 + 3 + 6 + 1 + 12
    assert (batch.inputs[..., 1] == torch.arange(9)).all()
    tokens = batch.inputs[..., 0]
    assert (tokens[:, -1] == task.eos).all()
    targets = batch.targets.flatten().tolist()
    for row, roles, target in zip(tokens.tolist(), batch.roles.tolist(), targets, strict=True):
        (last,), (at_subject,), (at_relation,) = roles
        assert last == 8
        subject, relation = row[at_subject], row[at_relation] - 5
        assert 0 <= subject < 5
        assert 0 <= relation < 3
        assert target == task.facts[subject, relation]
        rest = [token for i, token in enumerate(row) if i not in (last, at_subject, at_relation)]
        assert all(task.first_noise <= token < task.eos for token in rest)
    assert {row[-1] for row in batch.roles[:, 0].tolist()} == {8}


def test_answers_are_those_of_their_relation_alone():
    config = RecallConfig(n_subjects=200, n_relations=3, n_answers=4)
    task = make_task(config)
    for relation in range(3):
        own = set(task.answers[relation].tolist())
        assert set(task.facts[:, relation].tolist()) == own
    assert len(set(task.answers.flatten().tolist())) == 12
    assert task.answers.max() < task.vocabulary
    assert torch.equal(task.facts, make_task(config).facts)


def test_attention_can_go_to_the_subject_and_to_the_relation():
    task, batch = sample(RecallConfig(), 20)
    relations = task.relations(batch)
    tokens = batch.inputs[..., 0]
    for name, low, high in (("EOS→subject", 0, 16), ("EOS→relation", 16, 20)):
        assert name in task.path_names
        relation = relations[name]
        assert (relation.queries == task.length - 1).all()
        found = tokens.gather(1, relation.keys[..., 0])
        assert ((found >= low) & (found < high)).all()


def test_three_positions_need_no_noise():
    task, batch = sample(RecallConfig(n_noise=0, length=3), 100)
    assert task.vocabulary == 16 + 4 + 1 + 32
    assert (batch.inputs[:, :2, 0] < 20).all()


def test_references_are_logarithms_of_what_is_left():
    losses = make_task(RecallConfig()).reference_losses()
    assert losses["any answer"] == pytest.approx(math.log(32))
    assert losses["any answer of the relation"] == pytest.approx(math.log(8))
    assert losses["uniform"] == pytest.approx(math.log(16 + 4 + 8 + 1 + 32))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"n_subjects": 0}, "task.n_subjects = 0 is not allowed"),
        ({"n_relations": 0}, "task.n_relations = 0 is not allowed"),
        ({"n_answers": 0}, "task.n_answers = 0 is not allowed"),
        ({"n_noise": 0}, "task.n_noise = 0 is not allowed"),
        ({"length": 2}, "task.length = 2 is not allowed"),
        ({"n_noise": -1, "length": 3}, "task.n_noise = -1 is not allowed"),
        ({"n_subjects": True}, "task.n_subjects = True is not allowed"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(fields, complaint):
    with pytest.raises(HeadwayError) as caught:
        RecallConfig(**fields)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)
