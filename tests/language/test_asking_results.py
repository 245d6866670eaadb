"""The results that come with headway, and the page that tells of them."""

import json
import re
from pathlib import Path

import pytest

from headway.language import FORMULATIONS, Cell

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "results" / "language_models").glob("*.json"))


def first_look_up(cell):
    """What the page says of a cell of depth 1: the share that is right by argmax, and guessing."""
    low, high = cell["intervals"]["argmax"]
    return f"{cell['argmax']:.2f} ({low:.2f}–{high:.2f})", f"{cell['chance']:.2f}"


@pytest.fixture(params=RESULTS, ids=lambda path: path.stem)
def result(request):
    return json.loads(request.param.read_text())


def test_the_page_has_what_one_look_up_gives(result):
    page = (ROOT / "docs" / "language-models.md").read_text(encoding="utf-8")
    cells = [cell for cell in result["cells"] if cell["depth"] == 1]
    assert {cell["formulation"] for cell in cells} == set(FORMULATIONS)
    for cell in cells:
        (row,) = re.findall(rf"^\| {cell['formulation']} \| [01]\.\d.*", page, re.MULTILINE)
        assert all(part in row for part in first_look_up(cell))


def test_intervals_and_chance_are_those_of_the_counts(result):
    for told in result["cells"]:
        fields = {name: value for name, value in told.items() if name != "intervals"}
        cell = Cell(**fields)
        assert json.loads(json.dumps(cell.to_json())) == told
        assert told["chance"] == 1 / FORMULATIONS[cell.formulation].answers(cell.chains)
