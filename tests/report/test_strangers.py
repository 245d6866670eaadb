"""Folders from strangers: every verb that takes one goes through them, and executes
nothing.
"""

import contextlib
from pathlib import Path

import pytest

from fuzz.runs import taken_apart
from fuzz.strangers import strangers
from fuzz.tried import Tried
from headway import userfile
from headway.errors import HeadwayError


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return taken_apart(tmp_path_factory.mktemp("taken apart"))


def tried_on(run, folder, count, share=1):
    tried = Tried()
    strangers(tried, count, 0, folder / "world", run, share)
    assert tried.counts["strangers' folders"] == count
    return tried


@pytest.mark.parametrize("count", [20, pytest.param(2000, marks=pytest.mark.slow)])
def test_nothing_of_strangers_folders_is_executed(tmp_path, run, count):
    assert not tried_on(run, tmp_path, count, share=6).failed


def test_what_is_executed_of_them_is_seen(tmp_path, run, monkeypatch):
    load = userfile.load_named

    def trusting(field, file, builder=None):
        with contextlib.suppress(HeadwayError, ValueError):
            digest = userfile.Source.of(Path(file)).line().partition(" ")[0]
            monkeypatch.setattr(
                userfile, "_known", {f"{digest} {file}", f"{digest} {file}:{builder}"}
            )
        return load(field, file, builder)

    monkeypatch.setattr(userfile, "load_named", trusting)
    failed = tried_on(run, tmp_path, 10, share=13).failed
    assert sum("executed" in what for _, what in failed) >= 3, failed
