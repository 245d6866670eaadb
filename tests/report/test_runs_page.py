"""Several runs on one page, named or a folder's: what it says is what their folders
say.
"""

import json
import re
import shutil
import statistics
from pathlib import Path

import pytest
from many_runs import LOSSES, a_sweep, config_of, made
from pages import page_data, table

from commands import refused
from headway.errors import HeadwayError
from headway.fields import to_json
from headway.judge import Discovery
from headway.judge.flows import least_layers
from headway.judge.verdict import verdicts
from headway.relations import AttentionPath
from headway.replace import compare
from headway.report.circuit import path_key
from headway.report.labels import typeset
from headway.report.runs import write_runs
from headway.tasks import Retrieval
from headway.terminal import cli
from headway.text import rounded
from headway.training import Run


@pytest.fixture
def sweep(tmp_path) -> Path:
    """Eight runs by depth, layers and seed."""
    return a_sweep(tmp_path / "both")


@pytest.fixture
def pair(finished, tmp_path) -> list[Run]:
    """Two runs with circuits that differ by one relation, and their own emergence."""
    runs = [
        Run.open(shutil.copytree(finished.folder, tmp_path / name))
        for name in ("a", "b")
    ]
    circuit = runs[1].read("circuit.json")
    gone = AttentionPath.of(1, 0, circuit["circuit"]["L1.H0"].pop())
    necessity = circuit["evidence"]["necessity"]
    circuit["evidence"]["replaced"] = {"x_1": 0.0123}
    circuit["threshold"] = 0.01
    circuit["evidence"]["necessity"] = [n for n in necessity if n["path"] != str(gone)]
    del circuit["evidence"]["judgement"]["paths"][str(gone)]
    runs[1].write("circuit.json", circuit)
    timeline = runs[1].read("emergence.json")
    timeline["paths"] = [p for p in timeline["paths"] if p["path"] != str(gone)]
    timeline["paths"][0]["emerged"], timeline["hops"] = 4.25, {"x_1": 3.5}
    runs[1].write("emergence.json", timeline)
    return runs


def data_of(shown: Path | list[Run]) -> dict:
    """What is on the page of a folder of runs, or of runs in one folder that are
    named.
    """
    if isinstance(shown, Path):
        page = shown / "report.html"
    else:
        page = shown[0].folder.parent / "comparison.html"
    assert write_runs(shown) == page
    return page_data(page.read_text(encoding="utf-8"))


def test_every_run_is_there(sweep):
    data = data_of(sweep)
    assert data["summary"][0].startswith("8 of 8 runs done. 3 of 8 solved the task")
    assert "depth (2 values) × n_layers (2 values) × seed (2 values)" in " ".join(
        data["summary"]
    )
    head, rows = data["tables"][0]["head"], data["tables"][0]["rows"]
    fields = ["depth", "n_layers", "seed"]
    assert head[:6] == ["run", "status", "validation loss", *fields]
    expected = [
        [f"depth={d},n_layers={n},seed={s}", "done", loss, str(d), str(n), str(s)]
        for (d, n), losses in LOSSES.items()
        for s, loss in enumerate(losses)
    ]
    assert [row[:6] for row in rows] == expected
    assert {row[head.index("steps")] for row in rows} == {30}
    solved = head.index("step below 0.05")
    assert [row[solved] for row in rows] == [
        30 if row[2] < 0.05 else None for row in rows
    ]
    assert data["tables"][0]["keys"] == [row[0] for row in expected]
    (learnt,) = [
        one for one in data["sections"] if one["title"] == "When hops were learnt"
    ]
    assert learnt["tables"][0]["rows"][0][2:] == [15] * 3
    for varied in data["fields"]:
        told = [varied["values"][number] for number in varied["of"]]
        assert told == [row[head.index(varied["name"])] for row in rows]
    assert [varied["name"] for varied in data["fields"]] == fields
    assert data["title"] == "both: retrieval by depth, n_layers and seed"
    ends = [curve["points"][-1] for curve in data["curves"]]
    assert sorted(ends) == sorted([30, row[2]] for row in expected)


def test_seeds_are_not_averaged_away(sweep):
    data = data_of(sweep)
    head, rows = table(data, "validation loss at the end, by n_layers")
    for row, layers in zip(rows, (1, 2), strict=True):
        losses = [x for (_, n), both in LOSSES.items() for x in both if n == layers]
        named = dict(zip(head, row, strict=True))
        assert (named["n_layers"], named["done"]) == (str(layers), "4 of 4")
        assert named["solved"] == f"{sum(x < 0.05 for x in losses)} of 4"
        assert named["median loss"] == statistics.median(losses)
        spread = (
            f"{rounded(statistics.mean(losses))} ± {rounded(statistics.stdev(losses))}"
        )
        assert (named["mean ± st. dev."], named["least"]) == (spread, min(losses))
    head, rows = table(data, "validation loss at the end, by depth and n_layers")
    for row, ((depth, layers), losses) in zip(rows, LOSSES.items(), strict=True):
        solved = f"{sum(x < 0.05 for x in losses)} of 2"
        median, minimum = (
            statistics.median(losses),
            least_layers(Retrieval(depth=depth).flow(), True),
        )
        assert row[:6] == [str(depth), str(layers), "2 of 2", solved, minimum, median]


def test_what_is_not_done_is_counted_and_says_why(sweep):
    failed = Run.open(sweep / "depth=1,n_layers=1,seed=0")
    told = {"status": "failed", "message": "<i>nan</i> & so"}
    failed.write("outcome.json", {**(failed.outcome() or {}), **told})
    running = Run.open(sweep / "depth=1,n_layers=1,seed=1")
    (running.folder / "outcome.json").unlink()
    stopped = Run.open(sweep / "depth=1,n_layers=2,seed=0")
    (stopped.folder / "outcome.json").unlink()
    (stopped.folder / "metrics.jsonl").unlink()
    broken = sweep / "depth=1,n_layers=2,seed=1" / "outcome.json"
    broken.write_text("{")
    (sweep / "figures").mkdir()
    plan = json.loads((sweep / "plan.json").read_text())
    plan["runs"]["later"] = plan["runs"]["depth=1,n_layers=1,seed=0"]
    (sweep / "plan.json").write_text(json.dumps(plan))
    with running.writing():
        data = data_of(sweep)
    counts = (
        "4 of 9 runs done; 1 failed, 1 running, 1 stopped, 1 not started and "
        "1 cannot be read."
    )
    assert data["summary"][0].startswith(counts)
    first, second, third, *_, waiting, why = data["lacking"]
    assert (
        "Training failed: <i>nan</i> & so. The circuit has not been looked for yet: "
        in first
    )
    assert second.startswith("depth=1,n_layers=1,seed=1: Still training.")
    assert "Training was stopped. There is no evaluation yet." in third
    assert waiting == "Not started yet: later."
    assert "outcome.json is not valid JSON" in why
    head, rows = data["tables"][0]["head"], data["tables"][0]["rows"]
    seen = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert seen["depth=1,n_layers=1,seed=0"]["status"] == "failed: <i>nan</i> & so"
    assert seen["depth=1,n_layers=1,seed=1"]["status"] == "running"
    assert seen["depth=1,n_layers=2,seed=0"]["validation loss"] is None


def test_a_run_is_linked_to_its_own_page(sweep, tmp_path):
    name = "depth=1,n_layers=1,seed=0"
    (sweep / name / "report.html").write_text("its own")
    links = data_of(sweep)["tables"][0]["links"]
    assert links == ["depth%3D1%2Cn_layers%3D1%2Cseed%3D0/report.html", *[None] * 7]
    (tmp_path / "there").mkdir()
    write_runs(sweep, tmp_path / "there" / "page.html")
    assert '"../both/depth%3D1' in (tmp_path / "there" / "page.html").read_text()


def test_the_page_of_two_hundred_runs_is_small(tmp_path):
    def partial(i: int) -> dict[str, float]:
        return {"x_1": 1 / (1 + i), "x_2": 1 / (1 + i)}

    one = made(
        tmp_path / "n1,s0",
        config_of(2, 1, 0),
        [partial(i) for i in range(300)],
        status="done",
        val_loss=1 / 300,
    )
    for i in range(1, 200):
        folder = shutil.copytree(one.folder, tmp_path / f"n{1 + i % 4},s{i // 4}")
        config = to_json(config_of(2, 1 + i % 4, i // 4))
        (folder / "config.json").write_text(json.dumps({"format": 1, **config}))
    path = write_runs(tmp_path)
    text = path.read_text()
    assert "200 of 200 runs done." in text
    assert len(text.encode()) < 3_000_000


def test_links_to_runs_elsewhere_are_followed(sweep, tmp_path):
    one = sweep / "depth=1,n_layers=1,seed=0"
    one.rename(tmp_path / "elsewhere")
    one.symlink_to(tmp_path / "elsewhere")
    assert data_of(sweep)["tables"][0]["keys"][0] == one.name


def test_the_verb_takes_a_folder_of_runs(sweep, capsys, monkeypatch):
    monkeypatch.chdir(sweep.parent)
    cli.main(["report", "both"])
    assert capsys.readouterr().out.split() == ["report", "both/report.html"]
    cli.main(["report", "both", "--out", "page.html"])
    assert "8 of 8 runs" in Path("page.html").read_text()


def test_a_folder_without_runs_is_one_clear_line(sweep, tmp_path):
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    with pytest.raises(
        HeadwayError, match="there is no run here, and no folder of a run in it"
    ):
        write_runs(tmp_path / "empty")
    (sweep / "plan.json").write_text('{"runs": 3}')
    with pytest.raises(HeadwayError, match=r"plan\.json is corrupted"):
        write_runs(sweep)
    (tmp_path / "file").write_text("")
    refused("report", tmp_path / "file")


def test_the_numbers_are_those_of_the_folders(pair):
    data = data_of(pair)
    head, rows = data["tables"][0]["head"], data["tables"][0]["rows"]
    for run, cells, name in zip(pair, rows, data["tables"][0]["keys"], strict=True):
        found = Discovery.from_json(run.read("circuit.json"))
        named = dict(zip(head, cells, strict=True))
        assert (name, named["status"]) == (run.folder.name, "done")
        assert named["validation loss"] == run.metrics()[-1]["val_loss"]
        assert named["circuit loss"] == found.replaced_loss
        for verdict in verdicts(found):
            assert named[verdict.name] == verdict.holds
        assert named["useful heads"] == f"{len(found.circuit.useful_heads)} of 2"
        assert named["layers used"] == len(found.circuit.useful_layers)
        assert named["flow minimum"] == "2"
        paths = [path["key"] for path in data["circuits"][name]["paths"]]
        assert paths == list(map(path_key, found.circuit.paths))
    (learnt,) = [
        one for one in data["sections"] if one["title"] == "When hops were learnt"
    ]
    assert learnt["tables"][0]["rows"][0][-1] == round(3.5)
    assert rows[1][head.index("circuit loss")] == 0.0123


def test_what_is_shared_is_what_compare_says(pair):
    data = data_of(pair)
    found = compare(
        [Discovery.from_json(run.read("circuit.json")).circuit for run in pair]
    )
    assert 0 < found.likeness < 1
    head, rows = table(data, "the heads that attend along each relation, by run")
    assert head[-2:] == ["a", "b"]
    for (relation, by), cells in zip(found.heads.items(), rows, strict=True):
        assert cells[:2] == [typeset(relation), f"{sum(map(bool, by))} of 2"]
        for heads, cell in zip(by, cells[-2:], strict=True):
            assert [f"{layer}.{head}" for layer, head in heads] == re.findall(
                r"\d\.\d", cell or ""
            )
    first = AttentionPath.parse(pair[1].read("emergence.json")["paths"][0]["path"])
    assert f"{first.layer}.{first.head} 4" in [row[-1] for row in rows]  # of step 4.25
    section = data["sections"][-1]
    assert f"of {len(found.heads)} relations in any of them" in " ".join(
        section["sentences"]
    )


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
    assert "<title>a and b: retrieval D=1, one setting — comparison</title>" in text
    assert not (tmp_path / "a" / "report.html").exists()


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ([], "the following arguments are required: FOLDER"),
        (["a", "./a"], "a is named twice"),
        (["a", "nowhere"], "nowhere: there is no run folder here"),
        (["a", "."], ".: not a run folder, or a half-written one: no config.json"),
        (["a", "b", "--out", "no/page.html"], "in a folder that exists"),
        (["a", "b", "--out", "page.txt"], "one that ends in .html"),
        (["a", "--out", "page.html"], "--out is for several runs or a folder of runs"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    pair, tmp_path, monkeypatch, args, complaint
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert complaint in refused("report", *args)
    assert sorted(tmp_path.rglob("*")) == before
