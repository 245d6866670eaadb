from dataclasses import replace

import pytest
from tiny_runs import certified

from headway.circuits import (
    ABLATIONS,
    Certificate,
    Discovery,
    Necessity,
    Trial,
    saved_discovery,
    verdicts,
)
from headway.errors import HeadwayError
from headway.report import write_report
from headway.report.findings import Findings
from headway.report.page.evidence import details, verdict_list
from headway.report.page.html import tag
from headway.report.page.paths import path_table
from headway.training import Run


@pytest.fixture
def found(finished) -> Discovery:
    """A circuit of three paths that passes: each of them costs 1 to lose, the whole 0.03."""
    given = saved_discovery(finished)
    return certified(
        replace(given, threshold=0.05),
        intact={"x_1": 0.01},
        replaced={"x_1": 0.03},
        interval=(0.02, 0.04),
        intact_interval=(0.005, 0.02),
        variants=dict.fromkeys(ABLATIONS, 0.03),
        necessity=[Necessity(path, 0.9, 1.0, 1.5, 0.7) for path in given.circuit.paths],
        droppable=[],
        pairs=3,
        backups=[],
        trials=[Trial("stability 1", 0.05, given.circuit.paths, 1.0)],
        infeasible=[],
        minimum=2,
    )


def shown(run: Run, discovery: Discovery) -> str:
    findings = replace(Findings.of(run), discovery=discovery)
    return verdict_list(findings) + details(findings) + path_table(findings)


def test_every_verdict_is_shown_with_its_reason_and_what_is_next(found, finished):
    html = shown(finished, replace(found, threshold=0.01))
    for one in verdicts(replace(found, threshold=0.01)):
        assert one.name in html
        assert one.next is None or tag("code", one.next) in html
    assert "not faithful" in html


@pytest.mark.parametrize("rows", ABLATIONS)
def test_the_ablation_is_named_wherever_there_are_losses(run, rows):
    data = run.read("circuit.json")
    data["ablation"] = rows
    data["evidence"]["variants"].setdefault(rows, 0.03)
    run.write("circuit.json", data)
    text = write_report(run).read_text(encoding="utf-8").replace("&#39;", "'")
    assert text.count(ABLATIONS[rows]) >= 3
    for other in set(ABLATIONS) - {rows}:
        assert ABLATIONS[other] not in text
    assert text.count("(as searched)") == 1


@pytest.mark.parametrize(("agreeing", "mark"), [(299, "✓"), (298, "✗")])
def test_the_certificate_is_shown(found, finished, agreeing, mark):
    certificate = Certificate(
        found.circuit, found.ablation, 6, 0, 0.99, 0.95, 299, agreeing, 3, 1.0
    )
    findings = replace(Findings.of(finished), discovery=found, certificate=certificate)
    html = details(findings)
    assert f"{mark} Certificate.</b> {agreeing} of 299 fresh sequences agree" in html
    assert "Certificate" not in details(replace(findings, certificate=None))


def test_a_certificate_of_another_circuit_is_refused(run):
    found = saved_discovery(run)
    other = found.circuit.without(found.circuit.paths[0])
    certificate = Certificate(other, found.ablation, 6, 0, 0.99, 0.95, 299, 299, 3, 1.0)
    run.write("certificate.json", certificate.to_json())
    with pytest.raises(HeadwayError, match=r"certificate\.json is of another circuit"):
        Findings.of(run)


def test_every_loss_is_there(found, finished):
    variants = {kind: 0.011 * (i + 1) for i, kind in enumerate(ABLATIONS)}
    html = shown(finished, certified(found, variants=variants))
    for value in (*variants.values(), 0.01, 0.03, 1.0, 1.5, 0.7, 0.9):
        assert f'<data value="{value!r}">' in html
    assert "the model&#39;s own 0.0100" in html
