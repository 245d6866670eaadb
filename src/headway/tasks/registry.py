"""Tasks by name: those of headway, of installed packages, and of a user's own files."""

import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakSet

from headway import userfile
from headway.errors import HeadwayError, require, shown
from headway.fields import from_json, hints_of, to_json
from headway.userfile import Source

if TYPE_CHECKING:
    from headway.tasks.base import Task

T = TypeVar("T")


class Offered(Mapping[str, T]):
    """Things by name: those that are known, and those of entry points, imported when asked for.

    Args:
        group: of the entry points.
        field: that names one in a config, for errors.
        known: those that are known from the start; where they are `classes`, each puts itself in.
    """

    def __init__(self, group: str, field: str, known: dict[str, T], classes: bool = True):
        self.group, self.field, self.known, self.classes = group, field, known, classes

    def __getitem__(self, name: str) -> T:
        if name in self.known:
            return self.known[name]
        point = userfile.installed(self.group)[name]
        where = f"{self.field} = {name!r}: the entry point {point.value}"
        try:
            found = point.load()
        except Exception as error:  # whatever a package may raise
            raise HeadwayError(f"{where} fails: {userfile.described(error)}") from None
        if callable(found) and not self.classes:
            self.known[name] = cast(T, found)
        if name not in self.known:
            raise HeadwayError(f"{where} is none")
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.known, **userfile.installed(self.group)})

    def __len__(self) -> int:
        return sum(1 for _ in self)


KINDS: dict[str, type["Task"]] = {}
"""Every task that is known so far, by its kind; of files that define one kind, the last loaded."""

OFFERED = Offered("headway.tasks", "task.kind", KINDS)
"""Every task that can be named: those known so far, and those of packages."""

_registered: WeakSet[type["Task"]] = WeakSet()


def register(cls: type["Task"]) -> None:
    """Makes a task known by its kind.

    Raises:
        HeadwayError: if a task that is in no file of the user's is known by it or offered by an
            installed package, or a field has no default.
    """
    for name, hint in inspect.get_annotations(cls).items():
        if name not in cls.__dict__ and typing.get_origin(hint) is not typing.ClassVar:
            raise HeadwayError(f"{cls.__name__}.{name} has no default: every field needs one")
    known = KINDS.get(cls.kind)
    if known and _home(known) != _home(cls) and None in (_file_of(known), _file_of(cls)):
        other = f"{known.__module__}.{known.__name__}"
    else:
        other = _offered_elsewhere(cls)
    require(not other, f"{cls.__name__}.kind", cls.kind, f"another name than that of {other}")
    fits = re.fullmatch(r"[\w-]+", str(cls.kind)) and len(str(cls.kind).encode()) <= 64
    allowed = "letters, digits, _ and -, of at most 64 bytes"  # as it is in names of folders
    require(bool(fits), f"{cls.__name__}.kind", cls.kind, allowed)
    KINDS[cls.kind] = cls
    _registered.add(cls)


def _offered_elsewhere(cls: type["Task"]) -> str | None:
    """The task of a package that a class is not from, and of whose kind it is."""
    package = cls.__module__.partition(".")[0]
    point = None if package == "headway" else userfile.installed(OFFERED.group).get(cls.kind)
    return point.value if point and point.module.partition(".")[0] != package else None


def require_hints(cls: type["Task"]) -> None:
    """Makes sure that the annotations of a task's fields mean something.

    Raises:
        HeadwayError: if one names what is not there.
    """
    try:
        hints_of(cls)
    except Exception as error:  # whatever evaluating an annotation may raise
        raise HeadwayError(
            f"{cls.__name__}: an annotation is of no use: {userfile.described(error)}"
        ) from None


def _file_of(cls: type) -> str | None:
    """The user's file that a class is defined in; None for headway's own and those of packages."""
    source = userfile.source_of(cls) if userfile.is_loaded(cls) else None
    return None if source is None else source.file


def _defined_in(module: ModuleType) -> list[type["Task"]]:
    """The tasks that a module defines.

    Raises:
        HeadwayError: if an annotation of one means nothing.
    """
    there = [cls for cls in vars(module).values() if isinstance(cls, type) and cls in _registered]
    found = [cls for cls in dict.fromkeys(there) if cls.__module__ == module.__name__]
    for cls in found:
        require_hints(cls)
    return found


def _home(cls: type) -> tuple[str, str]:
    """The place that defines a class: its file, or else its module, and its name there."""
    source = userfile.source_of(cls)
    return cls.__module__ if source is None else source.file, cls.__qualname__


def task_in(where: str) -> type["Task"]:
    """The task in a user's file.

    Args:
        where: the file's path; with `:NAME` behind it if it defines several.

    Raises:
        HeadwayError: if the file cannot be loaded, or does not define just one task of that name.
    """
    file, name = userfile.file_and_name(where)
    there = _defined_in(userfile.load(file))
    found = {cls.__name__: cls for cls in there if not inspect.isabstract(cls)}
    if name:
        require(
            name in found, f"{file}: task", name, "one of " + (", ".join(found) or "those in it")
        )
        return found[name]
    if not found:
        for cls in there:
            missing = " and no ".join(sorted(cls.__abstractmethods__))
            raise HeadwayError(f"{file}: {cls.__name__} has no {missing}: a task must have it")
        raise HeadwayError(
            f"{file} defines no task: it must have a frozen dataclass that subclasses headway.Task"
        )
    if len(found) > 1:
        said = " or ".join(f"{file}:{one}" for one in found)
        raise HeadwayError(f"{file} defines {len(found)} tasks: name one of them, {said}")
    return next(iter(found.values()))


def find(kind: Any, source: Source | None = None) -> type["Task"]:
    """The task of a kind, which data name.

    One that is not known yet is imported from an installed package that offers it, or loaded from
    its file if the user trusts that (see `userfile`).

    Args:
        kind: its name.
        source: the file that it was defined in, if it was in one.

    Raises:
        HeadwayError: if there is none, or its file is gone, not trusted or no longer defines it.
    """
    if isinstance(kind, str):
        known = OFFERED.get(kind)
        if source and (known is None or _file_of(known) not in (None, source.file)):
            for cls in _defined_in(userfile.load_named("task.defined.file", source.file)):
                if cls.kind == kind:
                    return cls
        if known is not None:
            return known
    allowed = f"one of {', '.join(OFFERED)}, or defined in a file of yours"
    raise HeadwayError(f"task.kind = {shown(kind)} is not allowed: it must be {allowed}")


def task_to_json(task: "Task") -> dict[str, Any]:
    """A task as plain JSON data: its kind, its fields, and for a user's own where it is defined."""
    data = {"kind": task.kind, **to_json(task)}
    source = own_source(type(task))
    return data if source is None else {**data, "defined": dataclasses.asdict(source)}


def keep(task: "Task") -> None:
    """Puts the file of a task that the user works with on the user's list (see `userfile.keep`)."""
    if (source := own_source(type(task))) is not None:
        userfile.keep(source.line())


def own_source(cls: type["Task"]) -> Source | None:
    """The file of a task of a user's own; None for headway's, and those of packages."""
    offered = cls.kind in userfile.installed(OFFERED.group) and not _offered_elsewhere(cls)
    if offered or cls.__module__.partition(".")[0] == "headway":
        return None
    source = userfile.source_of(cls)
    installed = source is not None and "site-packages" in Path(source.file).parts
    return None if installed and not userfile.is_loaded(cls) else source


def task_from_json(data: Any) -> "Task":
    """The task that `task_to_json` wrote.

    Raises:
        HeadwayError: if it cannot be found, or a field is unknown, missing or not allowed.
    """
    require(isinstance(data, dict), "task", data, "an object of fields")
    fields = dict(data)
    kind, defined = fields.pop("kind", None), fields.pop("defined", None)
    source = None if defined is None else from_json(Source, defined, "task.defined.")
    return from_json(find(kind, source), fields, "task.")


def change_of(data: Any, task: "Task") -> str | None:
    """The change of a task's file since a config was written with it; None if there is none."""
    defined = data.get("defined") if isinstance(data, dict) else None
    now = userfile.source_of(type(task))
    if defined is None or now is None or defined.get("sha256") == now.sha256:
        return None
    before = str(defined.get("sha256"))[:16]
    return f"{now.file} has changed since (it was {before}, it is {now.sha256[:16]})"
