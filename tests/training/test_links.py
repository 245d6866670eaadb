"""Links in runs' folders: nothing is written or deleted behind one, and no run counts
twice.
"""

import os
import shutil
from pathlib import Path

import pytest

from commands import refused
from headway.errors import HeadwayError
from headway.report import write_report
from headway.report.members import Runs
from headway.sweeps import sweep
from headway.sweeps.plan import Plan
from headway.training import Run, finding, resume, train
from headway.training.files import append_json, draft_of, remove, write_whole
from headway.training.finding import run_folders
from in_process import InThisProcess


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory) -> Path:
    """A run that is done."""
    return train(tiny, tmp_path_factory.mktemp("whole") / "run").folder


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    return shutil.copytree(whole, tmp_path / "copy")


def linked(path: Path, to: Path) -> Path:
    """A link in the place of a file or folder."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(to)
    return path


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_report_leaves_what_figures_leads_to(copy, tmp_path):
    home = tmp_path / "home"
    (home / ".thesis.draft-2").mkdir(parents=True)
    for path in (home / "losses.svg", home / ".thesis.draft-2" / "text"):
        path.write_text("precious")
    before = content(home)
    link = linked(copy / "figures", Path("../home"))
    assert f"{link} is a link: nothing is written" in refused("report", copy)
    assert not (copy / "report.html").exists(), "nothing is half written"
    write_report(copy)
    assert content(home) == before


def test_a_run_that_goes_on_leaves_checkpoints_of_another(whole, copy):
    link = linked(copy / "checkpoints", whole / "checkpoints")
    (copy / "outcome.json").unlink()
    before = content(whole)
    with pytest.raises(
        HeadwayError, match=rf"^{link} is a link: nothing is written or deleted"
    ):
        resume(copy)
    assert content(whole) == before


STEP = "checkpoints/step_0000008.safetensors"
NAMES = ("metrics.jsonl", "circuit.json", "state.safetensors", STEP)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("to", ["../whole", "../nothing", ".", "config.json", "loop"])
def test_training_goes_on_over_no_link(whole, copy, name, to):
    link = copy / name
    target = {"../whole": whole / name, "loop": link}.get(to, copy / to)
    linked(link, target)
    (copy / "outcome.json").unlink()
    before = content(copy), content(whole)
    with pytest.raises(HeadwayError, match=r" is a link: nothing is written"):
        resume(copy)
    assert (content(copy), content(whole)) == before
    assert link.is_symlink()


def test_whoever_writes_or_deletes_meets_the_link(whole, copy):
    run = Run.open(copy)
    for name in ("metrics.jsonl", ".lock", "outcome.json", "checkpoints"):
        linked(copy / name, whole / name)
    before = content(whole)
    writers = (
        lambda: run.append_metrics({}),
        lambda: run.write("outcome.json", {}),
        lambda: run.remove("outcome.json"),
        lambda: run.save_checkpoint(4, {}),
        lambda: run.drop_checkpoint(4),
        lambda: run.writing().__enter__(),
    )
    for write in writers:
        with pytest.raises(HeadwayError, match="is a link"):
            write()
    assert content(whole) == before


@pytest.mark.parametrize("change", [lambda path: write_whole(path, "new"), remove])
def test_a_link_is_neither_replaced_nor_deleted(change, tmp_path):
    """Whoever made it may need it, though nothing behind it would be touched."""
    (tmp_path / "file").write_text("precious")
    link = linked(tmp_path / "link", tmp_path / "file")
    with pytest.raises(
        HeadwayError, match=rf"^{link} is a link: nothing is written or deleted"
    ):
        change(link)
    assert link.is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"file", "link"}


@pytest.mark.parametrize("kept", ["{}\n", "{}\n{cut o"])
def test_a_line_is_not_added_to_a_file_under_its_other_name(kept, tmp_path):
    (tmp_path / "file").write_text(kept)
    (tmp_path / "other").hardlink_to(tmp_path / "file")
    append_json(tmp_path / "file", {"step": 2})
    append_json(tmp_path / "file", {"step": 4})
    assert (tmp_path / "other").read_text() == kept
    assert (tmp_path / "file").read_text() == '{}\n{"step": 2}\n{"step": 4}\n'


def test_drafts_that_are_links_are_removed_and_not_followed(tiny, tmp_path):
    outside = tmp_path / "outside"
    (outside / "checkpoints").mkdir(parents=True)
    (outside / "file").write_text("precious")
    linked(draft_of(tmp_path / "run"), outside)
    linked(draft_of(tmp_path / "page"), outside / "file")
    Run.create(tmp_path / "run", tiny)
    write_whole(tmp_path / "page", "text")
    assert content(outside) == {"file": b"precious"}
    assert (tmp_path / "page").read_text() == "text"
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "page", "run"}


def test_a_link_to_a_run_may_be_named(whole, tmp_path):
    """Whoever names a link means the run that it leads to."""
    page = write_report(linked(tmp_path / "mine", whole))
    assert page.is_file()
    assert (whole / "report.html").is_file()


def test_a_sweep_goes_on_with_no_run_elsewhere(tiny, whole, tmp_path):
    folder = tmp_path / "sweep"
    folder.mkdir()
    link = linked(folder / "one", whole)
    before = content(whole)
    with pytest.raises(HeadwayError, match=rf"^{link} is a link"):
        sweep(Plan("plan", {"one": tiny}), folder, InThisProcess())
    assert content(whole) == before
    assert [path.name for path in folder.iterdir()] == ["one"]


def test_a_run_that_several_paths_lead_to_is_listed_once(tiny, tmp_path):
    runs = tmp_path / "runs"
    own = Run.create(runs / "sweep" / "seed=1", tiny).folder
    linked(runs / "a", own)
    linked(runs / "b", runs / "sweep")
    linked(runs / "sweep" / "up", runs)
    linked(runs / "sweep" / "self", runs / "sweep" / "self")
    assert run_folders(runs) == [own]
    elsewhere = Run.create(tmp_path / "elsewhere", tiny).folder
    for name in ("c", "d"):
        linked(runs / name, elsewhere)
    assert run_folders(runs) == [runs / "c", own]


def test_every_folder_is_entered_once_however_many_links_lead_there(
    tiny, tmp_path, monkeypatch
):
    entered = list[Path]()
    scan = finding._names_in

    def counting(folder: Path, root: Path | None) -> list[str]:
        entered.append(folder)
        return scan(folder, root)

    monkeypatch.setattr(finding, "_names_in", counting)
    for name in "abcde":
        (tmp_path / name).mkdir()
        for number in range(20):
            linked(tmp_path / name / f"up-{number}", tmp_path)
            linked(tmp_path / f"{name}-{number}", tmp_path / name)
    assert run_folders(tmp_path, levels=30) == []
    assert len(entered) == 6


def test_a_run_deep_behind_a_link_is_found_although_a_link_deeper_down_leads_there(
    tiny, tmp_path
):
    far = Run.create(tmp_path / "far" / "sweep" / "seed=1", tiny).folder
    runs = tmp_path / "runs"
    (runs / "a" / "b").mkdir(parents=True)
    linked(runs / "a" / "b" / "deep", far.parents[1])
    linked(runs / "z", far.parents[1])
    assert run_folders(runs) == [runs / "z" / "sweep" / "seed=1"]


def test_runs_side_by_side_are_called_as_they_were_named(whole, copy, tmp_path):
    """Their page lies beside what was named, not where links lead to."""
    link = linked(tmp_path / "link", whole)
    both = Runs.named([Run.open(copy), Run.open(link)])
    assert both.folder == tmp_path
    assert [member.name for member in both.members] == ["copy", "link"]
    with pytest.raises(HeadwayError, match="is named twice"):
        Runs.named([Run.open(whole), Run.open(link)])
    assert os.path.islink(link)
