"""Recipes, which are configs that train well, users' files, and changes to them.

    config = configured(base_of("fast"), {"task.depth": 4, "training.steps": 300})

A field that a recipe takes as an argument is passed to it, so that what the recipe makes of it
follows. Fewer steps than the cool-down shorten the cool-down, which is noted.
"""

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Literal, NamedTuple, TypeVar, cast

from headway import userfile
from headway.errors import HeadwayError, nearest, note_once, require
from headway.fields import hints_of, read, split, values_in
from headway.tasks import task_in
from headway.training.config import SECTIONS, RunConfig, parts
from headway.training.config import flat as flat
from headway.training.curriculum import CURRICULA, CURRICULUM
from headway.training.recipes import RECIPES, own
from headway.training.recipes import hops as hops

T = TypeVar("T")
COOLDOWN = "training.cooldown_steps"

FIELD = re.compile(r"[^\W\d][\w.\- ]*=")
"""The beginning of a word that gives a field a value."""


class Base(NamedTuple):
    """The base of configs: a recipe, a user's task, or a config.

    Attributes:
        name: what it is called.
        make: makes a config.
        arguments: what `make` takes by name, with annotations that say what is allowed.
    """

    name: str
    make: Callable[..., RunConfig]
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, made: RunConfig | Callable[..., RunConfig], name: str | None = None) -> "Base":
        """A config, or a function that returns one, as a base."""
        if isinstance(made, RunConfig):
            return cls(name or "config", lambda: made, {})
        hints = typing.get_type_hints(made, include_extras=True)
        taken = {name: hints.get(name, Any) for name in inspect.signature(made).parameters}
        return cls(name or made.__name__, made, taken)


def base_of(source: str) -> Base:
    """The base that a user names: a recipe, or a Python file with `recipe()`, or with a task.

    Args:
        source: a recipe's name, or a file's path; with `:NAME` behind it for one task of several.

    Raises:
        HeadwayError: if there is no such recipe or file, or the file has neither.
    """
    if source in RECIPES:
        return Base.of(RECIPES[source])
    path, _ = userfile.file_and_name(source)
    allowed = f"one of {', '.join(RECIPES)}, NAME.py, a sweep's folder, or --resume RUN"
    require(path.suffix == ".py", "recipe", source, allowed + nearest(source, RECIPES))
    if (recipe := recipe_in(source)) is None:
        task = task_in(source)
        hints = {**hints_of(task), "seed": hints_of(RunConfig)["seed"]}
        return Base(path.stem, lambda seed=0, **given: own(task(**given), seed), hints)

    @wraps(recipe)
    def make(**given: Any) -> RunConfig:
        config = userfile.called(path, partial(recipe, **given))
        if not isinstance(config, RunConfig):
            kind = type(config).__name__
            raise HeadwayError(f"{path}: recipe() returned {kind}: it must be a RunConfig")
        return config

    return Base.of(make, path.stem)


def recipe_in(source: str) -> Callable[..., Any] | None:
    """The function `recipe` of a Python file; None if it has none, or one of its tasks is named."""
    file, name = userfile.file_and_name(source)
    found = None if name else getattr(userfile.load(file), "recipe", None)
    return found if callable(found) else None


def annotations(config: RunConfig) -> dict[str, Any]:
    """The annotation of every name that `changed` takes: what values it may have.

    Fields of all curricula are among them.
    """
    kinds = [(where, type(part)) for where, part in parts(config).items()]
    kinds += [(f"{CURRICULUM}.", kind) for kind in CURRICULA.values()]
    hints = {where + name: one for where, kind in kinds for name, one in hints_of(kind).items()}
    hints[CURRICULUM] = Literal[*CURRICULA]
    return {name: hint for name, hint in hints.items() if name not in SECTIONS}


def changed(config: T, fields: Mapping[str, Any], where: str = "") -> T:
    """A config with some fields changed, all at once.

    Args:
        config: to start from; or a part of one.
        fields: new values by dotted name, as `flat` gives them; `training.curriculum` may be a
            kind or a whole curriculum.
        where: put before the names of a part's fields, such as `training.`.

    Raises:
        HeadwayError: if a field is unknown, or the values do not go together.
    """
    inside, values = dict[str, dict[str, Any]](), dict[str, Any]()
    for name, value in fields.items():
        first, _, rest = name.partition(".")
        inside.setdefault(first, {})[rest] = value
    for name, changes in inside.items():
        if name not in (hints := hints_of(type(config))):
            its = f"{type(config).__name__}, whose fields are {', '.join(hints) or 'none'}"
            raise HeadwayError(f"{where}{name} is not a field of {its}")
        value = changes.pop("", getattr(config, name))
        if where + name == CURRICULUM and isinstance(value, str) and value in CURRICULA:
            value = CURRICULA[value]()
        values[name] = changed(value, changes, f"{where}{name}.") if changes else value
    return replace(cast(Any, config), **values)


def hints_in(base: Base) -> dict[str, Any]:
    """The annotation of every argument and field, by whole name; the arguments come first."""
    return {**base.arguments, **annotations(base.make()), **base.arguments}


def configured(base: Base, changes: Mapping[str, Any]) -> RunConfig:
    """A config with changes; a note tells what else they change.

    Args:
        base: what it is made from.
        changes: the new values of arguments and of fields, by whole name.

    Raises:
        HeadwayError: if a value is not allowed, or values do not go together.
    """
    taken = base.arguments.keys() - hints_of(RunConfig)
    lasts = {name: name.rpartition(".")[2] for name in changes}
    given = {last if last in taken else name: changes[name] for name, last in lasts.items()}
    config = base.make(**{name: given[name] for name in given.keys() & base.arguments})
    rest = {name: value for name, value in changes.items() if name not in base.arguments}
    steps, cooldown = config.training.steps, config.training.cooldown_steps
    if COOLDOWN not in changes and rest.get("training.steps", steps) < cooldown:
        rest[COOLDOWN] = cooldown * rest["training.steps"] // steps
        note_once(f"{COOLDOWN} is shortened, to fit into training.steps")
    return changed(config, rest)


def config_asked_for(words: Sequence[str]) -> RunConfig:
    """The config that words ask for: a recipe or a file, and changes to it.

    Raises:
        HeadwayError: if there is no such recipe, or the changes do not fit.
    """
    source, fields = source_and_fields(words)
    base = base_of(source or "fast")
    return configured(base, values_in(map(split, fields), hints_in(base), read))


def source_and_fields(words: Iterable[str]) -> tuple[str | None, list[str]]:
    """The recipe or the file that is named among words, if one is; and the words `FIELD=VALUE`.

    Raises:
        HeadwayError: if there are several recipes or files.
    """
    words = [word for word in words if not word.startswith("-")]
    sources = [word for word in words if not FIELD.match(word)]
    told = "one recipe or file, and all else FIELD=VALUE"
    require(len(sources) < 2, "recipe", " and ".join(sources), told)
    return next(iter(sources), None), [word for word in words if FIELD.match(word)]
