"""A recorder records one run, once, and says so: whatever is tried leaves a run that is
read.
"""

import numpy as np
import pytest
import torch
from attending import TASK, Net
from torch import nn

import headway
from fuzz.crashes import files_in
from headway.errors import HeadwayError


def new(tmp_path, **told):
    return headway.Recorder(tmp_path / "run", Net(), TASK, **{"sequences": 8, **told})


def refused(call, match):
    with pytest.raises(HeadwayError, match=match) as error:
        call()
    assert "\n" not in str(error.value)
    return error.value


def is_read(tmp_path, steps, status="done"):
    run = headway.Run.open(tmp_path / "run")
    assert [line["step"] for line in run.metrics()] == steps
    assert run.checkpoint_steps() == steps
    assert run.status == status
    if steps:
        run.model()
    return True


def test_save_is_for_the_block(tmp_path):
    recorder = new(tmp_path)
    before = files_in(tmp_path)
    refused(lambda: recorder.save(1, 1.0), "inside the recorder's `with` block")
    assert files_in(tmp_path) == before
    with recorder:
        recorder.save(1, 1.0)
    before = files_in(tmp_path)
    refused(lambda: recorder.save(2, 1.0), "inside the recorder's `with` block")
    refused(recorder.__enter__, "it records one run")
    assert files_in(tmp_path) == before
    assert is_read(tmp_path, [1])


def test_a_folder_is_of_one_recorder(tmp_path):
    with new(tmp_path) as recorder:
        refused(lambda: new(tmp_path), "exists already")
        recorder.save(1, 1.0)
    refused(lambda: new(tmp_path), "exists already")
    assert is_read(tmp_path, [1])


STEPS = (
    True,
    False,
    -1,
    1.0,
    "1",
    None,
    [1],
    10**16,
    np.bool_(True),
    torch.tensor(True),
)
LOSSES = (
    float("nan"),
    -float("inf"),
    torch.tensor(torch.nan),
    None,
    "0.5",
    True,
    [1.0],
    10**400,
    torch.ones(2),
    torch.ones(0),
    torch.tensor(1j),
    torch.ones((), device="meta"),
)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        *(((step, 1.0), "^step = .* a whole number above -1") for step in STEPS),
        *(((5, loss), "^train_loss = .* finite") for loss in LOSSES),
    ],
)
def test_what_is_no_step_or_no_loss(given, complaint, tmp_path):
    with new(tmp_path) as recorder:
        before = files_in(tmp_path)
        refused(lambda: recorder.save(*given), complaint)
        assert files_in(tmp_path) == before
        recorder.save(5, 1.0)
    assert is_read(tmp_path, [5])


@pytest.mark.parametrize("call", ["save_checkpoint", "append_metrics"])
def test_a_disk_that_is_full_keeps_neither_weights_nor_losses(
    call, tmp_path, monkeypatch
):
    with new(tmp_path) as recorder:
        recorder.save(0, 1.0)
        kind = type(recorder.run)
        whole = getattr(kind, call)

        def torn(run, *given):
            if call == "append_metrics":
                with open(run.folder / "metrics.jsonl", "a") as file:
                    file.write('{"step": 1, "tr')
            raise HeadwayError("cannot write: No space left on device")

        monkeypatch.setattr(kind, call, torn)
        refused(lambda: recorder.save(1, 1.0), "No space left")
        monkeypatch.setattr(kind, call, whole)
        recorder.save(2, 1.0)
    assert is_read(tmp_path, [0, 2])


class Raises(Net):
    """A module that raises whatever it is told to."""

    error: BaseException | None = None

    def forward(self, tokens):
        if self.error is not None:
            raise self.error
        return super().forward(tokens)


@pytest.mark.parametrize(
    "kind", [RuntimeError, IndexError, KeyError, AssertionError, OSError]
)
def test_what_a_module_raises_is_told_in_a_line(kind, tmp_path):
    model = Raises()
    model.error = kind("first line\nsecond line")
    told = refused(
        lambda: headway.Recorder(tmp_path / "run", model, TASK, sequences=8),
        rf"Raises raises {kind.__name__}",
    )
    assert isinstance(told.__cause__, kind)
    assert not any(tmp_path.iterdir())
    model.error = None
    with headway.Recorder(tmp_path / "run", model, TASK, sequences=8) as recorder:
        recorder.save(1, 1.0)
        model.error = kind("later")
        refused(lambda: recorder.save(2, 1.0), rf"^Raises raises {kind.__name__}")
    assert is_read(tmp_path, [1])


class Flat(Net):
    def forward(self, tokens):
        return super().forward(tokens).flatten(1)


class Text(Net):
    def forward(self, tokens):
        super().forward(tokens)
        return "tokens"


@pytest.mark.parametrize(
    ("told", "match"),
    [
        ({"folder": 5}, "^folder = 5"),
        ({"model": "net"}, "^model = 'net'"),
        ({"model": Net}, "^model = <class"),
        ({"model": nn.Linear(2, 3)}, "Linear"),
        ({"model": Flat()}, "outputs' shape"),
        ({"model": Text()}, "the output of Text"),
        (
            {"model": nn.Embedding(3, TASK.d_target)},
            "tokens up to 4, for which it has no embedding",
        ),
        ({"task": "hops"}, "^task = 'hops'"),
        ({"task": headway.tasks.Hops}, "^task = <class"),
        ({"task": headway.tasks.Retrieval()}, "does not read its sequences"),
        ({"build": 5}, "^build = 5"),
        ({"build": lambda: 5}, "^build = "),
        ({"build": dict}, "^build = "),
        ({"seed": "x"}, "^seed = 'x'"),
        ({"seed": -1}, "^seed = -1"),
        ({"seed": True}, "^seed = True"),
        ({"sequences": 0}, "^sequences = 0"),
        ({"sequences": 1.5}, "^sequences = 1.5"),
        ({"sequences": 10**12}, "sequences"),
    ],
)
def test_what_does_not_fit_is_one_line(told, match, tmp_path):
    given = {
        "folder": tmp_path / "run",
        "model": Net(),
        "task": TASK,
        "sequences": 8,
        **told,
    }
    refused(lambda: headway.Recorder(**given), match)
    assert not any(tmp_path.iterdir())


def fails():
    raise KeyError("weights")


def nothing():
    return 5


@pytest.mark.parametrize("build", [fails, nothing])
def test_a_builder_that_builds_no_module(build, tmp_path):
    refused(lambda: new(tmp_path, build=build), f"^build = '{build.__name__}'")
    with new(tmp_path) as recorder:
        recorder.save(0, 1.0)
    run = headway.Run.open(tmp_path / "run", build=build)
    refused(run.model, "its model raises KeyError" if build is fails else "^build = 5")
