"""The pictures of a run's page: a film of its circuit as it emerges, and two stills.

    headway demo seed=1
    python docs/images/film.py runs/retrieval-D3-L3-s1 docs/images

Needs the run's report.html, Playwright with a Chromium, and Pillow.
"""

import io
import re
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

FRAME, LAST = 250, 4_000
"""For how many milliseconds a frame is shown, and the last one."""

WATCHED = 400
"""Every checkpoint up to this step is shown, and then the last."""


def shot(browser: Browser, address: str, width: int, height: int, scheme: str, scale: int) -> bytes:
    """The first screen of a page, as PNG."""
    page = browser.new_page(
        viewport={"width": width, "height": height},
        device_scale_factor=scale,
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    page.goto(address)
    png = page.screenshot()
    page.close()
    return png


def draw(run: Path, folder: Path) -> None:
    """Writes circuit-emerges.webp, report.png and report-phone.png."""
    kept = sorted(int(re.sub(r"\D", "", path.stem)) for path in run.glob("checkpoints/step_*"))
    steps = [*(step for step in kept if step <= WATCHED), kept[-1]]
    page = (run / "report.html").resolve().as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        wide, phone = (1280, 720, "light", 1), (390, 844, "dark", 1)
        (folder / "report.png").write_bytes(shot(browser, f"{page}#cut=1.0.s4←s6", *wide))
        (folder / "report-phone.png").write_bytes(shot(browser, f"{page}#step=225", *phone))
        frames = [
            shot(browser, f"{page}?embed=circuit#step={step}", 1000, 640, "light", 1)
            for step in steps
        ]
        browser.close()
    first, *others = (Image.open(io.BytesIO(frame)) for frame in frames)
    times = [FRAME] * len(others) + [LAST]
    film = folder / "circuit-emerges.webp"
    first.save(film, save_all=True, append_images=others, duration=times, loop=0, quality=70)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
