"""A short, seeded part of what `make fuzz` tries."""

import pytest

from fuzz.calls import failing_calls
from fuzz.commands import command_lines
from fuzz.crashes import crash_points
from fuzz.damage import altered_files, damaged_files
from fuzz.links import VERBS, linked_trees
from fuzz.mutants import MUTANTS, PACKAGE
from fuzz.power import power_cuts
from fuzz.runs import taken_apart
from fuzz.tried import Tried
from headway.errors import HeadwayError


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return taken_apart(tmp_path_factory.mktemp("taken apart"))


@pytest.mark.parametrize(
    ("area", "count", "tries"),
    [
        ("power cuts", 8, lambda tried, folder, _: power_cuts(tried, 8, 0, folder)),
        (
            "failing calls",
            8,
            lambda tried, folder, _: failing_calls(tried, 8, 0, folder),
        ),
        (
            "crash points",
            11,
            lambda tried, folder, run: crash_points(tried, 20, folder, run),
        ),
    ],
)
def test_what_ends_anywhere_goes_on(area, count, tries, tmp_path, run):
    tried = Tried()
    tries(tried, tmp_path, run)
    assert tried.counts[area] == count
    assert not tried.failed


def test_damaged_files_and_command_lines(run):
    tried = Tried()
    damaged_files(tried, 150, 0, run)
    altered_files(tried, 40, 0, run)
    command_lines(tried, 30, 0, run)
    areas = ("damaged files", "sound files", "broken files", "command lines")
    assert [tried.counts[area] for area in areas] == [150, 20, 20, 30]
    assert not tried.failed


def test_what_a_planted_fault_replaces_stands_once_in_the_package():
    """So that `make fuzz-mutants` can plant it; a fault whose text has changed is
    written anew.
    """
    outdated = [
        f"{file}: {what}"
        for (_, file), faults in MUTANTS.items()
        for what, (old, _) in faults.items()
        if (PACKAGE / file).read_text().count(old) != 1
    ]
    assert not outdated


def test_trees_with_links(run, tmp_path):
    tried = Tried()
    linked_trees(tried, 12, 0, tmp_path / "links", run, VERBS[::2])
    assert tried.counts["linked trees"] == 12
    assert not tried.failed


def test_a_tree_fails_if_anything_outside_is_touched(run, tmp_path, monkeypatch):
    monkeypatch.setattr("headway.training.files.refuse_link", lambda path: None)
    tried = Tried()
    linked_trees(tried, 1, 3, tmp_path / "links", run, ["record {tree}/new"])
    assert ["touched" in what for _, what in tried.failed] == [True]


def test_a_refusal_fails_unless_it_is_allowed():
    tried = Tried()
    for may_refuse in (False, True):
        with tried.case("any", "refused", may_refuse):
            raise HeadwayError("no")
    with tried.case("any", "two lines", may_refuse=True):
        raise HeadwayError("no\nno")
    assert [what for _, what in tried.failed] == ["refused: no", "two lines: no\nno"]
