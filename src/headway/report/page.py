"""A page as one HTML file: its data, the app that draws it, and the policy that allows
no more.
"""

import base64
import functools
import hashlib
from html import escape
from importlib import resources
from pathlib import Path

from headway.report.findings import Findings
from headway.report.labels import plain
from headway.report.run import run_page
from headway.report.schema import Page, to_json
from headway.report.still import still_of_run
from headway.training import Run
from headway.training.files import write_whole

HTML = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title} — {name}</title>
</head>
<body>
<main id="app">
<h1>{title}</h1>
{summary}
{still}</main>
<script type="application/json" id="data">{data}</script>
<script type="module">{app}</script>
</body>
</html>
"""


def write_report(run: Run | str | Path) -> Path:
    """Writes the `report.html` of a run, or of that in a folder.

    Parts whose data the folder lacks say which command adds it. The page needs no
    network.

    Returns: the page's path.

    Raises:
        HeadwayError: if a file of the folder is corrupted or the disk does not take the
            page.
    """
    run = Run.open(run)
    page = run.owned("report.html")
    with run.writing(), run.computing():
        data = run_page(Findings.of(run))
        write_whole(page, html(data, still_of_run(run)))
    return page


def html(page: Page, still: str = "") -> str:
    """A page as text.

    Args:
        page: its data.
        still: markup that stands below its summary where no script runs.
    """
    code = app()
    return HTML.format(
        policy=policy(code, bool(page.live)),
        title=escape(plain(page.title)),
        name=escape(plain(page.name)),
        summary="\n".join(f"<p>{escape(plain(line))}</p>" for line in page.summary),
        still=still and f"<noscript>{still}</noscript>\n",
        data=to_json(page),
        app=code,
    )


@functools.cache
def app() -> str:
    """The app that draws pages, an ES module that also exports what a widget needs."""
    return (
        resources.files("headway.report").joinpath("app.js").read_text(encoding="utf-8")
    )


def policy(code: str, served: bool) -> str:
    """The content security policy of a page: run this script, and nothing else.

    Scripts are allowed by the digest of their text, so that markup which slipped into a
    page does nothing. https://www.w3.org/TR/CSP3/

    Args:
        code: of the script.
        served: whether the page may ask the server that it came from.
    """
    asks = "'self'" if served else "'none'"
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}';"
        f" img-src data: blob:; connect-src {asks};"
        " base-uri 'none'; form-action 'none'"
    )
