"""The page of a large run stays within its bars (benchmarks/report_page.py)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import report_page
from headway.report import write_report
from report_page import BARS


@pytest.mark.slow
def test_the_page_of_a_large_run_is_small_enough_to_send(tmp_path, monkeypatch):
    monkeypatch.setattr("headway.report.findings.SEQUENCES", 1)  # as large, and sooner done
    run = report_page.large_run(tmp_path / "run", taken_apart=False)
    page = write_report(run)
    assert report_page.megabytes(page) <= BARS["megabytes"]
    assert len(run.checkpoint_steps()) == report_page.CHECKPOINTS


@pytest.mark.slow
def test_the_page_of_a_large_run_opens_soon_and_moves_smoothly(tmp_path):
    result = report_page.measured(tmp_path / "run")
    if "scrubbing" not in result:
        pytest.skip("there is no browser: install chromium, or `playwright install chromium`")
    assert result["megabytes"] <= BARS["megabytes"]
    assert result["first_paint_s"] < BARS["first_paint_s"]
    for row in result["scrubbing"]:
        assert row["frames_per_second"] >= BARS["frames_per_second"], row
