"""Films the page of a run: its circuit over one sequence, from the first checkpoint on.

    headway demo seed=1
    python docs/images/film.py runs/retrieval-D3-L3-s1 docs/images/circuit-emerges.webp

Needs the run's report.html, Playwright with a Chromium, and Pillow.
"""

import io
import re
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

SIZE = {"width": 1000, "height": 640}
FRAME, LAST = 250, 4_000
"""For how many milliseconds a frame is shown, and the last one."""

WATCHED = 400
"""Every checkpoint up to this step is shown, and then the last."""


def film(run: Path, out: Path) -> None:
    """Writes a run's animated picture, as WebP."""
    kept = sorted(int(re.sub(r"\D", "", path.stem)) for path in run.glob("checkpoints/step_*"))
    shown = [step for step in kept if step <= WATCHED]
    address = f"{(run / 'report.html').resolve().as_uri()}?embed=circuit"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport=SIZE, reduced_motion="reduce", color_scheme="light")
        frames = []
        for step in [*shown, kept[-1]]:
            page.goto(f"{address}#step={step}")
            page.reload()
            frames.append(Image.open(io.BytesIO(page.screenshot())))
        browser.close()
    times = [FRAME] * len(shown) + [LAST]
    frames[0].save(out, save_all=True, append_images=frames[1:], duration=times, loop=0, quality=70)


if __name__ == "__main__":
    film(Path(sys.argv[1]), Path(sys.argv[2]))
