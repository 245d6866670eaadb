"""The tracker that the docs show is told of every evaluation."""

import contextlib
import re
import sys
import types
from pathlib import Path

import headway
from headway.training import Run
from headway.training.config import flat

DOCS = Path(__file__).parents[2] / "docs/training.md"


class FakeMlflow(types.ModuleType):
    """Keeps what it is told."""

    def __init__(self):
        super().__init__("mlflow")
        self.parameters, self.losses = {}, {}
        self.start_run = lambda run_name: contextlib.nullcontext()

    def log_params(self, parameters):
        self.parameters |= parameters

    def log_metrics(self, metrics, step):
        assert step not in self.losses
        self.losses[step] = metrics


def test_the_tracker_of_the_docs_gets_every_evaluation_and_the_config(tiny, tmp_path, monkeypatch):
    text = DOCS.read_text("utf-8").partition("## Losses to a tracker")[2]
    (code,) = re.findall(r"```python\n(.*?)```", text.partition("\n## ")[0], re.DOTALL)
    tracker = FakeMlflow()
    monkeypatch.setitem(sys.modules, "mlflow", tracker)
    monkeypatch.setattr(headway, "fast", lambda depth: tiny)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    lines = Run.open(tmp_path / "runs/mine").metrics()
    assert tracker.parameters == flat(tiny)
    assert [*tracker.losses] == [line["step"] for line in lines]
    for line in lines:
        told = tracker.losses[line["step"]]
        assert told["val_loss"] == line["val_loss"]
        assert told["partial.x_2"] == line["partial"]["x_2"]
