"""In a real JupyterLab: a run's widget, and what Python then reads of it.

It needs JupyterLab beside the package: `make test-lab`.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from time import monotonic, sleep

import nbformat
import pytest
from browser import browsing
from playwright.sync_api import expect

pytestmark = pytest.mark.lab

SHOWN = "import headway; view = headway.widget('run'); view"
READ = "print(view.step, view.path, view.cut)"

PATIENCE = 90
"""Seconds until JupyterLab or its kernel answers."""


def free_port():
    """A port that nothing listens at."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def wait_for(address):
    """Wait until a server answers."""
    until = monotonic() + PATIENCE
    while monotonic() < until:
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(address, timeout=10).close()
        sleep(0.5)
    raise TimeoutError(address)


@pytest.fixture
def lab(learnt, tmp_path):
    """The address of JupyterLab in a folder with a run and a notebook."""
    shutil.copytree(learnt.run.folder, tmp_path / "run")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [nbformat.v4.new_code_cell(code) for code in (SHOWN, READ)]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, tmp_path / "own.ipynb")
    port = free_port()
    options = ["--no-browser", "--allow-root", f"--port={port}"]
    options += ["--IdentityProvider.token=", "--ServerApp.password="]
    own = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    command = [sys.executable, "-m", "jupyterlab", *options]
    env = os.environ | own
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=nowhere, stderr=nowhere
    ) as server:
        wait_for(f"http://127.0.0.1:{port}/api/status")
        yield f"http://127.0.0.1:{port}/lab/tree/own.ipynb?reset"
        server.terminate()


@pytest.fixture
def page(lab):
    """The notebook, opened in a browser."""
    with browsing() as browser:
        if browser is None:
            pytest.skip("no browser is installed")
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(1000 * PATIENCE)
        opened.goto(lab)
        yield opened


def test_a_widget_lives_and_python_reads_it(page, learnt):
    cells = page.locator(".jp-CodeCell")
    cells.nth(0).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    step = page.locator(".step")
    expect(step).to_be_visible(timeout=1000 * PATIENCE)
    last = learnt.run.checkpoint_steps()[-1]
    expect(step).to_have_text(f"step {last:,}")
    page.get_by_label("path to cut").select_option(index=1)
    expect(page.locator(".hero .arrow.cut").first).to_be_attached()
    cells.nth(1).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    told = cells.nth(1).locator(".jp-OutputArea-output")
    expect(told).to_contain_text("True", timeout=1000 * PATIENCE)
    expect(told).to_contain_text(f"{last} L")
