"""The command line in a process of its own, or where it refuses; and a run of a
second.
"""

import contextlib
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.terminal import cli

TINY = [
    "depth=1",
    "task.n_chains=2",
    "model.n_layers=2",
    "model.d_model=16",
    "training.steps=6",
    "training.eval_examples=16",
    "training.eval_every=2",
    "training.checkpoint_every=2",
    "training.cooldown_steps=0",
    "training.cooldown_below=0",
]


def headway(*args: str, cwd: Path, **more) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "headway", *args]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, **more
    )


def python(code: str, *words: str, **more) -> str:
    """The output of a program; it complains of nothing."""
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def refused(*words: object) -> str:
    """The one line in which the command line refuses some words, with exit code 2."""
    complaint = io.StringIO()
    with contextlib.redirect_stderr(complaint), pytest.raises(SystemExit) as stop:
        cli.main([*map(str, words)])
    assert stop.value.code == 2
    assert complaint.getvalue().count("\n") == 1
    return complaint.getvalue()


@contextlib.contextmanager
def refusing(*complaints: str) -> Iterator[None]:
    """Within it, something is refused in one line, in which some words stand."""
    with pytest.raises(HeadwayError) as refusal:
        yield
    assert "\n" not in str(refusal.value)
    for complaint in complaints:
        assert complaint in str(refusal.value)
