"""What of a sweep runs on the nodes of a Ray cluster, and what it sends home."""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.sweeps.jobs import Job, Result, carry_out
from headway.sweeps.sources import PLAN
from headway.training import Run
from headway.training.files import clear_io_errors, is_there, write_whole

News = dict[str, tuple[int, int, float | None]]
"""Step, last step and loss of runs, by name."""


@dataclass(frozen=True)
class Returned:
    """What a node returns.

    Attributes:
        result: what became of the job; none if the sweep's folder is not to be seen there.
        files: the content of the run's folder, if it is to be brought home.
        process: that carried it out, as node and process number.
    """

    result: Result | None
    files: dict[str, bytes] | None
    process: str


class Reports:
    """An actor that gathers what the nodes report until it is asked for."""

    def __init__(self):
        self.news: News = {}

    def tell(self, name: str, step: int, end: int, loss: float | None) -> None:
        """Takes note of where a run is."""
        self.news[name] = (step, end, loss)

    def take(self) -> News:
        """What is new since the last time."""
        news, self.news = self.news, {}
        return news


def on_node(job: Job, reports: Any, bring_home: bool) -> Returned:
    """Carries out a job on a node.

    Args:
        job: what is to be done; its folder is the one at home.
        reports: the `Reports` actor.
        bring_home: whether to train in a folder of the node's own and to return the files.
    """

    def report(step: int, end: int, loss: float | None) -> None:
        reports.tell.remote(job.name, step, end, loss)

    process = f"{os.uname().nodename}/{os.getpid()}"
    if bring_home:
        result, files = in_own_folder(job, report)
        return Returned(result, files, process)
    if not is_there(job.folder.parent / PLAN):
        return Returned(None, None, process)
    return Returned(carry_out(job, report), None, process)


def in_own_folder(
    job: Job, report: Callable[[int, int, float | None], None]
) -> tuple[Result, dict[str, bytes] | None]:
    """Carries out a job from its start in a temporary folder; what is in it then."""
    with tempfile.TemporaryDirectory(prefix="headway-") as there:
        folder = Path(there) / job.name
        result = carry_out(replace(job, folder=folder), report)
        if result.message is not None:
            result = replace(result, message=result.message.replace(str(folder), str(job.folder)))
        if not is_there(folder):
            return result, None
        run = Run.open(folder)
        outcome = run.outcome()
        if outcome is not None and outcome["status"] == "failed":
            run.write("outcome.json", {**outcome, "message": result.message})
        paths = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
        return result, {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def unpack(job: Job, files: dict[str, bytes]) -> None:
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
