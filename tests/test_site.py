"""The site of the documentation: it builds without a warning, and every page can be
reached.
"""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

import headway
from headway.report.schema import ADAPTER

ROOT = Path(__file__).parent.parent
MAIN = [
    "index.html",
    "quickstart.html",
    "report.html",
    "gallery.html",
    "circuits.html",
    "your-own-task.html",
    "notebooks/a-circuit-emerges.html",
    "reference/verbs.html",
    "experiments/paper.html",
]


def test_every_page_is_named():
    named = set(
        re.findall(r"([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    )
    assert {page.name for page in (ROOT / "docs").rglob("*.md")} <= named


def test_the_kept_data_of_the_live_page_are_those_of_the_app():
    data = (ROOT / "docs/site/demo.json").read_text(encoding="utf-8")
    assert ADAPTER.validate_json(data).name == "demo"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as `make docs` builds it; any warning, such as a dead link, ends the
    build.
    """
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_reference_has_every_public_name_and_every_verb(site):
    text = (site / "reference/api.html").read_text()
    for name in headway.__all__:
        assert re.search(rf'id="headway\.[\w.]+\.{name}"', text), name
    rooms = {path.parent.name for path in (ROOT / "src/headway").glob("*/__init__.py")}
    for room in rooms - {"terminal"} | {"recipes"}:  # terminal is for verbs
        for name in getattr(import_module(f"headway.{room}"), "__all__", ()):
            assert f'id="headway.{room}.{name}"' in text, (room, name)
    verbs = (site / "reference/verbs.html").read_text()
    for verb in ("demo", "train", "circuit", "arena"):
        assert f'id="headway-{verb}"' in verbs


@pytest.mark.slow
def test_the_first_page_shows_a_live_circuit(site):
    frame = re.search(
        r'<iframe src="([^"?]+)\?embed=circuit"', (site / "index.html").read_text()
    )
    assert frame
    live = (site / frame[1]).read_text()
    assert 'id="data">{' in live
    assert "connect-src 'none'" in live


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_anyone_can_read_the_main_pages(site, browser, scheme):
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    for name in MAIN:
        page.goto((site / name).as_uri())
        page.locator("nav.md-code__nav[role=none], table").first.wait_for(
            state="attached"
        )
        found = (
            Axe()
            .run(page, options={"resultTypes": ["violations"]})
            .response["violations"]
        )
        assert not [(name, one["id"], one["nodes"][0]["html"]) for one in found]
    context.close()


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link)[^>]*(?:src|href)="(https?:[^"]*)', page.read_text()
        )
        assert not loaded, (page, loaded)
