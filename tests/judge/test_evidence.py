"""Certificates say no where they should, and name what could stand in."""

import signal
import threading
import time
from dataclasses import replace

import pytest
import torch

from headway.find import discover
from headway.judge import Yardstick, evidence
from headway.judge.by_exchange import judge
from headway.judge.evidence import evidence_for
from headway.models import Tappable
from headway.replace import Bench
from headway.replace.exchange import Exchange
from headway.replace.subject import Subject
from headway.training import held_out
from headway_experiments.arena import compiled, planted
from known_circuits import Foreign, true_circuit


@pytest.fixture(scope="module")
def known():
    return compiled(2)


@pytest.fixture(scope="module")
def broken(known):
    """The true circuit without its last path, and what is measured of it."""
    whole = true_circuit(known)
    circuit = whole.without(whole.paths[-1])
    return discover(
        known.model, known.task, circuit=circuit, sequences=8, trials=False, workers=1
    )


def bench_of(known):
    batch = held_out(known.task, 8, 0, "cpu", "certificate")
    return Bench(known.model, known.task, batch)


def test_intervals_are_of_the_circuit_and_of_the_model(broken):
    evidence = broken.evidence
    assert evidence.intact_interval[1] < 0.01 < 0.4 < evidence.interval[0]


def test_the_seed_decides_on_which_further_sequences_intervals_are_measured(
    broken, known, monkeypatch
):
    monkeypatch.setattr(evidence, "DRAWN", 16)
    bench = bench_of(known)
    about = bench, broken.circuit, bench.patterns.attention, Yardstick.of(bench)

    def interval(seed):
        subject = Subject(known.model, known.task, seed)
        return evidence_for(*about, subject, (None, ""))[1].interval

    first = interval(seed=0)
    assert interval(seed=0) == first
    assert interval(seed=1) != first


def test_heads_are_replaced_one_by_one(broken):
    lost = {head for head, loss in broken.evidence.alone.items() if loss > 0.4}
    assert lost == {(2, 0)}


def test_the_losses_without_a_path_are_its_own(broken, known):
    bench = bench_of(known)
    for needed in broken.evidence.necessity:
        loss = bench.loss(broken.circuit.without(needed.path))
        assert (needed.attention, needed.loss) == pytest.approx((1.0, loss), rel=1e-5)


def test_the_judgement_is_of_other_sequences_than_the_search(broken, known):
    subject = Subject(known.model, known.task, seed=0)
    exchange = Exchange.among(known.model, known.task, subject.partners(8, "exchange"))
    assert judge(exchange, broken.circuit) == broken.evidence.judgement
    searched = subject.sequences(8, "circuit").inputs
    assert not torch.equal(exchange.batch.inputs, searched)


def test_the_findings_do_not_depend_on_the_workers(known):
    one, four = (
        discover(known.model, known.task, sequences=16, workers=workers)
        for workers in (1, 4)
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


@pytest.mark.parametrize(
    ("make", "seed"), [(compiled, 2), pytest.param(planted, 3, marks=pytest.mark.slow)]
)
def test_a_foreign_model_is_discovered_and_certified_alike(make, seed):
    known = make(seed)
    foreign = Foreign(known.model)
    assert isinstance(foreign, Tappable)
    how = {"sequences": 32, "trials": False}
    own = discover(known.model, known.task, **how)
    other = discover(foreign, known.task, **how)
    assert other.circuit == own.circuit
    assert other.replaced_loss == pytest.approx(own.replaced_loss, abs=1e-5)
    assert set(known.required) <= set(other.circuit.paths)
    assert other.faithful
    assert other.evidence.minimum == own.evidence.minimum
