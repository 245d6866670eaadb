"""Refusals of runs plainly larger than the machine: one line, before anything is taken."""

import resource
import time
from dataclasses import replace

import pytest

from commands import refused
from headway.circuits.whole import heads_of
from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.tasks import Conditional, Hops, Retrieval
from headway.training import Run, RunConfig, fast, train
from headway.training.size import n_weights, require_size

TOO_LARGE = [
    "training.batch_size=1000000000",
    "training.eval_examples=100000000000",
    "model.d_model=100000000",
    "model.n_layers=1000000000",
    "training.train_examples=21474836480",
    "depth=1000000000",
    "task.d_token=1000000000000",
]


@pytest.mark.parametrize("field", TOO_LARGE)
def test_a_field_that_is_too_large(tmp_path, field):
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    refused("train", "fast", field, "--folder", tmp_path / "run")
    assert time.perf_counter() - start < 5  # under 1 s where nothing else goes on
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "model",
    [
        TransformerConfig(),
        TransformerConfig(n_layers=2, n_heads=4, d_head=8),
        TransformerConfig(n_layers=1, d_mlp=0),
        TransformerConfig(positions="none", norm="none"),
    ],
)
@pytest.mark.parametrize("task", [fast().task, Conditional(), Hops()])
def test_the_numbers_in_matrices_are_counted_as_they_are(model, task, tmp_path):
    built = Run(tmp_path, RunConfig(task=task, model=model)).new_model()
    assert n_weights(model, task) == sum(w.numel() for w in built.parameters() if w.ndim == 2)


def test_what_fits_the_machine_is_not_refused_and_nothing_is_made_of_what_does_not(
    tiny, tmp_path, monkeypatch
):
    require_size(tiny)
    monkeypatch.setattr("os.sysconf", lambda name: 2**6)
    with pytest.raises(HeadwayError, match=r"\(model.*and cpu has 0 MiB: make it smaller"):
        train(tiny, tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_run_of_somebodys_with_a_model_too_large_is_opened_but_not_built(tiny, tmp_path):
    config = replace(tiny, model=TransformerConfig(n_layers=10**6, d_model=10**6))
    run = Run.create(tmp_path / "run", config)
    with pytest.raises(HeadwayError, match=r"the model \(model\.\*\) would take"):
        Run.open(run.folder).new_model()


def test_no_page_is_made_of_a_model_with_more_heads_than_any_has(tiny, tmp_path):
    run = Run.create(tmp_path / "run", replace(tiny, model=replace(tiny.model, n_layers=10**30)))
    with pytest.raises(HeadwayError, match=r"model\.n_layers times .* at most 1000000"):
        heads_of(run)


@pytest.mark.parametrize("field", ["n_chains", "d_token"])
@pytest.mark.parametrize("number", [10**12, 10**30])
def test_a_task_whose_sequences_cannot_be_is_one_line(tiny, field, number):
    task = replace(Retrieval(depth=1), **{field: number})
    with pytest.raises(HeadwayError, match=rf"^task\.{field} = {number} .*no sequence can be laid out"):
        n_weights(tiny.model, task)
