"""Changes to what runs are made from: some carry others along.

    made, carried = configured(base_of("fast"), {"task.depth": 4, "training.steps": 300})

A field that a recipe takes as an argument is passed to it, so that what the recipe makes of it
follows. Fewer steps than the cool-down shorten the cool-down. What followed is reported.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from headway.bases import Base
from headway.errors import HeadwayError
from headway.fields import hints_of
from headway.training.config import SECTIONS, RunConfig, dotted, flat
from headway.training.curriculum import (
    CURRICULA,
    CURRICULUM,
    Curriculum,
    kind_of_curriculum,
)
from headway.words import named, read, said, texts_of

T = TypeVar("T")
COOLDOWN = "training.cooldown_steps"


def annotations(config: RunConfig) -> dict[str, Any]:
    """The annotation of every name that `changed` takes: what values it may have.

    Fields of all curricula are among them.
    """
    parts = [(name, type(getattr(config, name))) for name in SECTIONS]
    parts += [(CURRICULUM, kind) for kind in CURRICULA.values()]
    hints = {
        dotted(name, field): hint
        for name, part in [*parts, ("", RunConfig)]
        for field, hint in hints_of(part).items()
        if field != "kind"
    }
    hints[CURRICULUM] = Literal[*CURRICULA]
    return {name: hint for name, hint in hints.items() if name not in SECTIONS}


def changed(config: RunConfig, fields: Mapping[str, Any]) -> RunConfig:
    """A config with some fields changed, all at once.

    Args:
        config: to start from.
        fields: new values by dotted name, as `flat` gives them; `training.curriculum` may be a
            kind or a whole curriculum.

    Raises:
        HeadwayError: if a field is unknown, or the values do not go together.
    """
    parts: dict[str, dict[str, Any]] = {}
    for name, value in fields.items():
        part, _, last = name.rpartition(".")
        if part not in ("", *SECTIONS, CURRICULUM):
            raise HeadwayError(f"{name} is not a field of a config")
        parts.setdefault(part, {})[last] = value
    own, training = parts.pop("", {}), parts.setdefault("training", {})
    curriculum = _curriculum(training.get("curriculum", config.training.curriculum))
    of_curriculum = parts.pop(CURRICULUM, {})
    for name in of_curriculum:
        _require_in(curriculum.kind, name)
    training["curriculum"] = _replaced(curriculum, of_curriculum, f"{CURRICULUM}.")
    for section, values in parts.items():
        own[section] = _replaced(own.get(section, getattr(config, section)), values, f"{section}.")
    return _replaced(config, own, "")


def _curriculum(value: Any) -> Curriculum:
    """A curriculum, of which the kind may be given alone."""
    if isinstance(value, Curriculum):
        return value
    return kind_of_curriculum(value)()


def _require_in(kind: str, name: str) -> None:
    """Checks that a curriculum has a field, or tells which others have it."""
    having = [other for other, cls in CURRICULA.items() if name in hints_of(cls)]
    if having and kind not in having:
        raise HeadwayError(
            f"{CURRICULUM}.{name} is a field of {' and '.join(having)}, not of {kind}: add"
            f" {CURRICULUM}={' or '.join(having)}"
        )


def _replaced(part: Any, values: Mapping[str, Any], where: str) -> Any:
    names = [name for name in hints_of(type(part)) if name != "kind"]
    for name in values:
        if name not in names:
            fields = ", ".join(names) or "none"
            raise HeadwayError(f"{where}{name} is not a field: the fields are {fields}")
    return dataclasses.replace(part, **values)


class Carried(NamedTuple):
    """A field that changed because others did: its whole name, its value, and that before."""

    field: str
    value: Any
    was: Any


def whole_names(base: Base, said_of: Mapping[str, T]) -> dict[str, T]:
    """What is said of fields and arguments, by their whole names; an argument's name comes first.

    Raises:
        HeadwayError: if there is no such field, or one is named twice.
    """
    known = hints_in(base)
    found: dict[str, T] = {}
    for name, value in said_of.items():
        whole = named(name, known)
        if whole in found:
            raise HeadwayError(f"{whole} is named twice")
        found[whole] = value
    return found


def changes_in(base: Base, words: Iterable[str]) -> dict[str, Any]:
    """The changes that are written as `FIELD=VALUE`, by whole name.

    Raises:
        HeadwayError: if a word is none, there is no such field, or the value is not allowed.
    """
    hints, texts = hints_in(base), whole_names(base, texts_of(words))
    return {name: read(name, text, hints[name]) for name, text in texts.items()}


def hints_in(base: Base) -> dict[str, Any]:
    """The annotation of every argument and field, by whole name; the arguments come first."""
    return {**base.arguments, **annotations(base.make()), **base.arguments}


def configured(base: Base, changes: Mapping[str, Any]) -> tuple[RunConfig, list[Carried]]:
    """A config with changes, and what they carried along.

    Args:
        base: what it is made from.
        changes: the new values of arguments and of fields, by whole name.

    Raises:
        HeadwayError: if a value is not allowed, or values do not go together.
    """
    arguments = {name: value for name, value in changes.items() if name in base.arguments}
    passed = _passed(base, changes)
    before = flat(base.make(**arguments))
    config = base.make(**arguments, **{_last(name): changes[name] for name in passed})
    now = flat(config)
    rest = {
        name: value
        for name, value in changes.items()
        if name not in arguments and (name not in passed or now.get(name) != value)
    }
    steps = rest.get("training.steps", now["training.steps"])
    if COOLDOWN not in rest and steps < now[COOLDOWN]:
        rest[COOLDOWN] = now[COOLDOWN] * steps // now["training.steps"]
    now |= {COOLDOWN: rest.get(COOLDOWN, now[COOLDOWN])}
    carried = [
        Carried(name, value, before.get(name))
        for name, value in now.items()
        if before.get(name) != value and name not in changes
    ]
    return changed(config, rest), carried


def _passed(base: Base, changes: Mapping[str, Any]) -> list[str]:
    """The changed fields that are passed as arguments, such as `task.depth` where depth is one.

    Raises:
        HeadwayError: if such an argument is changed too.
    """
    own = hints_of(RunConfig)
    passed = [
        name for name in changes if "." in name and _last(name) in base.arguments.keys() - own
    ]
    for name in passed:
        if _last(name) in changes:
            raise HeadwayError(f"{name} and {_last(name)} are the same here: name one of them")
    return passed


def told(carried: Sequence[Carried]) -> list[str]:
    """What was carried along, on a line; only the fields where values differ by run."""
    ones = list(dict.fromkeys(carried))
    names = list(dict.fromkeys(one.field for one in ones))
    if len(names) == len(ones):
        names = [f"{one.field} = {said(one.value)} (was {said(one.was)})" for one in ones]
    return [f"changed along: {', '.join(names)}"] if names else []


def _last(name: str) -> str:
    return name.rpartition(".")[2]
