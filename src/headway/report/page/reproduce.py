"""The last section of the page: what decides the run, where it was computed, and the commands."""

import json
import shlex
from typing import Any

from headway.report.findings import Findings
from headway.report.page.html import command, escape, section, table, tag
from headway.tasks import task_to_json
from headway.training import to_dict
from headway.training.config import Elsewhere, flat

AGAIN = """from headway.training import Run, train

train(Run.open(".").config, "again")"""

HERE = (
    "<p>The seed decides the initial weights and all data. On the same machine, with the same"
    " number of threads, the same config gives the same weights to the last bit, resumed or not."
    f" From Python, in the run's folder:</p><pre>{escape(AGAIN)}</pre>"
    "<p>and then, on the new folder or this one:</p>"
)
ELSEWHERE = (
    "<p>The model was trained by a loop that is not headway's. The folder keeps what it recorded,"
    " but not the loop; the seed decides the held-out sequences alone. On this folder:</p>"
)


def how_to_reproduce(findings: Findings) -> str:
    """The last section."""
    config = findings.run.config
    elsewhere = isinstance(config.training, Elsewhere)
    sections: dict[str, dict[str, Any]] = {"task": {}, "model": {}, "training": {}, "run": {}}
    for name, value in flat(config).items():
        first, _, field = name.partition(".")
        sections[first if field else "run"][field or first] = value
    defined = task_to_json(config.task).get("defined")
    if defined is not None:
        sections["task"]["defined in"] = defined["file"]
    tables = "".join(
        tag("div", f"<h3>{name}</h3>" + table(("field", "value"), _rows(fields), name))
        for name, fields in sections.items()
        if fields
    )
    commands = "".join(
        f"<li>{command(findings.run.folder, verb)} {escape(what)}</li>"
        for verb, what in (
            ("circuit", "finds the circuit"),
            ("emergence", "dates its paths"),
            ("report", "draws the figures and writes this page"),
        )
        if verb == "report" or findings.no_circuit is None
    )
    sessions = "".join(_session(entry) for entry in findings.sessions)
    config_json = escape(json.dumps(to_dict(config), indent=1, ensure_ascii=False))
    html = (
        f"{ELSEWHERE if elsewhere else HERE}<ul>{commands}</ul>"
        f'<details><summary>every field</summary><div class="columns">{tables}</div></details>'
        "<details><summary>environment</summary>"
        f"{sessions or '<p>Not recorded.</p>'}</details>"
        f"<details><summary>config.json</summary><pre tabindex='0'>{config_json}</pre></details>"
    )
    return section("reproduce", "How to reproduce", html)


def _session(entry: dict[str, Any]) -> str:
    words = entry.get("command", [])
    shown = {**entry, "command": shlex.join(map(str, words)) if words else "not recorded"}
    return table(("what", "value"), _rows(shown), "environment")


def _rows(fields: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (escape(name), f"<code>{escape(_plain(value))}</code>") for name, value in fields.items()
    ]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
