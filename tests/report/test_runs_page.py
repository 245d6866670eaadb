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


FIELDS = ["depth", "n_layers", "seed"]
"""The fields that the runs of the sweep differ in."""


def rows_expected():
    """The start of every row: the run, its status, its loss and its fields."""
    return [
        [f"depth={d},n_layers={n},seed={s}", "done", loss, str(d), str(n), str(s)]
        for (d, n), losses in LOSSES.items()
        for s, loss in enumerate(losses)
    ]


def test_the_summary_counts_runs_and_names_the_fields_that_vary(sweep):
    data = data_of(sweep)
    assert data["title"] == "both: retrieval by depth, n_layers and seed"
    assert data["summary"][0].startswith("8 of 8 runs done. 3 of 8 solved the task")
    varied = "depth (2 values) × n_layers (2 values) × seed (2 values)"
    assert varied in " ".join(data["summary"])


def test_every_run_has_a_row(sweep):
    listed = data_of(sweep)["tables"][0]
    head, rows = listed["head"], listed["rows"]
    assert head[:6] == ["run", "status", "validation loss", *FIELDS]
    expected = rows_expected()
    assert [row[:6] for row in rows] == expected
    assert listed["keys"] == [name for name, *_ in expected]
    assert {row[head.index("steps")] for row in rows} == {30}


def test_a_run_is_solved_at_the_step_below_the_threshold(sweep):
    listed = data_of(sweep)["tables"][0]
    solved = listed["head"].index("step below 0.05")
    steps = [row[solved] for row in listed["rows"]]
    assert steps == [30 if loss < 0.05 else None for _, _, loss, *_ in rows_expected()]


def test_hops_are_learnt_at_the_step_of_the_folders(sweep):
    sections = data_of(sweep)["sections"]
    (learnt,) = [each for each in sections if each["title"] == "When hops were learnt"]
    assert learnt["tables"][0]["rows"][0][2:] == [15] * 3


def test_the_values_of_a_field_are_those_of_the_rows(sweep):
    data = data_of(sweep)
    head, rows = data["tables"][0]["head"], data["tables"][0]["rows"]
    assert [varied["name"] for varied in data["fields"]] == FIELDS
    for varied in data["fields"]:
        told = [varied["values"][number] for number in varied["of"]]
        assert told == [row[head.index(varied["name"])] for row in rows]


def test_a_curve_ends_at_the_loss_of_its_run(sweep):
    ends = [curve["points"][-1] for curve in data_of(sweep)["curves"]]
    assert sorted(ends) == sorted([30, loss] for _, _, loss, *_ in rows_expected())


@pytest.mark.parametrize("layers", [1, 2])
def test_seeds_and_depths_of_a_number_of_layers_are_told_together(sweep, layers):
    head, rows = table(data_of(sweep), "validation loss at the end, by n_layers")
    named = dict(zip(head, rows[layers - 1], strict=True))
    losses = [loss for (_, n), both in LOSSES.items() if n == layers for loss in both]
    assert (named["n_layers"], named["done"]) == (str(layers), "4 of 4")
    assert named["solved"] == f"{sum(loss < 0.05 for loss in losses)} of 4"
    assert named["median loss"] == statistics.median(losses)
    mean, spread = statistics.mean(losses), statistics.stdev(losses)
    assert named["mean ± st. dev."] == f"{rounded(mean)} ± {rounded(spread)}"
    assert named["least"] == min(losses)


def test_seeds_of_a_depth_and_number_of_layers_are_told_together(sweep):
    _, rows = table(data_of(sweep), "validation loss at the end, by depth and n_layers")
    for row, ((depth, layers), losses) in zip(rows, LOSSES.items(), strict=True):
        solved = f"{sum(loss < 0.05 for loss in losses)} of 2"
        least = least_layers(Retrieval(depth=depth).flow(), True)
        median = statistics.median(losses)
        assert row[:6] == [str(depth), str(layers), "2 of 2", solved, least, median]


@pytest.fixture
def undone(sweep) -> dict:
    """The data of the page of the sweep where a run failed, one is running, one was
    stopped, one cannot be read, and one is planned.
    """
    failed = Run.open(sweep / "depth=1,n_layers=1,seed=0")
    told = {"status": "failed", "message": "<i>nan</i> & so"}
    failed.write("outcome.json", {**(failed.outcome() or {}), **told})
    running = Run.open(sweep / "depth=1,n_layers=1,seed=1")
    (running.folder / "outcome.json").unlink()
    stopped = sweep / "depth=1,n_layers=2,seed=0"
    (stopped / "outcome.json").unlink()
    (stopped / "metrics.jsonl").unlink()
    (sweep / "depth=1,n_layers=2,seed=1" / "outcome.json").write_text("{")
    (sweep / "figures").mkdir()
    plan = json.loads((sweep / "plan.json").read_text())
    plan["runs"]["later"] = plan["runs"]["depth=1,n_layers=1,seed=0"]
    (sweep / "plan.json").write_text(json.dumps(plan))
    with running.writing():
        return data_of(sweep)


def test_what_is_not_done_is_counted(undone):
    counts = (
        "4 of 9 runs done; 1 failed, 1 running, 1 stopped, 1 not started and "
        "1 cannot be read."
    )
    assert undone["summary"][0].startswith(counts)


def test_what_is_not_done_says_why(undone):
    failed, running, stopped, *_, waiting, broken = undone["lacking"]
    assert "Training failed: <i>nan</i> & so." in failed
    assert "The circuit has not been looked for yet: " in failed
    assert running.startswith("depth=1,n_layers=1,seed=1: Still training.")
    assert "Training was stopped. There is no evaluation yet." in stopped
    assert waiting == "Not started yet: later."
    assert "outcome.json is not valid JSON" in broken


def test_what_is_not_done_has_a_row(undone):
    head, rows = undone["tables"][0]["head"], undone["tables"][0]["rows"]
    by_name = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    failed = by_name["depth=1,n_layers=1,seed=0"]
    assert failed["status"] == "failed: <i>nan</i> & so"
    assert by_name["depth=1,n_layers=1,seed=1"]["status"] == "running"
    assert by_name["depth=1,n_layers=2,seed=0"]["validation loss"] is None


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
    listed = data_of(pair)["tables"][0]
    assert listed["keys"] == [run.folder.name for run in pair]
    for run, cells in zip(pair, listed["rows"], strict=True):
        discovery = Discovery.from_json(run.read("circuit.json"))
        circuit = discovery.circuit
        named = dict(zip(listed["head"], cells, strict=True))
        assert named["status"] == "done"
        assert named["validation loss"] == run.metrics()[-1]["val_loss"]
        assert named["circuit loss"] == discovery.replaced_loss
        for verdict in verdicts(discovery):
            assert named[verdict.name] == verdict.holds
        assert named["useful heads"] == f"{len(circuit.useful_heads)} of 2"
        assert named["layers used"] == len(circuit.useful_layers)
        assert named["flow minimum"] == "2"


def test_the_circuits_are_those_of_the_folders(pair):
    circuits = data_of(pair)["circuits"]
    for run in pair:
        circuit = Discovery.from_json(run.read("circuit.json")).circuit
        keys = [path["key"] for path in circuits[run.folder.name]["paths"]]
        assert keys == list(map(path_key, circuit.paths))


def test_a_folder_has_its_own_loss_and_step_of_learning(pair):
    data = data_of(pair)
    head, rows = data["tables"][0]["head"], data["tables"][0]["rows"]
    assert rows[1][head.index("circuit loss")] == 0.0123
    titles = [section["title"] for section in data["sections"]]
    learnt = data["sections"][titles.index("When hops were learnt")]
    assert learnt["tables"][0]["rows"][0][-1] == round(3.5)


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
