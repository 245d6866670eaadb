"""Several runs on one page: the numbers are theirs, and whatever they lack, there is a page."""

import re
import shutil
from pathlib import Path

import pytest
from pages import page_data, table

from commands import refused
from headway import cli
from headway.circuits import AttentionPath, Discovery, compare
from headway.errors import HeadwayError
from headway.report.circuit import path_key
from headway.report.labels import typeset
from headway.report.runs import write_runs
from headway.training import Run


@pytest.fixture
def pair(finished, tmp_path) -> list[Run]:
    """Two runs with circuits that differ by one relation, and their own emergence."""
    runs = [Run.open(shutil.copytree(finished.folder, tmp_path / name)) for name in ("a", "b")]
    circuit = runs[1].read("circuit.json")
    gone = AttentionPath.of(1, 0, circuit["heads"]["L1.H0"].pop())
    necessity = circuit["evidence"]["necessity"]
    circuit["evidence"]["replaced"] = {"x_1": 0.0123}
    circuit["threshold"] = 0.01
    circuit["evidence"]["necessity"] = [n for n in necessity if n["path"] != str(gone)]
    runs[1].write("circuit.json", circuit)
    timeline = runs[1].read("emergence.json")
    timeline["paths"] = [p for p in timeline["paths"] if p["path"] != str(gone)]
    timeline["paths"][0]["emerged"], timeline["hops"] = 4.25, {"x_1": 3.5}
    runs[1].write("emergence.json", timeline)
    return runs


def data_of(runs: list[Run]) -> dict:
    path = write_runs(runs)
    assert path == runs[0].folder.parent / "comparison.html"
    return page_data(path.read_text(encoding="utf-8"))


def test_the_numbers_are_those_of_the_folders(pair):
    data = data_of(pair)
    head, rows = data["table"]["head"], data["table"]["rows"]
    for run, cells, name in zip(pair, rows, data["table"]["keys"], strict=True):
        found = Discovery.from_json(run.read("circuit.json"))
        named = dict(zip(head, cells, strict=True))
        assert (name, named["status"]) == (run.folder.name, "done")
        assert named["validation loss"] == run.metrics()[-1]["val_loss"]
        assert named["circuit loss"] == found.replaced_loss
        assert (named["faithful"], named["necessary"]) == (found.faithful, found.necessary)
        assert named["useful heads"] == f"{len(found.circuit.useful_heads)} of 2"
        assert named["layers used"] == len(found.circuit.useful_layers)
        assert named["flow minimum"] == "2"
        paths = [path["key"] for path in data["circuits"][name]["paths"]]
        assert paths == list(map(path_key, found.circuit.paths))
    (learnt,) = [one for one in data["sections"] if one["title"] == "When hops were learnt"]
    assert learnt["tables"][0]["rows"][0][-1] == round(3.5)
    assert rows[1][head.index("circuit loss")] == 0.0123


def test_what_is_shared_is_what_compare_says(pair):
    data = data_of(pair)
    found = compare([Discovery.from_json(run.read("circuit.json")).circuit for run in pair])
    assert 0 < found.likeness < 1
    head, rows = table(data, "the heads that attend along each relation, by run")
    assert head[-2:] == ["a", "b"]
    for (relation, by), cells in zip(found.heads.items(), rows, strict=True):
        assert cells[:2] == [typeset(relation), f"{sum(map(bool, by))} of 2"]
        for heads, cell in zip(by, cells[-2:], strict=True):
            assert [f"{layer}.{head}" for layer, head in heads] == re.findall(r"\d\.\d", cell or "")
    first = AttentionPath.parse(pair[1].read("emergence.json")["paths"][0]["path"])
    assert f"{first.layer}.{first.head} 4" in [row[-1] for row in rows]  # of step 4.25
    section = data["sections"][-1]
    assert f"of {len(found.heads)} relations in any of them" in " ".join(section["sentences"])


def test_what_cannot_be_compared_is_one_clear_line(pair):
    with pytest.raises(HeadwayError, match="is named twice"):
        write_runs([pair[0], Run.open(pair[0].folder / ".." / "a")])
    with pytest.raises(HeadwayError, match="name at least two"):
        write_runs(pair[:1])
    (pair[1].folder / "circuit.json").write_text("{")
    with pytest.raises(HeadwayError, match=r"circuit\.json is not valid JSON"):
        write_runs(pair)
    assert not (pair[0].folder.parent / "comparison.html").exists()


def test_the_verb_compares_the_runs_that_are_named(pair, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cli.main(["report", "a", "b"])
    assert capsys.readouterr().out.split() == ["report", "comparison.html"]
    (tmp_path / "there").mkdir()
    cli.main(["report", "a", "b", "--out", "there/page.html"])
    text = Path("there/page.html").read_text()
    assert "<title>a and b — comparison</title>" in text
    assert not (tmp_path / "a" / "report.html").exists()


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ([], "the following arguments are required: FOLDER"),
        (["a", "./a"], "a is named twice"),
        (["a", "nowhere"], "nowhere: there is no run folder here"),
        (["a", "."], ". is no run but holds some: report it by itself"),
        (["a", "b", "--out", "no/page.html"], "in a folder that exists"),
        (["a", "b", "--out", "page.txt"], "one that ends in .html"),
        (["a", "--out", "page.html"], "--out is for several runs or a folder of runs"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(pair, tmp_path, monkeypatch, args, complaint):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert complaint in refused("report", *args)
    assert sorted(tmp_path.rglob("*")) == before
