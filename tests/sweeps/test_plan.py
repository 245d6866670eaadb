"""Plans: the grammar of grids, names, files, and one clear line for whatever is
wrong.
"""

import json
from concurrent.futures import Future
from dataclasses import replace

import pytest

from commands import refusing
from headway.errors import HeadwayError, note_once
from headway.fields import to_json
from headway.recipes import changed
from headway.sweeps import Plan, default_folder, grid, load_plan, sweep
from headway.training import RECIPES, fast, own
from headway_experiments.recipes import paper
from in_process import InThisProcess

FILE = """
from headway.training import fast
from headway_experiments.recipes import paper
def plan():
    return {returned}
"""


def test_a_grid_is_every_combination_named_by_what_varies():
    plan = load_plan("fast", ["model.n_layers=1..2", "seed=0,5", "training.steps=2000"])
    assert list(plan.runs) == [
        "n_layers=1,seed=0",
        "n_layers=1,seed=5",
        "n_layers=2,seed=0",
        "n_layers=2,seed=5",
    ]
    config = plan.runs["n_layers=2,seed=5"]
    assert config.model.n_layers == 2
    assert config.seed == 5
    assert config.training.steps == 2000
    assert load_plan("fast", ["seed=3"]).runs == {"seed=3": fast(seed=3)}
    assert load_plan("fast").runs == {"seed=0": fast()}
    assert grid("fast", {"seed": range(2)}).runs == {
        "seed=0": fast(),
        "seed=1": fast(seed=1),
    }


def test_what_a_grid_changes_besides_is_noted(capsys):
    note_once.cache_clear()
    plan = load_plan("fast", ["training.steps=350,9000", "seed=0,1"])
    cooldowns = {name: run.training.cooldown_steps for name, run in plan.runs.items()}
    assert cooldowns["steps=350,seed=1"] == 70
    assert cooldowns["steps=9000,seed=1"] == 1400
    told = "headway: training.cooldown_steps is shortened, to fit into training.steps\n"
    assert capsys.readouterr().err == told
    deeper = load_plan("fast", ["task.depth=2,4"])
    assert list(deeper.runs.values()) == [fast(2), fast(4)]
    assert capsys.readouterr().err == ""


def test_names_are_safe_short_and_told_apart():
    plan = grid(
        fast(), {"training.learning_rate": [1e-3, 2e-3], "device": ["cuda:0", "cuda:1"]}
    )
    assert "learning_rate=0.001,device=cuda_0" in plan.runs
    plan = grid(fast(), {"training.betas": "0.9:0.95,0.9:0.99"})
    assert list(plan.runs) == ["betas=0.9_0.95", "betas=0.9_0.99"]
    many = {
        f"training.{n}": "1,2"
        for n in ("steps", "eval_every", "save_every", "patience")
    }
    many |= {f"task.{n}": "2,4" for n in ("depth", "n_chains", "d_token")}
    many |= {f"model.{n}": "2,4" for n in ("n_layers", "d_model", "d_head", "d_mlp")}
    small = changed(fast(deepening=False), {"training.cooldown_steps": 0})
    names = list(grid(small, many).runs)
    assert len(names) == len(set(names)) == 2**11


def test_a_plan_file_names_its_runs(tmp_path):
    path = tmp_path / "some.py"
    path.write_text(FILE.format(returned="{'a': fast(seed=1), 'b': paper(2)}"))
    assert load_plan(path) == Plan("some", {"a": fast(seed=1), "b": paper(2)})


def test_a_plan_file_is_crossed_with_a_grid(tmp_path):
    path = tmp_path / "some.py"
    path.write_text(FILE.format(returned="{'a': fast(), 'b': fast(2)}"))
    crossed = load_plan(path, ["seed=1,2"])
    assert list(crossed.runs) == ["a,seed=1", "a,seed=2", "b,seed=1", "b,seed=2"]
    assert crossed.runs["b,seed=2"] == fast(2, 2)
    with pytest.raises(HeadwayError, match="two configs are called a,seed=3"):
        load_plan(path, ["seed=3,3"])


def test_a_file_with_a_task_is_crossed_with_a_grid(own_file, kinds):
    path = own_file
    plan = load_plan(path, ["back=1..2", "seed=0,1"])
    assert plan.name == "doubles"
    assert list(plan.runs) == [f"back={b},seed={s}" for b in (1, 2) for s in (0, 1)]
    task = plan.runs["back=2,seed=1"].task
    assert plan.runs["back=2,seed=1"] == own(task, seed=1)
    assert grid(str(path), {"back": [1]}).runs["back=1"].task == replace(task, back=1)
    assert list(load_plan(path).runs) == ["seed=0"]
    path.write_text(
        path.read_text() + "\ndef plan():\n    return {'a': headway.fast(seed=4)}\n"
    )
    assert load_plan(path).runs == {"a": fast(seed=4)}


def test_a_plan_that_came_with_its_tasks_file_executes_nothing(
    tmp_path, own_file, kinds
):
    folder = tmp_path / "sweep"
    sweep(load_plan(own_file), folder, engine=Nothing())
    (config,) = load_plan(folder).runs.values()
    own_file.write_text("raise AssertionError('executed')")
    del kinds[config.task.kind]
    moved = folder.rename(tmp_path / "moved")
    text = (moved / "plan.json").read_text().replace("doubles.py", "other.py")
    (moved / "plan.json").write_text(text)
    (tmp_path / "other.py").write_text("raise AssertionError('executed')")
    with pytest.raises(
        HeadwayError, match=r"plan\.json: task\.defined\.file = .*is not executed"
    ):
        load_plan(moved)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (
            "def plan():\n    return 1 / 0",
            "some.py, line 2: ZeroDivisionError: division by zero",
        ),
        (FILE.format(returned="[fast()]"), "it must be a dict of RunConfig by name"),
        (FILE.format(returned="{}"), "the plan is empty"),
        (
            FILE.format(returned="{'a': 3}"),
            "run 'a' = 3 is not allowed: it must be a RunConfig",
        ),
        (FILE.format(returned="{3: fast()}"), "a run's name = 3 is not allowed"),
        (
            FILE.format(returned="{'a/b': fast()}"),
            "a run's name = 'a/b' is not allowed",
        ),
        (FILE.format(returned="{'plan.json': fast()}"), "a run's name = 'plan.json'"),
        (FILE.format(returned="{'a': fast(depth=0)}"), "depth = 0 is not allowed"),
    ],
)
def test_a_plan_file_that_is_none_is_refused_in_one_line(tmp_path, content, complaint):
    path = tmp_path / "some.py"
    path.write_text(content)
    with refusing(complaint, "some"):
        load_plan(path)


def test_an_empty_axis_or_plan_is_refused():
    with pytest.raises(HeadwayError, match=r"seed = .* at least one value"):
        grid("fast", {"seed": []})
    with pytest.raises(HeadwayError, match="the plan is empty"):
        Plan("x", {})
    with pytest.raises(HeadwayError, match="'seed' is not FIELD=VALUE"):
        load_plan("fast", ["seed"])


def test_a_plan_survives_its_file(tmp_path):
    plan = load_plan("fast", ["seed=0..2", "training.betas=0.9:0.9,0.8:0.9"])
    file = tmp_path / "plan.json"
    for content in (to_json(plan), [], {}, {**to_json(plan), "format": 9}):
        file.write_text(json.dumps(content))
        if content == to_json(plan):
            assert load_plan(tmp_path) == plan
        else:
            with pytest.raises(HeadwayError, match=r"plan\.json"):
                load_plan(tmp_path)


def test_the_folder_is_named_after_plan_and_grid():
    plan = load_plan("fast", ["model.n_layers=1..8", "seed=0..7"])
    named = default_folder("fast", plan, ["model.n_layers=1..8", "seed=0..7"])
    assert str(named) == "runs/fast-n_layers=1..8,seed=0..7"
    assert str(default_folder("fast", plan)) == "runs/fast"
    for recipe in RECIPES:
        assert len(load_plan(recipe).runs) == 1


def test_a_folder_with_other_configs_is_refused_and_left_alone(tiny, tmp_path):
    folder = tmp_path / "s"
    plan = Plan("p", {"a": tiny})
    sweep(plan, folder, engine=Nothing())
    content = (folder / "plan.json").read_bytes()
    other = Plan("p", {"a": replace(tiny, seed=6), "b": tiny})
    with pytest.raises(
        HeadwayError, match=r"s/a is there already with seed = 5, not 6"
    ):
        sweep(other, folder, engine=Nothing())
    assert (folder / "plan.json").read_bytes() == content
    sweep(Plan("more", {"b": tiny}), folder, engine=Nothing())
    assert load_plan(folder).name == "p"
    assert list(load_plan(folder).runs) == ["a", "b"]

    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text("{}")
    with pytest.raises(HeadwayError, match="is the folder of a run"):
        sweep(plan, run, engine=Nothing())
    with pytest.raises(HeadwayError, match="a sweep's folder: its plan is not crossed"):
        load_plan(folder, ["seed=1"])
    with pytest.raises(HeadwayError, match=r"a folder without plan\.json"):
        load_plan(tmp_path)
    (folder / "plan.json").write_text("{")
    with pytest.raises(HeadwayError, match=r"plan\.json is not valid JSON"):
        sweep(plan, folder, engine=Nothing())


class Nothing(InThisProcess):
    """An engine on which no run comes to anything."""

    def submit(self, folder, config):
        done = Future()
        done.set_result("nothing")
        return done
