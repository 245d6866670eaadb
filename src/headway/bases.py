"""What runs are made from: a recipe, a user's Python file, or a config."""

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial, wraps
from pathlib import Path
from typing import Any

from headway import userfile
from headway.errors import HeadwayError, require
from headway.fields import hints_of
from headway.tasks import Task, task_in
from headway.text import command
from headway.training.config import RunConfig
from headway.training.files import is_there
from headway.training.recipes import RECIPES, own


@dataclass(frozen=True)
class Base:
    """What configs are made from: a recipe, a user's task, or a config.

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

    @classmethod
    def of_task(cls, task: type[Task], name: str) -> "Base":
        """A user's task, trained by the recipe for any (see `recipes.own`)."""

        def make(seed: int = 0, **given: Any) -> RunConfig:
            return own(task(**given), seed)

        return cls(name, make, {**hints_of(task), "seed": hints_of(RunConfig)["seed"]})


def base_of(source: str) -> Base:
    """What a user names: a recipe, or a Python file with `recipe()`, or with a task.

    Args:
        source: a recipe's name, or a file's path; with `:NAME` behind it for one task of several.

    Raises:
        HeadwayError: if there is no such recipe or file, or the file has neither.
    """
    if not is_file(source):
        if source not in RECIPES and is_there(Path(source) / "config.json"):
            resume = command("train", "--resume", source)
            raise HeadwayError(
                f"{source} is a run's folder, not a recipe: {resume} goes on with it"
            )
        allowed = f"one of {', '.join(RECIPES)}, or a Python file, NAME.py"
        if near := get_close_matches(source, RECIPES, n=1):
            allowed += f" (did you mean {near[0]}?)"
        require(source in RECIPES, "recipe", source, allowed)
        return Base.of(RECIPES[source])
    recipe, path = recipe_in(source), Path(source.partition(".py:")[0]).with_suffix(".py")
    if recipe is None:
        return Base.of_task(task_in(source), path.stem)
    base = Base.of(recipe, path.stem)

    @wraps(recipe)
    def make(**given: Any) -> RunConfig:
        config = userfile.called(path, partial(recipe, **given))
        if not isinstance(config, RunConfig):
            told = type(config).__name__
            raise HeadwayError(f"{path}: recipe() returned {told}: it must be a RunConfig")
        return config

    return replace(base, make=make)


def recipe_in(source: str) -> Callable[..., Any] | None:
    """The function `recipe` of a Python file; None if it has none, or one of its tasks is named."""
    found = None if ".py:" in source else getattr(userfile.load(source), "recipe", None)
    return found if callable(found) else None


def is_file(source: str) -> bool:
    """Whether a source is the path of a Python file, not the name of a recipe."""
    return re.search(r"\.py(:\w+)?$", source) is not None
