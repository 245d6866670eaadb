"""Every program of examples/ runs, is short, and does what its first lines say."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples"
SHOWN = {
    "token_task": ("L1.H0: query←value", "L0.H0 value←key", "report.html"),
    "vector_task": ("L1.H0: query←value",),
    "own_loop": ("L0.H0: 2 back", "emerged"),
    "hugging_face": ("layers: 1", "L0.H0: 2 back"),
    "checkpoints": ("L0.H0 2 back emerged at step",),
    "predicted_dependence": (
        "D3: 119 of 300; finds 16 of 50; carries 10 of 20; serves 28 of 130; apart 65 of 100",
        "D2: 51 of 164; finds 17 of 29; carries 3 of 14; serves 11 of 43; apart 20 of 78",
        "conditional: 302 of 450; finds 1 of 6; carries 0 of 0; serves 0 of 0; apart 301 of 444",
    ),
    "sweep_figure": ("2 runs, drawn in pairs.png",),
}
"""Of every program, words of what it prints."""


def test_every_example_is_tried_and_short():
    scripts = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.py")}
    assert scripts.keys() == SHOWN.keys() | {"own_experiment"}  # tests/experiments has this one
    assert all(len(text.splitlines()) < 60 for text in scripts.values())


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs(name, tmp_path):
    if name == "hugging_face" and find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    command = [sys.executable, FOLDER / f"{name}.py"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    for words in SHOWN[name]:
        assert words in done.stdout


def test_the_page_on_tasks_shows_the_example():
    page = (ROOT / "docs/your-own-task.md").read_text("utf-8")
    (shown,) = re.findall(r"^```python\n(@dataclass.*?)```", page, re.MULTILINE | re.DOTALL)
    assert shown.strip() in (FOLDER / "token_task.py").read_text("utf-8")
