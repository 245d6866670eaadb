"""Progress of what is called from Python: where somebody sees it, and nowhere else."""

import io
import re
import sys
from concurrent.futures import wait
from functools import partial
from shutil import copytree

import pytest

from headway import discover, emergence, patch_all
from headway.progress import watched
from headway.training import Run
from headway.training.data import held_out


class Terminal(io.StringIO):
    """A terminal that keeps what is written on it."""

    def isatty(self):
        return True


def calls(run):
    """A call of each function that tells how far it is, and words that it tells."""
    model, task = run.model(run.checkpoint_steps()[-1]), run.task
    batch = held_out(task, 8, 0, "cpu", "certificate")
    found = discover(model, task, sequences=8, trials=False, watch=lambda _: None)
    models = {step: run.model(step) for step in run.checkpoint_steps()[-2:]}
    return {
        "1 of 2 checkpoints": lambda **watch: emergence(
            models, found, task, sequences=8, **watch
        ),
        "1 of 2 sites": lambda **watch: patch_all(
            model, task, batch, batch, ["L0.H0", "L1.H0"], **watch
        ),
    }


@pytest.fixture(scope="module")
def verbs(solved):
    return calls(solved)


def test_nothing_is_printed_where_nobody_looks(verbs, solved, capfd):
    for call in verbs.values():
        call()
    discover(solved.model(solved.checkpoint_steps()[-1]), solved.task, sequences=8)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_is_told_how_far_it_is(verbs, monkeypatch):
    for words, call in verbs.items():
        page = Terminal()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", page)
            call()
        assert words in page.getvalue()


def test_a_search_tells_its_passes(solved, monkeypatch):
    page = Terminal()
    model = solved.model(solved.checkpoint_steps()[-1])
    soon = partial(wait, timeout=0.001)
    monkeypatch.setattr("headway.find.study.wait", lambda futures, _: soon(futures))
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", page)
        discover(model, solved.task, sequences=8, trials=False)
    assert re.search(r"\d+ forward passes", page.getvalue())


def test_a_watch_of_ones_own_is_called_instead(verbs, monkeypatch):
    page = Terminal()
    monkeypatch.setattr(sys, "stdout", page)
    for call in verbs.values():
        counts = []
        call(watch=lambda *numbers, to=counts: to.append(numbers))
        assert counts == [(1, 2), (2, 2)]
    assert page.getvalue() == ""


def test_a_notebook_is_told_as_a_terminal_is(monkeypatch):
    lines = []

    class Notebook:
        is_jupyter = True

    monkeypatch.setattr("headway.progress.console", Notebook)
    monkeypatch.setattr("headway.progress.Live", Shown.into(lines))
    with watched(None, "{} of {}".format) as told:
        told(1, 3)
    assert lines == ["1 of 3"]


class Shown:
    """The place in a notebook."""

    def __init__(self, lines):
        self.lines = lines

    @classmethod
    def into(cls, lines):
        return lambda **_: cls(lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def update(self, text, refresh):
        assert refresh
        self.lines.append(text.plain)


def stop(*_):
    raise KeyboardInterrupt


def test_what_is_stopped_leaves_what_was_there(solved, tmp_path):
    """A run is not locked by it, and its findings are those from before."""
    run = Run.open(copytree(solved.folder, tmp_path / "run"))
    circuit = discover(run, sequences=8, trials=False)
    before = {file.name: file.read_bytes() for file in run.folder.glob("*.json")}
    with pytest.raises(KeyboardInterrupt):
        emergence(run, circuit, sequences=8, watch=stop)
    after = {file.name: file.read_bytes() for file in run.folder.glob("*.json")}
    assert after == before
    assert emergence(run, circuit, sequences=8).paths
