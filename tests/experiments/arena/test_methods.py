"""Methods on the induction circuit, whose paths are known."""

import pytest
import torch

from headway.find import discover
from headway.relations import AttentionPath
from headway.replace import Circuit, Paths
from headway_experiments.arena import compiled, methods
from headway_experiments.arena.methods import METHODS
from headway_experiments.arena.scoring import score
from headway_experiments.arena.subject import Subject
from sampling import read


def subject_of(sequences: int = 16) -> Subject:
    known = compiled(1)
    return Subject(known, sequences)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_scores_every_path_and_counts_its_passes(name):
    subject = subject_of()
    answer = METHODS[name](subject)
    assert set(answer.paths) == set(subject.paths)
    assert answer.chosen is None or answer.chosen <= set(subject.paths)
    passes = subject.passes if answer.passes is None else answer.passes
    assert (passes == 0) == (name == "random")


@pytest.mark.parametrize(
    "name", ["headway", "blind", "EAP-IG", "ACDC", "ACDC corrupted"]
)
def test_the_induction_circuit_is_found(name):
    subject = subject_of()
    result = score(subject, METHODS[name](subject), 0.0)
    assert result.exact
    assert result.missing == ()
    assert result.extra == ()
    assert result.paths_ap == 1
    assert result.heads_f1 == 1
    assert result.pairs_f1 == pytest.approx(1)


def test_the_search_is_that_of_discover():
    known = compiled(2)
    subject = Subject(known, 32)
    found = discover(known.model, known.task, sequences=32, trials=False)
    assert METHODS["headway"](subject).chosen == set(found.circuit.paths)


def test_a_path_along_another_relation_gets_the_name_of_the_nearest():
    subject = subject_of()
    circuit = Circuit({(0, 0): Paths(("1 back",)), (1, 0): Paths(("s0←s2",))})
    chosen, pairs = methods._named(subject, circuit)
    assert chosen == {
        AttentionPath.parse(path) for path in ("L0.H0 s2←s1", "L1.H0 s0←s2")
    }
    assert torch.equal(pairs[:, 1], subject.pairs(chosen)[:, 1])
    assert pairs[:, 0].sum() == 16 * (subject.task.length - 1)


def test_what_is_summed_along_a_relation_stands_at_its_edges():
    subject = subject_of(8)
    values = torch.rand(8, 2, 1, subject.task.length, subject.task.length)
    summed = subject.along(values)
    for path, total in summed.items():
        edges = subject.relations[path.relation]
        of_head = values[:, path.layer, path.head]
        by_hand = 0.0
        for sequence in range(8):
            for query, keys in read(edges, sequence).items():
                by_hand += of_head[sequence, query, keys].sum().item()
        assert total == pytest.approx(by_hand, rel=1e-4)
