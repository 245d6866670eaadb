"""In a browser: figures kept as SVG, tables as CSV."""

import csv
import io
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image

LABELS = {
    "circuit": ["layer0", "layer2", "s₀", "x₁", "uniform", "answer", "arrowscarry"],
    "birth": ["validation", "L0.H0s2←s1", "L1.H0s0←s2", "asitis", "born,0.5", "step"],
    "attention": ["L0.H0", "L1.H0", "L2.H0", "s2←s1", "uniform", "s0"],
}
"""Words of every figure, without spaces."""


@pytest.fixture(scope="module", params=["wide", "narrow and dark"])
def kept(request, browser, learnt, tmp_path_factory):
    """Every figure by its name: the file that was kept, and its card as the page shows it."""
    from browser import Visit

    narrow = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
    seen = Visit(browser, learnt.file, **(narrow if request.param != "wide" else {}))
    seen.page.locator("#time").evaluate("it => { it.hidden = true; }")  # it would hide a part
    folder, found = tmp_path_factory.mktemp("kept"), {}
    for figure in seen.page.locator("figure").all():
        with seen.page.expect_download() as download:
            figure.get_by_role("button", name="SVG").click()
        file = folder / download.value.suggested_filename
        download.value.save_as(file)
        name = figure.get_attribute("data-name")
        assert file.name == f"run-{name}.svg"
        found[name] = file, pixels(figure.locator(".card").screenshot())
    assert not seen.complaints
    seen.context.close()
    return found


def pixels(image: bytes):
    return np.asarray(Image.open(io.BytesIO(image)).convert("L"), dtype=float)


def ink(image):
    """Which part of an image is not its background."""
    return (np.abs(image - np.median(image)) > 24).mean()


def test_figures_are_whole_svgs_that_need_nothing_else(kept):
    assert kept.keys() == LABELS.keys()
    for name, (file, _) in kept.items():
        root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        for element in root.iter():
            for attribute, value in element.attrib.items():
                if attribute.endswith(("href", "src")):
                    assert value.startswith(("data:image/png;base64,", "#"))
                assert "url(" not in value
                assert "var(" not in value
            assert element.tag.rpartition("}")[2] not in ("style", "script", "foreignObject")
            if element.tag.endswith("}svg") and "x" in element.attrib:
                right = float(element.get("x")) + float(element.get("width"))
                assert right <= float(root.get("width")) + 1  # nothing is cut off
        words = "".join("".join(root.itertext()).split())
        for label in LABELS[name]:
            assert label in words, (name, label)


@pytest.fixture
def copied(visit, learnt):
    """Copies a table, by its label, at the fourth checkpoint: its rows."""
    seen = visit(learnt, permissions=["clipboard-read", "clipboard-write"])
    seen.go_to(3)
    seen.page.evaluate("all('details').forEach((it) => { it.open = true; })")

    def copy(label):
        table = seen.page.locator(".tabled").filter(
            has=seen.page.get_by_role("group", name=label, exact=True)
        )
        table.locator("button.keep").click()
        table.locator("button.keep", has_text="copied").wait_for()
        return rows_of(seen.page.evaluate("navigator.clipboard.readText()"))

    copy.seen = seen
    return copy


def rows_of(text):
    head, *rows = csv.reader(io.StringIO(text))
    assert all(len(row) == len(head) for row in rows)
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_the_table_of_paths_is_copied_with_its_exact_numbers(copied, learnt):
    copied.seen.page.locator(".switch").first.click()
    rows = copied("paths of the circuit")
    necessity = learnt.run.read("circuit.json")["evidence"]["necessity"]
    dated = learnt.run.read("emergence.json")["paths"]
    assert [row["on"] for row in rows] == ["off", "on"]
    for row, n, path in zip(rows, necessity, dated, strict=True):
        assert row["path"] == n["path"] == path["path"]
        assert float(row["circuit without it"]) == n["loss"]
        assert float(row["above free"]) == n["free"]
        assert float(row["attention now"]) == path["attention"][3]
        assert float(row["knocked out now"]) == path["loss_without"][3]
        assert float(row["born"]) == path["born"]
        assert float(row["needed from"]) == path["needed"]


def test_every_table_has_its_button_and_all_of_its_rows(visit, learnt):
    seen = visit(learnt, permissions=["clipboard-read", "clipboard-write"])
    seen.page.evaluate("all('details').forEach((it) => { it.open = true; })")
    tables = seen.page.locator(".tabled")
    assert tables.count() >= 12
    for table in tables.all():
        table.locator("button.keep").click()
        table.locator("button.keep", has_text="copied").wait_for()
        rows = rows_of(seen.page.evaluate("navigator.clipboard.readText()"))
        assert len(rows) == table.locator("tbody tr").count()
        exact = table.locator("tbody data").evaluate_all("them => them.map(it => it.value)")
        cells = [cell for row in rows for cell in row.values()]
        assert all(value in cells for value in exact)
