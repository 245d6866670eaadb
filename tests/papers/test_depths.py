"""Depth against layers: which runs it takes, and what is made of them."""

import json

import pytest

from headway.cli import main
from headway.errors import HeadwayError
from headway.papers import depths
from headway.tasks import RetrievalConfig
from headway.theory import closed_form
from headway.training import Run
from headway.training.files import write_json

QUICK = ["training.steps=40", "training.cooldown_steps=20", "training.eval_every=20"]


def test_the_plan_crosses_depths_layers_and_seeds():
    plan = depths.plan()
    assert len(plan.runs) == 5 * 6 * 3
    config = plan.runs["depth=4,layers=2,seed=1"]
    assert isinstance(config.task, RetrievalConfig)
    assert (config.task.depth, config.model.n_layers, config.seed) == (4, 2, 1)
    assert config.model.n_heads == 1
    assert len(depths.plan({"model.d_model": "32,64", "seed": "0"}).runs) == 60
    with pytest.raises(HeadwayError, match=r"width is not a field"):
        depths.plan({"width": "32"})
    with pytest.raises(HeadwayError, match=r"depth = 0 is not allowed"):
        depths.plan({"depth": "0"})


@pytest.mark.parametrize("depth", range(1, 9))
def test_the_reach_is_that_of_the_closed_form(depth):
    for layers in range(1, 6):
        expected = max((d for d in range(1, depth + 1) if closed_form(d) <= layers), default=0)
        assert depths.reach(depths.small(depth, layers)) == expected


def put(plan, folder, name, partial):
    """A run that has ended with these partial losses."""
    run = Run.create(folder / name, plan.runs[name])
    loss = sum(partial) / len(partial)
    hops = {f"x_{i}": value for i, value in enumerate(partial, 1)}
    outcome = {"status": "done", "val_loss": loss, "partial": hops, "seconds": 60.0}
    write_json(run.folder / "outcome.json", outcome)


def test_cells_tell_what_was_learnt_and_what_the_theory_allows(tmp_path):
    plan = depths.plan({"depth": "2", "layers": "2,3", "seed": "0..2"})
    for seed, partial in enumerate([(0.01, 0.74), (0.4, 0.75), (0.7, 0.2)]):
        put(plan, tmp_path, f"layers=2,seed={seed}", partial)
    for seed, partial in enumerate([(0.01, 0.02), (0.01, 0.03), (0.01, 0.7)]):
        put(plan, tmp_path, f"layers=3,seed={seed}", partial)
    few, enough = depths.results(plan, tmp_path)
    assert (few.solved, few.runs, few.learnt, few.reach) == (0, 3, (1, 1, 0), 1)
    assert not few.enough
    assert not few.contradicts
    assert (enough.solved, enough.learnt, enough.reach) == (2, (2, 2, 1), 2)
    assert list(depths.least_that_solved([few, enough])) == [(2, 3, 3, None)]
    assert depths.trained([few, enough]) == {(2, 2): (0, 3), (2, 3): (2, 3)}


def test_a_run_that_learns_too_much_is_told(tmp_path, capsys):
    plan = depths.plan({"depth": "2", "layers": "2", "seed": "0"})
    put(plan, tmp_path, next(iter(plan.runs)), (0.01, 0.02))
    (cell,) = depths.results(plan, tmp_path)
    assert cell.contradicts
    from headway import terminal

    terminal.print_depths([cell])
    assert "1 of 1 cells hold more than the theory allows" in capsys.readouterr().out


def test_the_command_trains_draws_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    grid = ["--grid", "depth=1", "layers=1,2", "seed=0", *QUICK, "model.d_model=16,32"]
    main(["depths", *grid, "--folder", "d", "--figure", "d.svg", "--file", "d.json"])
    first = capsys.readouterr().out
    assert first.count("Solved, by retrieval steps and layers") == 2
    assert "model.d_model=16" in first
    assert max(map(len, first.splitlines())) <= 80
    cells = json.loads((tmp_path / "d.json").read_text())["cells"]
    assert [(cell["depth"], cell["layers"], cell["runs"]) for cell in cells] == [
        *((1, 1, 1), (1, 2, 1), (1, 1, 1), (1, 2, 1))
    ]
    assert (tmp_path / "d.svg").read_text().count('id="trained-') == 2
    main(["depths", *grid, "--folder", "d"])
    assert "4 done before" in capsys.readouterr().out
