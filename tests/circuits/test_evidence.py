"""Certificates say no where they should, and name what could stand in."""

import math
import signal
import threading
import time
from dataclasses import replace
from itertools import combinations

import pytest

from headway.circuits import Bench, Yardstick, discover, evidence, verdicts
from headway.circuits.evidence import evidence_for, serving
from headway.circuits.evidence import variants as evidence_variants
from headway.circuits.search import free_above
from headway.circuits.subject import Subject
from headway.models import Tappable
from headway.relations.paths import AttentionPath
from headway.training import held_out
from headway_experiments.arena import compiled, planted
from known_circuits import Foreign, true_circuit


@pytest.fixture(scope="module")
def known():
    return compiled(2)


SPARE = AttentionPath.of(1, 0, "s2←s4"), AttentionPath.of(2, 0, "s4←s3")


@pytest.mark.parametrize("extra", [(), SPARE[:1], SPARE], ids=len)
def test_paths_too_many_are_not_necessary_and_two_can_be_dropped_together(known, extra):
    found = discover(known.model, known.task, circuit=true_circuit(known, *extra), sequences=32)
    assert (found.faithful, found.necessary, found.minimal) == (True, not extra, not extra)
    evidence = found.evidence
    assert {n.path for n in evidence.necessity if n.worst < 0.05} == set(extra)
    assert evidence.pairs == (0 if extra else math.comb(4, 2))
    bench = Bench(known.model, known.task, held_out(known.task, 32, 0, "cpu", "certificate"))
    every = combinations(found.circuit.paths, 2)
    without = {(a, b): found.circuit.without(a).without(b) for a, b in every}
    pairs = [{p.first, p.second} for p in serving(bench, without, 0.05)]
    assert pairs == ([set(extra)] if len(extra) == 2 else [])
    assert not evidence.trials


@pytest.fixture(scope="module")
def broken(known):
    """The true circuit without its last path, and what is measured of it."""
    whole = true_circuit(known)
    circuit = whole.without(whole.paths[-1])
    return discover(known.model, known.task, circuit=circuit, sequences=8, trials=False, workers=1)


def test_intervals_are_of_the_circuit_and_of_the_model(broken):
    evidence = broken.evidence
    assert evidence.intact_interval[1] < 0.01 < 0.4 < evidence.interval[0]


def test_the_seed_decides_on_which_further_sequences_intervals_are_measured(
    broken, known, monkeypatch
):
    monkeypatch.setattr(evidence, "DRAWN", 16)
    bench = Bench(known.model, known.task, held_out(known.task, 8, 0, "cpu", "certificate"))
    about = bench, broken.circuit, bench.patterns.attention, Yardstick.of(bench)
    subjects = (Subject(known.model, known.task, seed) for seed in (0, 0, 1))
    first, again, other = (evidence_for(*about, one)[1].interval for one in subjects)
    assert first == again
    assert first != other


def test_heads_are_replaced_one_by_one(broken):
    lost = {head for head, loss in broken.evidence.alone.items() if loss > 0.4}
    assert lost == {(2, 0)}


def test_the_losses_without_a_path_are_its_own(broken, known):
    bench = Bench(known.model, known.task, held_out(known.task, 8, 0, "cpu", "certificate"))
    for needed in broken.evidence.necessity:
        cut = broken.circuit.without(needed.path)
        free = free_above(cut, needed.path.layer)
        expected = pytest.approx((1.0, bench.loss(cut), bench.loss(free)), rel=1e-5)
        assert (needed.attention, needed.loss, needed.free) == expected
        assert needed.worst == max(needed.loss, needed.free)


def test_rows_without_a_path_are_filled_in_every_way(broken, known):
    """The last layer has no path left, so that its rows decide."""
    batch = held_out(known.task, 8, 0, "cpu", "certificate")
    spoilt = broken.circuit.adding("L2.H0 s4←s3")
    ways = evidence_variants(Bench(known.model, known.task, batch), spoilt)
    for rows, loss in ways.items():
        bench = Bench(known.model, known.task, batch, rows)
        assert bench.loss(spoilt) == pytest.approx(loss, rel=1e-5)
    assert ways["own"] < 0.01 < 0.4 < ways["zero"]


def test_a_spare_head_is_a_back_up():
    known = planted(19)
    found = discover(known.model, known.task, sequences=32, trials=False)
    pairs = [{b.first, b.second} for b in found.evidence.backups]
    (spare,) = ({*a, *b} for a, b in known.alternatives if len(a) == len(b) == 1)
    assert pairs == [spare]


def test_the_findings_do_not_depend_on_the_workers(known):
    one, four = (
        discover(known.model, known.task, sequences=16, workers=workers) for workers in (1, 4)
    )
    assert replace(one, seconds=0.0) == replace(four, seconds=0.0)


def test_an_interrupted_search_ends_soon():
    known = planted(5)
    main = threading.main_thread().ident
    timer = threading.Timer(1.0, signal.pthread_kill, (main, signal.SIGINT))
    started = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        discover(known.model, known.task, sequences=4096)
    timer.join()
    assert time.perf_counter() - started < 20


def held(found):
    return [one.holds for one in verdicts(found)]


@pytest.mark.parametrize(
    ("make", "seed"), [(compiled, 2), pytest.param(planted, 3, marks=pytest.mark.slow)]
)
def test_a_foreign_model_is_discovered_and_certified_alike(make, seed):
    known = make(seed)
    foreign = Foreign(known.model)
    assert isinstance(foreign, Tappable)
    how = {"sequences": 32, "trials": False}
    own, other = (discover(model, known.task, **how) for model in (known.model, foreign))
    assert other.circuit == own.circuit
    assert other.replaced_loss == pytest.approx(own.replaced_loss, abs=1e-5)
    assert set(known.required) <= set(other.circuit.paths)
    assert other.faithful
    assert held(other) == held(own)
    assert other.evidence.minimum == own.evidence.minimum
