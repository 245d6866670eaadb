"""Printing: a stream that takes nothing, letters it lacks, text that would command a
terminal.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import refused
from headway.console import console
from headway.screen import Screen
from headway.terminal import cli
from headway.terminal.base import columns
from headway.training import Run

HEADWAY = [sys.executable, "-m", "headway"]
FULL = "headway: cannot print: No space left on device\n"


@pytest.mark.parametrize(
    ("shell", "code", "complaint"),
    [
        pytest.param(
            "theory --count --depth 1 >/dev/full", 2, FULL, marks=pytest.mark.slow
        ),
        pytest.param(
            "theory --count --depth 1 | true", 141, "", marks=pytest.mark.slow
        ),
        pytest.param("theory --count --depth 1 >&-", 0, "", marks=pytest.mark.slow),
        ("--help >/dev/full", 2, FULL),
        ("dance 2>&-", 2, ""),
        ("dance >&-", 2, "headway: verb = 'dance' is not allowed"),
    ],
)
def test_streams_that_are_full_or_closed(shell, code, complaint):
    command = f"set -o pipefail; {shlex.join(HEADWAY)} {shell}"
    done = subprocess.run(["bash", "-c", command], stderr=-1, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(complaint)
    assert done.stderr.count("\n") == bool(complaint)


@pytest.mark.parametrize("name", ["[/b]", "[bold]x", ":smile:", "[link=a]x"])
def test_brackets_and_colons_are_no_markup(name, capsys):
    out = console()
    out.print(name)
    out.print(columns((name,), (), [(name,)]))
    assert capsys.readouterr().out.split() == [name] * 3


def test_work_goes_on_when_nothing_more_can_be_printed():
    with open("/dev/full", "w") as full:
        screen = Screen(full, [])
        for _ in range(3):
            screen.write("line\n" * 10_000)
            screen.flush()
        assert [loss.strerror for loss in screen.losses] == ["No space left on device"]


def test_letters_that_a_terminal_lacks_are_escaped():
    code = "from headway.terminal.cli import main; main(['é…\\udcff'])"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment, check=False
    )
    assert done.returncode == 2
    assert b"verb = '\xe9\\u2026\\udcff' is not allowed" in done.stderr


def test_names_do_not_command_the_terminal(tiny, tmp_path, capsys):
    run = Run.create(tmp_path / "evil\x1b]0;title\x07\x1b[2J", tiny)
    run.end("worse\x1b[2J\u202e")
    for words in (["runs", str(tmp_path)], ["check", str(run.folder)]):
        with contextlib.suppress(SystemExit):
            cli.main(words)
        told = "".join(capsys.readouterr())
        assert r"evil\x1b]0;titl" in told
        assert not any(one in told for one in "\x1b\x07\u202e")


# Whatever Python does before it loads these is its own.
@pytest.mark.parametrize(
    ("number", "loaded"),
    [(signal.SIGINT, "libtorch_cpu"), (signal.SIGTERM, "_multiarray_umath")],
)
def test_an_interrupt_while_it_starts_is_one_line(number, loaded):
    program = subprocess.Popen(
        [*HEADWAY, "train", "--resume", "nowhere"], stdout=-1, stderr=-1
    )
    maps = Path(f"/proc/{program.pid}/maps")
    while program.poll() is None and loaded not in maps.read_text():
        time.sleep(0.01)
    program.send_signal(number)
    _, complaint = program.communicate(timeout=60)
    lines = complaint.decode().splitlines()
    assert len(lines) <= 1, complaint
    assert program.returncode in (130, 2, -number)


def test_what_cannot_be_allocated_is_one_line(monkeypatch):
    def fail(_):
        raise MemoryError

    monkeypatch.setattr(cli, "dispatch", fail)
    assert refused("runs") == "headway: not enough memory (MemoryError): ask for less\n"
