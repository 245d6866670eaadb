"""A user's Python file: loaded once for what it holds, and known by its path and its digest."""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from headway.errors import HeadwayError
from headway.reading import is_file, read_bytes

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """Where something of a user's was defined.

    Attributes:
        file: its whole path.
        sha256: the first 16 digits of the digest of the file.
    """

    file: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "Source":
        """A file as it is now.

        Raises:
            HeadwayError: if there is none or it cannot be read.
        """
        content = read_bytes(path)
        return cls(str(path.resolve()), hashlib.sha256(content).hexdigest()[:16])


_loaded: dict[Source, ModuleType] = {}
_names: set[str] = set()
_trusted: set[str] = set()


def trust(path: str | Path) -> None:
    """Lets a file be executed because a run's folder names it, wherever it lies."""
    _trusted.add(Source.of(Path(path)).file)


def is_trusted(file: str) -> bool:
    """Whether a file was named by the user, or was executed in this process already."""
    executed = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return file in _trusted | executed


def load(path: str | Path) -> ModuleType:
    """Runs a Python file as a module, with its folder on the path; as it is now, but once.

    Raises:
        HeadwayError: if there is no such file, or running it fails: with the line, and what is
            wrong there.
    """
    path = Path(path)
    source = Source.of(path)
    if source in _loaded:
        return _loaded[source]
    name = f"{path.stem}_{source.sha256[:8]}"
    spec = importlib.util.spec_from_file_location(name, source.file)
    if spec is None or spec.loader is None:
        raise HeadwayError(f"{path}: it must be a Python file, NAME.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _names.add(name)
    try:
        called(path, _execute, module, source.file)
    except HeadwayError:
        del sys.modules[name]
        raise
    _loaded[source] = module
    return module


def _execute(module: ModuleType, file: str) -> None:
    """Runs what is in the file now; bytecode that is kept for it may be older by a second."""
    exec(compile(read_bytes(file), file, "exec"), module.__dict__)


def called(path: Path, function: Callable[..., T], *given: Any) -> T:
    """What a function of a user's file returns, which may import its neighbours.

    Raises:
        HeadwayError: if it raises anything: at which line of the file, and what is wrong there.
    """
    file = path.resolve()
    sys.path.insert(0, str(file.parent))
    try:
        return function(*given)
    except HeadwayError as error:
        raise HeadwayError(f"{path}{line_of(error, str(file))}: {error}") from None
    except (Exception, SystemExit) as error:
        raise HeadwayError(f"{path}{line_of(error, str(file))}: {described(error)}") from None
    finally:
        sys.path.remove(str(file.parent))


def source_of(cls: Any) -> Source | None:
    """Where a class or function was defined, as its file was when loaded; None if in none."""
    module = sys.modules.get(cls.__module__)
    for source, loaded in _loaded.items():
        if loaded is module:
            return source
    file = getattr(module, "__file__", None)
    return Source.of(Path(file)) if file and is_file(file) else None


def is_loaded(cls: Any) -> bool:
    """Whether a class was defined in a file that was loaded by its path, not in a package."""
    return cls.__module__ in _names


def told(error: BaseException) -> str | None:
    """What is wrong in a file that was loaded, on one line with its place; None if in none."""
    for source in reversed(_loaded):
        if line := line_of(error, source.file):
            return f"{source.file}{line}: {described(error)}"
    return None


def line_of(error: BaseException, file: str) -> str:
    """At which line of a file an error arose, in words; empty if it did not arise there."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return f", line {error.lineno}" if error.lineno else ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    return f", line {lines[-1]}" if lines else ""


def described(error: BaseException) -> str:
    """An error on one line: its kind and what it says."""
    message = error.msg if isinstance(error, SyntaxError) else str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
