"""Hypothesis tests on the page of a run: what the terminal says, and nothing if none were made."""

from dataclasses import replace

import pytest
from markupsafe import escape

from headway.circuits import saved_discovery
from headway.circuits.tested import (
    Comparison,
    Cut,
    Equivalence,
    Hypotheses,
    Independence,
    Minimality,
)
from headway.circuits.tested_text import of_p, sentences
from headway.errors import HeadwayError
from headway.report.findings import Findings
from headway.report.page.evidence import details


@pytest.fixture
def tested(finished) -> Hypotheses:
    """Tests of the finished run's circuit, of which some fail; the numbers are made up."""
    found = saved_discovery(finished)
    cuts = tuple(
        Cut(path, 0.25 + i, 0.5, 90 - i, 70, 0.5, 0.012 + i)
        for i, path in enumerate(found.circuit.paths)
    )
    return Hypotheses(
        circuit=found.circuit,
        ablation=found.ablation,
        step=6,
        seed=0,
        sequences=64,
        level=0.05,
        epsilon=0.1,
        quantile=0.9,
        equivalence=Equivalence(0.031, 0.029, 30, 1, 0.61),
        independence=Independence(0.001, 0.7, 0.2),
        minimality=Minimality(cuts, (0.1,) * 97, (0.1,) * 97),
        sufficiency=Comparison(0.01, (0.5,) * 99, 99, 2.6e-5),
        necessity=Comparison(0.9, (0.5,) * 99, 80, 0.99),
        seconds=1.0,
    )


def test_every_test_has_its_verdict_p_value_and_sentence(run, tested):
    run.write("hypotheses.json", tested.to_json())
    findings = Findings.of(run)
    assert findings.tested == tested
    html = str(details(findings))
    for name, sentence in sentences(tested).items():
        row = html[html.index(f"<td>{name}</td>") :]
        row = row[: row.index("</tr>")]
        assert ("✓\u00a0passed" if tested.passed[name] else "✗\u00a0failed") in row
        assert f">{of_p(tested.p_values[name])}<" in row
        assert escape(sentence) in row
    assert tested.passed == {
        "equivalence": True,
        "independence": True,
        "minimality": False,
        "sufficiency": True,
        "necessity": False,
    }
    for cut in tested.minimality.paths:
        assert f'<data value="{cut.effect!r}">' in html
        assert f"<td>{cut.above}</td>" in html
    assert "of 97 random paths" in html


def test_there_is_nothing_to_show_without_them(finished):
    assert Findings.of(finished).tested is None
    assert "hypothesis tests" not in details(Findings.of(finished))


def test_tests_of_another_circuit_are_refused(run, tested):
    run.write("hypotheses.json", replace(tested, ablation="own").to_json())
    with pytest.raises(
        HeadwayError, match=r"hypotheses\.json is of another circuit .* headway hyp"
    ):
        Findings.of(run)
