"""Makes the pictures of pages again, and the data of the site's live page: needs a browser.

    headway demo seed=1 --folder runs/demo
    headway demo conditional --folder runs/conditional     # and so on, see docs/gallery.md
    python docs/images/make.py runs/demo runs/conditional …

The first run is that of README and docs/report.md; of all there is a thumbnail.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from headway.report import Findings, render
from headway.report.run import run_page
from headway.report.schema import to_json
from headway.training import Run

DOCS = Path(__file__).parent.parent
CUT, EARLY = "#cut=1.0.s4←s6", "#step=225"


def taken(browser: Browser, page: Path, address: str, **look: object) -> bytes:
    """The first screen of a page."""
    context = browser.new_context(reduced_motion="reduce", **look)  # pyright: ignore
    tab = context.new_page()
    tab.goto(page.as_uri() + address)
    tab.wait_for_selector("svg.circuit, .missing")
    tab.wait_for_timeout(500)
    picture = tab.screenshot()
    context.close()
    return picture


def main(folders: list[str]) -> None:
    """Writes all pictures."""
    first = Findings.of(Run.open(folders[0]))
    (DOCS / "site/demo.json").write_text(to_json(run_page(first)) + "\n", encoding="utf-8")
    gallery = DOCS / "images/gallery"
    gallery.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in folders:
            page = Path(folder) / f"{Path(name).name}.html"
            page.write_text(render(Findings.of(Run.open(name))), encoding="utf-8")
            small = {"viewport": {"width": 720, "height": 480}}
            picture = taken(browser, page, "?embed=circuit", **small)
            (gallery / f"{page.stem}.png").write_bytes(picture)
        page = Path(folder) / f"{Path(folders[0]).name}.html"
        screen = {"viewport": {"width": 1280, "height": 720}}
        (DOCS / "images/report.png").write_bytes(taken(browser, page, CUT, **screen))
        phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
        (DOCS / "images/report-phone.png").write_bytes(taken(browser, page, EARLY, **phone))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
