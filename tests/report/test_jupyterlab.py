"""The widget in a real JupyterLab, and notebooks as exporters write them."""

import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import pytest
from browser import browsing
from nbclient import NotebookClient

from headway.judge import saved_discovery

pytestmark = pytest.mark.slow

SECONDS = 300

INDICATOR = ".jp-Notebook-ExecutionIndicator"
OUTPUT = ".jp-OutputArea-output"
COMMAND = "() => { window.jupyterapp.commands.execute('notebook:%s'); }"

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def notebook(folder, *sources):
    """A notebook of these cells, as a file."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    book = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    file = folder / "cells.ipynb"
    nbformat.write(book, file)
    return file


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextmanager
def jupyterlab(folder):
    """The address of a JupyterLab on a folder."""
    address = f"http://127.0.0.1:{free_port()}"
    options = [
        "--no-browser",
        "--allow-root",
        "--expose-app-in-browser",
        f"--port={address.rpartition(':')[2]}",
        "--IdentityProvider.token=",
        f"--notebook-dir={folder}",
    ]
    command = [sys.executable, "-m", "jupyterlab", *options]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        answers_by(address, time.monotonic() + SECONDS)
        yield address
    finally:
        server.terminate()
        server.wait(SECONDS)


def answers_by(address, end):
    """Waits until a server answers."""
    while True:
        try:
            urlopen(f"{address}/api", timeout=5).close()
            return
        except (URLError, OSError):
            assert time.monotonic() < end, f"{address} does not answer"
            time.sleep(0.5)


def test_steps_go_both_ways_in_jupyterlab(finished, tmp_path):
    pytest.importorskip("jupyterlab")
    made = f"import headway\nview = headway.widget({str(finished.folder)!r})\nview"
    file = notebook(tmp_path, made, "print('now at', view.step)\nview.step = 2")
    with jupyterlab(tmp_path) as address, browsing() as browser:
        assert browser is not None
        page = browser.new_page(viewport={"width": 1280, "height": 1600})
        page.set_default_timeout(1000 * SECONDS)
        page.goto(f"{address}/lab/tree/{file.name}")
        page.locator(f"{INDICATOR}[data-status=idle]").wait_for()
        page.evaluate(COMMAND % "run-all-cells")
        page.locator(OUTPUT, has_text="now at 6").wait_for()
        page.locator(".step", has_text="step 2").wait_for()
        page.locator("input#when").press("Home")
        page.locator(".step", has_text="step 0").wait_for()
        page.evaluate(COMMAND % "run-cell")
        page.locator(OUTPUT, has_text="now at 0").wait_for()


@pytest.fixture(scope="module")
def executed(finished, tmp_path_factory):
    """A notebook that shows a run, what was found and its dates."""
    folder = tmp_path_factory.mktemp("executed")
    opened = (
        f"from headway.training import Run\nrun = Run.open({str(finished.folder)!r})"
    )
    found = "from headway.judge import saved_discovery\nsaved_discovery(run)"
    dates = "from headway.dynamics import saved_timeline\nsaved_timeline(run)"
    file = notebook(folder, f"{opened}\nrun", found, dates)
    book = nbformat.read(file, as_version=4)
    NotebookClient(book, timeout=SECONDS).execute()
    nbformat.write(book, file)
    return file


FIXED = {"html": "<pre", "markdown": "<pre", "latex": "\\begin{Verbatim}"}
"""How a format begins what is set in a fixed pitch."""


@pytest.mark.parametrize("form", FIXED)
def test_tables_are_set_in_a_fixed_pitch(executed, finished, form):
    pytest.importorskip("nbconvert")
    command = [sys.executable, "-m", "nbconvert", f"--to={form}", "--stdout"]
    done = subprocess.run(
        [*command, str(executed)], capture_output=True, text=True, check=True
    )
    found = str(saved_discovery(finished))
    row = next(line for line in found.splitlines() if line.startswith("circuit  "))
    before, _, _ = done.stdout.partition(row)
    assert before != done.stdout
    begins = before.rindex(FIXED[form])
    assert "\n\n" not in before[begins:] or form != "markdown"
    assert "</pre>" not in before[begins:]
