"""The first page of the site and its gallery, as they are made from the docs."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pages():
    """The module that makes pages of the site."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs/site/pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_says_what_headway_is_before_it_shows_a_circuit(pages):
    text = pages.first(ROOT)
    frame = text.index("<iframe")
    assert 0 < text.index("headway finds out what") < frame < text.index("## ")
    assert "circuit-emerges.webp" not in text


def test_pictures_of_the_gallery_lead_to_the_pages_that_are_kept(pages):
    text = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    led = pages.on_page_markdown(text)
    links = set(re.findall(r"\]\((images/[\w-]+\.html)\)", led))
    assert links == {*pages.live(ROOT)}
