"""The app that draws pages: its bundle is what its sources give, and its colours tell
apart.
"""

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from typescript import typescript

ROOT = Path(__file__).parents[2]
WEB, BUNDLE = ROOT / "web", ROOT / "src/headway/report/app.js"
PAPER = ("#fdfdfc", "#14171b")

needs_node = pytest.mark.skipif(
    shutil.which("npm") is None or not (WEB / "node_modules").is_dir(),
    reason="Node is not at hand: `npm ci` in web/ brings what builds the app",
)


def npm(*command):
    found = subprocess.run(
        ["npm", *command], cwd=WEB, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stdout + found.stderr


@needs_node
def test_the_bundle_is_built_from_the_sources(tmp_path):
    npm("run", "build", "--", "--outDir", str(tmp_path))
    assert (tmp_path / "app.js").read_bytes() == BUNDLE.read_bytes()


@needs_node
def test_the_sources_fit_the_schema_and_have_no_faults_of_access():
    (WEB / "data.d.ts").write_text(typescript(), encoding="utf-8")
    npm("run", "check")


def test_the_bundle_is_small_and_can_stand_in_a_page():
    text = BUNDLE.read_text(encoding="utf-8")
    assert len(text.encode()) <= 150_000
    assert "</script" not in text.lower()
    assert "<!--" not in text


def test_colours_tell_apart_in_grey_and_as_thin_lines():
    sheet = (WEB / "src/app.css").read_text(encoding="utf-8")
    found = sorted(re.findall(r"--c(\d): light-dark\((#\w{6}), (#\w{6})\)", sheet))
    assert [number for number, *_ in found] == [*"0123456"]
    for theme, paper in enumerate(PAPER):
        colours = [pair[theme] for _, *pair in found]
        grey = [lightness(colour) for colour in colours]
        assert min(b - a for a, b in pairwise(sorted(grey))) > 3.5
        assert min(abs(a - b) for a, b in pairwise(grey)) > 7
        assert min(contrast(colour, paper) for colour in colours) >= 4.4


def luminance(colour):
    """Relative luminance of a colour, from 0 to 1 (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    ]
    return sum(
        weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )


def lightness(colour):
    """CIE L* of a colour, from 0 to 100."""
    return 116 * luminance(colour) ** (1 / 3) - 16


def contrast(one, other):
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)
