"""Reading and writing a run folder's files: whole or not at all.

JSON and safetensors only: reading a file runs nothing that is in it.
"""

import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from filelock import FileLock, Timeout
from torch import Tensor

from headway.errors import HeadwayError
from headway.reading import opened, parsed, read_bytes


@contextmanager
def clear_io_errors(path: Path, doing: str) -> Iterator[None]:
    """Makes one clear line of what a failing disk raises (full, read-only, no permission)."""
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
    except (
        *(KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError),
        OverflowError,
    ) as error:
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
        except ValueError as error:
            raise HeadwayError(f"{str(path)!r}: no file can have this name ({error})") from None
        return True


def write_whole(path: Path, content: bytes, lasting: bool = True) -> None:
    """Writes a file under another name, flushes it to disk and renames it into place.

    A reader sees the old content or the new one, whatever interrupts the writer. When this has
    returned, a power cut does not lose it. Drafts that killed writers of the same file left are
    removed.

    Args:
        path: of the file.
        content: of it.
        lasting: whether to flush its folder, too; else a power cut may bring the old content back,
            until `sync_folder` is called.

    Raises:
        HeadwayError: if the disk does not take it; the old file is then untouched.
    """
    draft = path.with_name(f".{path.name}.draft-{os.getpid()}")
    with clear_io_errors(path, "write"):
        if lasting:
            remove_drafts(path.parent, glob.escape(path.name), living=False)
        try:
            with open(draft, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
            if lasting:
                sync_folder(path.parent)
        finally:
            draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text, whole or not at all; bytes of names that are no text become question marks."""
    write_whole(path, text.encode("utf-8", "replace"))


def append_line(path: Path, line: str) -> None:
    """Adds a line to a file and flushes it to disk.

    Raises:
        HeadwayError: if the disk does not take it; the file may then end in a part of the line.
    """
    with clear_io_errors(path, "write"):
        is_new = not path.exists()
        with open(path, "ab") as file:
            file.write(f"{line}\n".encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync_folder(path.parent)


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a file but for one that was cut off in writing; empty if there is no file."""
    return read_bytes(path).split(b"\n")[:-1] if is_there(path) else []


def drop_torn_line(path: Path) -> None:
    """Removes the last line of a file, if there is one and it was cut off in writing."""
    if is_there(path):
        with clear_io_errors(path, "write"), path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def sync_folder(folder: Path) -> None:
    """Flushes to disk which files a folder holds."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def remove_drafts(folder: Path, name: str = "*", living: bool = True) -> None:
    """Removes drafts that killed writers left in a folder.

    Args:
        folder: that they wrote to.
        name: of what they were writing; a pattern.
        living: whether to remove also what a process on this machine may still be writing.
    """
    with clear_io_errors(folder, "read"):
        found = list(folder.glob(f".{name}.draft-*")) if folder.is_dir() else []
    for path in found:
        written = re.fullmatch(r"\..+\.draft-(?:old-)?([0-9]{1,9})", path.name, re.DOTALL)
        if written and (living or not _is_alive(int(written[1]))):
            with clear_io_errors(path, "remove"):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    """Whether a process of this machine runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


@contextmanager
def holding(folder: Path, busy: HeadwayError) -> Iterator[None]:
    """Holds a folder for one writer; the lock dies with the process.

    Args:
        folder: that is there.
        busy: raised if another process holds it.

    Raises:
        HeadwayError: if writing is not permitted.
    """
    lock = FileLock(folder / ".lock", timeout=0.3)  # longer than `is_held` ever holds it
    with clear_io_errors(folder, "write to"):
        try:
            lock.acquire()
        except Timeout:  # an OSError too
            raise busy from None
    try:
        yield
    finally:
        with clear_io_errors(folder / ".lock", "unlock"):
            lock.release()


def is_held(lock: Path) -> bool:
    """Whether a process holds a lock; told without writing to its file, which may be missing."""
    try:
        file = os.open(lock, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a disk without locks
        return False
    else:
        return False
    finally:
        os.close(file)


def write_json(path: Path, data: Any) -> None:
    """Writes JSON, whole or not at all.

    Raises:
        HeadwayError: if a number in it is not finite, or the disk does not take it.
    """
    try:
        text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise HeadwayError(f"cannot write {path}: {error}") from None
    write_text(path, f"{text}\n")


def read_json(path: Path) -> Any:
    """Reads JSON.

    Raises:
        HeadwayError: if the file is missing or is not JSON (see `reading`).
    """
    return parsed(read_bytes(path), path)


def write_tensors(
    path: Path, tensors: dict[str, Tensor], about: dict[str, Any], lasting: bool = True
) -> None:
    """Writes tensors and a little JSON about them as one safetensors file (see `write_whole`)."""
    write_whole(path, packed(tensors, about), lasting)


def packed(tensors: dict[str, Tensor], about: dict[str, Any]) -> bytes:
    """Tensors and a little JSON about them as the content of a safetensors file."""
    flat = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    said = json.dumps(about, allow_nan=False)
    whole = safetensors.torch.save(flat, {"about": said, "checksum": checksum(flat, said)})
    return in_order(whole)


def in_order(whole: bytes) -> bytes:
    """A safetensors file with the entries of its header in order, so that equal ones are equal."""
    start = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:start])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + whole[start:]


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads what `write_tensors` wrote: the tensors, and what is said about them.

    Raises:
        HeadwayError: if the file is missing, truncated or corrupted.
    """
    if not is_there(path):
        raise HeadwayError(f"{path} is missing")
    with clear_io_errors(path, "read"):
        os.close(opened(path))
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                metadata = file.metadata() or {}
            said = metadata.get("about", "{}")
            about = parsed(said.encode(), path)
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
