"""Discovery and emergence on a model that learnt to follow one hop."""

import shutil
from concurrent.futures import wait
from pathlib import Path

import pytest

import array_checks
from headway import Circuit, discover, emergence, every_circuit
from headway.dynamics import Timeline
from headway.dynamics.emergence import crossing, learnt_in_order
from headway.errors import HeadwayError
from headway.find import study
from headway.judge import Discovery, saved_discovery
from headway.judge.discovery import Refusal
from headway.relations.paths import AttentionPath
from headway.replace import Bench, Paths, Uniform
from headway.terminal import cli
from headway.theory import minimum_layers
from headway.training import Run, RunConfig, held_out, train
from headway.training.files import write_json
from headway_experiments.tasks import Associations

TABLES = {f"L{layer}.H0": "by table" for layer in range(3)}


@pytest.fixture(scope="module")
def found(solved) -> Discovery:
    return discover(solved)


def test_the_circuit_is_the_induction_circuit(found):
    assert found.faithful
    assert found.replaced_loss < 0.05
    first, second = found.circuit.useful_heads
    paths = [(path.at, path.relation) for path in found.circuit.paths]
    assert paths == [(first, "s2←s1"), (second, "s0←s2")]
    assert len(found.circuit.useful_layers) == minimum_layers(1)


def test_the_cost_so_far_is_told(solved, monkeypatch):
    monkeypatch.setattr(study, "wait", lambda futures, _: wait(futures, 0.001))
    costs: list[float] = []
    found = discover(solved.model(), solved.task, trials=False, watch=costs.append)
    assert 0 < costs[-1] == max(costs) < found.forwards + 1e-6


def test_the_evidence_is_what_the_model_does(solved, found):
    evidence = found.evidence
    batch = held_out(
        solved.task, evidence.sequences, solved.config.seed, "cpu", "certificate"
    )
    bench = Bench(solved.model(), solved.task, batch)
    assert bench.loss() == pytest.approx(found.intact_loss, rel=1e-5)
    assert bench.loss(found.circuit) == pytest.approx(found.replaced_loss, rel=1e-5)
    assert len(evidence.necessity) == len(found.circuit.paths)
    for n in evidence.necessity:
        assert bench.loss(found.circuit.without(n.path)) == pytest.approx(
            n.loss, rel=1e-5
        )
    low, high = evidence.interval
    assert 0.7 * low < found.replaced_loss < 1.4 * high
    assert low < high < 2 * low


def test_a_circuit_that_is_not_the_runs_own_is_dated_and_not_kept(
    found, solved, tmp_path
):
    run = Run.open(shutil.copytree(solved.folder, tmp_path / "run"))
    run.remove("emergence.json")
    another = Circuit.of(found.circuit.paths[:1])
    assert [
        one.path for one in emergence(run, another, sequences=8).paths
    ] == another.paths
    assert run.load(Timeline) is None
    dated = emergence(run, found, sequences=8)
    assert run.load(Timeline) == dated


def test_a_model_that_has_not_learnt_has_no_circuit(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    with pytest.raises(
        HeadwayError, match=r"no circuit to find at threshold 0.05.*x_1 \d"
    ):
        discover(run)
    with pytest.raises(HeadwayError, match="no circuit yet"):
        saved_discovery(run)
    assert "no circuit to find at threshold 0.05" in run.load(Refusal).why
    discover(run, threshold=10.0, sequences=8, trials=False)
    assert run.load(Refusal) is None


def test_a_single_position_has_no_circuit(tiny, tmp_path):
    config = RunConfig(Associations(), tiny.model, tiny.training)
    with pytest.raises(HeadwayError, match="one position have no circuit"):
        discover(Run(tmp_path, config).new_model(), config.task)


def test_an_argument_that_is_not_allowed_is_named(solved, found):
    array_checks.check(False)  # as where nobody tests
    wrong = {
        "threshold": (0.0, -1.0, float("inf"), float("nan"), "0.1"),
        "candidate_attention": (0.3, (), (0.0,), [2.0], "0.3", None),
        "sequences": (7, 8.5, 10**9, True),
        "workers": (0, "2"),
        "seed": (-1, 0.5, "x"),
    }
    for argument, value in ((name, value) for name in wrong for value in wrong[name]):
        with pytest.raises(
            HeadwayError, match=rf"^{argument} = .* must be (a |)(whole |)numb"
        ):
            discover(solved, **{argument: value})
    for checkpoints in (3, [3], {}, {"1": 0}, {-1: 0, 5: 0}, {0.5: 0}):
        with pytest.raises(
            HeadwayError, match=r"^checkpoints = .*: it must be models by their st"
        ):
            emergence(checkpoints, found, solved.task)
    with pytest.raises(HeadwayError, match=r"^sequences = 0"):
        emergence(solved, found, sequences=0)


def test_a_checkpoint_has_a_circuit_of_its_own(solved, found):
    before, last = solved.checkpoint_steps()[-2:]
    at = discover(solved, step=before, trials=False, sequences=64)
    assert at.asked == {"step": before, "sequences": 64}
    kept = solved.read(f"circuit_{before:07d}.json")
    assert kept["step"] == before
    assert Discovery.from_json(kept) == at
    assert solved.read("circuit.json")["step"] == last
    with pytest.raises(
        HeadwayError, match=r"step = 7 is not allowed: .* checkpoints: 0, 20"
    ):
        discover(solved, step=7)


def test_a_circuit_from_a_file_is_certified_as_it_is(solved, found, tmp_path):
    path = tmp_path / "mine.json"
    wrong = found.circuit.replacing(found.circuit.useful_heads[1], Uniform())
    write_json(path, {"circuit": wrong.to_json()})
    given = discover(solved, circuit=path, sequences=64)
    assert given.circuit == wrong
    kept = solved.read("emergence.json")
    assert [history.path for history in emergence(solved, path).paths] == wrong.paths
    assert solved.read("emergence.json") == kept, (
        "it is of another circuit than circuit.json"
    )
    assert not given.faithful
    assert not given.evidence.trials
    assert Discovery.from_json(solved.read("circuit_given.json")) == given
    assert saved_discovery(solved).circuit == found.circuit


def test_all_circuits_are_judged_beside_the_one_of_the_file(
    solved, found, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    run = Run.open(shutil.copytree(solved.folder, "run"))
    run.write("circuit.json", found.to_json())
    file = Path("my circuit.json")
    spare = found.circuit.adding(
        AttentionPath.of(*found.circuit.useful_heads[0], "s0←s0")
    )
    write_json(file, spare.to_json())
    cli.main(["circuit", "run", "--circuit", str(file), "--sequences", "64", "--all"])
    said = " ".join(capsys.readouterr().out.split())
    assert "the circuit that the search discovered is not one of them" in said
    assert not (run.folder / "circuits.json").exists()
    given = discover(run, circuit=file, sequences=64)
    assert every_circuit(run, discovery=given, sequences=64).discovered == tuple(
        spare.paths
    )
    assert every_circuit(run, sequences=64).discovered == tuple(found.circuit.paths)
    assert (run.folder / "circuits.json").exists()


def test_a_circuit_of_another_shape_is_refused(solved, found, tmp_path):
    with pytest.raises(
        HeadwayError, match=r"head = 'L1.H0' is not .* every head of the mod"
    ):
        discover(solved, circuit=Circuit({(0, 0): Uniform()}))
    unknown = found.circuit.replacing((0, 0), Paths(frozenset({"s0←s9"})))
    with pytest.raises(HeadwayError, match="path = 's0←s9' is not allowed"):
        discover(solved, circuit=unknown)
    with pytest.raises(
        HeadwayError, match=r"^circuit = \{.*\} is not allowed: it must be a Circ"
    ):
        discover(solved, circuit=found.circuit.to_json())
    path = tmp_path / "no.json"
    for heads, why in (
        ({"head": 1}, "no circuit"),
        ({}, "circuit = {}"),
        (TABLES, "by table"),
    ):
        write_json(path, heads)
        with pytest.raises(HeadwayError, match=why):
            discover(solved, circuit=path)


@pytest.mark.parametrize("ablation", ["uniform", "own", "mean", "resample"])
def test_the_search_can_use_another_ablation(solved, ablation):
    how = {"ablation": ablation, "trials": False, "sequences": 64, "seed": 1}
    found = discover(solved.model(), solved.task, **how)
    assert found.ablation == ablation
    assert found.asked["ablation"] == ablation
    assert found.faithful
    again = discover(solved.model(), solved.task, circuit=found, sequences=64, seed=1)
    assert again.ablation == ablation
    assert again.replaced_loss == found.replaced_loss


def test_emergence_dates_what_was_learnt(solved, found):
    timeline = emergence(solved, found)
    assert timeline.steps == solved.checkpoint_steps()
    assert [history.path for history in timeline.paths] == found.circuit.paths
    for history in timeline.paths:
        assert len(history.attention) == len(timeline.steps)
        assert history.attention[0] < 0.5 < history.attention[-1]
        assert history.emerged is not None
        before = max(s for s in timeline.steps if s <= history.emerged)
        assert history.attention[timeline.steps.index(before)] <= 0.5
        assert history.needed is not None
        rise = [w - x for w, x in zip(history.loss_without, timeline.loss, strict=True)]
        later = next(i for i, x in enumerate(rise) if x > max(rise) / 2)
        assert timeline.steps[later - 1] <= history.needed <= timeline.steps[later]
    learnt = timeline.hops["x_1"] or 0.0
    around = [
        m["partial"]["x_1"] for m in solved.metrics() if abs(m["step"] - learnt) <= 20
    ]
    assert max(around) >= 0.5 > min(around)
    assert (
        Timeline.from_json(Run.open(solved.folder).read("emergence.json")) == timeline
    )


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
        ((1.0, 2.0, 2.0), True),
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
