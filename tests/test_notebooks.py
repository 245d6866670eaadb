import base64
import runpy
from pathlib import Path

import nbformat
import pytest

from commands import python

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
PICTURE = "data:image/svg+xml;base64,"
SHOWN = {
    "a-circuit-emerges": (
        "validation loss",
        "heads useful",
        PICTURE,
        "paths through training",
    ),
    "is-the-search-right": ("heads useful", PICTURE),
    "a-language-model": ("heads useful", PICTURE),
    "your-own-task": ("validation loss", "heads useful", PICTURE),
}
"""Of every notebook, words of what it must show: of a run, a discovery, a circuit, a
timeline.
"""


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def drawings(notebook):
    html = [output.get("data", {}).get("text/html", "") for output in outputs(notebook)]
    return [text for text in html if text.startswith('<div class="headway">')]


def check(notebook, name):
    """Make sure that every cell ran, none failed, and everything shows itself."""
    assert not any(output.output_type == "error" for output in outputs(notebook))
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert cell.outputs
    for words in SHOWN[name]:
        assert any(words in text for text in drawings(notebook)), words


def test_the_widget_is_stored_as_a_picture():
    notebook = nbformat.read(FOLDER / "a-circuit-emerges.ipynb", as_version=4)
    data = [output.get("data", {}) for output in outputs(notebook)]
    (shown,) = [one for one in data if one.get("text/plain", "").startswith("View of")]
    assert shown.keys() == {"image/png", "text/plain"}
    assert base64.b64decode(shown["image/png"]).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("data", "is_left_out"),
    [
        ({"text/plain": "Output()"}, True),
        ({"text/plain": "", "text/html": "<pre></pre>"}, True),
        ({"text/plain": "View of a run", "image/png": "…"}, False),
        ({"text/html": '<div class="headway">'}, False),
    ],
)
def test_the_place_of_progress_is_not_stored(data, is_left_out):
    is_progress = runpy.run_path(str(FOLDER / "execute.py"))["is_progress"]
    output = nbformat.v4.new_output("display_data", data)
    assert is_progress(output) == is_left_out
    assert not is_progress(nbformat.v4.new_output("stream", text="done"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_notebooks_run_from_top_to_bottom(name):
    executed = runpy.run_path(str(FOLDER / "execute.py"))["executed"]
    check(executed(FOLDER / f"{name}.ipynb"), name)


@pytest.mark.parametrize("name", SHOWN)
def test_notebooks_are_stored_with_what_they_show(name):
    path = FOLDER / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    check(notebook, name)
    assert path.stat().st_size < 400_000
    assert notebook.metadata.kernelspec.name == "python3"
    text = path.read_text(encoding="utf-8")
    for private in ("/home/", "/root/", "/tmp/", "seconds="):
        assert private not in text


def test_a_session_shows_things_and_keeps_their_plain_text():
    code = (
        "from IPython.core.interactiveshell import InteractiveShell;"
        "shell = InteractiveShell.instance();"
        "import headway, headway.report.cells;"
        "shown = headway.Circuit.of([headway.relations.AttentionPath.of(0, 0, "
        "'s0←s2')]);"
        "data, _ = shell.display_formatter.format(shown);"
        "print(data['text/html'] == headway.report.cells.cell(shown));"
        "print(data['text/plain'] == str(shown))"
    )
    assert python(code).split() == ["True", "True"]


@pytest.mark.parametrize("before", ["", "import IPython;"])
def test_elsewhere_nothing_is_loaded(before):
    code = (
        f"import sys; {before} import headway;"
        "print([name for name in ('IPython', 'headway.report') if name in sys.modules])"
    )
    assert python(code).strip() == ("['IPython']" if before else "[]")
