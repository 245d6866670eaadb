"""Section 6 of the page: all that decides the run, where it was computed, and the commands."""

import dataclasses
import json
import shlex
from typing import Any

from headway.report.findings import Findings
from headway.report.page.html import command, escape, section, table, tag
from headway.tasks import task_kind
from headway.training import to_dict

AGAIN = """from headway.training import Run, train

train(Run.open(".").config, "again")"""


def how_to_reproduce(findings: Findings) -> str:
    """Section 6."""
    config = findings.run.config
    sections = {
        "task": {"kind": task_kind(config.task), **dataclasses.asdict(config.task)},
        "model": dataclasses.asdict(config.model),
        "training": dataclasses.asdict(config.training),
        "run": {"seed": config.seed, "device": config.device, "threads": config.threads},
    }
    tables = "".join(
        tag("div", f"<h3>{name}</h3>" + table(("field", "value"), _rows(fields), name))
        for name, fields in sections.items()
    )
    commands = "".join(
        f"<li>{command(findings.run.folder, verb)} {escape(what)}</li>"
        for verb, what in (
            ("circuit", "finds the circuit"),
            ("emergence", "dates its paths"),
            ("report", "draws the figures and writes this page"),
        )
    )
    sessions = "".join(_session(entry) for entry in findings.sessions)
    config_json = escape(json.dumps(to_dict(config), indent=1, ensure_ascii=False))
    html = (
        "<p>The seed decides the initial weights and all data. On the same machine, with the same"
        " number of threads, the same config gives the same weights to the last bit, resumed or"
        " not. From Python, in the run's folder:</p>"
        f"<pre>{escape(AGAIN)}</pre>"
        f"<p>and then, on the new folder or this one:</p><ul>{commands}</ul>"
        f'<div class="columns">{tables}</div>'
        f"<h3>environment</h3>{sessions or '<p>Not recorded.</p>'}"
        f"<details><summary>config.json</summary><pre>{config_json}</pre></details>"
    )
    return section("reproduce", 6, "How to reproduce", html)


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
