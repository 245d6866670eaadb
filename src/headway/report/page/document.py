"""Whole pages: a template with the styles and scripts of `web/` in it, and what these may do."""

from collections.abc import Sequence
from importlib import resources

from jinja2 import Template
from markupsafe import Markup

from headway.report.page.html import tag
from headway.report.page.policy import policy, script_tag
from headway.report.page.templating import filled

ALL_PAGES = ("state.js", "keep.js", "start.js")
MANY_RUNS = ("state.js", "charts.js", "compare.js", "sort.js", "keep.js", "start.js")
"""Scripts: of every page, and of those about several runs."""


def document(
    template: str | Template,
    about: str,
    name: str,
    scripts: Sequence[str] = ALL_PAGES,
    styles: Sequence[str] = (),
    live: bool = False,
    script_data: str = "{}",
    **data: object,
) -> str:
    """A whole page.

    Args:
        template: the name of one in `templates/`, or one of another package; it extends
            `document.html`.
        about: its title.
        name: with which the names of figures begin that are kept as files.
        scripts: files of `web/`, which become one script.
        styles: more files of `web/`, after the one that every page has.
        live: whether to follow changes.
        script_data: JSON that the scripts work on, as `as_script` makes it.
        data: what the template shows.
    """
    code = [joined(scripts), *([asset("live.js")] if live else [])]
    looks = "".join(map(asset, ("page.css", *styles)))
    page = filled(
        template,
        about=about,
        name=name,
        **dressed(code, looks, live),
        data=Markup(script_data),
        **data,
    )
    return str(page)


def dressed(code: Sequence[str], looks: str, served: bool) -> dict[str, Markup]:
    """What every page is given: its style, its scripts, and the policy that allows no others."""
    return {
        "policy": Markup(policy(code, served)),
        "looks": tag("style", Markup(f"\n{looks}")),
        "scripts": Markup("\n").join(map(script_tag, code)),
    }


def joined(scripts: Sequence[str]) -> str:
    """Files of `web/` as one script."""
    return "\n".join(['"use strict";', *map(asset, scripts)])


def asset(name: str, room: str = "page") -> str:
    """A file of the `web/` of a kind of page."""
    return resources.files(f"headway.report.{room}.web").joinpath(name).read_text(encoding="utf-8")
