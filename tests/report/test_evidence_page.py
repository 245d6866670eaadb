"""The page shows the verdicts on a circuit as they are."""

from dataclasses import replace

from headway.circuits import saved_discovery, verdicts
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.run import verdicts_of


def test_every_verdict_is_shown_with_its_reason_and_what_is_next(finished):
    found = replace(saved_discovery(finished), threshold=1e-9)
    shown = verdicts_of(replace(Findings.of(finished), discovery=found))
    for data, verdict in zip(shown, verdicts(found), strict=True):
        command = verdict.next and verdict.next.replace("RUN", "run")
        expected = verdict.name, verdict.holds, command
        assert (data.name, data.holds, data.next) == expected
        assert data.because == typeset(verdict.because)
