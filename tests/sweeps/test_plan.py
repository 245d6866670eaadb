"""Plans: the grammar of grids, names, files, and one clear line for whatever is wrong."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.sweeps import Plan, default_folder, grid, load_plan, sweep
from headway.sweeps.fields import types_of, values_of
from headway.tasks import ConditionalConfig
from headway.training import RECIPES, RunConfig, fast
from headway.training.config import changed, flat
from headway.training.naming import said

FILE = """
from headway.training import fast, paper
def plan():
    return {returned}
"""


@pytest.mark.parametrize(
    ("field", "text", "values"),
    [
        ("seed", "0..3", [0, 1, 2, 3]),
        ("seed", "7", [7]),
        ("seed", "1,2,4", [1, 2, 4]),
        ("seed", "1..2, 9", [1, 2, 9]),
        ("model.d_head", "none,8", [None, 8]),
        ("model.d_head", "1..2,none", [1, 2, None]),
        ("model.causal", "true,FALSE", [True, False]),
        ("model.act_fn", "gelu,relu", ["gelu", "relu"]),
        ("training.learning_rate", "1e-3,2", [0.001, 2.0]),
        ("training.weight_decay", "0..1", [0.0, 1.0]),
        ("training.betas", "0.9:0.95,0.8:0.9", [(0.9, 0.95), (0.8, 0.9)]),
        ("task.position_base", "none,31.5", [None, 31.5]),
        ("task.order", "shallow-first", ["shallow-first"]),
        ("device", "cuda:0", ["cuda:0"]),
    ],
)
def test_values_are_read_as_the_type_of_their_field(field, text, values):
    read = values_of(field, text, types_of(fast())[field])
    assert read == values
    assert list(map(type, read)) == list(map(type, values))


@pytest.mark.parametrize(
    ("field", "text", "complaint"),
    [
        ("seed", "x", "seed = 'x' is not allowed: it must be a whole number, a range (1..8)"),
        ("seed", "1.5", "seed = '1.5' is not allowed: it must be a whole number"),
        ("seed", "1,,2", "seed = '' is not allowed"),
        ("seed", "8..1", "seed = '8..1' is not allowed: it must be a range from low to high"),
        ("seed", "0..1000000", "of at most 100000 numbers"),
        ("seed", "none", "seed = 'none' is not allowed"),
        ("model.d_head", "all", "it must be a whole number or none"),
        ("model.causal", "1", "it must be true or false"),
        ("model.act_fn", "tanh", "it must be one of gelu, relu"),
        ("model.act_fn", "1..2", "it must be one of gelu, relu"),
        ("training.learning_rate", "fast", "it must be a number"),
        ("training.betas", "0.9", "it must be 2 numbers joined by colons"),
        ("training.betas", "0.9:x", "it must be a number"),
    ],
)
def test_a_value_that_is_none_is_named(field, text, complaint):
    with pytest.raises(HeadwayError) as error:
        values_of(field, text, types_of(fast())[field])
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


@given(st.lists(st.one_of(st.integers(), st.floats(allow_nan=False), st.none()), min_size=1))
def test_what_is_said_is_read_back(values):
    assert values_of("x", ",".join(map(said, values)), int | float | None) == values


def test_all_fields_of_a_config_are_there_and_can_be_changed_together():
    for base in (fast(), RunConfig(task=ConditionalConfig())):
        fields = flat(base)
        assert fields.keys() == {"task.kind", *types_of(base)}
        del fields["task.kind"]
        assert changed(RunConfig(task=base.task), fields) == base
    both = changed(fast(), {"model.d_model": 30, "model.n_heads": 3})
    assert (both.model.d_model, both.model.n_heads) == (30, 3)


def test_a_grid_is_every_combination_named_by_what_varies():
    plan = load_plan("fast", ["model.n_layers=1..2", "seed=0,5", "training.steps=2000"])
    assert list(plan.runs) == [
        "n_layers=1,seed=0",
        "n_layers=1,seed=5",
        "n_layers=2,seed=0",
        "n_layers=2,seed=5",
    ]
    config = plan.runs["n_layers=2,seed=5"]
    assert (config.model.n_layers, config.seed, config.training.steps) == (2, 5, 2000)
    assert load_plan("fast", ["seed=3"]).runs == {"seed=3": fast(seed=3)}
    assert load_plan("fast").runs == {"seed=0": fast()}
    assert grid("fast", {"seed": range(2)}).runs == {"seed=0": fast(), "seed=1": fast(seed=1)}


def test_a_recipes_own_argument_is_passed_to_it():
    plan = load_plan("fast", ["depth=2..3", "seed=0"])
    assert plan.runs == {"depth=2": fast(2), "depth=3": fast(3)}
    assert [config.model.n_layers for config in plan.runs.values()] == [4, 5]


def test_names_are_safe_short_and_told_apart():
    plan = grid(fast(), {"training.learning_rate": [1e-3, 2e-3], "device": ["cuda:0", "cuda:1"]})
    assert "learning_rate=0.001,device=cuda_0" in plan.runs
    plan = grid(fast(), {"training.betas": "0.9:0.95,0.9:0.99"})
    assert list(plan.runs) == ["betas=0.9_0.95", "betas=0.9_0.99"]
    many = {f"training.{n}": "1,2" for n in ("steps", "eval_every", "save_every", "patience")}
    many |= {f"task.{n}": "2,4" for n in ("depth", "n_chains", "d_token")}
    many |= {f"model.{n}": "2,4" for n in ("n_layers", "d_model", "d_head", "d_mlp")}
    small = changed(fast(), {"training.cooldown_steps": 0})
    names = list(grid(small, many).runs)
    assert len(names) == len(set(names)) == 2**11
    assert max(map(len, names)) <= 120


def test_a_plan_file_may_return_a_list_a_dict_or_pairs(tmp_path):
    for returned, names in (
        ("[fast(seed=1), fast(seed=2)]", ["seed=1", "seed=2"]),
        ("[fast(seed=1)]", ["seed=1"]),
        ("[paper(2), paper(3)]", ["depth=2", "depth=3"]),
        ("{'a': fast(seed=1), 'b': fast(seed=1)}", ["a", "b"]),
        ("[('x y', fast()), ('z', fast())]", ["x y", "z"]),
    ):
        path = tmp_path / "some.py"
        path.write_text(FILE.format(returned=returned))
        plan = load_plan(path)
        assert plan.name == "some"
        assert list(plan.runs) == names


def test_a_plan_file_is_crossed_with_a_grid(tmp_path):
    path = tmp_path / "some.py"
    path.write_text(FILE.format(returned="{'a': fast(), 'b': fast(2)}"))
    crossed = load_plan(path, ["seed=1,2"])
    assert list(crossed.runs) == ["a,seed=1", "a,seed=2", "b,seed=1", "b,seed=2"]
    assert crossed.runs["b,seed=2"] == fast(2, 2)
    path.write_text(FILE.format(returned="[paper(), paper(2)]"))
    assert next(iter(load_plan(path, ["seed=1,2"]).runs)) == "depth=3,seed=1"
    path.write_text(FILE.format(returned="[fast(seed=0), fast(seed=1)]"))
    with pytest.raises(HeadwayError, match="two configs are called seed=3"):
        load_plan(path, ["seed=3"])


def test_a_plan_file_may_import_its_neighbours(tmp_path):
    (tmp_path / "neighbour_of_plan.py").write_text("SEED = 9")
    path = tmp_path / "some.py"
    path.write_text(
        "import neighbour_of_plan\n" + FILE.format(returned="[fast(seed=neighbour_of_plan.SEED)]")
    )
    assert list(load_plan(path).runs) == ["seed=9"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("x = 1", "defines no function plan()"),
        ("plan = 3", "defines no function plan()"),
        ("def plan(:", "some.py, line 1: SyntaxError"),
        ("def plan():\n    return 1 / 0", "some.py, line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit('no')", "some.py, line 1: SystemExit: no"),
        ("import no_such_module_here", "some.py, line 1: ModuleNotFoundError"),
        ("def plan(x):\n    return []", "TypeError"),
        (FILE.format(returned="None"), "plan() returned NoneType: it must be a list of RunConfig"),
        (FILE.format(returned="[]"), "plan() returned no configs"),
        (FILE.format(returned="{}"), "plan() returned no configs"),
        (FILE.format(returned="[fast(), 3]"), "plan() returned "),
        (FILE.format(returned="[('a', 3)]"), "plan() returned ('a', 3) in it"),
        (FILE.format(returned="[fast(), fast()]"), "two configs are called seed=0"),
        (FILE.format(returned="[('a', fast()), ('a', fast(2))]"), "two configs are called a"),
        (FILE.format(returned="{'a/b': fast()}"), "a run's name = 'a/b' is not allowed"),
        (FILE.format(returned="{'': fast()}"), "a run's name = '' is not allowed"),
        (FILE.format(returned="{3: fast()}"), "a run's name = 3 is not allowed"),
        (FILE.format(returned="{'plan.json': fast()}"), "a run's name = 'plan.json'"),
        (FILE.format(returned="[fast(depth=0)]"), "task.depth = 0 is not allowed"),
    ],
)
def test_a_plan_file_that_is_none_is_refused_in_one_line(tmp_path, content, complaint):
    path = tmp_path / "some.py"
    path.write_text(content)
    with pytest.raises(HeadwayError) as error:
        load_plan(path)
    assert complaint in str(error.value)
    assert "some" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("source", "texts", "complaint"),
    [
        ("fats", [], "plan = 'fats' is not allowed: it must be one of fast, "),
        ("no/such.py", [], "no/such.py: there is no such file"),
        ("fast", ["seed"], "'seed' is not FIELD=VALUES"),
        ("fast", ["seed="], "'seed=' is not FIELD=VALUES"),
        ("fast", ["=1"], "'=1' is not FIELD=VALUES"),
        ("fast", ["seed=1", "seed=2"], "seed is named twice"),
        ("fast", ["seed=1,1"], "two configs are called seed=1"),
        ("fast", ["n_layers=1"], "n_layers is not a field: did you mean model.n_layers?"),
        ("fast", ["model.bogus=1"], "model.bogus is not a field: those of model are model.n_la"),
        ("fast", ["bogus=1"], "bogus is not a field: there are task.*, model.*, training.*, "),
        ("fast", ["task.kind=retrieval"], "task.kind is not a field"),
        ("conditional", ["task.depth=1"], "task.depth is not a field"),
        (
            "fast",
            ["model.n_heads=1..4"],
            "in the grid's cell n_heads=3: model.n_heads = 3 is not allowed: it must be a divisor",
        ),
        ("fast", ["depth=0,1"], "in the grid's cell depth=0: task.depth = 0 is not allowed"),
        ("fast", ["seed=0..9999", "model.n_layers=1..11"], "110000 is not allowed: it must be at"),
    ],
)
def test_a_grid_that_does_not_fit_is_refused_in_one_line(source, texts, complaint):
    with pytest.raises(HeadwayError) as error:
        load_plan(source, texts)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_an_empty_axis_or_plan_is_refused():
    with pytest.raises(HeadwayError, match=r"seed = .* at least one value"):
        grid("fast", {"seed": []})
    with pytest.raises(HeadwayError, match="the plan is empty"):
        Plan("x", {})


def test_a_plan_survives_its_file(tmp_path):
    plan = load_plan("fast", ["seed=0..2", "training.betas=0.9:0.9,0.8:0.9"])
    assert Plan.from_json(plan.to_json(), "here") == plan
    for spoilt in ([], {}, {**plan.to_json(), "format": 9}, {**plan.to_json(), "runs": []}):
        with pytest.raises(HeadwayError, match="here"):
            Plan.from_json(spoilt, "here")


def test_the_folder_is_named_after_plan_and_grid():
    plan = load_plan("fast", ["model.n_layers=1..8", "seed=0..7"])
    named = default_folder("fast", plan, ["model.n_layers=1..8", "seed=0..7"])
    assert str(named) == "runs/fast-n_layers=1..8,seed=0..7"
    assert str(default_folder("fast", plan)) == "runs/fast"
    assert all(len(load_plan(recipe).runs) == 1 for recipe in RECIPES)


def test_a_folder_with_other_configs_is_refused_and_left_alone(tiny, tmp_path):
    folder = tmp_path / "s"
    plan = Plan("p", {"a": tiny})
    sweep(plan, folder, engine=Nothing())
    content = (folder / "plan.json").read_bytes()
    other = Plan("p", {"a": replace(tiny, seed=6), "b": tiny})
    with pytest.raises(HeadwayError, match=r"s/a is there already with seed = 5, not 6"):
        sweep(other, folder, engine=Nothing())
    assert (folder / "plan.json").read_bytes() == content
    sweep(Plan("p", {"b": tiny}), folder, engine=Nothing())
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


class Nothing:
    """An engine that does nothing."""

    options = ""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def events(self, jobs):
        return iter(())
