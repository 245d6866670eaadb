"""Reading and writing a run folder's files: whole or not at all.

JSON and safetensors only: reading a file runs nothing that is in it.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from headway.errors import HeadwayError


@contextmanager
def clear_io_errors(path: Path, doing: str) -> Iterator[None]:
    """Turns a failing disk (full, read-only, no permission) into one clear line."""
    try:
        yield
    except OSError as error:
        raise HeadwayError(f"cannot {doing} {path}: {error.strerror or error}") from error


@contextmanager
def clear_content_errors(what: object) -> Iterator[None]:
    """Turns what goes wrong in using a file's unexpected content into one clear line.

    Args:
        what: the file, or whatever else the content came from.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise HeadwayError(f"{what} is corrupted or of another version ({reason})") from None


def first_line(error: Exception) -> str:
    """An error's message without its further lines."""
    return str(error).strip().partition("\n")[0]


def is_there(path: Path) -> bool:
    """Whether there is a file or folder.

    Raises:
        HeadwayError: if that cannot be told, for want of permission.
    """
    with clear_io_errors(path, "read"):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file under another name, flushes it to disk and renames it into place.

    A reader sees the old content or the new one, whatever interrupts the writer.

    Raises:
        HeadwayError: if the disk does not take it; the old file is then untouched.
    """
    draft = path.with_name(f".{path.name}.draft-{os.getpid()}")
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
        content = path.read_bytes()
    try:
        return json.loads(content.decode())
    except json.JSONDecodeError as error:
        raise HeadwayError(f"{path} is not valid JSON (line {error.lineno}): {error.msg}") from None
    except UnicodeDecodeError as error:
        raise HeadwayError(f"{path} is not valid JSON: not UTF-8 at byte {error.start}") from None


def write_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Writes tensors and a little JSON about them as one safetensors file, whole or not at all."""
    flat = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    said = json.dumps(about)
    whole = safetensors.torch.save(flat, {"about": said, "checksum": checksum(flat, said)})
    write_whole(path, whole)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads what `write_tensors` wrote: the tensors, and what is said about them.

    Raises:
        HeadwayError: if the file is missing, truncated or corrupted.
    """
    if not is_there(path):
        raise HeadwayError(f"{path} is missing")
    with clear_io_errors(path, "read"):
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                metadata = file.metadata() or {}
            said = metadata.get("about", "{}")
            about = json.loads(said)
        except (safetensors.SafetensorError, ValueError) as error:
            raise HeadwayError(f"{path} is truncated or corrupted ({error})") from None
    expected = metadata.get("checksum")
    if not isinstance(about, dict) or expected not in (None, checksum(tensors, said)):
        raise HeadwayError(
            f"{path} is truncated or corrupted (its content does not match its checksum)"
        )
    return tensors, about


def checksum(tensors: dict[str, Tensor], said: str) -> str:
    """A digest of contiguous tensors on the CPU (names, shapes, types, bytes) and of a text."""
    digest = hashlib.blake2b(said.encode(), digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        content = tensor.reshape(-1).view(torch.uint8).numpy()
        digest.update(content.data)
    return digest.hexdigest()
