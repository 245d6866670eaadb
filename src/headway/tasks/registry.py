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
    """Things by name: known ones, and entry points, imported when asked for.

    Args:
        group: of the entry points.
        field: that names one in a config, for errors.
        known: those that are known from the start; where they are `classes`, each puts
            itself in.
    """

    def __init__(
        self, group: str, field: str, known: dict[str, T], classes: bool = True
    ):
        self.group = group
        self.field = field
        self.known = known
        self.classes = classes

    def __getitem__(self, name: str) -> T:
        if name in self.known:
            return self.known[name]
        point = userfile.installed(self.group)[name]
        where = f"{self.field} = {name!r}: the entry point {point.value}"
        try:
            loaded = point.load()
        except Exception as error:  # whatever a package may raise
            raise HeadwayError(f"{where} fails: {userfile.described(error)}") from None
        if callable(loaded) and not self.classes:
            self.known[name] = cast(T, loaded)
        if name not in self.known:
            raise HeadwayError(f"{where} is none")
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        offered = userfile.installed(self.group)
        return iter({**self.known, **offered})

    def __len__(self) -> int:
        return sum(1 for _ in self)


KINDS: dict[str, type["Task"]] = {}
"""Every known task by its kind; of files with the same kind, the last loaded."""

OFFERED = Offered("headway.tasks", "task.kind", KINDS)
"""Every task that can be named: those known so far, and those of packages."""

_registered: WeakSet[type["Task"]] = WeakSet()


def register(cls: type["Task"]) -> None:
    """Makes a task known by its kind.

    Raises:
        HeadwayError: if a task that is in no file of the user's is known by it or
            offered by an installed package, or a field has no default.
    """
    for name, hint in inspect.get_annotations(cls).items():
        if name not in cls.__dict__ and typing.get_origin(hint) is not typing.ClassVar:
            raise HeadwayError(
                f"{cls.__name__}.{name} has no default: every field needs one"
            )
    known = KINDS.get(cls.kind)
    if (
        known
        and _home(known) != _home(cls)
        and None in (_file_of(known), _file_of(cls))
    ):
        other = f"{known.__module__}.{known.__name__}"
    else:
        other = _offered_elsewhere(cls)
    field = f"{cls.__name__}.kind"
    kind = str(cls.kind)
    require(not other, field, cls.kind, f"another name than that of {other}")
    is_word = re.fullmatch(r"[\w-]+", kind) is not None
    fits = is_word and len(kind.encode()) <= 64
    # As it is in names of folders.
    allowed = "letters, digits, _ and -, of at most 64 bytes"
    require(fits, field, cls.kind, allowed)
    KINDS[cls.kind] = cls
    _registered.add(cls)


def _offered_elsewhere(cls: type["Task"]) -> str | None:
    """The task of a package that a class is not from, and of whose kind it is."""
    package = _package(cls.__module__)
    if package == "headway":
        return None
    point = userfile.installed(OFFERED.group).get(cls.kind)
    if point and _package(point.module) != package:
        return point.value
    return None


def _package(module: str) -> str:
    return module.partition(".")[0]


def require_hints(cls: type["Task"]) -> None:
    """Makes sure that the annotations of a task's fields mean something.

    Raises:
        HeadwayError: if one names what is not there.
    """
    try:
        hints_of(cls)
    except Exception as error:  # whatever evaluating an annotation may raise
        what = f"an annotation is of no use: {userfile.described(error)}"
        raise HeadwayError(f"{cls.__name__}: {what}") from None


def _file_of(cls: type) -> str | None:
    """The user's file that a class is defined in; None if it is a package's."""
    if not userfile.is_loaded(cls):
        return None
    source = userfile.source_of(cls)
    if source is None:
        return None
    return source.file


def _defined_in(module: ModuleType) -> list[type["Task"]]:
    """The tasks that a module defines.

    Raises:
        HeadwayError: if an annotation of one means nothing.
    """
    values = vars(module).values()
    tasks = [cls for cls in values if isinstance(cls, type) and cls in _registered]
    defined = [cls for cls in dict.fromkeys(tasks) if cls.__module__ == module.__name__]
    for cls in defined:
        require_hints(cls)
    return defined


def _home(cls: type) -> tuple[str, str]:
    """The place that defines a class: its file or module, and its name there."""
    source = userfile.source_of(cls)
    place = cls.__module__ if source is None else source.file
    return place, cls.__qualname__


def task_in(where: str) -> type["Task"]:
    """The task in a user's file.

    Args:
        where: the file's path; with `:NAME` behind it if it defines several.

    Raises:
        HeadwayError: if the file cannot be loaded, or does not define just one task of
            that name.
    """
    file, name = userfile.file_and_name(where)
    defined = _defined_in(userfile.load(file))
    tasks = {cls.__name__: cls for cls in defined if not inspect.isabstract(cls)}
    if name:
        allowed = ", ".join(tasks) or "those in it"
        require(name in tasks, f"{file}: task", name, f"one of {allowed}")
        return tasks[name]
    if not tasks:
        for cls in defined:
            missing = " and no ".join(sorted(cls.__abstractmethods__))
            raise HeadwayError(
                f"{file}: {cls.__name__} has no {missing}: a task must have it"
            )
        wanted = "a frozen dataclass that subclasses headway.Task"
        raise HeadwayError(f"{file} defines no task: it must have {wanted}")
    if len(tasks) > 1:
        names = " or ".join(f"{file}:{name}" for name in tasks)
        raise HeadwayError(
            f"{file} defines {len(tasks)} tasks: name one of them, {names}"
        )
    return next(iter(tasks.values()))


def find(kind: Any, source: Source | None = None) -> type["Task"]:
    """The task of a kind, which data name.

    One that is not known yet is imported from an installed package that offers it, or
    loaded from its file if the user trusts that (see `userfile`).

    Args:
        kind: its name.
        source: the file that it was defined in, if it was in one.

    Raises:
        HeadwayError: if there is none, or its file is gone, not trusted or no longer
            defines it.
    """
    if isinstance(kind, str):
        known = OFFERED.get(kind)
        if source and (known is None or _file_of(known) not in (None, source.file)):
            module = userfile.load_named("task.defined.file", source.file)
            for cls in _defined_in(module):
                if cls.kind == kind:
                    return cls
        if known is not None:
            return known
    allowed = f"one of {', '.join(OFFERED)}, or defined in a file of yours"
    raise HeadwayError(
        f"task.kind = {shown(kind)} is not allowed: it must be {allowed}"
    )


def task_to_json(task: "Task") -> dict[str, Any]:
    """A task as JSON data: its kind, fields, and a user's file if it has one."""
    data = {"kind": task.kind, **to_json(task)}
    source = own_source(type(task))
    if source is None:
        return data
    return {**data, "defined": dataclasses.asdict(source)}


def keep(task: "Task") -> None:
    """Puts the file of a user's task on the user's list (see `userfile.keep`)."""
    if (source := own_source(type(task))) is not None:
        userfile.keep(source.line())


def own_source(cls: type["Task"]) -> Source | None:
    """The file of a task of a user's own; None for headway's, and those of packages."""
    offered = cls.kind in userfile.installed(OFFERED.group) and not _offered_elsewhere(
        cls
    )
    if offered or _package(cls.__module__) == "headway":
        return None
    source = userfile.source_of(cls)
    installed = source is not None and "site-packages" in Path(source.file).parts
    if installed and not userfile.is_loaded(cls):
        return None
    return source


def task_from_json(data: Any) -> "Task":
    """The task that `task_to_json` wrote.

    Raises:
        HeadwayError: if it cannot be found, or a field is unknown, missing or not
            allowed.
    """
    require(isinstance(data, dict), "task", data, "an object of fields")
    fields = dict(data)
    kind = fields.pop("kind", None)
    defined = fields.pop("defined", None)
    source = None if defined is None else from_json(Source, defined, "task.defined.")
    return from_json(find(kind, source), fields, "task.")


def change_of(data: Any, task: "Task") -> str | None:
    """The change of a task's file since a config was written, if there is one."""
    defined = data.get("defined") if isinstance(data, dict) else None
    now = userfile.source_of(type(task))
    if defined is None or now is None or defined.get("sha256") == now.sha256:
        return None
    before = str(defined.get("sha256"))[:16]
    after = now.sha256[:16]
    return f"{now.file} has changed since (it was {before}, it is {after})"
