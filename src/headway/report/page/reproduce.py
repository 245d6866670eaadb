"""The last section of the page: what decides the run, where it was computed, and the commands."""

import json
import shlex
from typing import Any

from markupsafe import Markup

from headway.report.findings import Findings
from headway.report.page.templating import of_run
from headway.tasks import task_to_json
from headway.training import to_dict
from headway.training.config import Elsewhere, flat

AGAIN = """from headway.training import Run, train

train(Run.open(".").config, "again")"""


def how_to_reproduce(findings: Findings) -> Markup:
    """The last section."""
    config = findings.run.config
    sections: dict[str, dict[str, Any]] = {"task": {}, "model": {}, "training": {}, "run": {}}
    for name, value in flat(config).items():
        first, _, field = name.partition(".")
        sections[first if field else "run"][field or first] = value
    defined = task_to_json(config.task).get("defined")
    if defined is not None:
        sections["task"]["defined in"] = defined["file"]
    return of_run(
        findings,
        "run/reproduce.html",
        elsewhere=isinstance(config.training, Elsewhere),
        again=AGAIN,
        sections=sections,
        sessions=[{**entry, "command": _command(entry)} for entry in findings.sessions],
        config=json.dumps(to_dict(config), indent=1, ensure_ascii=False),
    )


def _command(session: dict[str, Any]) -> str:
    return shlex.join(map(str, session.get("command", []))) or "not recorded"
