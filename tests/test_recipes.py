"""The parts that runs are made from, and what changes to them carry along."""

import pytest

from headway.errors import HeadwayError, note_once
from headway.fields import read, split, values_in
from headway.recipes import base_of, changed, configured, hints_in
from headway.training import Deepening, Implicit, fast, own
from headway.training.config import flat
from headway.training.recipes import RECIPES, hops
from headway_experiments.curricula import FinalHop, Growing, Scheduled
from headway_experiments.recipes import composition, paper
from headway_experiments.tasks import Composition

TASK = '''
from dataclasses import dataclass
import torch
import headway

@dataclass(frozen=True)
class Copy(headway.Task):
    """Reads a b …; says the last of them."""
    depth: int = 2
    n_symbols: int = 5
    seed: int = 7
    vocabulary = property(lambda self: self.n_symbols)
    def draw(self, count, generator):
        shape = (count, self.depth)
        return (torch.randint(self.n_symbols, shape, generator=generator),)
    def assemble(self, draws):
        return headway.Batch(draws[0], draws[0][:, -1:, None])
'''


pytestmark = pytest.mark.usefixtures("kinds")


def made(source, *words):
    """The config of some words."""
    base = base_of(str(source))
    return configured(base, values_in(map(split, words), hints_in(base), read))


def complaint_of(source, *words):
    with pytest.raises(HeadwayError, match=r"^[^\n]*$") as error:
        made(source, *words)
    return str(error.value)


@pytest.mark.parametrize(
    ("words", "config"),
    [
        (["fast"], fast()),
        (["fast", "depth=4", "seed=3"], fast(4, 3)),
        (["fast", "seed=2", "deepening=false"], fast(3, 2, deepening=False)),
        (["paper", "depth=2"], paper(2)),
        (["composition", "asked=1,2,4,8", "seed=4"], composition((1, 2, 4, 8), seed=4)),
        (["hops", "asked=1..3"], hops((1, 2, 3))),
        (["fast", "n_heads=2"], changed(fast(), {"model.n_heads": 2})),
        (
            ["fast", "model.n_heads=2", "depth=2"],
            changed(fast(2), {"model.n_heads": 2}),
        ),
        (
            ["fast", "training.betas=0.8,1e-1"],
            changed(fast(), {"training.betas": (0.8, 0.1)}),
        ),
        (
            ["fast", "curriculum=growing"],
            changed(fast(), {"training.curriculum": Growing()}),
        ),
        (
            ["fast", "training.curriculum.every=50", "training.curriculum=growing"],
            changed(fast(), {"training.curriculum": Growing(every=50)}),
        ),
        (
            ["composition", "curriculum=scheduled", "order=falling", "every=9"],
            changed(composition(), {"training.curriculum": Scheduled("falling", 9)}),
        ),
        (
            ["fast", "learnt=0.2"],
            changed(fast(), {"training.curriculum": Deepening(0.2)}),
        ),
    ],
)
def test_words_change_a_recipe_field_by_field(words, config):
    assert made(*words) == config


def test_fewer_steps_shorten_the_cool_down_in_proportion(capsys):
    note_once.cache_clear()
    assert made("fast", "training.steps=1400").training.cooldown_steps == 1400
    made("paper", "training.steps=5")
    assert capsys.readouterr().err == ""
    config = made("fast", "training.steps=400")
    assert made("fast", "training.steps=400") == config
    assert fast().training.cooldown_steps == 1400
    assert config == changed(
        fast(), {"training.steps": 400, "training.cooldown_steps": 80}
    )
    shortened = (
        "headway: training.cooldown_steps is shortened, to fit into training.steps\n"
    )
    assert capsys.readouterr().err == shortened
    given = ("training.steps=400", "training.cooldown_steps=9")
    assert made("fast", *given).training.cooldown_steps == 9
    assert (
        "training.cooldown_steps = 500 is not allowed: it must be at most"
        in complaint_of("fast", "training.steps=400", "training.cooldown_steps=500")
    )


def test_a_field_that_a_recipe_takes_is_passed_to_it():
    assert made("fast", "task.depth=4") == made("fast", "depth=4") == fast(4)
    assert made("fast", "task.depth=4", "model.n_layers=9") == fast(4, n_layers=9)
    assert made("hops", "training.steps=300") == hops(steps=300)
    assert made("fast", "task.depth=1") == fast(1)


def test_all_recipes_say_what_their_arguments_may_be():
    for recipe in RECIPES:
        assert set(base_of(recipe).arguments.values()) <= {
            int,
            int | None,
            bool,
            tuple[int, ...],
        }


def test_a_file_with_a_task_is_a_recipe(tmp_path):
    path = tmp_path / "copying.py"
    path.write_text(TASK)
    base = base_of(str(path))
    task = type(base.make().task)
    config = made(path, "depth=3", "n_symbols=4", "n_heads=2", "seed=5")
    assert config == changed(own(task(3, 4), seed=5), {"model.n_heads": 2})
    assert config.seed == 5
    assert config.task.seed == 7
    config = made(path, "task.seed=8", "task.depth=3")
    assert config == own(task(3, seed=8))
    assert made(f"{path}:Copy") == own(task())
    assert "depth = 'x' is not allowed" in complaint_of(path, "depth=x")
    assert "deep is not a field: did you mean depth" in complaint_of(path, "deep=1")
    assert "task = 'Paste' is not allowed: it must be one of Copy" in complaint_of(
        f"{path}:Paste"
    )


def test_a_file_with_a_recipe_is_one(tmp_path):
    path = tmp_path / "mine.py"
    start = TASK + "\ndef recipe(n_symbols, seed: int = 1):\n    "
    whole = start + "return headway.training.own(Copy(n_symbols=n_symbols), seed)"
    path.write_text(whole)
    with pytest.raises(
        HeadwayError, match=r"mine\.py: TypeError: recipe\(\) missing 1 required"
    ):
        base_of(str(path)).make()
    start = start.replace("(n_symbols,", "(n_symbols=4,")
    whole = whole.replace("(n_symbols,", "(n_symbols=4,")
    path.write_text(whole)
    config = made(path, "n_symbols=6", "seed=3", "n_layers=1")
    assert config.task.n_symbols == 6
    assert config.seed == 3
    assert config.model.n_layers == 1
    assert made(path, "task.n_symbols=6") == made(path, "n_symbols=6")
    path.write_text(start + "return 3")
    with pytest.raises(
        HeadwayError, match=r"mine\.py: recipe\(\) returned int: it must be a RunC"
    ):
        made(path)
    path.write_text(start + "return 1 / 0")
    with pytest.raises(
        HeadwayError, match=r"mine\.py, line \d+: ZeroDivisionError: division"
    ):
        made(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (
            "x = 1",
            "defines no task: it must have a frozen dataclass that subclasses "
            "headway.Task",
        ),
        ("def f(:", "some.py, line 1: SyntaxError"),
        (TASK + TASK.replace("Copy", "Paste"), "defines 2 tasks: name one of them"),
        (
            TASK.replace("frozen=True", ""),
            "TypeError: cannot inherit non-frozen dataclass",
        ),
        (TASK.replace("depth: int = 2", "depth: int"), "has no default: every field n"),
        (TASK.replace("assemble", "lay_out"), "Copy has no assemble"),
        (
            TASK.replace("seed:", 'kind = "hops"; seed:'),
            "another name than that of headway.tasks.h",
        ),
    ],
)
def test_a_file_that_is_no_recipe_is_told_in_one_line(tmp_path, content, complaint):
    path = tmp_path / "some.py"
    path.write_text(content)
    told = complaint_of(path)
    assert complaint in told
    assert str(path) in told


def test_fields_are_changed_by_their_names(tiny):
    fields = flat(tiny)
    kind = fields.pop("task.kind")
    assert kind == "retrieval"
    assert changed(tiny, fields) == tiny
    growing = {"training.curriculum": "growing", "training.curriculum.every": 3}
    config = changed(tiny, {**growing, "task.depth": 3, "seed": 7})
    assert config.training.curriculum == Growing(3)
    assert config.task.label == "D=3"
    assert config.seed == 7
    assert changed(
        config, {"training.curriculum.every": 2}
    ).training.curriculum == Growing(2)
    assert (
        changed(config, {"training.curriculum": FinalHop()}).training.curriculum
        == FinalHop()
    )
    assert (
        changed(config, {"training.curriculum": "implicit"}).training.curriculum
        == Implicit()
    )
    causal = {"task": Composition(), "model.causal": False}
    assert (
        changed(config, {**causal, "training.curriculum": "implicit"}).task
        == Composition()
    )
