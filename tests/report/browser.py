"""A page in a real browser, watched: what it complains of, and what it asks the network
for.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

SETTLED = (
    "() => new Promise((done) => requestAnimationFrame(() => "
    "requestAnimationFrame(done)))"
)

SHOWN = """() => ({
  step: document.querySelector('.step').textContent,
  losses: [...document.querySelectorAll('.now span')].map((span) => span.textContent),
  answers: [...document.querySelectorAll('.answer')].map((answer) =>
    [answer.querySelector('.hop').textContent, answer.querySelector('b').textContent,
     answer.classList.contains('right')]),
  arrows: [...document.querySelectorAll('.hero .arrow')].map((arrow) =>
    [arrow.dataset.path, +arrow.querySelector('.tip').style.fillOpacity]),
  cut: [...document.querySelectorAll('.hero .arrow.cut')].map(
    (arrow) => arrow.dataset.path),
})"""


@contextmanager
def browsing() -> Iterator[Browser | None]:
    """A browser: the system's, or the one that Playwright brought; none if there is
    neither.
    """
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = [path for name in NAMES if (path := shutil.which(name))]
        found += [own] if Path(own).exists() else []
        if not found:
            yield None
            return
        browser = playwright.chromium.launch(
            executable_path=found[0], args=["--no-sandbox"]
        )
        yield browser
        browser.close()


class Visit:
    """A page opened from a file.

    Attributes:
        page: Playwright's page.
        complaints: what the console, the script or the network would tell of a fault.
    """

    def __init__(self, browser: Browser, file: Path, address: str = "", **context: Any):
        context = {
            "viewport": {"width": 1280, "height": 900},
            "reduced_motion": "reduce",
            **context,
        }
        self.context = browser.new_context(**context)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._said)
        self.page.on(
            "pageerror", lambda error: self.complaints.append(f"error: {error}")
        )
        self.page.on("request", self._asked)
        self.url = file.as_uri()
        self.page.goto(self.url + address)
        self.wait_until("!!document.querySelector('#app > :not(h1, p, ul, noscript)')")
        self.settle()

    def _said(self, message: ConsoleMessage) -> None:
        if message.type not in ("log", "info", "debug"):
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, "blob:", "data:")):
            self.complaints.append(f"asks for {request.url}")

    def wait_until(self, expression: str, seconds: float = 20.0) -> None:
        """Waits until an expression is true; Playwright's own way is not allowed by the
        page.
        """
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, (
                f"{expression} is not true after {seconds:g} s"
            )
            time.sleep(0.02)

    def settle(self) -> None:
        """Waits until what was asked of the page is drawn."""
        self.page.evaluate(SETTLED)

    def look(
        self, width: int, scheme: Literal["light", "dark"], height: int = 844
    ) -> None:
        """Makes the window so large, and its system so light."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=scheme)
        self.settle()

    def go_to(self, index: int) -> dict[str, Any]:
        """Moves the slider to a checkpoint, by its keys; what the page shows then."""
        self.page.locator("#when").focus()
        self.page.keyboard.press("Home")
        for _ in range(index):
            self.page.keyboard.press("ArrowRight")
        return self.shown()

    def shown(self) -> dict[str, Any]:
        """Step, losses, answers and arrows as the page has them."""
        self.settle()
        return self.page.evaluate(SHOWN)

    def cut(self, path: str) -> dict[str, Any]:
        """Clicks an arrow of a path, in the circuit; what the page shows then."""
        x, y = self.page.evaluate(
            """(path) => {
              const arrow = [...document.querySelectorAll('.hero .arrow')]
                .find((one) => one.dataset.path === path).querySelector('.hit');
              scrollTo(0, 0);
              const at = arrow.getPointAtLength(0.7 * arrow.getTotalLength());
              const {x, y} = at.matrixTransform(arrow.getScreenCTM());
              return [x, y];
            }""",
            path,
        )
        self.page.mouse.click(x, y)
        return self.shown()

    def next_sequence(self) -> None:
        """Presses the button that leads to the next sequence."""
        self.page.get_by_role("button", name="next sequence").first.click()

    def words(self, selector: str) -> str:
        """The text of the one element that there is of a kind, spaces made one."""
        return " ".join((self.page.locator(selector).text_content() or "").split())

    def kept(self, button: str, folder: Path) -> str:
        """Presses a button that offers a file; the file's text."""
        return self.kept_bytes(button, folder).decode("utf-8")

    def kept_bytes(self, button: str, folder: Path) -> bytes:
        """The same; what is in the file."""
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=button, exact=True).first.click()
        file = folder / download.value.suggested_filename
        download.value.save_as(file)
        return file.read_bytes()


def faults(seen: Visit) -> list[tuple[str, list[str], str]]:
    """What keeps some from reading or using the page on a telephone or a screen: rule,
    element and what is wrong with it."""
    rules = {"target-size": {"enabled": True}}
    # The others take as long again.
    options = {
        "rules": rules,
        "resultTypes": ["violations"],
    }
    found = []
    for width, scheme in ((1920, None), (390, "dark"), (1280, "light")):
        seen.look(width, scheme or "light")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        violations = (
            Axe().run(seen.page, options=options).response["violations"]
            if scheme
            else ()
        )
        for fault in violations:
            found += [
                (fault["id"], one["target"], one["failureSummary"])
                for one in fault["nodes"]
            ]
    return found
