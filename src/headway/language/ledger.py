"""A folder to which results are added one after another: what is asked, and a line per result.

A line that is written is kept, whatever happens to the process; one process writes at a time.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from headway.errors import HeadwayError, require, shown
from headway.reading import parsed
from headway.training.environment import describe_environment
from headway.training.files import (
    append_line,
    clear_io_errors,
    holding,
    is_there,
    read_json,
    whole_lines,
    write_json,
)


@dataclass(frozen=True)
class Ledger:
    """A folder with `NAME.json`, what is asked and where, and a file with a line per result.

    Attributes:
        folder: new, or of the same asking before.
        name: of what is asked.
        asked: plain data that decides every line; a `format` among it.
        part: the kind of results, if there are several, which names their file, `PART.jsonl`; by
            default `name` does.
    """

    folder: Path
    name: str
    asked: Mapping[str, Any]
    part: str | None = None

    @property
    def path(self) -> Path:
        """Of the results."""
        return self.folder / f"{self.part or self.name}.jsonl"

    def about(self) -> dict[str, Any]:
        """The asking, and the environment in which it was begun.

        Raises:
            HeadwayError: if the folder does not tell.
        """
        path = self.folder / f"{self.name}.json"
        known = read_json(path)
        require(isinstance(known, dict), str(path), known, "an object of fields")
        return known

    def require_same(self) -> None:
        """Raises `HeadwayError` if the folder holds another asking, or is damaged."""
        path = self.folder / f"{self.name}.json"
        if not is_there(path):
            return
        known = self.about()
        for name, value in json.loads(json.dumps(self.asked)).items():
            allowed = f"{shown(known.get(name))}, as in {path}, or in another --folder"
            require(name in known and value == known[name], name, value, allowed)

    def lines(self) -> list[dict[str, Any]]:
        """The results so far; a line cut off in the middle does not count.

        Raises:
            HeadwayError: if the file is damaged.
        """
        found = []
        for i, line in enumerate(whole_lines(self.path), start=1):
            found.append(parsed(line, f"{self.path}, line {i}"))
            is_object = isinstance(found[-1], dict)
            require(is_object, f"{self.path}, line {i}", found[-1], "an object of fields")
        return found

    def add(self, line: Mapping[str, Any]) -> None:
        """Adds a result; only while `writing`.

        Raises:
            HeadwayError: if a number in it is not finite; nothing is then written.
        """
        try:
            text = json.dumps(line, ensure_ascii=False, allow_nan=False)
        except ValueError:
            raise HeadwayError("the model answers with values that are not finite") from None
        append_line(self.path, text)

    @contextmanager
    def writing(self, device: str) -> Iterator[None]:
        """Holds the folder for one process, and makes it if need be.

        Args:
            device: that computes; noted.

        Raises:
            HeadwayError: if the folder holds another asking, is damaged or in use, or cannot be
                written to.
        """
        with clear_io_errors(self.folder, "make"):
            self.folder.mkdir(parents=True, exist_ok=True)
        busy = HeadwayError(f"{self.folder}: another process is writing here")
        with holding(self.folder, busy):
            self.require_same()
            if not is_there(self.folder / f"{self.name}.json"):
                environment = describe_environment(device, torch.get_num_threads())
                if find_spec("transformers") is not None:
                    environment["transformers"] = metadata.version("transformers")
                about = {**self.asked, "environment": environment}
                write_json(self.folder / f"{self.name}.json", about)
            yield
