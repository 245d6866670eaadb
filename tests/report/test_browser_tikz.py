"""In a browser: the circuit as a TikZ picture."""

import re
import shutil
import subprocess

import pytest
from own_tasks import Homes
from pages import page_data, written
from tiny_runs import with_heads

DOCUMENT = """\\documentclass{article}
\\usepackage[utf8]{inputenc}
\\usepackage[T1]{fontenc}
\\usepackage{tikz}
\\begin{document}
%s
\\end{document}
"""

COLUMN = 8.25
"""Centimetres that a column of a paper is wide."""


def data_of(page):
    return page_data(page.file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """The page of a task of words, with two heads in a layer."""
    folder = tmp_path_factory.mktemp("words")
    paths = {(0, 0): ("3 back",), (0, 1): ("previous token",), (1, 0): ("3 back",)}
    return written(with_heads(folder / "words", Homes(), 2, paths), folder)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_has_the_colours_of_white_paper(visit, learnt, tmp_path, scheme):
    tikz = visit(learnt, color_scheme=scheme).kept("TikZ", tmp_path)
    assert "{headway1}{RGB}{10,96,184}" in tikz
    assert "{layer 1}" in tikz


def test_arrows_have_stripes_and_places_keep_symbols(visit, learnt, tmp_path):
    tikz = visit(learnt).kept("TikZ", tmp_path)
    paths = data_of(learnt)["circuit"]["paths"]
    stripes = sum(max(1, len(path["carries"])) for path in paths)
    assert tikz.count("\\draw[->") == stripes
    assert re.search(r"\\draw\[headway\d!50", tikz)
    assert "{H0}" not in tikz  # one head in each layer


def test_it_is_as_wide_as_a_column_and_names_heads_where_there_are_several(
    visit, words, tmp_path
):
    tikz = visit(words).kept("TikZ", tmp_path)
    across = [float(x) for x in re.findall(r"\((-?[\d.]+),", tikz)]
    assert max(across) - min(across) < COLUMN
    assert "{H1}" in tikz
    assert "rotate=45" in tikz


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("which", ["learnt", "words"])
def test_it_compiles(visit, request, tmp_path, which):
    tikz = visit(request.getfixturevalue(which)).kept("TikZ", tmp_path)
    (tmp_path / "one.tex").write_text(DOCUMENT % tikz, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "one.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
