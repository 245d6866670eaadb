"""What of a sweep runs on the nodes of a Ray cluster, and what it sends home."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.sweeps.jobs import Event, Job
from headway.sweeps.sources import PLAN
from headway.sweeps.work import Tell, carry_out_told
from headway.training import Run
from headway.training.files import clear_io_errors, is_there, write_whole

Files = dict[str, bytes]
"""The content of a folder's files by their paths in it."""


@dataclass(frozen=True)
class Returned:
    """What a node returns.

    Attributes:
        ends: what became of every run; None if the sweep's folder is not to be seen there.
        files: of the runs' folders by their names, if they are to be brought home.
        process: that carried them out, as node and process number.
    """

    ends: list[Event] | None
    files: dict[str, Files]
    process: str


class Reports:
    """An actor that gathers what the nodes report until it is asked for."""

    def __init__(self):
        self.news: dict[str, Event] = {}

    def tell(self, event: Event) -> None:
        """Takes note of where a run is."""
        self.news[event.name] = event

    def take(self) -> list[Event]:
        """What is new since the last time."""
        news, self.news = self.news, {}
        return list(news.values())


Told = Sequence[dict[str, Any]]
"""The jobs of a stack as `Job.to_json` gives them: a node need not know a task's class."""


def on_node(told: Told, reports: Any, bring_home: bool) -> Returned:
    """Carries out a stack on a node.

    Args:
        told: what is to be done; the folders are those at home.
        reports: the `Reports` actor.
        bring_home: whether to train in a folder of the node's own and to return the files.
    """
    ends: list[Event] = []

    def tell(event: Event) -> None:
        if event.kind in ("started", "progressed"):
            reports.tell.remote(event)
        else:
            ends.append(event)

    process = f"{os.uname().nodename}/{os.getpid()}"
    if bring_home:
        files = in_own_folders(told, tell)
        return Returned(ends, files, process)
    if not is_there(Path(told[0]["folder"]).parent / PLAN):
        return Returned(None, {}, process)
    carry_out_told(told, tell)
    return Returned(ends, {}, process)


def in_own_folders(told: Told, tell: Tell) -> dict[str, Files]:
    """Carries out a stack from its start in temporary folders; what is in them then."""
    home = str(Path(told[0]["folder"]).parent)
    with tempfile.TemporaryDirectory(prefix="headway-") as there:

        def tell_home(event: Event) -> None:
            if event.kind == "failed":
                event = replace(event, message=(event.message or "").replace(there, home))
                _at_home(Path(there) / event.name, event)
            tell(event)

        own = [{**data, "folder": str(Path(there) / data["name"])} for data in told]
        carry_out_told(own, tell_home)
        return {path.name: _content(path) for path in Path(there).iterdir()}


def _at_home(folder: Path, event: Event) -> None:
    """Lets a failed run's outcome name its folder at home, if there is one."""
    if is_there(folder) and (outcome := Run.open(folder).outcome()) is not None:
        Run.open(folder).write("outcome.json", {**outcome, "message": event.message})


def _content(folder: Path) -> Files:
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def unpack(job: Job, files: Files) -> None:
    """Puts the files of a run that ended elsewhere into its folder, whole or not at all.

    What an unfinished or failed run had left in that folder is replaced; a run that is done stays.

    Raises:
        RunBusyError: if another process is writing to the folder.
        HeadwayError: if the disk does not take the files.
    """
    draft = job.folder.with_name(f".{job.folder.name}.draft-{os.getpid()}")
    old = job.folder.with_name(f".{job.folder.name}.draft-old-{os.getpid()}")
    with clear_io_errors(job.folder, "write"):
        try:
            (draft / "checkpoints").mkdir(parents=True)
            for name, content in files.items():
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                write_whole(draft / name, content)
            if not is_there(job.folder):
                draft.rename(job.folder)
                return
            run = Run.open(job.folder)
            with run.writing():
                if (run.outcome() or {}).get("status") != "done":
                    job.folder.rename(old)
                    draft.rename(job.folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)


def failed_at_home(job: Job, message: str) -> HeadwayError:
    """The error of a sweep whose nodes do not write where home reads."""
    return HeadwayError(
        f"{job.folder.parent} is not the same folder on the nodes of the cluster ({message}):"
        " put the sweep into a folder that they share, or use --bring-home"
    )
