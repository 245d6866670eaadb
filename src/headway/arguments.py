"""The words behind a verb: its options, and a config's fields.

A verb is a function. A parameter that is positional only, `runs: tuple[Path, ...], /`, takes the
words that stand alone; all others are options. Their values are read as fields' are (`words`), and
the help lists them alike.
"""

import difflib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Union, get_args, get_origin, get_type_hints

from headway.errors import HeadwayError
from headway.text import wrapped

if TYPE_CHECKING:
    from headway.training import Run, RunConfig

FIELD = re.compile(r"[^\W\d][\w.\- ]*=")
"""How a word begins that gives a field a value."""
OPTION = re.compile(r"--?[^\W\d]|--?$")
"""How a word begins that is an option; a number below zero is none."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a verb.

    Attributes:
        name: in Python.
        hint: what a value may be; of several, each of them.
        several: whether it takes as many values as are given.
        default: what it is if it is not given.
        alone: whether its values stand alone, without the option's name.
    """

    name: str
    hint: Any
    several: bool
    default: Any
    alone: bool

    NEEDED: ClassVar = inspect.Parameter.empty
    """The default of one that must be given."""

    @classmethod
    def of(cls, one: inspect.Parameter, hint: Any) -> "Parameter":
        """A parameter of a function. None is no value that can be given."""
        if get_origin(hint) in (Union, UnionType):
            hint = Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007
        several = get_origin(hint) is tuple
        item = get_args(hint)[0] if several else hint
        return cls(one.name, item, several, one.default, one.kind is one.POSITIONAL_ONLY)

    @property
    def is_flag(self) -> bool:
        """Whether it is true if it is named, and takes no value."""
        return self.default is False

    @property
    def option(self) -> str:
        """The name of the option, or of the words that stand alone."""
        if not self.alone:
            return f"--{self.name.replace('_', '-')}"
        one = re.sub("(?<=.)(ies|s)$", lambda end: "y" if end[1] == "ies" else "", self.name)
        word = "RECIPE FIELD=VALUE" if self.name == "words" else one.upper()
        return word + " …" * self.several

    def read(self, values: Sequence[str]) -> Any:
        """What some words say.

        Raises:
            HeadwayError: if there are too few or too many of them, or one is not allowed.
        """
        from headway.words import read

        if self.is_flag:
            return True
        if self.several:
            return tuple(read(self.name, value, self.hint) for value in values)
        if len(values) > 1:
            said = " and ".join(values)
            raise HeadwayError(f"{said} are {len(values)} values of {self.option}: it takes one")
        return read(self.name, values[0], self.hint)


def parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters of a verb's function."""
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function).parameters
    return {name: Parameter.of(one, hints[name]) for name, one in signature.items()}


def arguments(
    function: Callable[..., Any], verb: str, args: Sequence[str]
) -> inspect.BoundArguments:
    """What the words behind a verb ask its function for.

    Raises:
        HeadwayError: for the first word that does not fit.
    """
    taken = parameters(function)
    words, given = _sorted_out(args, taken, verb)
    for one in taken.values():
        if one.alone and words:
            given[one.name], words = words, []
        elif one.alone and one.default is one.NEEDED:
            raise HeadwayError(
                f"Missing from headway {verb}: {one.option}, {uses(function)[one.name]}"
            )
    if words:
        raise HeadwayError(f"{words[0]!r} belongs to no option: headway {verb} --help lists them")
    values = {name: taken[name].read(behind) for name, behind in given.items()}
    alone = [value for name, value in values.items() if taken[name].alone]
    rest = {name: value for name, value in values.items() if not taken[name].alone}
    return inspect.signature(function).bind(*alone, **rest)


def _sorted_out(
    args: Sequence[str], taken: Mapping[str, Parameter], verb: str
) -> tuple[list[str], dict[str, list[str]]]:
    """The words that stand alone, and those behind each option."""
    words, given, left = list[str](), dict[str, list[str]](), list(args)
    while left:
        word = left.pop(0)
        if not OPTION.match(word):
            words.append(word)
            continue
        written, equals, value = word.partition("=")
        option = taken.get(written.lstrip("-").replace("-", "_"))
        if option is None or option.alone:
            raise HeadwayError(f"{written} is no option{_meant(written, taken, verb)}")
        again = option.name in given and not option.several
        behind = given.setdefault(option.name, [])
        new = [value] * bool(equals)
        while left and not (OPTION.match(left[0]) or equals or option.is_flag):
            new.append(left.pop(0))
            if not option.several:
                break
        behind += new
        if again or bool(new) == option.is_flag:
            told = "is named twice" if again else "takes no value" if new else "lacks its value"
            raise HeadwayError(f"{option.option} {told} (see headway {verb} --help)")
    return words, given


def _meant(written: str, taken: Mapping[str, Parameter], verb: str) -> str:
    """What may have been meant by an option that is none."""
    if "words" in taken:
        name = written.lstrip("-").replace("-", "_")
        return f": a field is written without dashes, {name}=… (see headway {verb} --help)"
    options = [one.option for one in taken.values() if not one.alone]
    near = difflib.get_close_matches(written, options, n=1)
    return f" of {verb}" + (
        f" (did you mean {near[0]}?)" if near else f" (see headway {verb} --help)"
    )


def print_help(function: Callable[..., Any], verb: str) -> None:
    """Prints what a verb does, and its options."""
    from docstring_parser import parse

    from headway.fields import described

    told, taken = parse(inspect.getdoc(function) or ""), parameters(function)
    alone = "".join(
        f" {one.option}" if one.default is one.NEEDED else f" [{one.option}]"
        for one in taken.values()
        if one.alone
    )
    paragraphs = f"{told.short_description}\n\n{told.long_description or ''}".strip().split("\n\n")
    print(*wrapped(f"usage: headway {verb}{alone} [--OPTION VALUE …]"), sep="\n")
    for paragraph in paragraphs:
        print("", *wrapped(" ".join(paragraph.split()), rest=""), sep="\n")
    print()
    for one in taken.values():
        shown = one.option + " …" * (one.several and not one.alone)
        if one.default not in (None, False, (), one.NEEDED):
            default = " ".join(one.default) if one.several else str(one.default)
            shown += f" {default}" if not one.alone else f" (default {default})"
        print_entry(shown, "" if one.is_flag else described(one.hint), uses(function)[one.name])


def print_entry(name: str, allowed: str, use: str) -> None:
    """Prints an option or a field: its name and value, what it may be, and what it is for."""
    shown = f"{name}  ({allowed})" if allowed else name
    print(*wrapped(shown, "  ", "      "), *wrapped(use, "      ", "      "), sep="\n")


def uses(documented: Callable[..., object], prefix: str = "") -> dict[str, str]:
    """What every argument of a function, or field of a class, is for, as its docstring says."""
    from docstring_parser import parse

    params = parse(inspect.getdoc(documented) or "").params
    return {prefix + one.arg_name: " ".join((one.description or "").split()) for one in params}


def print_fields(source: str) -> None:
    """Prints what can be changed in a recipe or a user's task: its arguments, then all fields."""
    from headway.bases import base_of
    from headway.changes import annotations
    from headway.fields import described
    from headway.training.config import SECTIONS, RunConfig, flat
    from headway.training.curriculum import CURRICULA
    from headway.words import said

    base = base_of(source)
    config = base.make()
    values, told = flat(config), uses(base.make)
    print(f"arguments of {base.name}, to which other fields adapt")
    for section in SECTIONS:
        told |= uses(type(getattr(config, section)), f"{section}.")
    for name, hint in base.arguments.items():
        print_entry(name, described(hint), told.get(name) or told.get(f"task.{name}", ""))
    for kind in CURRICULA.values():
        told |= uses(kind, "training.curriculum.")
    told |= uses(RunConfig)
    print("\nfields")
    for name, hint in annotations(config).items():
        now = f"{name}={said(values[name])}" if name in values else name
        print_entry(now, described(hint), told.get(name, ""))


def config_asked_for(words: Sequence[str]) -> "RunConfig":
    """The config that words ask for: a recipe or a file, and changes to it.

    Fields that changed along are reported on standard error.

    Raises:
        HeadwayError: if there is no such recipe, the changes do not fit, or the machine cannot hold
            the run.
    """
    from headway.bases import base_of
    from headway.changes import changes_in, configured, told
    from headway.training.size import require_size

    base = base_of(next(iter(sources_in(words)), "fast"))
    config, carried = configured(base, changes_in(base, filter(FIELD.match, words)))
    require_size(config)
    for line in told(carried):
        note(line)
    return config


def sources_in(words: Iterable[str]) -> list[str]:
    """The recipe or the file that is named among words, if there is one.

    Raises:
        HeadwayError: if there are several.
    """
    sources = [word for word in words if not FIELD.match(word) and not OPTION.match(word)]
    if len(sources) > 1:
        told = f"{' and '.join(sources)} are {len(sources)} recipes or files: it must be one"
        raise HeadwayError(f"{told}, and all else FIELD=VALUE")
    return sources


def require_goes_with(asked: str, options: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Makes sure that no option is given that would change nothing.

    Args:
        asked: what is asked for.
        options: every option by name; None or False if it is not given.
        allowed: the names of those that go with it.

    Raises:
        HeadwayError: if one is.
    """
    names = [f"--{name.replace('_', '-')}" for name in allowed]
    for name, value in options.items():
        if name not in allowed and value not in (None, False):
            told = f"the options are {', '.join(names)}"
            raise HeadwayError(f"--{name.replace('_', '-')} does not go with {asked}: {told}")


def opened(folder: Path, changed_task: bool | None = None) -> "Run":
    """A run, and on standard error a word if the file of its task has changed since.

    Args:
        folder: of the run.
        changed_task: whether that does not matter; None only reports it.

    Raises:
        HeadwayError: if there is no run, or its task has changed and that matters.
    """
    from headway.training import Run

    run = Run.open(folder)
    if run.changed and changed_task is False:
        raise HeadwayError(
            f"{folder}: {run.changed}: put the file back as it was, or say --changed-task to take"
            " the task as it is"
        )
    if run.changed:
        note(f"{folder}: {run.changed}")
    return run


def note(line: str) -> None:
    """One line on standard error about what is done otherwise than asked."""
    print(f"headway: {line}", file=sys.stderr)
