"""Files that are there whole or not at all, and folders with one writer at a time.

JSON and safetensors only: reading a file runs nothing that is in it.
"""

import fcntl
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from filelock import FileLock, Timeout
from torch import Tensor

from headway.errors import HeadwayError
from headway.reading import clear_io_errors as clear_io_errors
from headway.reading import is_there as is_there
from headway.reading import opened, parsed, read_bytes
from headway.userfile import described


@contextmanager
def clear_errors(doing: str) -> Iterator[None]:
    """Makes one clear line of whatever a task, module or file of somebody's raises.

    Args:
        doing: the line's beginning, such as `model: Net raises`.
    """
    try:
        yield
    except HeadwayError:
        raise
    except Exception as error:
        raise HeadwayError(f"{doing} {described(error)}") from error


def clear_content_errors(what: object) -> AbstractContextManager[None]:
    """Turns errors in using a file's content into one clear line."""
    return clear_errors(f"{what} is corrupted or of another version:")


def refuse_link(path: Path) -> None:
    """Makes sure that a path is no link: nothing is written or deleted through one.

    Raises:
        HeadwayError: if it is one, wherever it leads.
    """
    if os.path.islink(path):
        raise HeadwayError(f"{path} is a link: nothing is written or deleted behind it")


def owned(folder: Path, *names: str) -> Path:
    """A path below a folder for writing or deleting: no part of it is a link.

    Behind a link lies what belongs to somebody else, or is another file of the same
    run. The folder itself, and those above it, may be links: whoever named the folder
    meant what they lead to.

    Raises:
        HeadwayError: if a part is a link; it names that part.
    """
    path = folder
    for part in Path(*names).parts:
        path = path / part
        refuse_link(path)
    return path


def draft_of(path: Path) -> Path:
    """The name that this thread writes under before moving into place."""
    return path.with_name(f".{path.name}.draft-{threading.get_native_id()}")


def remove_draft(draft: Path) -> None:
    """Removes a draft: a file, a folder or a link, but not its target."""
    if draft.is_dir() and not draft.is_symlink():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.unlink(missing_ok=True)


def remove_drafts(folder: Path, name: str = "*") -> None:
    """Removes drafts of killed writers from a folder that the caller writes.

    Args:
        folder: that they wrote to.
        name: of what they were writing; a pattern.
    """
    with clear_io_errors(folder, "remove drafts in"):
        for path in folder.glob(f".{name}.draft-[0-9]*"):
            remove_draft(path)


def write_whole(path: Path, content: bytes | str) -> None:
    """Writes a file under another name, flushes it to disk and renames it into place.

    A reader sees the old content or the new one, whatever interrupts the writer. When
    this has returned, a power cut does not lose it. Bytes of names that are no text
    become question marks.

    Raises:
        HeadwayError: if it is a link, or the disk does not take it; the old file is
            then untouched.
    """
    refuse_link(path)
    draft = draft_of(path)
    content = (
        content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    )
    with clear_io_errors(path, "write"):
        try:
            # Of a thread of the same number, killed; or a link of that name.
            remove_draft(draft)
            with open(draft, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
            sync_folder(path.parent)
        finally:
            draft.unlink(missing_ok=True)


def append_json(path: Path, data: Any) -> None:
    """Adds a line of JSON to a file, replacing a cut one, and flushes it.

    Raises:
        HeadwayError: if it is a link, a number in it is not finite, or the disk does
            not take it; the file may then end in a part of the line.
    """
    refuse_link(path)
    line = _json(path, data)
    with clear_io_errors(path, "write"):
        if path.exists() and path.stat().st_nlink > 1:
            # Under its other names the file stays as it is.
            write_whole(path, path.read_bytes())
        with open(path, "ab+") as file:
            file.seek(max(0, file.tell() - 1))
            if file.read() not in (b"", b"\n"):
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)


def remove(path: Path) -> None:
    """Deletes a file, if it is there.

    Raises:
        HeadwayError: if it is a link or cannot be deleted.
    """
    refuse_link(path)
    with clear_io_errors(path, "remove"):
        path.unlink(missing_ok=True)


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a file but for a cut one; empty if there is no file."""
    if is_there(path):
        return read_bytes(path).split(b"\n")[:-1]
    return []


def json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """The data of every whole line of JSON, with the place that errors name.

    Raises:
        HeadwayError: at the first line that is no JSON.
    """
    for number, line in enumerate(whole_lines(path), start=1):
        where = f"{path}, line {number}"
        yield where, parsed(line, where)


def sync_folder(folder: Path) -> None:
    """Flushes to disk which files a folder holds."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class RunBusyError(HeadwayError):
    """Another process is writing to the folder of a run, or the like."""


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Holds a folder that is there for one writer; the lock dies with the process.

    Raises:
        RunBusyError: if another process holds it.
        HeadwayError: if writing is not permitted, or the lock is a link.
    """
    # Longer than `is_held` ever holds it.
    lock = FileLock(owned(folder, ".lock"), timeout=0.3)
    with clear_io_errors(folder, "write to"):
        try:
            lock.acquire()
        except Timeout:  # an OSError too
            told = "another process is writing here; wait for it or stop it"
            raise RunBusyError(f"{folder}: {told}") from None
    try:
        yield
    finally:
        with clear_io_errors(folder / ".lock", "unlock"):
            lock.release()


def is_held(lock: Path) -> bool:
    """Tell whether a process holds a lock; nothing is written to tell."""
    try:
        with os.fdopen(opened(lock)) as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (
        OSError,
        HeadwayError,
    ) as error:  # else there is no lock, or a disk without locks
        return isinstance(error, BlockingIOError)
    return False


def write_json(path: Path, data: Any) -> None:
    """Writes JSON, whole or not at all.

    Raises:
        HeadwayError: if a number in it is not finite, or the disk does not take it.
    """
    write_whole(path, _json(path, data, indent=1))


def _json(path: Path, data: Any, indent: int | None = None) -> bytes:
    """JSON for a file; `HeadwayError` if a number in it is not finite."""
    try:
        text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise HeadwayError(f"cannot write {path}: {error}") from None
    return f"{text}\n".encode("utf-8", "replace")


def read_json(path: Path) -> Any:
    """Reads JSON.

    Raises:
        HeadwayError: if the file is missing or is not JSON (see `reading`).
    """
    return parsed(read_bytes(path), path)


def write_tensors(
    path: Path, tensors: dict[str, Tensor], about: dict[str, Any]
) -> None:
    """Writes tensors with a little JSON as a safetensors file (`write_whole`).

    The JSON and a checksum are one text in it: of several texts the order would be by
    chance.
    """
    flat = {
        name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()
    }
    checked = {**about, "checksum": checksum(flat, about)}
    metadata = {"about": json.dumps(checked, allow_nan=False)}
    write_whole(path, safetensors.torch.save(flat, metadata))


@dataclass(frozen=True)
class Header:
    """The header of a file of tensors; no tensor is read for it.

    Attributes:
        shapes: of the tensors, by name.
        about: the JSON beside them, without the checksum.
        checksum: of both; None if the file has none.
    """

    shapes: dict[str, tuple[int, ...]]
    about: dict[str, Any]
    checksum: str | None


def read_header(path: Path) -> Header:
    """Reads what a file of tensors says that it holds, however large it is.

    Raises:
        HeadwayError: if the file is missing, truncated or corrupted.
    """
    with _tensors_in(path) as file:
        return _header_of(file, path)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads what `write_tensors` wrote: the tensors, and what is said about them.

    Raises:
        HeadwayError: if the file is missing, truncated or corrupted.
    """
    with _tensors_in(path) as file:
        header = _header_of(file, path)
        tensors = {name: file.get_tensor(name) for name in header.shapes}
        if header.checksum not in (None, checksum(tensors, header.about)):
            raise ValueError("its content does not match its checksum")
    return tensors, header.about


@contextmanager
def _tensors_in(path: Path) -> Iterator[Any]:
    """A file of tensors, open; what is wrong with it becomes one clear line."""
    with clear_io_errors(path, "read"):
        os.close(opened(path))
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                yield file
        except (safetensors.SafetensorError, ValueError) as error:
            raise HeadwayError(f"{path} is truncated or corrupted ({error})") from None


def _header_of(file: Any, path: Path) -> Header:
    """The header of an open file of tensors; `ValueError` if that is no object."""
    about = parsed((file.metadata() or {}).get("about", "{}").encode(), path)
    if not isinstance(about, dict):
        raise ValueError("its content does not match its checksum")
    expected = about.pop("checksum", None)
    shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    return Header(shapes, about, expected)


def checksum(tensors: dict[str, Tensor], about: dict[str, Any]) -> str:
    """A digest of contiguous CPU tensors (names, shapes, types, bytes) and JSON."""
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        content = tensor.reshape(-1).view(torch.uint8).numpy()
        digest.update(content.data)
    return digest.hexdigest()
