"""A run only starts if there is memory for it beside the others."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.models import TransformerConfig
from headway.sweeps import LocalEngine, sweep
from headway.sweeps.jobs import Job
from headway.tasks import Conditional, Hops
from headway.training import Run, RunConfig, fast, paper
from headway.training.memory import PROCESS, available, estimate, n_weights, resident
from headway_experiments.tasks import Composition


@pytest.mark.parametrize(
    "model",
    [
        TransformerConfig(),
        TransformerConfig(n_layers=2, n_heads=4, d_head=8),
        TransformerConfig(n_layers=1, d_mlp=0),
        TransformerConfig(d_mlp=7, d_model=32, n_heads=2),
        TransformerConfig(positions="none", norm="none"),
    ],
)
@pytest.mark.parametrize(
    "task",
    [fast().task, Conditional(), Hops(), Composition()],
)
def test_the_weights_are_counted_as_they_are(model, task, tmp_path):
    model = replace(model, causal=not isinstance(task, Composition))
    built = Run(tmp_path, RunConfig(task=task, model=model)).new_model()
    count = sum(weight.numel() for weight in built.parameters())
    assert n_weights(model, task) == count


def test_an_estimate_grows_with_what_takes_memory():
    base = fast(deepening=False)
    for section, field, value in (
        ("training", "batch_size", 640),
        ("training", "train_examples", 2**20),
        ("training", "eval_examples", 10**6),
        ("model", "d_model", 640),
        ("model", "n_layers", 60),
        ("task", "n_chains", 40),
    ):
        part = replace(getattr(base, section), **{field: value})
        assert estimate([replace(base, **{section: part})]) > 1.1 * estimate([base])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "count"),
    [(partial(fast, mixture=True), 1), (paper, 1), (partial(fast, deepening=False), 4)],
)
def test_an_estimate_is_enough_and_not_far_too_much(recipe, count, tmp_path):
    config = recipe()
    config = replace(config, training=replace(config.training, steps=3, cooldown_steps=0))
    folders = [str(tmp_path / str(i)) for i in range(count)]
    for folder in folders:
        Run.create(Path(folder), config)
    code = (  # not ru_maxrss, which a process inherits from the one that started it
        "import re; from pathlib import Path; from headway.training import resume_stacked;"
        f"resume_stacked({folders!r});"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', Path('/proc/self/status').read_text())[1])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    most = 1024 * int(shown.stdout)
    assert most <= estimate([config] * count) <= 3 * most


def test_only_one_run_at_a_time_where_there_is_no_memory_for_two(plan, tmp_path):
    most = []

    def watch(board, _):
        most.append(board.count("running"))

    runs = plan(3, steps=20)
    need = estimate([runs.runs["r0"]])
    sweep(runs, tmp_path / "s", LocalEngine(2, memory=lambda _: need // 2), watch=watch)
    assert max(most) == 1


def test_a_stack_needs_what_its_runs_need_and_one_process(plan, tmp_path):
    one, other = plan(1).runs["r0"], plan(1, train_examples=4096).runs["r0"]
    both = estimate([one, other])
    assert both == estimate([one]) + estimate([other]) - PROCESS
    engine = LocalEngine(2, memory=lambda _: both - 1)
    jobs = tuple(Job(str(i), tmp_path, config) for i, config in enumerate((one, other)))
    engine._crew = [SimpleNamespace(stack=jobs[:1], id=2**30)]
    assert engine._fits(jobs[1:]) == (estimate([one]) + estimate([other]) < both)
    assert not engine._fits(jobs)


def test_cores_are_shared_by_threads(plan, tmp_path):
    engine = LocalEngine()
    engine.cores = 3

    def stack(threads):
        return (Job("r0", tmp_path / "r0", replace(plan(1).runs["r0"], threads=threads)),)

    assert engine._has_core(stack(4))
    engine._crew = [SimpleNamespace(stack=stack(2)), SimpleNamespace(stack=())]
    assert not engine._has_core(stack(2))
    assert engine._has_core(stack(1))
    engine.cores = 4
    assert engine._has_core(stack(2))
    engine.workers = 1
    assert not engine._has_core(stack(2))


def test_the_system_tells_its_memory():
    free = available("cpu")
    assert free is None or 2**20 < free < 2**50
    assert resident(os.getpid()) > 2**20 or not os.path.exists("/proc/self/statm")
    assert resident(2**30) == 0
