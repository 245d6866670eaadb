"""Discovery and emergence on a model that learnt to follow one hop."""

import pytest

from headway.circuits import (
    Bench,
    Discovery,
    Timeline,
    Uniform,
    discover,
    emergence,
    saved_discovery,
)
from headway.circuits.emergence import crossing, learnt_in_order
from headway.errors import HeadwayError
from headway.tasks import Conditional
from headway.theory import minimum_layers
from headway.training import Run, held_out, train


@pytest.fixture(scope="module")
def found(solved) -> Discovery:
    return discover(solved)


def test_the_circuit_is_the_induction_circuit(found):
    assert found.faithful
    assert found.replaced_loss < 0.05
    first, second = found.circuit.useful_heads
    by_head = {
        head: {p[2] for p in found.circuit.paths if p[:2] == head} for head in (first, second)
    }
    assert by_head[first] == {"s2→s1"}
    assert by_head[second] == {"s0→s2"}
    assert len(found.circuit.useful_layers) == minimum_layers(1)


def test_the_evidence_is_what_the_model_does(solved, found):
    batch = held_out(solved.task, found.sequences, solved.config.seed, "cpu", "certificate")
    bench = Bench(solved.model(), solved.task, batch)
    assert bench.loss() == pytest.approx(found.intact_loss, rel=1e-5)
    assert bench.loss(found.circuit) == pytest.approx(found.replaced_loss, rel=1e-5)
    assert len(found.necessity) == len(found.circuit.paths)
    for n in found.necessity:
        assert bench.loss(found.circuit.without(n.path)) == pytest.approx(n.loss, rel=1e-5)
        uniform = found.circuit.replacing(n.path[:2], Uniform())
        assert bench.loss(uniform) == pytest.approx(n.uniform, rel=1e-5)


def test_no_path_can_be_cut(found):
    for n in found.necessity:
        assert max(n.loss, n.free) >= found.threshold
    pair, retrieval = found.necessity
    # With the head above attending as if it had found its key, nobody misses the pair head.
    assert pair.uniform < found.threshold < pair.free
    assert retrieval.loss - found.replaced_loss > 0.05


def test_what_was_found_is_left_in_the_folder(solved, found):
    assert saved_discovery(solved) == found
    assert Discovery.from_json(found.to_json()) == found


def test_a_model_that_has_not_learnt_has_no_circuit(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    with pytest.raises(HeadwayError, match=r"no circuit to find at threshold 0.05.*x_1 \d"):
        discover(run)
    with pytest.raises(HeadwayError, match="no circuit yet"):
        saved_discovery(run)


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("inf"), float("nan")])
def test_a_threshold_out_of_range_is_refused(solved, threshold):
    with pytest.raises(HeadwayError, match=r"threshold = .* is not allowed"):
        discover(solved, threshold=threshold)


def test_emergence_dates_what_was_learnt(solved, found):
    timeline = emergence(solved, found)
    assert timeline.steps == solved.checkpoint_steps()
    assert [history.path for history in timeline.paths] == found.circuit.paths
    for history in timeline.paths:
        assert len(history.attention) == len(timeline.steps)
        assert history.attention[0] < 0.5 < history.attention[-1]
        assert history.born is not None
        before = max(s for s in timeline.steps if s <= history.born)
        assert history.attention[timeline.steps.index(before)] <= 0.5
    learnt = timeline.hops["x_1"]
    assert learnt is not None
    around = [m["partial"]["x_1"] for m in solved.metrics() if abs(m["step"] - learnt) <= 20]
    assert max(around) >= 0.5 > min(around)
    assert timeline.in_chain_order is None  # one hop has no order
    assert Timeline.from_json(Run.open(solved.folder).read("emergence.json")) == timeline


def test_a_circuit_of_another_model_is_refused(solved, found):
    larger = found.circuit.replacing(
        (9, 0), found.circuit.mechanisms[found.circuit.useful_heads[0]]
    )
    with pytest.raises(HeadwayError, match="circuit: path"):
        emergence(solved, larger)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.0, 0.25, 0.75, 0.2, 0.9], 15.0),
        ([0.6, 0.0, 0.0, 0.0, 0.0], 0.0),
        ([0.0, 0.1, 0.5, 0.5, 0.4], None),
        ([0.0, 0.0, 0.0, 0.0, 1.0], 35.0),
    ],
)
def test_crossing_is_the_first_one_interpolated(values, step):
    assert crossing([0, 10, 20, 30, 40], values, 0.5) == step


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ((1.0, 2.0, 3.0), True),
        ((1.0, 2.0, None), True),
        ((1.0, None, None), True),
        ((2.0, 1.0, 3.0), False),
        ((1.0, None, 3.0), False),
        ((None, None, None), None),
    ],
)
def test_in_chain_order(steps, verdict):
    hops = {f"x_{i}": step for i, step in enumerate(steps, 1)}
    assert learnt_in_order(hops, [("x_1", "x_2"), ("x_2", "x_3")]) is verdict


def test_conditional_hops_have_no_order_between_x_and_y():
    order = Conditional().hop_order
    assert learnt_in_order({"x": 2.0, "y": 1.0, "z": 3.0}, order) is True
    assert learnt_in_order({"x": 2.0, "y": 4.0, "z": 3.0}, order) is False
