"""In a browser: figures kept as SVG, tables as CSV."""

import csv
import io
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image

from headway.text import rounded

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


def test_figures_look_as_on_the_page(kept, visit):
    for name, (file, before) in kept.items():
        alone = file.with_suffix(".html")
        svg = file.read_text(encoding="utf-8")
        alone.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{svg}', encoding="utf-8")
        seen = visit(alone, viewport={"width": 1400, "height": 900})
        after = pixels(seen.page.locator("svg").first.screenshot())
        assert ink(before) > 0.005
        assert ink(after) == pytest.approx(ink(before), rel=0.35), name
        dark = np.median(before) < 128
        assert (np.median(after) < 128) == dark


def test_a_swatch_of_every_colour_is_kept(visit, learnt):
    seen = visit(learnt)
    blue = "it => it.parentElement.style.setProperty('--c', 'rgb(10, 20, 0)')"
    seen.page.locator(".legend i").first.evaluate(blue)
    svg = seen.page.evaluate("asSvg(document.querySelector('.card'))")
    assert "rgb(10, 20, 0)" in svg


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


def test_what_holds_a_comma_stays_one_cell(copied):
    rows = {row["field"]: row["value"] for row in copied("training")}
    assert rows["betas"].count(",") == 1


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


def test_a_browser_without_a_clipboard_copies_all_the_same(learnt, visit):
    seen = visit(learnt)
    seen.page.evaluate("Object.defineProperty(navigator, 'clipboard', {}) && null")
    table = seen.page.locator(".tabled").first
    table.locator("button.keep").click()
    seen.page.evaluate("document.body.prepend(made('textarea', {id: 'pasted'}))")
    seen.page.locator("#pasted").focus()
    seen.page.keyboard.press("Control+V")
    rows = rows_of(seen.page.locator("#pasted").input_value())
    assert len(rows) == table.locator("tbody tr").count()


def test_numbers_are_printed_alike_by_page_and_script(visit, learnt):
    values = [0.0, 1e-9, 3.14159e-5, 9.9996e-5, 1e-4, 0.00123456, 0.1, 0.18, 1 / 3, 1.0, 9.996]
    values += [12.0, 99.95, 123.4, 999.4, -0.25]
    assert visit(learnt).page.evaluate("(them) => them.map(number)", values) == [
        rounded(value) for value in values
    ]


def test_a_cell_of_several_numbers_is_copied_whole(visit, learnt):
    cells = "<th>mean</th></tr></thead><tbody><tr><td>{}</td></tr></tbody></table>"
    cell = "<data value=0.123456>0.123</data> ± <data value=0.5>0.5</data><br>and one"
    text = visit(learnt).page.evaluate(
        "(rows) => { const it = made('div'); it.innerHTML = rows; return asCsv(it.firstChild); }",
        "<table><thead><tr>" + cells.format(cell),
    )
    assert text.splitlines() == ["mean", "0.123456 ± 0.5; and one"]


def test_a_table_stays_sorted_by_its_column_when_another_comes(visit, learnt):
    page = visit(learnt).page
    page.evaluate("all('details').forEach((it) => { it.open = true; })")
    table = page.get_by_role("group", name="paths of the circuit", exact=True)
    table.get_by_role("button", name="circuit without it").click()
    page.evaluate(
        """() => {
          const group = document.querySelector("[aria-label='paths of the circuit']");
          for (const row of all("tr", group)) row.prepend(row.firstElementChild.cloneNode());
          parts.find((one) => String(one.start).includes("sortable")).start();
        }"""
    )
    sorted_by = table.locator("th[aria-sort]")
    assert sorted_by.text_content() == "circuit without it"
