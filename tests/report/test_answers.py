"""Answers with several paths cut at once, and their probabilities."""

from itertools import combinations

import numpy as np
import pytest
import torch
from own_tasks import TwoPlacesBack
from pages import page_data, report, unpacked
from tiny_runs import with_heads

from headway.judge.discovery import saved_discovery
from headway.replace.ablation import Bench
from headway.replace.mechanism import KnockOut
from headway.report import Findings
from headway.report.answers import MOST_SETS, n_set_steps, sets_of

PATHS = {(0, 0): ("2 back", "previous token"), (1, 0): ("first position",)}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return with_heads(tmp_path_factory.mktemp("own") / "own", TwoPlacesBack(), 1, PATHS)


def expected(run, cut):
    """Answers and probabilities [sequence, query] at the last step, with paths cut."""
    batch = Findings.of(run).sequences.part(slice(8))
    heads = {}
    for path in cut:
        heads.setdefault(path.at, set()).add(path.relation)
    replaced = {head: KnockOut(frozenset(names)) for head, names in heads.items()}
    with torch.no_grad():
        (outputs,) = Bench(run.model(), run.task, batch).outputs([replaced])
    chances, answers = outputs.softmax(-1).max(-1)
    return answers.numpy(), (100 * chances).round().numpy()


def shown(data, kind, cut, steps):
    """The same as the page has them."""
    answers, chances = [], []
    for sequence in data["sequences"]:
        size = -1, steps, len(sequence["questions"])
        given = unpacked(sequence[kind]["given"], *size)[cut, -1]
        answers.append([int(sequence["names"][number]) for number in given])
        chances.append(unpacked(sequence[kind]["chances"], *size)[cut, -1])
    return np.array(answers), np.array(chances)


def test_all_sets_of_few_paths_are_answered(run):
    data = page_data(report(run))
    paths = saved_discovery(run).circuit.paths
    assert data["cuts"] == [[0, 1], [0, 2], [1, 2], [0, 1, 2]]
    for number, cut in enumerate(data["cuts"]):
        told = shown(data, "together", number, len(data["cut_steps"]))
        right = expected(run, [paths[i] for i in cut])
        for one, other in zip(told, right, strict=True):
            np.testing.assert_array_equal(one, other)


def test_answers_have_the_probabilities_of_the_model(run):
    data = page_data(report(run))
    told = shown(data, "answers", 0, len(data["answer_steps"]))
    for one, other in zip(told, expected(run, []), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("n_paths", "n_asked", "largest"),
    [(0, 10, 0), (1, 10, 0), (8, 10, 8), (9, 10, 2), (8, 1000, 2), (40, 10, 0)],
)
def test_as_many_sets_are_answered_as_there_is_room_for(n_paths, n_asked, largest):
    paths = list(range(n_paths))
    sets = sets_of(paths, n_asked)
    sizes = range(2, largest + 1)
    assert sets == [cut for size in sizes for cut in combinations(paths, size)]
    assert len(sets) * n_set_steps(sets, n_asked) <= MOST_SETS
