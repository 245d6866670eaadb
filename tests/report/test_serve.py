"""Runs in the browser: the list, the pages, and that both follow what happens in the
folder.
"""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from pages import numbers, said
from serving import SIDE_BY_SIDE, add_line, serving, tree

from headway.errors import HeadwayError
from headway.find import discover
from headway.judge import saved_discovery, verdicts
from headway.report.server import Server
from headway.text import BLOCKS
from headway.training import Run


def test_the_list_shows_what_is_known_of_every_run(site, finished):
    assert site.links() == [
        "/run/alone/",
        "/run/sweep/seed%3D2/",
        "/run/sweep/seed%3D10/",
    ]
    data, told, waiting = site.data(), site.row("alone"), site.row("seed=10")
    last = finished.metrics()[-1]
    assert (told["task"], told["status"]) == ("retrieval D=1", "done")
    assert told["model"] == f"2 layers × 1 head · seed {finished.config.seed}"
    assert (told["steps"], told["validation loss"]) == (6, last["val_loss"])
    heads = [
        told[name] for name in ("useful heads", "layers used", "flow minimum", "enough")
    ]
    assert heads == ["2 of 2", 2, "2", verdicts(saved_discovery(finished))[0].holds]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d [\d:]{8}", told["changed"])
    assert (waiting["status"], waiting["steps"]) == ("stopped", "0 of 6")
    alone, sweep = data["tables"]
    heights = [min(8, round(8 * line["val_loss"])) for line in finished.metrics()]
    assert told["course"] == "".join(BLOCKS[height] for height in heights)
    assert (alone["title"], alone["link"]) == ("", "")
    assert (sweep["title"], sweep["link"]) == ("sweep", "/sweep/sweep/")
    assert data["summary"][0] == "3 runs · 2 done · 1 stopped"


def test_a_run_that_is_written_to_is_shown_as_running(site):
    waiting = Run.open(site.folder / "sweep" / "seed=10")
    before = site.version()
    with waiting.writing():
        assert site.row("seed=10")["status"] == "running"
        assert site.version() != before
    assert site.row("seed=10")["status"] == "stopped"


def test_why_a_run_failed_or_cannot_be_read_is_in_the_list(site):
    Run.open(site.folder / "sweep" / "seed=10").end("the loss is nan at step 3")
    (site.folder / "alone" / "config.json").write_text("{")
    (site.folder / "figures").mkdir()
    (site.folder / "lost" / "checkpoints").mkdir(parents=True)
    assert "the loss is nan at step 3" in site.row("seed=10")["status"]
    assert "config.json is not valid JSON" in site.row("alone")["status"]
    lost = site.row("lost")["status"]
    assert "lost: not a run folder, or a half-written one: no config.json" in lost
    assert len(site.links()) == 4


def test_why_a_search_is_refused_is_on_page_comparison_and_list(site, unfinished):
    shutil.copytree(unfinished.folder, site.folder / "not")
    with pytest.raises(HeadwayError, match=r"the model's own loss is"):
        discover(site.folder / "not")
    for address in ("/", "/run/not/", "/compare/alone/not/"):
        assert "The search was refused: there is no circuit to find" in said(
            site.page(address)
        )


def test_an_empty_folder_says_how_to_train_a_first_run(tmp_path):
    with serving(tmp_path) as site:
        assert (
            f"headway train fast --folder {tmp_path}/first" in site.data()["summary"][1]
        )


def test_a_folder_that_goes_away_is_told_and_may_come_back(site):
    aside = site.folder.with_name("aside")
    before = site.version()
    site.folder.rename(aside)
    answers = [site.ask(address) for address in ("/", "/version", "/run/alone/")]
    assert {answer.status for answer in answers} == {404}
    assert all("there is no such folder" in answer.text for answer in answers)
    aside.rename(site.folder)
    assert site.version() == before


@pytest.mark.parametrize(
    ("address", "links"),
    [
        ("/", [["/run/alone/"], ["/run/sweep/seed%3D2/", "/run/sweep/seed%3D10/"]]),
        ("/run/sweep/seed%3D2/", []),
        ("/sweep/sweep/", [["/run/sweep/seed%3D2/", "/run/sweep/seed%3D10/"]]),
        (SIDE_BY_SIDE, [["/run/alone/", "/run/sweep/seed%3D2/"]]),
    ],
)
def test_every_page_follows_its_runs_and_no_others(site, address, links):
    data, before, other = (
        site.data(address),
        site.version(address),
        site.version("/run/alone/"),
    )
    assert data["live"] == before
    assert [one["links"] for one in data.get("tables", [])] == links
    add_line(Run.open(site.folder / "sweep" / "seed=2"), 0.125)
    assert site.version(address) != before
    assert site.version("/run/alone/") == other
    assert 0.125 in numbers(data := site.data(address))
    assert data["live"] == site.version(address)
    bare = address.rstrip("/") or "/run/alone"
    moved = site.ask(bare)
    assert (moved.status, moved.headers["Location"]) == (301, f"{bare}/")


@pytest.mark.parametrize(
    "name",
    [
        "outcome.json",
        "circuit.json",
        "emergence.json",
        "environment.json",
        "config.json",
    ],
)
def test_every_file_that_is_shown_is_part_of_the_version(site, name):
    versions = [site.version("/run/alone/")]
    data = (site.folder / "alone" / name).read_bytes()
    (site.folder / "alone" / name).unlink()
    versions += [] if name == "config.json" else [site.version("/run/alone/")]
    (site.folder / "alone" / name).write_bytes(data)
    versions.append(site.version("/run/alone/"))
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.json", "{", "config.json is not valid JSON"),
        ("config.json", "[]", "config.json = [] is not allowed"),
        ("metrics.jsonl", "garbage\n", "metrics.jsonl, line 1 is not valid JSON"),
        ("metrics.jsonl", '{"step": 1}\n', "line 1: train_loss is missing"),
        ("outcome.json", "null", "outcome.json = None is not allowed"),
        ("outcome.json", '{"status": "odd"}', "it must be done or failed"),
        ("circuit.json", "{}", "circuit.json: circuit is missing"),
        ("circuit.json", '{"useful_heads": 3', "circuit.json is not valid JSON"),
        ("emergence.json", "{}", "emergence.json: steps is missing"),
        ("checkpoints/step_0000006.safetensors", "cut off", "truncated or corrupted"),
    ],
)
def test_a_spoilt_run_is_a_page_that_says_why(site, name, content, reason):
    path = site.folder / "alone" / name
    whole = path.read_bytes()
    path.write_text(content)
    data = site.data("/run/alone/")
    assert reason in data["summary"][1]
    assert "Traceback" not in data["summary"][1]
    assert data["live"] == site.version("/run/alone/")
    site.page()
    path.write_bytes(whole)
    os.utime(path)
    (path.parent / "now.json").touch()
    assert site.data("/run/alone/")["kind"] == "run"


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("/sweep/", "sweep"),
        ("/sweep/alone/", "sweep"),
        ("/sweep/sweep/seed%3D2/", "sweep"),
        ("/sweep/%2E%2E/", "sweep"),
        ("/compare/alone/", "comparison"),
        ("/compare/alone/alone/", "comparison"),
        ("/compare/alone/nowhere/", "comparison"),
        ("/compare/alone/..%2Fruns%2Falone/", "comparison"),
    ],
)
def test_what_is_no_run_of_the_folder_is_not_shown(site, address, what):
    answer = site.ask(address)
    assert (answer.status, answer.text) == (404, f"there is no such {what}\n")


def test_a_run_that_cannot_be_read_is_named_on_both_pages(site):
    (site.folder / "sweep" / "seed=2" / "config.json").write_text("{")
    for address in ("/sweep/sweep/", SIDE_BY_SIDE):
        assert "config.json is not valid JSON" in said(site.page(address))


def test_nothing_in_the_folder_is_changed(site):
    with Run.open(site.folder / "alone").writing():
        pass
    (site.folder / "lost" / "checkpoints").mkdir(parents=True)
    before = tree(site.folder)
    for path in ["/", *site.links()]:
        site.page(path)
        site.ask(f"{path}version")
        site.ask(f"{path}data.json")
    assert len(site.links()) == 4
    assert tree(site.folder) == before


def test_bad_input_is_one_clear_line(tmp_path):
    with pytest.raises(HeadwayError, match=r"no: there is no such folder$"):
        Server(tmp_path / "no", 0)
    with pytest.raises(HeadwayError, match="no file can have this name"):
        Server(tmp_path / "\0", 0)
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadwayError, match=r"^cannot read .*file: Not a directory$"):
        Server(tmp_path / "file", 0)
    with pytest.raises(
        HeadwayError, match=r"^port = 65536 is not allowed: it must be a whole num"
    ):
        Server(tmp_path, 65536)
    with serving(tmp_path) as site:
        port = site.server.server_address[1]
        with pytest.raises(
            HeadwayError, match=f"^port {port} is in use already: choose another"
        ):
            Server(tmp_path, port)


def test_the_verb_says_where_and_stops_quietly(tmp_path):
    command = [sys.executable, "-m", "headway", "serve", str(tmp_path), "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as served:
        line = served.stdout.readline()
        served.send_signal(signal.SIGINT)
        out, complaint = served.communicate(timeout=60)
    assert re.fullmatch(
        r"serving runs on http://127\.0\.0\.1:[1-9]\d*/  \(Ctrl-C stops\)\n", line
    )
    assert (served.returncode, out, complaint) == (0, "", "")
