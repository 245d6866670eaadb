"""The page of a large run stays within its bars (benchmarks/report_page.py)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import report_page
from report_page import BARS


@pytest.mark.slow
def test_the_page_of_a_large_run_is_small_opens_soon_and_moves_smoothly(tmp_path):
    result = report_page.measured(tmp_path / "run")
    assert result["megabytes"] <= BARS["megabytes"]
    if "scrubbing" not in result:
        pytest.skip(
            "there is no browser: install chromium, or `playwright install chromium`"
        )
    assert result["first_paint_s"] < BARS["first_paint_s"]
    for row in result["scrubbing"]:
        assert row["frames_per_second"] >= BARS["frames_per_second"], row
