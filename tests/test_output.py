"""Printing: a stream that takes nothing, letters it lacks, text that would command a terminal."""

import os
import signal
import subprocess
import sys
import time

import pytest

from headway import cli
from headway.output import Screen
from headway.terminal.base import console

HEADWAY = [sys.executable, "-m", "headway"]


def test_a_disk_that_is_full_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*HEADWAY, "--help"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"headway: cannot print: No space left on device\n"


def test_work_goes_on_when_nothing_more_can_be_printed():
    with open("/dev/full", "w") as full:
        screen = Screen(full)
        for _ in range(3):
            screen.write("line\n" * 10_000)
            screen.flush()
        assert screen.lost is not None
        assert screen.lost.strerror == "No space left on device"


def test_letters_that_a_terminal_lacks_are_escaped():
    code = "from headway import cli; import sys; sys.argv = ['headway', 'é…\\udcff']; cli.main()"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment, check=False
    )
    assert done.returncode == 2
    assert b"verb = '\xe9\\u2026\\udcff' is not allowed" in done.stderr


def test_names_do_not_command_the_terminal(tmp_path, capsys):
    (tmp_path / "evil\x1b]0;title\x07\x1b[2J").mkdir()
    cli.main(["runs", str(tmp_path)])
    out = capsys.readouterr()
    assert "\x1b" not in out.out + out.err
    assert "\x07" not in out.out + out.err


def test_drawings_keep_their_colours(capsys):
    drawing = Screen(sys.stdout, drawing=True)
    drawing.write("\x1b[32mgreen\x1b[0m")
    assert capsys.readouterr().out == "\x1b[32mgreen\x1b[0m"


@pytest.mark.parametrize("columns", ["1", "0", "-5", "x"])
def test_a_terminal_of_no_width(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert 24 <= console().width <= 80


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_it_starts_is_one_line(number):
    for wait in (0.3, 0.8):
        program = subprocess.Popen([*HEADWAY, "train", "--resume", "nowhere"], stdout=-1, stderr=-1)
        time.sleep(wait)
        program.send_signal(number)
        _, complaint = program.communicate(timeout=60)
        lines = complaint.decode().splitlines()
        assert len(lines) <= 1, complaint
        assert program.returncode in (130, 2, -number)


def test_what_cannot_be_allocated_is_one_line(capsys, monkeypatch):
    def fail(_):
        raise MemoryError

    monkeypatch.setattr(cli, "dispatch", fail)
    with pytest.raises(SystemExit) as stop:
        cli.main(["runs"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "headway: not enough memory (MemoryError): ask for less\n"
