"""Every path of a circuit clamped in a training of its own: what is trained, measured
and shown.
"""

import json
import re
import shutil
from dataclasses import replace

import pytest
from tiny_runs import ANY_LOSS, tiny_config

from commands import refused
from headway.dynamics import saved_timeline
from headway.dynamics.dependence import Dependence, grown_in
from headway.errors import HeadwayError
from headway.find import discover
from headway.judge import saved_discovery
from headway.relations import AttentionPath
from headway.replace import Circuit, Paths, Uniform
from headway.report import write_report
from headway.sweeps import depend
from headway.sweeps.depend import clamped_plan, require_comparable, schedule
from headway.tasks import Retrieval
from headway.terminal.cli import main
from headway.training import Run, fast, train


@pytest.fixture(scope="module")
def asked(finished, engine, tmp_path_factory):
    """A run whose dependences were measured; nobody may write to its folder."""
    run = Run.open(
        shutil.copytree(finished.folder, tmp_path_factory.mktemp("asked") / "run")
    )
    depend(run, engine=engine)
    return run


@pytest.fixture
def mine(asked, tmp_path):
    """A copy of it, to do anything to."""
    return Run.open(shutil.copytree(asked.folder, tmp_path / "mine"))


def outcomes(run):
    files = run.folder.glob("*/*/outcome.json")
    return {path.parent.name: path.stat().st_mtime_ns for path in files}


def test_every_path_is_clamped_and_every_other_measured(asked):
    found, paths = asked.load(Dependence), saved_discovery(asked).circuit.paths
    assert found is not None
    assert [training.clamped for training in found.clamped] == paths == found.circuit
    for training in found.clamped:
        assert [one.path for one in training.paths] == [
            p for p in paths if p != training.clamped
        ]
        run = Run.open(asked.folder / "clamped" / str(training.clamped))
        free, config = asked.config, run.config
        assert config.training.clamped == (str(training.clamped),)
        undone = replace(config.training, clamped=(), patience=free.training.patience)
        assert replace(config, training=undone) == free
        assert training.loss == (run.outcome() or {})["test_loss"]
        assert training.partial == run.metrics()[-1]["partial"]
    assert Dependence.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_the_free_run_is_measured_as_emergence_does(asked, monkeypatch):
    timeline = saved_timeline(asked)
    monkeypatch.setattr("headway.dynamics.dependence.SEQUENCES", timeline.sequences)
    circuit = saved_discovery(asked).circuit.paths
    with asked.computing():
        free = grown_in(asked, circuit)
        composed = [AttentionPath.of(0, 0, "mirror position")]
        assert grown_in(asked, composed).paths[0].path == composed[0]
    assert [history.path for history in timeline.paths] == [
        grown.path for grown in free.paths
    ]
    ends = [history.attention[-1] for history in timeline.paths]
    assert [grown.attention for grown in free.paths] == pytest.approx(ends)


def test_what_is_trained_is_not_trained_again(mine, engine):
    before = outcomes(mine)
    assert len(before) == 3
    gone = next(iter(before))
    shutil.rmtree(mine.folder / "clamped" / gone)
    boards = []
    depend(mine, engine=engine, training=lambda board, event: boards.append(board))
    assert boards[-1].before == {"done": 2}
    after = outcomes(mine)
    assert {name for name in before if before[name] != after[name]} == {gone}


def test_what_stays_in_place_is_not_clamped(mine, capsys):
    found = saved_discovery(mine)
    circuit = found.circuit
    path = circuit.paths[0]
    both = Paths(frozenset({path.relation, "s1←s1"}))
    data = found.to_json()
    data["circuit"] = circuit.replacing(path.at, both).to_json()
    mine.write("circuit.json", data)
    main(["depend", str(mine.folder), "--workers", "1"])
    stay = AttentionPath.of(*path.at, "s1←s1")
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(f"not clamped: [0-9] {stay}", text)
    found = mine.load(Dependence)
    assert found is not None
    assert [training.clamped for training in found.clamped] == circuit.paths
    assert set(found.circuit) == {*circuit.paths, stay}
    mine.remove("emergence.json")
    write_report(mine)
    with pytest.raises(HeadwayError, match="one of the circuit that is no stay: L0"):
        depend(mine, [f"L{path.layer}.H{path.head} s1<-s1"])


def test_a_clamped_training_has_the_rates_of_the_free_run(tmp_path):
    config = tiny_config(Retrieval(depth=1, n_chains=2))
    training = replace(
        config.training, steps=40, cooldown_steps=6, cooldown_below=100.0
    )
    free = train(replace(config, training=training), tmp_path / "free")
    assert free.metrics()[-1]["step"] == schedule(free) == 8
    circuit = Circuit({(0, 0): Paths(frozenset({"s2←s1"})), (1, 0): Uniform()})
    discovery = discover(free, circuit=circuit, threshold=ANY_LOSS, sequences=8)
    free.write("circuit.json", discovery.to_json())
    (planned,) = clamped_plan(free).runs.values()
    undone = replace(planned.training, clamped=(), cooldown_below=0.0)
    again = train(replace(planned, training=undone), tmp_path / "again")
    one, other = (run.checkpoint_path(8).read_bytes() for run in (free, again))
    assert one == other


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            {"paths": ["L0.H0 s7←s8"]},
            "path = 'L0.H0 s7←s8' .* .* that is no stay: L0.H0",
        ),
        ({"paths": ["s0"]}, "must be written as L1.H0 s0←s2"),
        ({"after": 6}, "clamped_after = 6 .* below 6, the last clamped step"),
        ({"until": 7}, "clamped_until = 7 .* at most training.steps = 6"),
        ({"after": 3, "until": 3}, "clamped_after = 3 .* below 3, the last"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_nothing_is_written(
    run, options, complaint
):
    before = sorted(run.folder.rglob("*"))
    with pytest.raises(HeadwayError, match=complaint):
        depend(run, **options)
    assert sorted(run.folder.rglob("*")) == before


def test_runs_that_cannot_be_compared_are_refused(run, unfinished, tmp_path):
    with pytest.raises(
        HeadwayError, match="no circuit yet; find it with: headway circuit"
    ):
        depend(unfinished)
    outcome = run.outcome()
    given_up = [{"step": 2, "partial": {"x_1": 0.9}}]
    run.write("outcome.json", {**outcome, "given_up": given_up})
    said = refused("depend", run.folder)
    assert "gave 1 attempt up" in said
    assert "training.patience=0" in said
    run.remove("outcome.json")
    with pytest.raises(HeadwayError, match="not done: headway train --resume"):
        require_comparable(run)

    def ended(config):
        folder = tmp_path / "ended"
        folder.mkdir(exist_ok=True)
        (folder / "outcome.json").write_text(json.dumps(outcome))
        return Run(folder, config)

    with pytest.raises(HeadwayError, match=r"training\.curriculum = deepening"):
        require_comparable(ended(fast(5)))
    clamped = replace(fast(1).training, clamped=("L0.H0 s2←s1",))
    with pytest.raises(
        HeadwayError, match=r"training.clamped = L0.H0 s2←s1: its circuit"
    ):
        require_comparable(ended(replace(fast(1), training=clamped)))
    require_comparable(ended(fast(1)))


def test_another_circuit_has_other_dependences(mine):
    found = saved_discovery(mine)
    fewer = found.circuit.without(found.circuit.paths[0])
    judgement = found.evidence.judgement
    costs = {
        path: cost for path, cost in judgement.paths.items() if path in fewer.paths
    }
    judgement = replace(judgement, paths=costs)
    necessity = found.evidence.necessity[1:]
    evidence = replace(found.evidence, necessity=necessity, judgement=judgement)
    mine.write(
        "circuit.json", replace(found, circuit=fewer, evidence=evidence).to_json()
    )
    mine.remove("emergence.json")
    with pytest.raises(
        HeadwayError, match=r"dependence\.json is about another circuit"
    ):
        write_report(mine)
    discover(mine, threshold=ANY_LOSS, sequences=8)
    assert saved_discovery(mine).circuit.paths != found.circuit.paths
    assert mine.load(Dependence) is None
