"""Reading and writing a run folder's files: whole or not at all, and never a pickle."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from headway.errors import HeadwayError


@contextmanager
def clear_io_errors(path: Path, doing: str) -> Iterator[None]:
    """Turns a failing disk (full, read-only, no permission) into one clear line."""
    try:
        yield
    except OSError as error:
        raise HeadwayError(f"cannot {doing} {path}: {error.strerror or error}") from error


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file under another name, flushes it to disk and renames it into place.

    A reader sees the old content or the new one, whatever interrupts the writer.

    Raises:
        HeadwayError: if the disk does not take it; the old file is then untouched.
    """
    draft = path.with_name(f".{path.name}.draft")
    with clear_io_errors(path, "write"):
        try:
            with open(draft, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)


def write_json(path: Path, data: Any) -> None:
    """Writes JSON, whole or not at all."""
    write_whole(path, (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """Reads JSON.

    Raises:
        HeadwayError: if the file is missing or is not JSON.
    """
    with clear_io_errors(path, "read"):
        text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise HeadwayError(f"{path} is not valid JSON (line {error.lineno}): {error.msg}") from None


def write_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Writes tensors and a little JSON about them as one safetensors file, whole or not at all."""
    flat = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(path, safetensors.torch.save(flat, {"about": json.dumps(about)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads what `write_tensors` wrote: the tensors, and what is said about them.

    Raises:
        HeadwayError: if the file is missing, truncated or corrupted.
    """
    with clear_io_errors(path, "read"):
        if not path.is_file():
            raise HeadwayError(f"{path} is missing")
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                return tensors, json.loads((file.metadata() or {}).get("about", "{}"))
        except (safetensors.SafetensorError, json.JSONDecodeError) as error:
            raise HeadwayError(f"{path} is truncated or corrupted ({error})") from None
