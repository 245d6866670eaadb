"""Markup in every leaf of every file of a run: refused when read, or text in every
page.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from serving import serving

from fuzz.damage import Way, exchanged, read, ways_in, write
from fuzz.tried import Tried, is_one_line
from headway.errors import HeadwayError
from headway.report import Findings, write_report
from headway.report.page import html
from headway.report.run import run_page
from headway.report.runs import write_runs
from headway.training import Run

MARKUP = (
    "<img src=x onerror=window.hit=1>\"'></script></style><script>window.hit=1</script>"
    "<svg onload=window.hit=1><link rel=stylesheet href=//x.invalid>"
)
Place = tuple[str, Way]
"""A file's name, and the way to a leaf in it; one that ends in None leads to a field's
name.
"""
SETTLED = (
    "() => new Promise((done) => requestAnimationFrame(() => "
    "requestAnimationFrame(done)))"
)
Browse = Callable[[str], AbstractContextManager[list[str]]]
"""Opens an address in a browser; what it complains of until it is left."""


def leaves(data: Any) -> Iterator[Way]:
    """The ways to leaves, and to names of fields."""
    for way in ways_in(data):
        if way and isinstance(way[-1], str):
            yield (*way, None)
        if not isinstance(at(data, way), dict | list):
            yield way


def at(data: Any, way: Way) -> Any:
    """The value at the end of a way."""
    for key in way:
        data = data[key]
    return data


def altered(data: Any, way: Way) -> Any:
    """The data with markup in a leaf, or as a field's name."""
    if way[-1] is not None:
        return exchanged(data, way, lambda _: MARKUP)
    *above, name, _ = way
    return exchanged(
        data,
        (*above,),
        lambda fields: {MARKUP if k == name else k: v for k, v in fields.items()},
    )


def places(run: Run) -> list[Place]:
    """Every leaf, and every name of a field, in every file of a run's folder."""
    names = sorted(path.name for path in run.folder.glob("*.json*"))
    return [(name, way) for name in names for way in leaves(read(run.folder / name))]


def is_read(folder: Path) -> bool:
    """Tell whether a page can be made of a run."""
    try:
        html(run_page(Findings.of(Run.open(folder))))
    except HeadwayError as error:
        if not is_one_line(error):
            raise AssertionError(repr(error)) from None
        return False
    return True


def tried_alone(tried: Tried, run: Run, share: int) -> list[Place]:
    """The places where markup is not refused, each leaf tried alone."""
    accepted: list[Place] = []
    for name, way in places(run)[::share]:
        content = (run.folder / name).read_bytes()
        with tried.case("markup", f"{name}: {way}"):
            write(run.folder / name, altered(read(run.folder / name), way))
            if is_read(run.folder):
                accepted.append((name, way))
        (run.folder / name).write_bytes(content)
    return accepted


def packed(run: Run, accepted: list[Place], folder: Path) -> list[Path]:
    """Copies of a run that hold all markup that is not refused, in as few as can be."""
    made: list[Path] = []
    # Names of fields last.
    left = sorted(accepted, key=lambda place: place[1][-1] is None)
    while left:
        copy = shutil.copytree(run.folder, folder / f"run {len(made)}")
        rest: list[Place] = []
        for name, way in left:
            content = (copy / name).read_bytes()
            try:
                write(copy / name, altered(read(copy / name), way))
                fits = is_read(copy)
            except (
                KeyError,
                TypeError,
                IndexError,
            ):  # the way leads through a name that is markup
                fits = False
            if not fits:
                (copy / name).write_bytes(content)
                rest.append((name, way))
        assert len(rest) < len(left), rest
        made.append(copy)
        left = rest
    return made


def browsed(browser: Any) -> Browse:
    """Open pages in Playwright's browser."""

    @contextlib.contextmanager
    def browse(url: str) -> Iterator[list[str]]:
        complaints: list[str] = []
        context = browser.new_context()
        page = context.new_page()
        page.on(
            "console",
            lambda said: said.type == "error" and complaints.append(said.text),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        page.on(
            "request", lambda asked: _is_own(asked, url) or complaints.append(asked.url)
        )
        page.goto(url)
        page.evaluate(SETTLED)
        if page.evaluate("() => window.hit !== undefined"):
            complaints.append("a script ran")
        yield complaints
        context.close()

    return browse


def _is_own(asked: Any, url: str) -> bool:
    """Tell whether a request is for the page, or what a served page asks its server
    for.
    """
    start = url.partition("/run/")[0]
    return asked.url == url or (
        start.startswith("http") and asked.url.startswith(start)
    )


def markup(
    tried: Tried, run: Run, folder: Path, browse: Browse, share: int = 1
) -> None:
    """No leaf of a run's files is markup in a page that is made of it.

    Args:
        tried: takes note.
        run: with every file; as it was, afterwards.
        folder: to make copies in.
        browse: opens pages.
        share: one in so many places is tried alone, and where it is not refused,
            opened.
    """
    copies = packed(run, tried_alone(tried, run, share), folder)
    runs = [Run.open(one) for one in (*copies, run.folder)]
    pages = [write_report(one) for one in runs[:-1]]
    pages += [write_runs(runs, folder / "comparison.html"), write_runs(folder)]
    urls = [page.as_uri() for page in pages]
    with serving(folder) as site:
        assert MARKUP not in site.page()
        urls += [site.server.url.rstrip("/") + link for link in ("/", *site.links())]
        for url in urls:
            with tried.case("markup, in a browser", url), browse(url) as complaints:
                assert not complaints, complaints
    for page in pages:
        assert MARKUP not in page.read_text(), page
    tried.note(
        f"markup: what is not refused lies in {len(copies)} runs and {len(urls)} pages"
    )
