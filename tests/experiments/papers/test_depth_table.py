"""Depth against layers: which runs it takes, and what is made of them."""

import json

import pytest

from headway.changes import changed
from headway.cli import main
from headway.errors import HeadwayError
from headway.theory import closed_form
from headway.training import Run, RunConfig, fast
from headway.training.files import write_json
from headway_experiments import depths
from headway_experiments.depths import small
from headway_experiments.terminal.depths import print_depths
from in_process import swept_here


def quick(depth: int = 1, layers: int = 2, seed: int = 0) -> RunConfig:
    """`small` in a second or two."""
    steps = {"training.steps": 40, "training.cooldown_steps": 20, "training.eval_every": 20}
    return changed(small(depth, layers, seed), steps)


def test_the_plan_crosses_depths_layers_and_seeds():
    plan = depths.plan()
    assert len(plan.runs) == 5 * 6 * 3
    config = plan.runs["depth=4,layers=2,seed=1"]
    assert (config.task.depth, config.model.n_layers, config.seed) == (4, 2, 1)
    assert config.model.n_heads == 1
    assert len(depths.plan({"model.d_model": "32,64", "seed": "0"}).runs) == 60
    with pytest.raises(HeadwayError, match=r"width is not a field"):
        depths.plan({"width": "32"})
    with pytest.raises(HeadwayError, match=r"depth = 0 is not allowed"):
        depths.plan({"depth": "0"})


def test_where_the_recipe_grows_the_depth_it_has_its_own_steps():
    assert small(5, 4).training.steps == fast(5).training.steps
    assert small(5, 4).training.curriculum == fast(5).training.curriculum
    assert small(5, 5).training.steps == 4_600
    assert {small(5, layers).training.stop_below for layers in (4, 5)} == {0.9 * depths.SOLVED}


@pytest.mark.parametrize("depth", range(1, 9))
def test_the_reach_is_that_of_the_closed_form(depth):
    for layers in range(1, 6):
        expected = max((d for d in range(1, depth + 1) if closed_form(d) <= layers), default=0)
        assert depths.reach(depths.small(depth, layers)) == expected


def put(plan, folder, name, partial, status="done"):
    """A run that has ended with these partial losses."""
    run = Run.create(folder / name, plan.runs[name])
    loss = sum(partial) / len(partial)
    hops = {f"x_{i}": value for i, value in enumerate(partial, 1)}
    outcome = {"status": status, "val_loss": loss, "partial": hops, "seconds": 60.0}
    write_json(run.folder / "outcome.json", outcome)


def test_cells_tell_what_was_learnt_and_what_the_theory_allows(tmp_path):
    axes = {"depth": "2", "layers": "2,3", "seed": "0..2"}
    plan = depths.plan(axes)
    for seed, partial in enumerate([(0.01, 0.74), (0.4, 0.75), (0.7, 0.2)]):
        put(plan, tmp_path, f"layers=2,seed={seed}", partial)
    for seed, partial in enumerate([(0.01, 0.02), (0.01, 0.03), (0.01, 0.7)]):
        put(plan, tmp_path, f"layers=3,seed={seed}", partial)
    few, enough = depths.results(axes, tmp_path)
    assert (few.solved, few.runs, few.learnt, few.reach, few.least) == (0, 3, (1, 1, 0), 1, 3)
    assert not few.enough
    assert not few.contradicts
    assert (enough.solved, enough.learnt, enough.reach) == (2, (2, 2, 1), 2)
    assert depths.trained([few, enough]) == {(2, 2): (0, 3), (2, 3): (2, 3)}


def test_runs_that_failed_or_are_missing_are_counted(tmp_path, capsys):
    axes = {"depth": "1", "layers": "2", "seed": "0..2"}
    plan = depths.plan(axes)
    put(plan, tmp_path, "seed=0", (0.01,))
    put(plan, tmp_path, "seed=1", (0.01,), status="failed")
    (cell,) = depths.results(axes, tmp_path)
    assert (cell.runs, cell.failed, cell.solved, cell.seeds) == (3, 2, 1, (0,))
    print_depths([cell])
    shown = capsys.readouterr().out
    assert "1/3 x_1 2✗" in shown
    assert "first solved with 2, by every seed with none" in shown
    print_depths(depths.results(axes, tmp_path / "empty"))
    assert "0/3 3✗" in capsys.readouterr().out


def test_the_theory_is_that_of_what_was_varied(tmp_path):
    axes = {"depth": "4", "layers": "3", "seed": "0", "model.causal": "true,false"}
    masked, unmasked = depths.results(axes, tmp_path)
    assert (masked.rest, masked.least, masked.enough) == ({"model.causal": True}, 4, False)
    assert (unmasked.rest, unmasked.least, unmasked.enough) == ({"model.causal": False}, 3, True)
    axes = {"depth": "1,2", "layers": "6", "seed": "0", "task.copies": "independent"}
    one, two = depths.results(axes, tmp_path)
    assert (one.reach, one.least) == (1, 2)
    assert (two.reach, two.least, two.enough) == (1, None, False)


def test_what_counts_as_learnt_follows_the_plateau(tmp_path):
    axes = {"depth": "2", "layers": "2", "seed": "0", "task.n_chains": "2"}
    put(depths.plan(axes), tmp_path, next(iter(depths.plan(axes).runs)), (0.4, 0.4))
    (cell,) = depths.results(axes, tmp_path)
    assert cell.learnt == (0,)
    axes = {"depth": "3", "layers": "2", "seed": "0", "training.curriculum": "final_hop"}
    plan = depths.plan(axes)
    run = Run.create(tmp_path / "asked" / next(iter(plan.runs)), next(iter(plan.runs.values())))
    outcome = {"status": "done", "val_loss": 0.3, "partial": {"x_3": 0.3}, "seconds": 1.0}
    write_json(run.folder / "outcome.json", outcome)
    (cell,) = depths.results(axes, tmp_path / "asked")
    assert cell.learnt == (3,)
    assert cell.contradicts


def test_a_run_that_learns_too_much_is_told(tmp_path, capsys):
    axes = {"depth": "2", "layers": "2", "seed": "0"}
    plan = depths.plan(axes)
    put(plan, tmp_path, next(iter(plan.runs)), (0.01, 0.02))
    (cell,) = depths.results(axes, tmp_path)
    assert cell.contradicts
    print_depths([cell])
    assert "the theory rules out was learnt at D=2 with 2." in capsys.readouterr().out


def test_a_wide_grid_keeps_to_the_terminal(tmp_path, capsys):
    axes = {"depth": "1..8", "layers": "1..12", "seed": "0..2"}
    print_depths(depths.results(axes, tmp_path))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["layers", *(f"D={depth}" for depth in range(1, 9))]


def test_the_command_trains_draws_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    grid = ["--grid", "depth=1", "layers=1,2", "seed=0"]
    monkeypatch.setattr(depths, "small", quick)
    with swept_here():
        main(["depths", *grid, "--folder", "d", "--figure", "d.svg", "--file", "d.json"])
    first = capsys.readouterr().out
    assert "None of 2 runs learnt a hop" in first
    assert max(map(len, first.splitlines())) <= 80
    cells = json.loads((tmp_path / "d.json").read_text())["cells"]
    assert [(cell["depth"], cell["layers"], cell["runs"]) for cell in cells] == [
        *((1, 1, 1), (1, 2, 1))
    ]
    assert (tmp_path / "d.svg").read_text().count('id="trained-') == 2
    with swept_here():
        main(["depths", *grid, "--folder", "d"])
    assert "2 done before" in capsys.readouterr().out
    few = ["--grid", "depth=1", "layers=1", "seed=0", "model.d_model=16,32"]
    with swept_here():
        main(["depths", *few, "--folder", "e"])
    assert "Solved, by retrieval steps and layers, model.d_model=16" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--grid", "model.n_layers=2"], "grid = 'model.n_layers' is not allowed: it must be wri"),
        (
            ["--grid", "depth=0"],
            "cell layers=1,seed=0: depth = 0 is not allowed",
        ),
        (["--grid", "seed="], "'seed=' is not FIELD=VALUE"),
        (["--grid", "model.d_model=8", "--figure", "x.svg"], "left out where model.d_model vary"),
        (["--file", "x.csv"], "file = 'x.csv' is not allowed"),
    ],
)
def test_bad_input_is_one_clear_line(args, complaint, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["depths", *args])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert complaint in said
    assert not list(tmp_path.iterdir())
