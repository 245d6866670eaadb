"""The templates of pages: Python computes, templates show."""

import re
from collections.abc import Iterable, Iterator

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from jinja2.ext import Extension
from jinja2.lexer import Token
from markupsafe import Markup

from headway.circuits import THRESHOLD
from headway.circuits.emergence import BIRTH, MATTERS
from headway.circuits.likeness import percent
from headway.circuits.mechanism import name_of
from headway.report.findings import Findings
from headway.report.labels import signed
from headway.report.page import html
from headway.text import counted, rounded


class OneSpace(Extension):
    """All white space that stands in a template itself is one space, however it is laid out."""

    def filter_stream(self, stream: Iterable[Token]) -> Iterator[Token]:
        """The template's own text with single spaces."""
        for token in stream:
            text = re.sub(r"\s+", " ", token.value) if token.type == "data" else token.value
            yield Token(token.lineno, token.type, text)


class Strict(StrictUndefined):
    """A name that is not given is an error, except the other side of an `if` without `else`."""

    def __str__(self) -> str:
        return "" if self._undefined_name is None else super().__str__()

    def __bool__(self) -> bool:
        return False if self._undefined_name is None else super().__bool__()


def _names(names: Iterable[str]) -> Markup:
    """Names of the code as an enumeration."""
    return html.listed(map(html.named, names))


def _prose(text: str) -> Markup:
    """Plain text: names with subscripts, and what stands in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return html.named(text)
    return html.joined(
        html.tag("code", part) if i % 2 else html.named(part) for i, part in enumerate(parts)
    )


def _plain(value: object) -> str:
    """A value of JSON in words."""
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


ENVIRONMENT = Environment(
    loader=PackageLoader("headway.report"),
    extensions=[OneSpace],
    autoescape=True,
    undefined=Strict,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters |= {
    "number": html.number,
    "whole": html.whole,
    "change": html.change,
    "rounded": rounded,
    "digits": lambda value, count: f"{value:.{count}f}".replace("-", "−"),
    "exact": lambda value, pattern: html.exact(value, pattern % value),
    "fixed": lambda value: f"{value:.2f}",
    "general": lambda value: f"{value:g}",
    "muted": lambda text: html.tag("span", text, class_="none"),
    "percent": percent,
    "plain": _plain,
    "prose": _prose,
    "counted": counted,
    "listed": html.listed,
    "named": html.named,
    "names": _names,
    "key": html.path_key,
    "head": name_of,
    "path": html.path_tag,
    "relation": html.relation_tag,
    "sentence": _sentence,
    "told": html.told,
    "signed": signed,
}
ENVIRONMENT.globals |= {
    "BIRTH": BIRTH,
    "MATTERS": MATTERS,
    "THRESHOLD": THRESHOLD,
    "NONE": html.NONE,
    "command": html.command,
    "plain_table": html.plain_table,
    "row": html.row,
    "tag": html.tag,
}
PARTS = vars(ENVIRONMENT.get_template("parts.html").module)
ENVIRONMENT.globals |= {name: part for name, part in PARTS.items() if name[0] != "_"}


def filled(template: str | Template, **data: object) -> Markup:
    """A template, or that of this name in `templates/`, filled with data.

    Text is escaped, `Markup` is not.
    """
    return Markup(ENVIRONMENT.get_template(template).render(data))


def of_run(findings: Findings, template: str, **data: object) -> Markup:
    """A template about a run."""
    return filled(template, **about_run(findings), **data)


def about_run(findings: Findings) -> dict[str, object]:
    """What every template about a run can name: the findings and their main parts."""
    discovery = findings.discovery
    return {
        "findings": findings,
        "task": findings.task,
        "discovery": discovery,
        "evidence": None if discovery is None else discovery.evidence,
        "timeline": findings.timeline,
    }
