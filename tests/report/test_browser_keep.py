"""In a browser: figures kept as SVG, tables as CSV."""

import csv
import io
import xml.etree.ElementTree as ElementTree

import pytest

LABELS = {
    "circuit": ["layer0", "layer2", "s₀", "x₁", "uniform", "answer", "arrowscarry"],
    "birth": ["validation", "L0.H0s2←s1", "L1.H0s0←s2", "asitis", "born,0.5", "step"],
    "attention": ["L0.H0", "L1.H0", "L2.H0", "s2←s1", "uniform", "s0"],
}
"""Words of every figure, without spaces."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_are_kept_as_svgs_that_need_nothing_else(visit, learnt, tmp_path, scheme):
    seen = visit(learnt, color_scheme=scheme)
    names = []
    for figure in seen.page.locator("figure").all():
        with seen.page.expect_download() as download:
            figure.get_by_role("button", name="SVG").click()
        names.append(figure.get_attribute("data-name"))
        file = tmp_path / download.value.suggested_filename
        assert file.name == f"run-{names[-1]}.svg"
        download.value.save_as(file)
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
        for label in LABELS[names[-1]]:
            assert label in words, (names[-1], label)
    assert names == [*LABELS]


def rows_of(text):
    head, *rows = csv.reader(io.StringIO(text))
    assert all(len(row) == len(head) for row in rows)
    return [dict(zip(head, row, strict=True)) for row in rows]


def copied(seen, table):
    """The rows of a table that its button copies."""
    table.locator("button.keep").click()
    table.locator("button.keep", has_text="copied").wait_for()
    return rows_of(seen.page.evaluate("navigator.clipboard.readText()"))


def test_the_table_of_paths_is_copied_with_its_exact_numbers(visit, learnt):
    seen = visit(learnt, permissions=["clipboard-read", "clipboard-write"])
    seen.go_to(3)
    seen.page.locator(".switch").first.click()
    label = seen.page.get_by_role("group", name="paths of the circuit", exact=True)
    rows = copied(seen, seen.page.locator(".tabled").filter(has=label))
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
        rows = copied(seen, table)
        assert len(rows) == table.locator("tbody tr").count()
        exact = table.locator("tbody data").evaluate_all("them => them.map(it => it.value)")
        cells = [cell for row in rows for cell in row.values()]
        assert all(value in cells for value in exact)
