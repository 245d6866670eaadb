"""The tests of Shi et al. (2024) reject what they should, and say p-values that are right."""

import json
import shutil
from dataclasses import replace
from functools import cache
from math import comb
from pathlib import Path as FilePath
from random import Random

import pytest
import torch

from headway.circuits import (
    Bench,
    Circuit,
    Path,
    Paths,
    Uniform,
)
from headway.circuits.evidence import with_path
from headway.circuits.search import free_above
from headway.circuits.subject import Subject
from headway.cli import main
from headway.errors import HeadwayError
from headway.training import held_out
from headway_experiments.arena import Known, compiled
from headway_experiments.hypotheses import Hypotheses, hypotheses
from headway_experiments.hypotheses.independence import independence
from headway_experiments.hypotheses.random_routes import RandomRoutes
from headway_experiments.hypotheses.tested import FLEXIBLE, IDEAL
from headway_experiments.hypotheses.testing import Tests, require_enough
from known_circuits import Foreign, true_circuit

GOLDEN = FilePath(__file__).parents[2] / "golden/run"
FEW = {"sequences": 32, "random_circuits": 29}
JOIN, ANSWER = Path.parse("L0.H0 s2←s1"), Path.parse("L1.H0 s0←s2")


@cache
def known() -> Known:
    return compiled(1)


@cache
def outcome(*more: Path) -> Hypotheses:
    circuit = true_circuit(known())
    for path in more:
        circuit = with_path(circuit, path)
    return hypotheses(known().model, known().task, circuit, **FEW)


def test_a_known_circuit_passes_all_five():
    found = outcome()
    assert found.passed == dict.fromkeys((*IDEAL, *FLEXIBLE), True)
    assert found.equivalence.ties == 32  # it is the model
    assert found.sufficiency.better == found.necessity.better == 29
    assert found.p_values["sufficiency"] == pytest.approx(0.9**29)
    assert found == replace(outcome.__wrapped__(), seconds=found.seconds)
    assert json.loads(json.dumps(found.to_json()))["passed"] == found.passed


def test_a_path_that_does_nothing_is_not_minimal():
    spare = Path.parse("L1.H0 s2←s1")  # moves something in the last layer, where nobody reads
    found = outcome(spare)
    weak = [cut.path for cut in found.minimality.paths if cut.p_value <= found.level]
    assert weak == [spare]
    assert not found.passed["minimality"]
    (cut,) = (cut for cut in found.minimality.paths if cut.path == spare)
    assert (cut.effect, cut.free, cut.above) == (0, 0, 0)
    assert found.passed["equivalence"]
    assert "rejected for 1 of 3" in " ".join(str(found).split())


def test_what_only_tells_others_where_to_look_is_missed_in_one_way_alone():
    join, answer = outcome().minimality.paths
    assert (join.path, answer.path) == (JOIN, ANSWER)
    assert join.effect < 1e-6 < 0.1 < join.free
    assert join.forced_p_value < 0.05 < join.p_value
    assert answer.forced_p_value == answer.p_value == 1


def test_half_a_circuit_is_not_equivalent_and_not_sufficient():
    circuit = true_circuit(known()).without(ANSWER)
    found = hypotheses(known().model, known().task, circuit, **FEW)
    assert found.equivalence.better == 0
    assert found.p_values["equivalence"] == pytest.approx(0.6**32 + 0.4**32)
    assert not found.passed["equivalence"]
    assert not found.passed["sufficiency"]
    assert found.passed["independence"] is (found.independence.p_value > 0.05)


def test_effects_and_distances_are_what_their_definitions_say():
    one = known()
    circuit = true_circuit(one)
    tests = Tests(Subject(one.model, one.task, circuit, "zero", 3, None), 16, 29, 0.9)
    bench = Bench(one.model, one.task, tests.bench.batch, shared=False)

    def score(candidate) -> torch.Tensor:
        return -bench.errors([candidate])[0].mean(-1)

    without = circuit.without(JOIN)
    (forced,), (free,) = tests.effects([(circuit, JOIN)])
    assert forced == pytest.approx((score(circuit) - score(without)).abs().mean().item(), abs=1e-5)
    looser = score(free_above(circuit, 0)) - score(free_above(without, 0))
    assert free == pytest.approx(looser.abs().mean().item(), abs=1e-5)
    assert tests.necessity().apart == pytest.approx(
        (score(circuit.complement) - score({})).abs().mean().item(), abs=1e-5
    )


@pytest.mark.parametrize(("better", "count", "epsilon"), [(3, 9, 0.1), (20, 20, 0.0), (5, 10, 0.0)])
def test_the_sign_test_counts_what_is_as_far_from_half(better, count, epsilon):
    from headway_experiments.hypotheses.testing import _lopsided

    p = 0.5 + epsilon
    ways = (
        comb(count, k) * p**k * (1 - p) ** (count - k)
        for k in range(count + 1)
        if abs(k - count / 2) >= abs(better - count / 2)
    )
    assert _lopsided(better, count, epsilon) == pytest.approx(min(1, sum(ways)))


def test_the_criterion_is_the_trace_of_centred_kernels():
    generator = torch.Generator().manual_seed(0)
    one = torch.randn(40, generator=generator, dtype=torch.double)
    other = one.square() + 0.1

    def kernel(x: torch.Tensor) -> torch.Tensor:
        apart = (x[:, None] - x).abs()
        return torch.exp(-(apart**2) / (2 * apart[apart > 0].median() ** 2))

    centre = torch.eye(40, dtype=torch.double) - 1 / 40
    trace = (centre @ kernel(one) @ centre @ kernel(other)).trace().item() / 39**2
    found, p_value = independence(one, other, 99, 0)
    assert found == pytest.approx(trace)
    assert p_value == 0.01  # it depends, though without any correlation
    assert independence(one, torch.ones(40), 9, 0) == (pytest.approx(0, abs=1e-12), 1.0)


def test_what_is_independent_is_rejected_as_often_as_the_level_says():
    generator = torch.Generator().manual_seed(1)
    drawn = torch.rand(200, 2, 10, generator=generator)
    rejected = sum(independence(*two, 19, i)[1] <= 0.1 for i, two in enumerate(drawn))
    assert 200 * 0.1 - 3 * (200 * 0.09) ** 0.5 < rejected < 200 * 0.1 + 3 * (200 * 0.09) ** 0.5


def test_routes_lead_to_where_answers_are_read():
    one = compiled(2)
    batch = held_out(one.task, 8, 0, "cpu", "routes")
    bench = Bench(one.model, one.task, batch)
    routes = RandomRoutes(bench, Random(0))
    last = {path.relation for path in routes.paths if path.layer == one.model.n_layers - 1}
    assert {name.partition("←")[0] for name in last} == {"s0"}
    circuit = true_circuit(one).paths
    drawn = [routes.draw() for _ in range(200)]
    assert {path for route in drawn for path in route} <= set(routes.paths)
    assert any(len(route) > 1 for route in drawn)
    others = [routes.other(circuit) for _ in range(20)]
    assert all(len(other) >= len(circuit) and not set(circuit) <= other for other in others)
    assert all(not routes.outside(circuit) & set(circuit) for _ in range(20))
    with pytest.raises(HeadwayError, match="paths along which these heads can bring"):
        routes.require_outside(routes.paths)


def test_a_foreign_model_is_tested_alike():
    found = hypotheses(Foreign(known().model), known().task, true_circuit(known()), **FEW)
    own = outcome()
    assert found.independence.criterion == pytest.approx(own.independence.criterion, rel=1e-3)
    assert found.equivalence.loss == pytest.approx(own.equivalence.loss, abs=1e-5)
    assert found.passed["sufficiency"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"level": 0.0}, "level = 0.0 is not allowed: it must be above 0 and below 1"),
        ({"level": 1.0}, "level = 1.0 is not allowed"),
        ({"quantile": 1.0}, "quantile = 1.0 is not allowed"),
        ({"epsilon": 0.5}, "epsilon = 0.5 is not allowed: it must be from 0 and below 0.5"),
        ({"sequences": 7}, r"sequences = 7 is not allowed: .* from 8 \(for a test at level 0.05"),
        ({"sequences": 8, "epsilon": 0.2}, r"sequences = 8 is not allowed: .* from 9 \("),
        ({"level": 0.01, "sequences": 9}, r"sequences = 9 is not allowed: .* from 10 \("),
        ({"random_circuits": 28}, r"random_circuits = 28 is not allowed: .* from 29 \(for a test"),
        ({"level": 1e-9}, "level = 1e-09 with epsilon = 0.1 takes more than"),
        ({"step": 3}, "step = 3 is not allowed"),
        ({"circuit": Circuit({(0, 0): Uniform()})}, "head = .* every head of the model"),
        (
            {"circuit": Circuit({(0, 0): Uniform(), (1, 0): Paths(frozenset())})},
            "circuit: it has no path, so that there is nothing to test",
        ),
    ],
)
def test_what_cannot_be_tested_is_told(asked, said):
    given = {"task": known().task, "circuit": true_circuit(known()), **FEW, **asked}
    with pytest.raises(HeadwayError, match=said):
        hypotheses(known().model, **given)


def test_as_many_as_are_asked_for_can_reject():
    require_enough(0.05, 0.1, 0.9, 8, 29)
    assert 0.9**29 <= 0.05 < 0.9**28


def test_the_verb_writes_what_it_found_where_it_is_told_and_nothing_else(tmp_path, capsys):
    folder, file = shutil.copytree(GOLDEN, tmp_path / "run"), tmp_path / "found.json"
    before = sorted(path.name for path in folder.rglob("[!.]*"))
    words = ("hypotheses", str(folder), "--sequences", "8", "--random-circuits", "29")
    main([*words, "--file", str(file)])
    told, found = capsys.readouterr().out, json.loads(file.read_text())
    assert max(map(len, told.replace(str(file), "").splitlines())) <= 80
    assert (found["step"], found["seed"], found["sequences"]) == (4, 0, 8)
    assert found["circuit"] == json.loads((folder / "circuit.json").read_text())["heads"]
    main([*words, "--circuit", str(folder / "circuit.json")])
    assert capsys.readouterr().out == told.partition("written to")[0]
    assert sorted(path.name for path in folder.rglob("[!.]*")) == before
