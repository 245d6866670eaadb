from dataclasses import dataclass
from pathlib import Path

from headway.report import Findings, render
from headway.training import Run


@dataclass(frozen=True)
class Written:
    """A run and its page."""

    run: Run
    file: Path


def written(run: Run, folder: Path) -> Written:
    """Writes a run's page into another folder than its own."""
    file = folder / f"{run.folder.name}.html"
    file.write_text(render(Findings.of(run)), encoding="utf-8")
    return Written(run, file)
