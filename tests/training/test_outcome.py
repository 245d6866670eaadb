"""What an outcome leaves out, as its schema allows, is known from elsewhere or told in a line."""

import io
import json
import os
import shutil
from pathlib import Path

import pytest

from headway import reading
from headway.cli import main
from headway.errors import HeadwayError
from headway.training import Run

GOLDEN = Path(__file__).parents[1] / "golden" / "run"
OUTCOME = json.loads((GOLDEN / "outcome.json").read_text())
FIELDS = [name for name in OUTCOME if name != "status"]


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(GOLDEN, tmp_path / "run")


def changed(folder, fields):
    (folder / "outcome.json").write_text(json.dumps(fields))


def called(*words):
    """The exit code of a command; anything but a clear error is raised."""
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        return end.code
    return 0


@pytest.mark.parametrize("status", ["done", "failed"])
@pytest.mark.parametrize("left", [*([name] for name in FIELDS), FIELDS], ids=str)
def test_what_is_left_out_is_that_of_the_last_evaluation(left, status, folder, capsys):
    changed(folder, {k: v for k, v in OUTCOME.items() if k not in left} | {"status": status})
    found = Run.open(folder).outcome()
    known = {name: OUTCOME[name] for name in FIELDS if name != "test_loss"}
    assert known.items() <= found.items()
    for words in (["report", folder], ["runs", folder.parent], ["train", "--resume", folder]):
        assert called(*words) == 0, words
    if status == "done" and "test_loss" in left:
        assert called("depend", folder) == 2
        assert "outcome.json: test_loss is missing" in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "given_up"])
def test_none_is_the_same_as_left_out(name, folder):
    changed(folder, OUTCOME | {name: None})
    assert called("train", "--resume", folder) == 0
    assert called("report", folder) == 0


@pytest.mark.parametrize(
    ("fields", "lines", "complaint"),
    [
        ({"partial": {"hop 7": 1.0}}, None, "ends with partial"),
        ({"val_loss": None}, "", "there is no evaluation of it"),
    ],
)
def test_an_outcome_that_nothing_supports_is_refused(fields, lines, complaint, folder, capsys):
    changed(folder, OUTCOME | fields)
    if lines is not None:
        (folder / "metrics.jsonl").write_text(lines)
    assert called("train", "--resume", folder) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("target", ["/dev/null", "/dev/zero", "/proc/self", "/dev/tty"])
@pytest.mark.parametrize("name", ["config.json", "outcome.json", "metrics.jsonl"])
def test_a_link_to_what_is_no_file_is_refused(name, target, folder):
    (folder / name).unlink()
    (folder / name).symlink_to(target)
    with pytest.raises(HeadwayError, match=name):
        Run.open(folder).metrics()


def test_a_file_of_the_kernel_that_gives_nothing_is_refused(folder, monkeypatch):
    class Silent(io.FileIO):
        def read(self, *_):
            return None  # as one without data does, when it is not waited for

    monkeypatch.setattr(os, "fdopen", Silent)
    with pytest.raises(HeadwayError, match="is not a file"):
        reading.read_bytes(folder / "outcome.json")
