"""A certificate holds for what it says, on sequences of its own, and says no where it
should.
"""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from test_likeness import Constant, true_circuit

from commands import refused
from headway.dynamics.whole import faults_of
from headway.errors import HeadwayError
from headway.find import discover
from headway.intervals import clopper_pearson_low
from headway.judge import Certificate, certify
from headway.judge.certificate import agreements
from headway.models import attention_patterns
from headway.replace import Circuit, Mean, Uniform
from headway.replace.subject import Subject
from headway.tasks import Retrieval
from headway.terminal.cli import main
from headway.training import Run, train
from headway.training.data import held_out
from headway_experiments.arena import Known, compiled
from headway_experiments.tasks import Composition
from sampling import seeded


@pytest.fixture(scope="module")
def known() -> Known:
    return compiled(1)


@pytest.fixture(scope="module")
def run(tiny, tmp_path_factory) -> Run:
    """A run that learnt nothing, and what is therefore called its circuit."""
    run = train(tiny, tmp_path_factory.mktemp("certified") / "run")
    discover(run, threshold=10.0, sequences=8, trials=False)
    return run


def nudged(known: Known, noise: float) -> Known:
    """The model with all weights moved a little, so that its circuit no longer fits
    exactly.
    """
    generator = seeded(0)
    with torch.no_grad():
        for weights in known.model.parameters():
            size = noise * weights.abs().mean()
            weights += size * torch.randn(weights.shape, generator=generator)
    return known


def alike(known: Known, count: int) -> torch.Tensor:
    circuit = true_circuit(known)
    benches = Subject(known.model, known.task, 0).fresh(
        circuit, "zero", "certificate", count
    )
    return torch.cat([*agreements(circuit, benches)], 1)[0].double()


def coverage(pool: torch.Tensor, count: int, redraws: int) -> float:
    """In which share of redraws the bound is at most the share of the whole pool."""
    generator = seeded(1)
    true = pool.mean().item()
    drawn = torch.randint(len(pool), (redraws, count), generator=generator)
    found = pool[drawn].sum(1).int().tolist()
    bounds = {
        agreeing: clopper_pearson_low(agreeing, count, 0.95) for agreeing in set(found)
    }
    return sum(bounds[agreeing] <= true for agreeing in found) / redraws


def test_the_true_circuit_is_certified(known):
    found = certify(known.model, known.task, true_circuit(known))
    assert found.sequences == 1182
    assert found.agreeing == 1182
    assert found.holds
    assert found.bound == pytest.approx(0.05 ** (1 / 1182))
    assert not found.trivial
    assert "certified: agreement 0.99" in str(found)
    again = Certificate.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found


def test_another_circuit_is_not(known):
    circuit = true_circuit(known).without(sorted(known.required)[-1])
    found = certify(known.model, known.task, circuit, agreement=0.9)
    assert not found.holds
    assert found.bound < 0.5
    assert "NOT certified: agreement 0.9" in str(found)


def test_the_bound_holds_as_often_as_it_says():
    pool = alike(nudged(compiled(1), 0.003), 2048)
    assert 0.9 < pool.mean() < 0.999
    assert coverage(pool, 300, 1000) >= 0.95


def test_its_sequences_are_its_own_and_other_circuits_have_others(known):
    circuit = true_circuit(known)
    other = circuit.without(sorted(known.required)[0])

    def seen(circuit: Circuit, seed: int) -> torch.Tensor:
        subject = Subject(known.model, known.task, seed)
        (bench,) = subject.fresh(circuit, "zero", "certificate", 4)
        return bench.batch.inputs

    samples = [seen(circuit, 0), seen(circuit, 1), seen(other, 0)]
    for purpose in ("circuit", "certificate", "emergence", "held-out", "stability 1"):
        samples.append(held_out(known.task, 4, 0, "cpu", purpose).inputs)
    assert torch.equal(seen(circuit, 0), samples[0])
    assert len({tuple(one.flatten().tolist()) for one in samples}) == len(samples)


def test_sequences_are_judged_one_by_one_where_heads_attend_as_they_do_on_average(
    known,
):
    subject = Subject(known.model, known.task, 0)
    circuit = true_circuit(known).replacing((0, 0), Mean())
    few = next(subject.fresh(circuit, "zero", "certificate", 1))
    more = next(subject.fresh(circuit, "zero", "certificate", 9))
    assert torch.equal(few.patterns.means, more.patterns.means)


def test_what_is_of_another_sequence_is_of_one_that_is_not_judged(known):
    """A head's own fill is as an ablation is."""
    circuit = true_circuit(known).filled("resample")
    subject = Subject(known.model, known.task, 0)
    (bench,) = subject.fresh(circuit, "zero", "certificate", 4)
    own = bench.patterns.own
    assert not torch.equal(own, attention_patterns(known.model, bench.batch.inputs))


@pytest.mark.parametrize("rows", ["uniform", "own", "mean", "resample"])
def test_rows_without_a_path_are_filled_as_the_circuit_says(known, rows):
    circuit = true_circuit(known)
    found = certify(
        known.model, known.task, circuit, agreement=0.5, ablation=rows, sequences=60
    )
    assert found.ablation == rows
    assert found.agreeing == 60


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"agreement": 0.0},
            "agreement = 0.0 is not allowed: .* number above 0 and below 1",
        ),
        ({"agreement": 1.0, "sequences": 9}, "agreement = 1.0 is not allowed"),
        ({"agreement": float("nan")}, "agreement = nan is not allowed"),
        ({"confidence": 1.0}, "confidence = 1.0 is not allowed"),
        (
            {"sequences": 298},
            r"sequences = 298 is not allowed: .* from 299 \(for agreement 0.99",
        ),
        (
            {"sequences": 2_000_000},
            "sequences = 2000000 is not allowed: .* to 1,000,000",
        ),
        ({"agreement": 0.999999}, "takes more than 1,000,000 sequences"),
        ({"step": 3}, "step = 3 is not allowed"),
        ({"circuit": None}, "circuit = None is not allowed"),
        (
            {"circuit": Circuit({(0, 0): Uniform()})},
            "head = .* every head of the model",
        ),
        ({"task": None}, "task = None is not allowed"),
    ],
)
def test_what_cannot_be_certified_is_told(known, asked, said):
    given = {"task": known.task, "circuit": true_circuit(known), **asked}
    with pytest.raises(HeadwayError, match=said):
        certify(known.model, **given)


def test_a_circuit_of_another_task_is_refused(known):
    deeper = compiled(2)
    with pytest.raises(HeadwayError, match="is not allowed"):
        certify(deeper.model, deeper.task, true_circuit(known))
    other = Composition(asked=(1,), n_symbols=3)
    with pytest.raises(HeadwayError, match="the model does not read its sequences"):
        certify(known.model, other, true_circuit(known))


def test_a_model_that_cannot_but_agree_is_refused(known):
    constant = Constant(torch.arange(known.task.d_target) / 3)
    with pytest.raises(
        HeadwayError, match="its outputs are the same for all sequences"
    ):
        certify(constant, known.task, Circuit({(0, 0): Uniform()}))
    alone = Retrieval(depth=1, n_chains=1)
    with pytest.raises(HeadwayError, match="a sequence has one query"):
        certify(
            Constant(torch.zeros(alone.d_target)), alone, Circuit({(0, 0): Uniform()})
        )


def test_what_a_model_without_attention_does_too_is_not_certified(known):
    found = certify(known.model, known.task, true_circuit(known), agreement=0.5)
    trivial = replace(found, ablated_agreeing=found.sequences)
    assert found.holds
    assert trivial.trivial
    assert not trivial.holds
    assert "a model without attention" in str(trivial)


def certified(*words: str) -> None:
    """Calls the verb, whose exit code says whether the circuit was certified."""
    with pytest.raises(SystemExit) as stop:
        main(["circuit", *words, "--certify", "--agreement", "0.5"])
    assert isinstance(stop.value.code, int)


@pytest.fixture
def written(run) -> Iterator[dict]:
    """What the verb leaves in the run's folder; the folder is afterwards as it was."""
    certified(str(run.folder))
    yield run.read("certificate.json")
    run.remove("certificate.json")


def test_the_verb_keeps_the_certificate_and_check_reads_it(run, written):
    found = Certificate.from_json(written)
    assert found.sequences == 16
    assert found.step == 12
    assert found.seed == 5
    assert found == certify(run, agreement=0.5)
    assert faults_of(run.folder) == []
    wrong = {"agreeing": 17, "confidence": 1.0, "ablation": "none", "seed": "x"}
    for field, value in wrong.items():
        run.write("certificate.json", {**written, field: value})
        (fault,) = faults_of(run.folder)
        assert f"certificate.json: {field} = " in fault
    run.write("certificate.json", {**written, "ablation": "own"})
    (fault,) = faults_of(run.folder)
    assert "is about another circuit" in fault


def test_another_circuit_takes_the_certificate_away(run, written):
    discover(run, threshold=10.0, sequences=8, trials=False)
    assert run.read("certificate.json") == written, "the same search says the same"
    discover(run, threshold=10.0, sequences=8, trials=False, ablation="own")
    assert run.read("certificate.json") is None
    discover(run, threshold=10.0, sequences=8, trials=False)


def test_a_circuit_in_a_file_is_checked_and_nothing_is_written(run, tmp_path, capsys):
    data = run.read("circuit.json")
    file = tmp_path / "circuit.json"
    file.write_text(
        json.dumps({"circuit": data["circuit"], "ablation": data["ablation"]})
    )
    before = {path: path.stat().st_mtime_ns for path in run.folder.rglob("*")}
    certified(str(run.folder), "--circuit", str(file), "--seed", "9")
    told = capsys.readouterr().out
    assert "of 16 fresh sequences agree" in told
    assert (
        max(len(line) for line in told.splitlines() if str(run.folder) not in line)
        <= 80
    )
    assert {path: path.stat().st_mtime_ns for path in run.folder.rglob("*")} == before
    words = ("circuit", run.folder, "--certify", "--circuit", file)
    file.write_text('{"circuit": {"L0.H0": "uniform"}}')
    refused(*words)
    file.write_text('{"circuit": {}, "ablation": []}')
    assert "ablation = [] is not allowed" in refused(*words)
    refused(*words, "--trials", "false")
    refused("circuit", run.folder, "--seed", "9")
