"""Refusals of runs plainly larger than the machine: one line, before anything is
taken.
"""

import resource
import time
from dataclasses import replace

import pytest
import torch

from commands import refused
from headway.dynamics.whole import heads_of
from headway.errors import HeadwayError
from headway.judge.flows import least_layers
from headway.models import TransformerConfig
from headway.report import write_report
from headway.report.listing import COLUMNS, Entry, listed
from headway.sweeps.table import row_of
from headway.tasks import Conditional, Hops, Retrieval
from headway.tasks.meter import AT_ONCE, PIECE, Meter, TooMuchError
from headway.training import Run, RunConfig, fast, train
from headway.training.size import n_weights, require_size
from sampling import seeded

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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
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
    assert n_weights(model, task) == sum(
        w.numel() for w in built.parameters() if w.ndim == 2
    )


def test_what_fits_the_machine_is_not_refused_and_nothing_is_made_of_what_does_not(
    tiny, tmp_path, monkeypatch
):
    require_size(tiny)
    monkeypatch.setattr("os.sysconf", lambda name: 2**6)
    with pytest.raises(
        HeadwayError, match=r"\(model.*and cpu has 0 MiB: make it smaller"
    ):
        train(tiny, tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_run_of_somebodys_with_a_model_too_large_is_opened_but_not_built(
    tiny, tmp_path
):
    config = replace(tiny, model=TransformerConfig(n_layers=10**6, d_model=10**6))
    run = Run.create(tmp_path / "run", config)
    with pytest.raises(HeadwayError, match=r"the model \(model\.\*\) would take"):
        Run.open(run.folder).new_model()


def test_no_page_is_made_of_a_model_with_more_heads_than_any_has(tiny, tmp_path):
    run = Run.create(
        tmp_path / "run", replace(tiny, model=replace(tiny.model, n_layers=10**30))
    )
    with pytest.raises(HeadwayError, match=r"model\.n_layers times .* at most 1000000"):
        heads_of(run)


@pytest.mark.parametrize("field", ["n_chains", "d_token"])
@pytest.mark.parametrize("number", [10**12, 10**30])
def test_a_task_whose_sequences_cannot_be_is_one_line(tiny, field, number):
    task = replace(Retrieval(depth=1), **{field: number})
    with pytest.raises(
        HeadwayError, match=rf"^task\.{field} = {number} .*no sequence can be laid out"
    ):
        n_weights(tiny.model, task)


def foreign(tiny, folder, fields) -> Run:
    """A run of somebody's, in whose config some fields have other values."""
    task = {"conditional": Conditional(), "hops": Hops()}.get(
        fields.get("kind"), tiny.task
    )
    run = Run.create(folder, replace(tiny, task=task))
    config = run.read("config.json")
    for name, value in fields.items():
        section, _, field = name.partition(".")
        if field:
            config[section][field] = value
    run.write("config.json", config)
    return run


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"task.n_chains": 2000}, "task.n_chains"),
        ({"task.d_token": 10**7}, "task.d_token"),
        ({"task.depth": 1024}, "task.depth"),
        ({"task.depth": 200, "task.copies": "independent"}, "task.depth"),
        ({"kind": "hops", "task.n_places": 20_000}, "task.n_places"),
        ({"kind": "hops", "task.n_places": 1500}, "task.n_places"),
        ({"kind": "conditional", "task.n_values": 300}, "task.n_values"),
        ({"kind": "conditional", "task.n_values": 10**12}, "task.n_values"),
        ({"kind": "conditional", "task.d_token": 2 * 10**8}, "task.d_token"),
        ({"model.n_layers": 3000}, "model.n_layers"),
        ({"model.d_model": 40_000}, "model.d_model"),
        ({"model.n_heads": 100_000, "model.d_head": 1}, "model.n_heads"),
    ],
)
def test_a_foreign_run_is_opened_and_listed_and_no_page_is_made_of_too_much(
    tiny, tmp_path, fields, named
):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = foreign(tiny, tmp_path / "run", fields)
    assert row_of(run.folder)["status"] == "stopped"
    row = listed(Entry(("run",), run.folder, ""))
    status = str(row.cells[COLUMNS.index("status")])
    assert status == "stopped" or (named in status and "\n" not in status)
    with pytest.raises(
        HeadwayError, match=rf"^[^\n]*config.json: [^\n]*{named} = [^\n]*$"
    ):
        write_report(run.folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700 * 1024


def test_what_is_made_is_counted_before_it_is_made(monkeypatch):
    meter = Meter()
    with meter:
        torch.zeros(10) + torch.zeros(5, 1)
    assert 50 + 15 <= meter.made - 3 * PIECE <= 50 + 2 * 15
    for make in (
        lambda: torch.zeros(10**6, 10**6),
        lambda: torch.zeros(AT_ONCE + 1),
        lambda: torch.arange(10**12),
        lambda: torch.ones(10**5, 1) * torch.ones(10**5),
        lambda: torch.randn(2, 10**9, generator=seeded(0)),
        lambda: torch.zeros(1).expand(10**12).clone(),
    ):
        with pytest.raises(TooMuchError), Meter():
            make()
    monkeypatch.setattr("headway.tasks.meter.IN_ALL", 100 * PIECE)
    with pytest.raises(TooMuchError), Meter():
        _ = [torch.zeros(1) for _ in range(101)]


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 8, 20])
@pytest.mark.parametrize("causal", [True, False])
def test_the_least_layers_of_a_chain_are_those_of_its_simulation(depth, causal):
    flow = Retrieval(depth=depth).flow()
    assert least_layers(flow, causal) == str(flow.minimum_layers(causal))
