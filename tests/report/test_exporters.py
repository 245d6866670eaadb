"""Notebooks as exporters write them."""

import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from headway.judge import saved_discovery

pytestmark = pytest.mark.slow

SECONDS = 300

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def notebook(folder, *sources):
    """A notebook of these cells, as a file."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    book = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    file = folder / "cells.ipynb"
    nbformat.write(book, file)
    return file


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


FIXED = {"html": "<pre", "markdown": "<pre"}
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
