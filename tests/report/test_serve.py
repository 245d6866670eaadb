"""Runs in the browser: the list, the pages, and that both follow what happens in the folder."""

import html
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from serving import add_line, main_of, serving, tree
from tiny_runs import tiny_config

from headway.errors import HeadwayError
from headway.report.server import Server, pages
from headway.tasks import Retrieval
from headway.training import Run

CONFIG = tiny_config(Retrieval(depth=1, n_chains=2))


@pytest.fixture
def folder(finished, tmp_path):
    """Two runs that ended, one of them in a sweep with one that has not begun."""
    shutil.copytree(finished.folder, tmp_path / "runs" / "ended")
    shutil.copytree(finished.folder, tmp_path / "runs" / "sweep" / "seed=2")
    Run.create(tmp_path / "runs" / "sweep" / "seed=10", CONFIG)
    return tmp_path / "runs"


@pytest.fixture
def site(folder):
    with serving(folder) as site:
        yield site


def row(page, name):
    """The row of a run in the list, as text."""
    found = re.search(
        rf"<tr[^>]*><th scope=row><input[^>]*><a[^>]*><bdi>{re.escape(name)}</bdi>.*?</tr>", page
    )
    assert found, name
    return html.unescape(re.sub("<[^>]+>", " ", found[0]))


def test_the_list_shows_what_is_known_of_every_run(site, finished):
    page = site.page()
    assert site.links() == ["/run/ended/", "/run/sweep/seed%3D2/", "/run/sweep/seed%3D10/"]
    told = row(page, "ended")
    loss = finished.metrics()[-1]["val_loss"]
    for part in ("retrieval D=1", "2 layers × 1 head", "done", "6 steps", "2 useful heads"):
        assert part in told
    assert "in 2 layers, flow minimum 2" in told
    assert f'<data value="{loss!r}">' in page
    assert "<polyline" in page
    assert "stopped" in row(page, "seed=10")
    assert "step 0 of 6" in row(page, "seed=10")
    assert re.search(r"<bdi>sweep</bdi></a> <small>2 runs · 1 done · 1 stopped</small>", page)
    assert "3 runs · 2 done · 1 stopped" in page
    assert re.search(r'<time datetime="20\d\d-\d\d-\d\dT[\d:]{8}Z">', page)


def test_a_run_that_is_written_to_is_shown_as_running(site):
    waiting = Run.open(site.folder / "sweep" / "seed=10")
    before = site.version()
    with waiting.writing():
        assert "running" in row(site.page(), "seed=10")
        assert site.version() != before
    assert "stopped" in row(site.page(), "seed=10")


def test_why_a_run_failed_or_cannot_be_read_is_in_the_list(site):
    Run.open(site.folder / "sweep" / "seed=10").fail("the loss is nan at step 3")
    (site.folder / "ended" / "config.json").write_text("{")
    (site.folder / "figures").mkdir()
    (site.folder / "lost" / "checkpoints").mkdir(parents=True)
    page = site.page()
    assert "the loss is nan at step 3" in row(page, "seed=10")
    assert "config.json is not valid JSON" in row(page, "ended")
    assert "lost: not a run folder, or a half-written one: no config.json" in row(page, "lost")
    assert "figures" not in page


def test_an_empty_folder_says_how_to_train_a_first_run(tmp_path):
    with serving(tmp_path) as site:
        assert f"headway train fast --folder {tmp_path}/first" in main_of(site.page())


def test_a_folder_that_goes_away_is_told_and_may_come_back(site):
    aside = site.folder.with_name("aside")
    before = site.version()
    site.folder.rename(aside)
    assert "there is no such folder" in main_of(site.page())
    assert site.version() != before
    assert site.ask("/run/ended/").status == 404
    aside.rename(site.folder)
    assert site.version() == before


def test_the_page_of_a_run_is_its_report_and_keeps_itself_up_to_date(site, finished):
    for path in ("/run/ended/", "/run/sweep/seed%3D2/"):
        page = site.page(path)
        assert repr(finished.metrics()[-1]["val_loss"]) in page
        assert f'<meta name="version" content="{site.version(path)}">' in page
        assert page.count("window.headway?.restart") == 1
    assert "seed=2</title>" in page
    moved = site.ask("/run/sweep/seed%3D2")
    assert (moved.status, moved.headers["Location"]) == (301, "/run/sweep/seed%3D2/")


def test_a_new_evaluation_changes_versions_and_pages(site):
    run = Run.open(site.folder / "ended")
    before = [site.version(path) for path in ("/", "/run/ended/", "/run/sweep/seed%3D2/")]
    assert "0.1234567" not in site.page() + site.page("/run/ended/")
    add_line(run, 0.1234567)
    after = [site.version(path) for path in ("/", "/run/ended/", "/run/sweep/seed%3D2/")]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, True]
    for path in ("/", "/run/ended/"):
        assert "0.1234567" in site.page(path)
        assert f'<meta name="version" content="{site.version(path)}">' in site.page(path)


@pytest.mark.parametrize(
    "name", ["outcome.json", "circuit.json", "emergence.json", "environment.json", "config.json"]
)
def test_every_file_that_is_shown_is_part_of_the_version(site, name):
    versions = [site.version("/run/ended/")]
    data = (site.folder / "ended" / name).read_bytes()
    (site.folder / "ended" / name).unlink()
    versions += [] if name == "config.json" else [site.version("/run/ended/")]
    (site.folder / "ended" / name).write_bytes(data)
    versions.append(site.version("/run/ended/"))
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
        ("circuit.json", "{}", "circuit.json: circuit = None is not allowed"),
        ("circuit.json", '{"useful_heads": 3', "circuit.json is not valid JSON"),
        ("emergence.json", "{}", "emergence.json: steps is missing"),
        ("checkpoints/step_0000006.safetensors", "cut off", "truncated or corrupted"),
    ],
)
def test_a_spoilt_run_is_a_page_that_says_why(site, name, content, reason):
    path = site.folder / "ended" / name
    whole = path.read_bytes()
    path.write_text(content)
    page = site.page("/run/ended/")
    assert reason in html.unescape(main_of(page))
    assert "Traceback" not in page
    assert "window.headway?.restart" in page
    site.page()
    path.write_bytes(whole)
    os.utime(path)
    (path.parent / "now.json").touch()
    assert reason not in site.page("/run/ended/")


def test_a_run_that_is_written_to_while_it_is_read_is_read_again(site, monkeypatch):
    reads = []

    def reading(findings, **_):
        reads.append(findings)
        if len(reads) == 1:
            add_line(findings.run, 0.1234567)
            raise HeadwayError("half of it was gone")
        return f"<html>\n<head>{findings.metrics[-1]['val_loss']}"

    monkeypatch.setattr(pages, "render", reading)
    page = site.page("/run/ended/")
    assert "0.1234567" in page
    assert site.version("/run/ended/") in page
    assert site.page("/run/ended/") == page
    assert len(reads) == 2


def test_nothing_in_the_folder_is_changed(site):
    with Run.open(site.folder / "ended").writing():
        pass
    (site.folder / "lost" / "checkpoints").mkdir(parents=True)
    before = tree(site.folder)
    for path in ["/", "/version", *site.links()]:
        site.page(path)
        site.ask(f"{path}version")
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
    with pytest.raises(HeadwayError, match=r"^port = 65536 is not allowed: it must be a whole num"):
        Server(tmp_path, 65536)
    with serving(tmp_path) as site:
        port = site.server.server_address[1]
        with pytest.raises(HeadwayError, match=f"^port {port} is in use already: choose another"):
            Server(tmp_path, port)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_verb_says_where_and_stops_quietly(tmp_path, how):
    command = [sys.executable, "-m", "headway", "serve", str(tmp_path), "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as served:
        line = served.stdout.readline()
        served.send_signal(how)
        out, complaint = served.communicate(timeout=60)
    assert re.fullmatch(r"serving runs on http://127\.0\.0\.1:[1-9]\d*/  \(Ctrl-C stops\)\n", line)
    assert (served.returncode, out, complaint) == (0, "", "")


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.skipif(BROWSER is None, reason="needs a browser")
@pytest.mark.parametrize("path", ["/", "/run/ended/"])
def test_a_browser_shows_what_changed_after_it_loaded_the_page(site, path, monkeypatch, tmp_path):
    run, asked = Run.open(site.folder / "ended"), []
    maker = site.server.index if path == "/" else site.server.pages
    made = maker.page

    def page(*args):
        text = made(*args)
        asked.append(path)
        if len(asked) == 1:
            add_line(run, 0.12345)
        return text

    monkeypatch.setattr(maker, "page", page)
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/b"]
    command = [BROWSER, *options, "--virtual-time-budget=2500", "--dump-dom"]
    address = site.server.url.rstrip("/") + path
    shown = subprocess.run([*command, address], capture_output=True, text=True, timeout=60)
    assert len(asked) == 2
    assert "0.12345" in main_of(shown.stdout) + shown.stdout[: shown.stdout.index("<main>")]
    assert '<span id="connection" role="status">live</span>' in shown.stdout
