"""A page in a real browser, watched: what it complains of, and what it asks the network for."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

SHOWN = """() => ({
  step: document.querySelector('#now').textContent,
  losses: [...document.querySelectorAll('#losses span')].map((span) => span.textContent),
  slider: time.places.indexOf(+document.querySelector('#when').value),
  outputs: [...document.querySelectorAll('output[data-now]')].map((output) => [
    output.dataset.now,
    output.closest('[data-path]')?.dataset.path ?? output.closest('[data-hop]')?.dataset.hop ?? '',
    output.textContent]),
  arrows: Object.fromEntries([...document.querySelectorAll('.arrow')].map((arrow) =>
    [arrow.dataset.path, +arrow.style.getPropertyValue('--a')])),
  cursor: [...new Set([...document.querySelectorAll('.cursor')].map((cursor) =>
    +cursor.style.getPropertyValue('--now')))],
})"""

LIT = """() => ({
  picking: document.body.classList.contains('picking'),
  ...Object.fromEntries(['.arrow', '.frame', '.curve', '#marks i', 'span.path'].map((kind) => {
    const lit = [...document.querySelectorAll(`${kind}.lit`)].map((it) => it.dataset.path);
    return [kind, [...new Set(lit)]];
  })),
})"""

READ = """(points) => points.map(([clientX, clientY]) => {
  const at = document.elementFromPoint(clientX, clientY);
  at.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY, bubbles: true}));
  return document.querySelector('#readout').textContent;
})"""


@contextmanager
def browsing() -> Iterator[Browser | None]:
    """A browser: the system's, or the one that Playwright brought; none if there is neither."""
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = [path for name in NAMES if (path := shutil.which(name))]
        found += [own] if Path(own).exists() else []
        if not found:
            yield None
            return
        browser = playwright.chromium.launch(executable_path=found[0], args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page opened from a file.

    Attributes:
        page: Playwright's page.
        complaints: what the console, the script or the network would tell of a fault.
    """

    def __init__(self, browser: Browser, file: Path, **context: Any):
        context = {"viewport": {"width": 1280, "height": 900}, **context}
        self.context = browser.new_context(**context)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.url = file.as_uri()
        self.page.goto(self.url)
        self.settle()

    def _said(self, message: ConsoleMessage) -> None:
        if message.type not in ("log", "info", "debug"):
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        if request.url != self.url:
            self.complaints.append(f"asks for {request.url}")

    def wait_until(self, expression: str, seconds: float = 20.0) -> None:
        """Waits until an expression is true; Playwright's own way is not allowed by the page."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"{expression} is not true after {seconds:g} s"
            time.sleep(0.02)

    def wait_for(self, read: Callable[[], object], expected: object, seconds: float = 20.0) -> None:
        """Waits until what is read is what is expected."""
        end = time.monotonic() + seconds
        while (found := read()) != expected and time.monotonic() < end:
            time.sleep(0.02)
        assert found == expected

    def settle(self) -> None:
        """Waits until what was asked of the page is drawn."""
        self.page.evaluate(SETTLED)

    def look(self, width: int, scheme: Literal["light", "dark"]) -> None:
        """Makes the window so wide, and its system so light."""
        self.page.set_viewport_size({"width": width, "height": 844})
        self.page.emulate_media(color_scheme=scheme)
        self.settle()

    def go_to(self, index: int) -> dict[str, Any]:
        """Moves the slider to a checkpoint; what the page shows then."""
        place = self.page.evaluate("(index) => time.places[index]", index)
        self.page.locator("#when").fill(str(place))
        return self.shown()

    def shown(self) -> dict[str, Any]:
        """Step, losses, lists and arrows as the page has them."""
        self.settle()
        return self.page.evaluate(SHOWN)

    def lit(self) -> dict[str, Any]:
        """The paths that are lit, by kind of thing, and whether all others are dimmed."""
        return self.page.evaluate(LIT)

    def words(self, selector: str) -> str:
        """The text of the one element that there is of a kind, spaces made one."""
        return " ".join((self.page.locator(selector).text_content() or "").split())

    def on_arrow(self, path: str) -> tuple[float, float]:
        """A point in the window on an arrow of the circuit."""
        return tuple(
            self.page.evaluate(
                """(path) => {
                  const arrow = document.querySelector(`.arrow[data-path="${path}"] .hit`);
                  arrow.scrollIntoView({block: 'center', behavior: 'instant'});
                  const at = arrow.getPointAtLength(0.6 * arrow.getTotalLength());
                  const {x, y} = at.matrixTransform(arrow.getScreenCTM());
                  return [x, y];
                }""",
                path,
            )
        )

    def point_at(self, map_number: int, row: int, column: int) -> str:
        """Points at a pixel of a map; what the page reads there."""
        self.page.mouse.move(*self._pixels(map_number)(row, column))
        return self.words("#readout")

    def sweep(self, map_number: int, edge: int = 0) -> dict[tuple[int, int], str]:
        """Points at every cell of a map, by row and column; what the page reads there.

        Args:
            map_number: of the map.
            edge: pixels at the top and the left that are no cells.
        """
        across, down = (
            self.page.locator("#maps canvas")
            .nth(map_number)
            .evaluate("(it) => [it.width, it.height]")
        )
        place = self._pixels(map_number)
        cells = [(row, column) for row in range(edge, down) for column in range(edge, across)]
        read = self.page.evaluate(READ, [place(row, column) for row, column in cells])
        return {(r - edge, c - edge): text for (r, c), text in zip(cells, read, strict=True)}

    def _pixels(self, map_number: int) -> Callable[[int, int], tuple[float, float]]:
        """Where in the window the pixels of a map are, by row and column."""
        left, top, width, height = (
            self.page.locator("#maps canvas")
            .nth(map_number)
            .evaluate(
                """(canvas) => {
              canvas.scrollIntoView({block: 'center', behavior: 'instant'});
              const {left, top, width, height} = canvas.getBoundingClientRect();
              return [left, top, width / canvas.width, height / canvas.height];
            }"""
            )
        )
        return lambda row, column: (left + width * (column + 0.5), top + height * (row + 0.5))


def faults(seen: Visit) -> list[tuple[str, list[str], str]]:
    """What keeps some from reading or using the page: rule, element and what is wrong with it."""
    rules = {"target-size": {"enabled": True}}
    options = {"rules": rules, "resultTypes": ["violations"]}  # the others take as long again
    return [
        (fault["id"], node["target"], node["failureSummary"])
        for fault in Axe().run(seen.page, options=options).response["violations"]
        for node in fault["nodes"]
    ]


def printed(value: float | None) -> str:
    """A number as the page prints it."""
    return "—" if value is None else f"{value:#.3g}".rstrip(".")


def spoken(name: str) -> str:
    """A name as its text reads when the number is a subscript."""
    return name.replace("_", "")
