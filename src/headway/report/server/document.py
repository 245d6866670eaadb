"""The frame of the server's own pages, which `live.js` keeps up to date."""

import re
from importlib import resources

from headway.report.page.html import escape
from headway.report.page.policy import policy_tag, script_tag

UNSEEN = "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"


def document(
    title: str,
    version: str,
    header: str,
    main: str,
    tools: str = "",
    script: str = "",
) -> str:
    """A whole page.

    Args:
        title: as text.
        version: of what it shows.
        header: as HTML.
        main: as HTML.
        tools: what stands between header and main and is never put in anew, as HTML.
        script: that runs once, before the page is kept up to date.
    """
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
{version_tag(version)}
<meta charset="utf-8">
{policy_tag([script, live_script()], served=True)}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{plain(title)}</title>
<style>
{asset("index.css")}</style>
</head>
<body>
<header>
{header}</header>
{tools}
<main>
{main}</main>
{script_tag(script)}
{script_tag(live_script())}
</body>
</html>
"""


def plain(text: object) -> str:
    """Any text as HTML that shows it as it is, what is invisible or turns text round in escapes."""
    return re.sub(UNSEEN, lambda found: f"\\u{ord(found[0]):04x}", escape(text))


def version_tag(version: str) -> str:
    """What tells `live.js` of which version a page is."""
    return f'<meta name="version" content="{escape(version)}">'


def asset(name: str) -> str:
    """A file of the server's own pages."""
    return _read("headway.report.server.web", name)


def live_script() -> str:
    """The script that keeps a page up to date."""
    return _read("headway.report.page.web", "live.js")


def _read(folder: str, name: str) -> str:
    return resources.files(folder).joinpath(name).read_text(encoding="utf-8")
