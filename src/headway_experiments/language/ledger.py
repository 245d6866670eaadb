"""A folder to which results are added one after another: what is asked, and a line per
result.

A line that is written is kept, whatever happens to the process; one process writes at a
time.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from headway.errors import require, shown
from headway.fields import found_in
from headway.training import describe_environment
from headway.training.files import (
    append_json,
    clear_io_errors,
    holding,
    is_there,
    json_lines,
    read_json,
    write_json,
)


@dataclass(frozen=True)
class Ledger:
    """A folder with `NAME.json`, what is asked and where, and a file with a line per
    result.

    Attributes:
        folder: new, or of the same asking before.
        name: of what is asked.
        asked: plain data that decides every line; a `format` among it.
        part: the kind of results, if there are several, which names their file,
            `PART.jsonl`; by default `name` does.
    """

    folder: Path
    name: str
    asked: Mapping[str, Any]
    part: str | None = None

    @property
    def path(self) -> Path:
        """The file of the results."""
        return self.folder / f"{self.part or self.name}.jsonl"

    @property
    def plan(self) -> Path:
        """The file that tells what is asked."""
        return self.folder / f"{self.name}.json"

    def about(self) -> dict[str, Any]:
        """The asking, and the environment in which it was begun.

        Raises:
            HeadwayError: if the folder does not tell.
        """
        return found_in(dict[str, Any], read_json(self.plan), str(self.plan))

    def require_same(self) -> None:
        """Raises `HeadwayError` if the folder holds another asking, or is damaged."""
        if not is_there(self.plan):
            return
        known = self.about()
        for name, value in json.loads(json.dumps(self.asked)).items():
            allowed = (
                f"{shown(known.get(name))}, as in {self.plan}, or in another --folder"
            )
            require(name in known and value == known[name], name, value, allowed)

    def lines(self) -> list[dict[str, Any]]:
        """The results so far; a line cut off in the middle does not count.

        Raises:
            HeadwayError: if the file is damaged.
        """
        lines = json_lines(self.path)
        return [found_in(dict[str, Any], line, where) for where, line in lines]

    def add(self, line: Mapping[str, Any]) -> None:
        """Adds a result; only while `writing`.

        Raises:
            HeadwayError: if a number in it is not finite; nothing is then written.
        """
        append_json(self.path, line)

    @contextmanager
    def writing(self, device: str) -> Iterator[None]:
        """Holds the folder for one process, and makes it if need be.

        Args:
            device: that computes; noted.

        Raises:
            HeadwayError: if the folder holds another asking, is damaged or in use, or
                cannot be written to.
        """
        with clear_io_errors(self.folder, "make"):
            self.folder.mkdir(parents=True, exist_ok=True)
        with holding(self.folder):
            self.require_same()
            if not is_there(self.plan):
                environment = describe_environment(device, torch.get_num_threads())
                with suppress(PackageNotFoundError):
                    environment["transformers"] = version("transformers")
                write_json(self.plan, {**self.asked, "environment": environment})
            yield
