import math
from collections import Counter

import pytest

from headway_experiments.tasks import Associations
from sampling import sample


def items_of(batch):
    return batch.inputs[:, 0].tolist()


def test_an_item_stands_alone_and_its_class_is_asked_for():
    task = Associations(n_items=9, n_classes=3)
    batch = sample(task, 200)
    assert batch.inputs.shape == (200, 1)
    assert batch.targets.shape == (200, 1, 1)
    classes = task.classes().tolist()
    assert [
        classes[item] for item in items_of(batch)
    ] == batch.targets.flatten().tolist()
    assert set(classes) == {0, 1, 2}
    assert task.length == 1
    assert task.n_read == 1
    assert task.vocabulary == 9
    assert task.d_target == 3
    assert task.relations(batch) == {}
    assert task.kind == "associations"
    assert task.label == "N=9"
    assert task.hops == ("class",)


def test_without_classes_every_item_is_its_own():
    batch = sample(Associations(n_items=7), 50)
    assert items_of(batch) == batch.targets.flatten().tolist()


def test_the_map_is_that_of_the_task_and_not_of_a_seed():
    once = Associations(n_items=40, n_classes=5).classes().tolist()
    again = Associations(n_items=40, n_classes=5).classes().tolist()
    assert once == again
    assert len(set(once)) == 5


@pytest.mark.parametrize("rounds", [1, 3])
def test_all_items_come_once_before_any_comes_again(rounds):
    n = 11
    batch = sample(Associations(n_items=n), rounds * n + 4)
    items = items_of(batch)
    parts = [items[i * n : (i + 1) * n] for i in range(rounds)]
    for part in parts:
        assert sorted(part) == list(range(n))
    assert len(set(items[rounds * n :])) == 4
    other = sample(Associations(n_items=n), rounds * n + 4, seed=1)
    assert items_of(other) != items


def test_references_are_entropies():
    uniform = Associations(n_items=8).references()
    expected = {"uniform": math.log(8), "frequencies of classes": math.log(8)}
    assert uniform == pytest.approx(expected)
    task = Associations(n_items=9, n_classes=3)
    p = [count / 9 for count in Counter(task.classes().tolist()).values()]
    entropy = -sum(x * math.log(x) for x in p)
    assert task.references()["frequencies of classes"] == pytest.approx(entropy)
