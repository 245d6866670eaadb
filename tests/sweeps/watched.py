"""Folders of sweeps and their processes, as seen from outside."""

import json
import os
import time
from pathlib import Path

from headway.fields import to_json
from headway.sweeps import Board, Plan, Standing


class Seen(list[tuple[str, Standing]]):
    """Standings of runs, whenever one changed."""

    def __call__(self, board: Board, name: str | None) -> None:
        """Take note (a `SweepWatch`)."""
        if name is not None:
            self.append((name, board.runs[name]))

    def became(self, state: str) -> list[str]:
        """The runs that came to be in a state, in this order."""
        last = dict[str, str]()
        found = []
        for name, run in self:
            if run.state == state != last.get(name):
                found.append(name)
            last[name] = run.state
        return found


def until(holds, seconds: float = 60.0):
    """Wait until something holds, which is returned."""
    deadline = time.monotonic() + seconds
    while not (held := holds()):
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)
    return held


def put(folder: Path, plan: Plan) -> Path:
    """Make the folder of a sweep of which nothing is done."""
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(to_json(plan)))
    return folder


def workers_of(process: int) -> list[int]:
    """The processes in which a process lets runs be trained."""
    return [one for one in children_of(process) if b"sweeps.engines" in command_of(one)]


def children_of(process: int) -> list[int]:
    """The processes that a process has started."""
    threads = Path(f"/proc/{process}/task").glob("*/children")
    return [int(one) for thread in threads for one in thread.read_text().split()]


def command_of(process: int) -> bytes:
    """The command line of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except (ProcessLookupError, FileNotFoundError):
        return b""


def is_alive(process: int) -> bool:
    """Tell whether a process is still running."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Stamps that tell whether files of the runs that are done were written again."""
    found = {}
    for outcome in folder.glob("*/outcome.json"):
        for path in (outcome, outcome.with_name("environment.json")):
            about = path.stat()
            found[f"{path.parent.name}/{path.name}"] = (about.st_mtime_ns, about.st_ino)
    return found
