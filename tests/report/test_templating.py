"""Templates show text as text, and complain of names that nobody gave them."""

import re
from pathlib import Path

from markupsafe import Markup

from headway import report
from headway.report.page.html import joined, tag
from headway.report.page.templating import ENVIRONMENT

ROOM = Path(report.__file__).parent


def filled(template: str, **data: object) -> str:
    return ENVIRONMENT.from_string(template).render(data)


def test_text_is_escaped_and_markup_is_not():
    shown = "{{ one }} {{ tag('b', one, title=one) }}"
    assert filled(shown, one="<'&") == '&lt;&#39;&amp; <b title="&lt;&#39;&amp;">&lt;&#39;&amp;</b>'
    assert filled(shown, one=Markup("<i>")) == '<i> <b title="&lt;i&gt;"><i></b>'
    assert joined("<", [Markup("<br>"), None, (2.5, "&")]) == "&lt;<br>2.5&amp;"
    assert tag("circle", cx=1.0, cy=2.346, r=None) == '<circle cx="1" cy="2.35"></circle>'


def test_only_what_a_template_says_itself_is_taken_as_it_is():
    trusted = [
        before
        for path in (ROOM / "templates").rglob("*.html")
        for before in re.findall(r"(.)\s*\|\s*safe\b", path.read_text(encoding="utf-8"))
    ]
    assert trusted
    assert set(trusted) == {'"'}
