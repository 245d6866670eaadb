"""The results that come with headway, and the page that tells of them."""

import json
from pathlib import Path

import pytest

from headway.language import FORMULATIONS, Cell

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "results" / "language_models").glob("*.json"))


def markdown(found):
    """The table of cells, each as `Cell.to_json` gives it, in Markdown."""
    kinds = ("argmax", "expectation", "sampled")
    rows = [
        "| formulation | D | n | argmax | expected | sampled | never answered | chance |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell in found:
        shares = [told_share(cell[kind], cell["intervals"][kind]) for kind in kinds]
        never = "–" if cell["unanswered"] is None else f"{cell['unanswered']:.0%}"
        chance = f"{cell['chance']:.2f}"
        if cell["nearer"] != cell["chance"]:
            chance += f" ({cell['nearer']:.2f})"
        start = [cell["formulation"], str(cell["depth"]), str(cell["count"])]
        rows.append(f"| {' | '.join([*start, *shares, never, chance])} |")
    return "\n".join(rows) + "\n"


def told_share(share, interval):
    return (
        "–"
        if share is None or interval is None
        else "{:.2f} ({:.2f}–{:.2f})".format(share, *interval)
    )


@pytest.fixture(params=RESULTS, ids=lambda path: path.stem)
def result(request):
    return json.loads(request.param.read_text())


def test_the_page_has_the_table(result):
    page = (ROOT / "docs" / "language-models.md").read_text(encoding="utf-8")
    assert markdown(result["cells"]) in page


def test_intervals_and_chance_are_those_of_the_counts(result):
    for told in result["cells"]:
        fields = {name: value for name, value in told.items() if name != "intervals"}
        cell = Cell(**fields)
        assert json.loads(json.dumps(cell.to_json())) == told
        assert told["chance"] == 1 / FORMULATIONS[cell.formulation].answers(cell.chains)
