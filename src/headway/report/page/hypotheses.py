"""A part of the evidence: hypothesis tests of the circuit, as the terminal tells them."""

from headway.circuits.tested import Hypotheses
from headway.circuits.tested_text import of_p, sentences
from headway.report.page.html import escape, number, path_tag, table, where, whole


def hypothesis_tests(found: Hypotheses | None, several_heads: bool) -> str:
    """Every test with its verdict, its p-value and what it counted, and every path; or nothing."""
    if found is None:
        return ""
    said, p_values = sentences(found), found.p_values
    rows = [
        (
            name,
            "✓\u00a0passed" if passed else "✗\u00a0failed",
            _p(p_values[name]),
            escape(said[name]),
        )
        for name, passed in found.passed.items()
    ]
    head = ("test", "verdict", "p-value", "what it says")
    tests = table(head, rows, "hypothesis tests of the circuit")
    compared = len(found.minimality.effects)
    paths = [
        (
            where(cut.path.at, several_heads),
            path_tag(cut.path),
            number(cut.effect),
            str(cut.above),
            number(cut.free),
            str(cut.above_free),
            _p(cut.p_value),
        )
        for cut in found.minimality.paths
    ]
    head = ("head", "path", "effect", "above", "effect, free above", "above", "p-value")
    return (
        "<h3>Does it pass hypothesis tests?</h3>"
        + tests
        + f'<p class="under">As Shi et al. (2024) define them, over {whole(found.sequences)} fresh'
        f" sequences; a p-value of at most {found.level:g} rejects. Equivalence, independence and"
        " minimality are passed if they are not rejected, the other two if they are.</p>"
        + "<h4>Minimality, path by path</h4>"
        + table(head, paths, "hypothesis test of every path")
        + '<p class="under"><b>effect</b>: by how much the score changes without the path, with'
        " every head replaced. <b>free above</b>: the same with the useful heads above free."
        f" <b>above</b>: how many of {compared} random paths have less.</p>"
    )


def _p(value: float) -> str:
    return f'<data value="{value!r}">{of_p(value)}</data>'
