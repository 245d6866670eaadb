"""Every program of examples/ runs, is short, and does what its first lines say."""

import re
import runpy
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import headway
from headway.terminal import cli
from headway.training import held_out
from headway.training.data import training_set
from in_process import swept_here

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples"
SHOWN = {
    "token_task": ("L1.H0: query←value", "L0.H0 value←key", "report.html"),
    "vector_task": ("L1.H0: query←value",),
    "own_loop": ("L0.H0: 2 back", "to half"),
    "hugging_face": ("layers: 1", "L0.H0: 2 back"),
    "checkpoints": ("L0.H0 2 back emerged at step",),
    "predicted_dependence": (
        "D3: 119 of 300; finds 16 of 50; carries 10 of 20; serves 28 of 130; apart "
        "65 of 100",
        "D2: 51 of 164; finds 17 of 29; carries 3 of 14; serves 11 of 43; apart 20 "
        "of 78",
        "conditional: 302 of 450; finds 1 of 6; carries 0 of 0; serves 0 of 0; "
        "apart 301 of 444",
    ),
    "sweep_figure": ("2 runs, drawn in pairs.png",),
    "grokking": (
        "seed 0, training_set: right from step",
        "seed 0, held_out: right from step",
    ),
}
"""Of every program, words of what it prints."""
SMALLER = {
    "n_pairs: int = 4": "n_pairs: int = 2",
    "n_symbols: int = 12": "n_symbols: int = 5",
    "steps=400, cooldown_steps=200": "steps=40, cooldown_steps=20",
    '"n_pairs": "2,4"': '"n_pairs": "1,2"',
    "range(1, 201)": "range(1, 101)",
    "range(3)": "range(1)",
    "steps: int = 3_000": "steps: int = 30",
    "n_heads=1))": "n_heads=1), training=replace(config.training, steps=250, "
    "cooldown_steps=99))",
}
"""Of their sizes, what goes as well in less time."""
WHOLE = {"vector_task", "own_loop"}
"""Programs that have no smaller size; the second also runs in test_printed.py."""


def test_every_example_is_tried_and_short():
    scripts = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.py")}
    # tests/experiments has the one that is not here.
    assert scripts.keys() == SHOWN.keys() | {"own_experiment"}
    for text in scripts.values():
        assert len(text.splitlines()) < 78


# One seed of grokking is tried below.
LONG = [name for name in SHOWN if name != "grokking"]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        *(
            pytest.param(name, SMALLER, id=f"{name}, small")
            for name in SHOWN
            if name not in WHOLE
        ),
        *(
            pytest.param(name, {}, id=f"{name}, whole", marks=pytest.mark.slow)
            for name in LONG
        ),
    ],
)
def test_an_example_runs(name, sizes, tmp_path, monkeypatch, capsys, kinds):
    if name == "hugging_face" and find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    folder = tmp_path / "examples"
    folder.mkdir()
    (tmp_path / "results").symlink_to(ROOT / "results")
    for path in FOLDER.glob("*.py"):
        text = path.read_text("utf-8")
        for size, smaller in sizes.items():
            text = text.replace(size, smaller)
        (folder / path.name).write_text(text, "utf-8")
        sys.modules.pop(path.stem, None)
    if sizes:  # the search itself, and not again with other samples and thresholds
        monkeypatch.setattr(
            headway, "discover", partial(headway.discover, trials=False)
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(folder)
    with swept_here():
        runpy.run_path(str(folder / f"{name}.py"), run_name="__main__")
    told = capsys.readouterr().out
    for words in SHOWN[name]:
        assert words in told


@pytest.mark.slow
def test_the_example_of_grokking_knows_by_heart_first_and_understands_later(
    tmp_path, kinds
):
    config = headway.recipes.config_asked_for(
        [str(FOLDER / "grokking.py"), "steps=2000"]
    )
    run = headway.train(config, tmp_path / "run")
    lines = run.metrics()
    by_step = {line["step"]: line for line in lines}
    early = by_step[200]
    late = by_step[2_000]
    assert early["training_set"]["accuracy"]["answer"] > 0.99
    assert early["accuracy"]["answer"] < 0.6
    assert late["training_set"]["accuracy"]["answer"] > 0.95
    assert late["accuracy"]["answer"] > 0.95
    known = training_set(config)
    apart = held_out(run.task, 400, 0, "cpu", "mirror", config)
    assert known is not None
    pairs = {tuple(pair) for pair in known.draws[0].tolist()}
    is_mirrored = torch.tensor([(b, a) in pairs for a, b, _ in apart.inputs.tolist()])
    said = run.transformer(400)(apart.inputs)[:, -1].argmax(-1)
    is_right = said == apart.targets[:, 0, 0]
    assert is_right[is_mirrored].float().mean() > 0.95
    assert is_right[~is_mirrored].float().mean() < 0.1


@pytest.mark.parametrize("name", ["token_task", "vector_task", "grokking"])
def test_nothing_is_wrong_with_a_task_of_an_example(name, capsys, kinds):
    cli.main(["check", str(FOLDER / f"{name}.py")])
    assert f"{name}.py: nothing is wrong" in capsys.readouterr().out


def test_that_one_looks_back_by_place_is_all_that_is_doubted_of_two_back(capsys, kinds):
    cli.main(["check", str(FOLDER / "own_loop.py")])
    (doubt,) = (
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("doubt")
    )
    assert "is the token 2 before the query" in doubt


def test_every_smaller_size_is_one_of_an_example():
    every = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    for size in SMALLER:
        assert size in every


def test_the_page_on_tasks_shows_the_example():
    page = (ROOT / "docs/your-own-task.md").read_text("utf-8")
    (shown,) = re.findall(
        r"^```python\n(@dataclass.*?)```", page, re.MULTILINE | re.DOTALL
    )
    assert shown.strip() in (FOLDER / "token_task.py").read_text("utf-8")
