"""A user's Python file: loaded once, and known by its path and digest.

What the user names is executed (`load`). What data name, such as the config of a run,
is executed only if the user has said so (`load_named`): on this command line, in this
process, or on the user's own list. That lies with the user's data, so that what comes
with a run's folder is not on it.

A file may import what stands beside it, when it is loaded or later. Two files in two
folders have neighbours of their own, even if these are of one name.
"""

import builtins
import hashlib
import inspect
import os
import shlex
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from headway.errors import HeadwayError, note, require, shown
from headway.reading import is_file, read_bytes

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """The file in which something of a user's was defined, and its content then.

    Attributes:
        file: its whole path.
        sha256: the digest of the file.
    """

    file: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "Source":
        """A file as it is now.

        Raises:
            HeadwayError: if there is none or it cannot be read.
        """
        return _read(path)[0]

    def line(self, builder: str | None = None) -> str:
        """The line of the user's list that lets this content of the file be executed,
        or the function or class there build a model."""
        return f"sha256:{self.sha256} {self.file}" + (f":{builder}" if builder else "")


_loaded: dict[str, Source] = {}
"""The files that were loaded, by the name of their module."""
_known: set[str] = set()
"""Lines that hold in this process beside those of the list."""


@cache
def installed(group: str) -> dict[str, "EntryPoint"]:
    """The entry points of installed packages, by name, as first asked for.

    What lies in a folder that Python looks into, such as the one that a program was
    started in, is not installed.
    """
    from importlib.metadata import entry_points

    def home(point: "EntryPoint") -> str:
        return (
            Path(str(point.dist.locate_file(""))).resolve().name if point.dist else ""
        )

    homes = "site-packages", "dist-packages"
    return {
        point.name: point for point in entry_points(group=group) if home(point) in homes
    }


def trust(where: str | Path) -> None:
    """Lets this process execute a file because a run's folder names it.

    Args:
        where: its path; with `:NAME` behind it, that function or class may build
            models, too.

    Raises:
        HeadwayError: if there is no such file.
    """
    file, name = file_and_name(where)
    source = Source.of(file)
    _known.update((source.line(), source.line(name)))


def file_and_name(where: str | Path) -> tuple[Path, str]:
    """A file, and the name behind it, as in `mine.py:Task`, perhaps empty."""
    file, colon, name = str(where).partition(".py:")
    return Path(f"{file}.py" if colon else file), name


def keep(line: str) -> None:
    """Puts a line on the user's list; where that cannot be written, a note says so.

    Args:
        line: of a file that the user works with, or what builds a model there
            (`Source.line`).
    """
    _known.add(line)
    try:
        if line.isprintable() and line not in listed():
            list_place().parent.mkdir(parents=True, exist_ok=True)
            with open(
                list_place(), "ab", buffering=0
            ) as file:  # at once, whoever else writes
                file.write(f"\n{line}\n".encode())
    except (OSError, HeadwayError) as error:
        note(f"cannot note which files you trust: {error}")


def load(path: str | Path) -> ModuleType:
    """Runs a Python file that the user names, as it is now, but once.

    It is a module then, and its folder on the path while it runs.

    Raises:
        HeadwayError: if there is no such file, or running it fails: with the line, and
            what is wrong there.
    """
    source, content = _read(Path(path))
    _known.add(source.line())
    return called(Path(path), _module, source, content)


def load_named(field: str, file: str, builder: str | None = None) -> Any:
    """Runs a Python file that data name, if the user trusts it (see `load`).

    Args:
        field: of the data, for the error.
        file: its value.
        builder: the function or class there by which data say that a model is built.
            That of a module which is imported already, the program itself included, is
            taken from there.

    Returns:
        The builder; the module if none is named.

    Raises:
        HeadwayError: if the user does not trust the file as it is, it is gone, running
            it fails, or it does not define the builder.
    """
    fits = f"{file}{builder}".isprintable() and os.path.realpath(file) == file
    require(fits, field, file, "a whole path of printable characters, without links")
    source, content = _read(Path(file))
    line, module = source.line(builder), None
    if (
        builder is not None
    ):  # the module that code in this file is of, if it was imported
        imported = inspect.getmodule(compile("", file, "exec"))
        module = None if imported is None or imported.__name__ in _loaded else imported
    where = line.partition(" ")[2]
    known = {*_known, *listed()}
    is_named = where in {entry.partition(" ")[2] for entry in known}
    if line not in known and (module is None or not is_named):
        raise HeadwayError(
            f"{field} = {shown(file)} is not executed: as it is now, it is not on "
            "your list of"
            " trusted files: if you trust it, train with it or say"
            f" headway --trust {shlex.quote(where)} VERB …"
        )
    if module is None:
        module = called(Path(file), _module, source, content)
    made = module if builder is None else getattr(module, builder, None)
    if made is None:
        raise HeadwayError(f"{file} defines no {builder}, which built the model")
    return made


def list_place() -> Path:
    """The list's file, which may be missing; it depends on no current folder."""
    data = os.environ.get("XDG_DATA_HOME", "")
    home = os.path.expanduser("~/.local/share")
    return Path("/", data if os.path.isabs(data) else home, "headway", "trusted.txt")


def listed() -> set[str]:
    """The lines of the list: a digest, and a file by its whole path, or `FILE:NAME`.

    Raises:
        HeadwayError: if there is a list that cannot be read.
    """
    content = read_bytes(list_place()) if is_file(list_place()) else b""
    return {*filter(None, content.decode(errors="replace").splitlines())}


def _read(path: Path) -> tuple[Source, bytes]:
    """A file as it is now, and its content."""
    content = read_bytes(path)
    return Source(str(path.resolve()), hashlib.sha256(content).hexdigest()), content


def _module(source: Source, content: bytes) -> ModuleType:
    """The module of a file with this content, which is run if it is not known."""
    path = Path(source.file)
    if path.suffix != ".py":
        raise HeadwayError("it must be a Python file, NAME.py")
    name = f"{path.stem}_{hashlib.sha256(repr(source).encode()).hexdigest()[:8]}"
    if name in _loaded:
        return sys.modules[name]
    module, _loaded[name] = ModuleType(name), source
    sys.modules[name], module.__file__ = module, source.file
    vars(module)["__builtins__"] = {
        **vars(builtins),
        "__import__": partial(_import, path),
    }
    if path.name == "__init__.py":
        vars(module).update(__package__=name, __path__=[str(path.parent)])
    # of what was read: bytecode that is kept for the file may be older by a second
    try:
        exec(compile(content, source.file, "exec"), vars(module))
    except BaseException:
        del sys.modules[name], _loaded[name]
        raise
    return module


def _import(beside: Path, name: str, *given: Any, **named: Any) -> Any:
    """The import statement of a user's file: what stands beside it comes first."""
    first, dot, rest = name.partition(".")
    files = beside.parent / f"{first}.py", beside.parent / first / "__init__.py"
    beside_it = [file for file in files if file != beside and is_file(file)]
    is_installed = "-packages" in (
        getattr(sys.modules.get(first), "__file__", None) or ""
    )
    is_known = is_installed or first == "headway" or first in sys.stdlib_module_names
    if beside_it and not any(given[3:]) and not is_known:
        name = _module(*_read(beside_it[0])).__name__ + dot + rest
    return builtins.__import__(name, *given, **named)


def called(path: Path, function: Callable[..., T], *given: Any) -> T:
    """The result of a function of a user's file, which may import its neighbours.

    Raises:
        HeadwayError: if it raises anything: at which line of the file, and what is
            wrong there.
    """
    file = path.resolve()
    sys.path.insert(0, str(file.parent))
    try:
        return function(*given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise HeadwayError(
            f"{path}{line_of(error, str(file))}: {described(error)}"
        ) from None
    finally:
        sys.path.remove(str(file.parent))


def source_of(cls: Any) -> Source | None:
    """The file that defines a class or function, as loaded; None if none does."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    known = _loaded.get(cls.__module__)
    return known or (Source.of(Path(file)) if file and is_file(file) else None)


def is_loaded(cls: Any) -> bool:
    """Tell whether a class is of a file that was loaded by its path."""
    return cls.__module__ in _loaded


def one_line(error: BaseException) -> str | None:
    """An error in a loaded file, on one line with its place; else None."""
    files = (source.file for source in reversed(_loaded.values()))
    lines = ((file, line_of(error, file)) for file in files)
    return next(
        (f"{file}{line}: {described(error)}" for file, line in lines if line), None
    )


def line_of(error: BaseException, file: str) -> str:
    """The line of a file where an error arose, in words; else empty."""
    places = [*traceback.extract_tb(error.__traceback__)]
    places += [error] if isinstance(error, SyntaxError) else []
    lines = [
        place.lineno for place in places if place.filename == file and place.lineno
    ]
    return f", line {lines[-1]}" if lines else ""


def described(error: BaseException) -> str:
    """An error on one line: kind and message; headway's own without kind."""
    if isinstance(error, HeadwayError):
        return str(error)
    message = (
        error.msg
        if isinstance(error, SyntaxError)
        else str(error).strip().partition("\n")[0]
    )
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
