"""A fixed training set: what is drawn once, what is held out from it, and what is said
of both.
"""

import re
from dataclasses import replace
from pathlib import Path
from runpy import run_path

import pytest
import torch

from headway import discover
from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.replace.subject import studied
from headway.report import Findings, write_report
from headway.report.curves import accuracies
from headway.report.members import Runs
from headway.report.runs import runs_page
from headway.sweeps import Plan, sweep, table
from headway.tasks import KINDS, Batch, Retrieval, Task
from headway.terminal.tables import print_runs
from headway.training import Run, RunConfig, Stream, TrainingConfig, held_out, train
from headway.training.curriculum import Mixture
from headway.training.data import training_set
from headway.training.fixed_set import TrainingSet
from headway.training.losses import accuracy_text, scores
from headway.training.state import State
from in_process import InThisProcess

PAIRS = 49

EXAMPLE = Path(__file__).parents[2] / "examples" / "grokking.py"
PairSums = run_path(str(EXAMPLE))["ModularAddition"]
del KINDS[PairSums.kind]  # of a user's file, which other tests load for themselves


def config(train_examples: int = 30, task: Task | None = None, **fields) -> RunConfig:
    fields = {
        "steps": 8,
        "batch_size": 8,
        "eval_every": 4,
        "eval_examples": 16,
        **fields,
    }
    training = TrainingConfig(
        train_examples=train_examples, checkpoint_every=4, **fields
    )
    model = TransformerConfig(n_layers=1, d_model=16, d_mlp=16)
    return RunConfig(task or PairSums(7), model, training)


def set_of(trained: RunConfig) -> TrainingSet:
    known = training_set(trained)
    assert known is not None
    return known


def sequences(batch: Batch) -> set[tuple[int, ...]]:
    """The sequences of a batch, without repeats."""
    return {tuple(row) for row in batch.inputs.tolist()}


def seen_by(trained: RunConfig, attempt: int = 0) -> list[tuple[int, ...]]:
    """The sequences of an epoch."""
    stream = Stream(trained, attempt)
    steps = len(set_of(trained)) // trained.training.batch_size
    batches = [stream.asked(step)[1].inputs for step in range(1, steps + 1)]
    return [tuple(row) for row in torch.cat(batches).tolist()]


def test_the_set_is_of_different_sequences_and_the_same_in_every_attempt():
    trained = config(32)
    seen = seen_by(trained)
    assert len(seen) == 32
    assert len({*seen}) == 32
    again = seen_by(trained, attempt=1)
    assert {*again} == {*seen}
    assert again != seen
    assert {*seen_by(replace(trained, seed=1))} != {*seen}


@pytest.mark.parametrize("train_examples", [16, 40, 46])
def test_what_is_held_out_is_not_in_the_set(train_examples):
    trained = config(train_examples)
    task = trained.task
    known = set_of(trained)
    seen = sequences(task.assemble(known.draws))
    assert len(seen) == train_examples
    for purpose in ("held-out", "test", "circuit"):
        batch = held_out(task, 500, 0, "cpu", purpose, trained)
        assert len(batch.inputs) == 500
        assert not sequences(batch) & seen
        assert len(sequences(batch)) == PAIRS - train_examples
        unaware = held_out(task, 500, 0, "cpu", purpose)
        assert sequences(unaware) & seen


def test_where_sequences_never_repeat_the_held_out_ones_are_those_of_any_run():
    trained = config(64, task=Retrieval(depth=1, n_chains=2))
    batch = held_out(trained.task, 32, 0, "cpu", trained_by=trained)
    assert torch.equal(batch.inputs, held_out(trained.task, 32, 0, "cpu").inputs)


@pytest.mark.parametrize("train_examples", [10**12, 10**30])
def test_a_set_that_no_machine_holds_is_refused_by_its_field(train_examples):
    trained = config(train_examples)
    said = (
        f"^training.train_examples = {train_examples} would take about .* make "
        "it smaller$"
    )
    with pytest.raises(HeadwayError, match=said):
        training_set(trained)
    with pytest.raises(HeadwayError, match=said):
        held_out(trained.task, 8, 0, "cpu", trained_by=trained)


@pytest.mark.parametrize(
    ("train_examples", "words"),
    [
        (
            49,
            "training.train_examples = 49 is not allowed: it must be at most 48, "
            "as task",
        ),
        (
            50,
            "training.train_examples = 50 is not allowed: it must be at most 48, "
            "as task",
        ),
        (
            10_000,
            "training.train_examples = 10000 is not allowed: it must be at most "
            "48, as task",
        ),
        (
            7,
            "training.train_examples = 7 is not allowed: it must be at least "
            "training.batch_size",
        ),
    ],
)
def test_a_set_that_leaves_nothing_is_refused_before_anything_is_written(
    train_examples, words, tmp_path
):
    with pytest.raises(HeadwayError, match=re.escape(words)) as error:
        train(config(train_examples), tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("p", [7, 31, 61])
def test_the_bound_that_is_named_is_one_that_serves(p):
    task = PairSums(p)
    with pytest.raises(HeadwayError, match="must be at most") as error:
        training_set(config(p * p, task=task))
    most = int(re.search(r"at most (\d+)", str(error.value))[1])
    assert 0.97 * p * p < most < p * p
    trained = config(most, task=task)
    for purpose in ("held-out", "test", "circuit"):
        assert len(held_out(task, 512, 0, "cpu", purpose, trained).inputs) == 512


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """A run that knows its training set by heart."""
    trained = config(
        24,
        steps=120,
        batch_size=24,
        eval_every=40,
        eval_examples=20,
        learning_rate=1e-2,
    )
    return train(trained, tmp_path_factory.mktemp("fixed") / "run")


def test_an_evaluation_has_both_accuracies_and_each_is_of_its_own_sequences(run):
    last = run.metrics()[-1]
    task = run.task
    model = run.transformer()
    known = set_of(run.config)
    first = task.assemble(tuple(drawn[:20] for drawn in known.draws))
    learnt = scores(model, task, first)
    told = last["training_set"]
    assert told["loss"] == pytest.approx(learnt["val_loss"], rel=1e-4)
    assert told["accuracy"] == learnt["accuracy"] == {"answer": 1.0}
    apart = scores(model, task, held_out(task, 20, 0, "cpu", trained_by=run.config))
    assert last["accuracy"] == apart["accuracy"]
    assert last["accuracy"]["answer"] < 0.7
    assert not sequences(first) & sequences(
        held_out(task, 20, 0, "cpu", trained_by=run.config)
    )


def test_both_accuracies_are_said(run):
    last = run.metrics()[-1]
    share = last["accuracy"]["answer"]
    said = f", accuracy {share:.1%}, on the training set 100.0%"
    assert accuracy_text(last) == said
    assert said in " ".join(str(run).split())
    vectors = {"training_set": {"loss": 0.25, "partial": {"x_1": 0.25}}}
    assert accuracy_text(vectors) == ", on the training set 0.250"


def test_a_search_for_circuits_sees_what_is_held_out(run):
    known = set_of(run.config)
    with studied(run, None, writes=False) as subject:
        looked_at = subject.sequences(200, "circuit")
    assert not sequences(looked_at) & sequences(run.task.assemble(known.draws))
    assert not sequences(Findings.of(run).sequences) & sequences(
        run.task.assemble(known.draws)
    )


def test_intervals_are_of_what_is_held_out(run, monkeypatch):
    drawn = []

    def held(task, count, seed, device, purpose, trained_by=None):
        drawn.append((purpose, trained_by))
        return held_out(task, count, seed, device, purpose, trained_by)

    monkeypatch.setattr("headway.replace.subject.held_out", held)
    discover(run, threshold=100.0, sequences=8, trials=False)
    assert any(purpose.startswith("interval") for purpose, _ in drawn)
    assert {trained_by for _, trained_by in drawn} == {run.config}


def test_a_page_draws_both_accuracies(run):
    held, learnt = accuracies(Findings.of(run))
    lines = run.metrics()
    assert held.name == "answer, held out"
    assert learnt.name == "answer, training set"
    assert [step for step, _ in held.points] == [line["step"] for line in lines]
    assert [share for _, share in learnt.points] == pytest.approx(
        [line["training_set"]["accuracy"]["answer"] for line in lines], abs=1e-3
    )
    assert held.dashes != learnt.dashes
    assert "answer, training set" in write_report(run).read_text("utf-8")


def test_fresh_sequences_have_no_such_curves(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    assert "training_set" not in run.metrics()[-1]
    assert accuracies(Findings.of(run)) == []
    assert "training_set.accuracy" not in table(run.folder)[0]


def test_a_sweep_over_sizes_has_both_accuracies_in_its_table(tmp_path, kinds, capsys):
    kinds[PairSums.kind] = PairSums
    plan = Plan("sizes", {f"n={count}": config(count) for count in (16, 32, 50)})
    board = sweep(plan, tmp_path / "sizes", InThisProcess())
    assert [one.state for one in board.runs.values()] == ["done", "done", "failed"]
    small, large, failed = table(tmp_path / "sizes")
    assert "it must be at most 48" in failed["message"]
    for row in (small, large):
        scores_at_end = Run.open(row["folder"]).metrics()[-1]
        assert row["accuracy"] == scores_at_end["accuracy"]["answer"]
        assert row["training_set.loss"] == scores_at_end["training_set"]["loss"]
        assert (
            row["training_set.accuracy"]
            == scores_at_end["training_set"]["accuracy"]["answer"]
        )
    print_runs(table(tmp_path / "sizes"), tmp_path / "sizes")
    lines = capsys.readouterr().out.splitlines()
    assert re.search(r"val loss +accuracy +in training +circuit", lines[0])
    assert f"{small['accuracy']:.1%}" in lines[1]
    page = runs_page(Runs.of(tmp_path / "sizes"), lambda folder: None)
    columns = dict(zip(page.tables[0].head, page.tables[0].rows[0], strict=True))
    assert columns["accuracy"] == small["accuracy"]
    assert columns["training accuracy"] == small["training_set.accuracy"]


def test_a_curriculum_asks_for_shallower_sequences_and_is_judged_by_the_whole(tmp_path):
    trained = config(16, task=Retrieval(depth=2, n_chains=2), curriculum=Mixture())
    stream = Stream(trained)
    known = set_of(trained)
    depths = {stream.asked(step)[0].depth for step in range(1, 9)}
    assert depths == {1, 2}
    run = train(trained, tmp_path / "run")
    learnt = scores(run.transformer(), run.task, run.task.assemble(known.draws))
    told = run.metrics()[-1]["training_set"]
    assert told["loss"] == pytest.approx(learnt["val_loss"], rel=1e-4)
    assert [*told["partial"]] == ["x_1", "x_2"]


def test_what_is_known_by_heart_is_not_given_up():
    training = TrainingConfig(steps=100, patience=10, eval_every=5)
    apart = {"val_loss": 3.0, "partial": {"answer": 3.0}}
    by_heart = {"loss": 0.1, "partial": {"answer": 0.1}}
    for known, is_stuck in ({}, True), ({"training_set": by_heart}, False):
        state = State.at_start(training)
        for _ in range(6):
            state.step += 5
            state.seconds += 1.0
            state.add_losses([1.0])
            state.add_evaluation(training, {**apart, **known})
        assert state.is_stuck(training, 1, 0) == is_stuck
