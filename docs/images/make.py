"""The pictures of runs' pages in README and docs, and the data of the site's live page.

    headway demo seed=1 --folder runs/demo
    python docs/images/make.py runs/demo

Every run gets a picture of the gallery; the one in a folder called demo is that of
README and docs/report.md, too. Needs their report.html, Playwright with a Chromium, and
Pillow.
"""

import io
import re
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from headway import figure
from headway.report import Findings
from headway.report.figures.style import png_bytes
from headway.report.run import run_page
from headway.report.schema import to_json
from headway.training import Run

DOCS = Path(__file__).parent.parent

FRAME, LAST = 250, 4_000
"""For how many milliseconds a frame is shown, and the last one."""

WATCHED = 400
"""Every checkpoint up to this step is shown, and then the last."""


def shot(
    browser: Browser, address: str, width: int, height: int, scheme: str = "light"
) -> bytes:
    """The first screen of a page, as PNG."""
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme=scheme,  # pyright: ignore[reportArgumentType]
        reduced_motion="reduce",
    )
    page.goto(address)
    page.wait_for_selector("svg.circuit, .missing")
    png = page.screenshot()
    page.close()
    return png


def draw(browser: Browser, run: Path) -> None:
    """Writes circuit-emerges.webp, circuit.png, report.png, report-phone.png and the
    data of the live page.
    """
    kept = sorted(
        int(re.sub(r"\D", "", path.stem)) for path in run.glob("checkpoints/step_*")
    )
    steps = [*(step for step in kept if step <= WATCHED), kept[-1]]
    page, folder = (run / "report.html").resolve().as_uri(), DOCS / "images"
    (folder / "report.png").write_bytes(
        shot(browser, f"{page}#cut=1.0.s4←s6", 1280, 720)
    )
    (folder / "report-phone.png").write_bytes(
        shot(browser, f"{page}#step=225", 390, 844, "dark")
    )
    frames = [
        shot(browser, f"{page}?embed=circuit#step={step}", 1000, 640) for step in steps
    ]
    first, *others = (Image.open(io.BytesIO(frame)) for frame in frames)
    times = [FRAME] * len(others) + [LAST]
    (folder / "circuit.png").write_bytes(png_bytes(figure(run, "circuit")))
    film = folder / "circuit-emerges.webp"
    first.save(
        film, save_all=True, append_images=others, duration=times, loop=0, quality=70
    )
    data = to_json(run_page(Findings.of(Run.open(run))))
    (DOCS / "site/demo.json").write_text(data + "\n", encoding="utf-8")


def hang(browser: Browser, run: Path) -> None:
    """Writes a run's picture for docs/gallery.md."""
    page = (run / "report.html").resolve().as_uri()
    picture = Image.open(io.BytesIO(shot(browser, f"{page}?embed=circuit", 860, 500)))
    picture.save(DOCS / "images/gallery" / f"{run.name}.webp", quality=60, method=6)


if __name__ == "__main__":
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for each in map(Path, sys.argv[1:]):
            hang(chromium, each)
            if each.name == "demo":
                draw(chromium, each)
