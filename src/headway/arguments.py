"""The words behind a verb: its options, and a config's fields.

A verb is a function. A parameter that is positional only, `runs: tuple[Path, ...], /`, takes the
words that stand alone; all others are options. Their values are read as fields' are (`words`).
"""

import argparse
import difflib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from headway.errors import HeadwayError
from headway.text import width, wrapped

if TYPE_CHECKING:
    from headway.training import Run, RunConfig

FIELD = re.compile(r"[^\W\d][\w.\- ]*=")
"""How a word begins that gives a field a value."""


class Parser(argparse.ArgumentParser):
    """The parser of a verb's words, made from its function's signature and docstring.

    Args:
        function: of the verb.
        verb: its name.
    """

    def __init__(self, function: Callable[..., Any], verb: str):
        from docstring_parser import parse

        told, self.function = parse(inspect.getdoc(function) or ""), function
        paragraphs = f"{told.short_description}\n\n{told.long_description or ''}".strip()
        broken = ("\n".join(wrapped(part, rest="")) for part in paragraphs.split("\n\n"))
        super().__init__(
            prog=f"headway {verb}",
            description="\n\n".join(broken),
            argument_default=argparse.SUPPRESS,  # the function has its own
            formatter_class=partial(
                argparse.RawDescriptionHelpFormatter, width=width(), max_help_position=6
            ),
            allow_abbrev=False,
            add_help=False,
        )
        hints = get_type_hints(function, include_extras=True)
        for name, one in inspect.signature(function).parameters.items():
            self._add(one, hints[name], uses(function)[name])
        alone = [one.metavar for one in self._get_positional_actions()]
        self.usage = " ".join(["%(prog)s", *map(str, alone), "[--OPTION VALUE …]"])

    def _add(self, one: inspect.Parameter, hint: Any, use: str) -> None:
        from headway.fields import described
        from headway.words import read

        if get_origin(hint) in (Union, UnionType):  # None is no value that can be given
            hint = Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007
        several, needed = get_origin(hint) is tuple, one.default is one.empty
        item = get_args(hint)[0] if several else hint
        default = "" if one.default in (None, (), one.empty) else f"; by default {one.default}"
        shown = f"{use.removesuffix('.')} ({described(item)}{default})".replace("%", "%%")
        given: dict[str, Any] = {"type": partial(read, one.name, hint=item), "help": shown}
        if one.kind is one.POSITIONAL_ONLY:
            words = "RECIPE FIELD=VALUE" if one.name == "words" else one.name.upper()
            given |= {"metavar": words.removesuffix("S") + " …" if several else words}
            given["nargs"] = ("+" if needed else "*") if several else None if needed else "?"
            given["default"] = None if needed else one.default
            self.add_argument(one.name, **given)
            return
        if one.default is False:
            given = {"action": "store_true", "help": use.replace("%", "%%")}
        elif several:
            given |= {"action": "extend", "nargs": "+", "metavar": "VALUE"}
        else:
            given["metavar"] = "VALUE"
        self.add_argument(f"--{one.name.replace('_', '-')}", **given)

    def asked(self, words: Sequence[str]) -> inspect.BoundArguments:
        """What words ask the function for.

        Raises:
            HeadwayError: for the first word that does not fit.
        """
        found, left = self.parse_known_intermixed_args(words)
        if left:
            raise HeadwayError(self._refusal(left[0]))
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in vars(found).items()}
        alone = [given.pop(a.dest) for a in self._get_positional_actions() if a.dest in given]
        return inspect.signature(self.function).bind(*alone, **given)

    def error(self, message: str) -> Any:
        """Raises a `HeadwayError` in the place of ending the program."""
        raise HeadwayError(f"{message} (see {self.prog} --help)")

    def _refusal(self, word: str) -> str:
        """Why a word is of no use, and what may have been meant."""
        if not word.startswith("-"):
            return f"{word!r} belongs to no option: {self.prog} --help lists them"
        name = word.partition("=")[0]
        if "words" in inspect.signature(self.function).parameters:
            field = name.lstrip("-").replace("-", "_")
            return f"{name} is no option: a field is written without dashes, {field}=…"
        near = difflib.get_close_matches(name, self._option_string_actions, n=1)
        meant = f"did you mean {near[0]}?" if near else f"see {self.prog} --help"
        return f"{name} is no option of {self.prog} ({meant})"


def uses(documented: Callable[..., object], prefix: str = "") -> dict[str, str]:
    """What every argument of a function, or field of a class, is for, as its docstring says."""
    from docstring_parser import parse

    params = parse(inspect.getdoc(documented) or "").params
    return {prefix + one.arg_name: " ".join((one.description or "").split()) for one in params}


def print_fields(source: str) -> None:
    """Prints what can be changed in a recipe or a user's task: its arguments, then all fields."""
    from headway.changes import annotations, base_of
    from headway.fields import described
    from headway.training.config import SECTIONS, RunConfig, flat
    from headway.training.curriculum import CURRICULA
    from headway.words import said

    base = base_of(source)
    config = base.make()
    values, told = flat(config), uses(base.make) | uses(RunConfig)
    for section in SECTIONS:
        told |= uses(type(getattr(config, section)), f"{section}.")
    for kind in CURRICULA.values():
        told |= uses(kind, "training.curriculum.")
    arguments = [(name, name, hint) for name, hint in base.arguments.items()]
    fields = [
        (f"{name}={said(values[name])}" if name in values else name, name, hint)
        for name, hint in annotations(config).items()
    ]
    for title, entries in (
        (f"arguments of {base.name}, to which other fields adapt", arguments),
        ("\nfields", fields),
    ):
        print(title)
        for shown, name, hint in entries:
            use = told.get(name) or told.get(f"task.{name}", "")
            print(*wrapped(f"{shown}  ({described(hint)})", "  ", "      "), sep="\n")
            print(*wrapped(use, "      ", "      "), sep="\n")


def config_asked_for(words: Sequence[str]) -> "RunConfig":
    """The config that words ask for: a recipe or a file, and changes to it.

    Fields that changed along are reported on standard error.

    Raises:
        HeadwayError: if there is no such recipe, the changes do not fit, or the machine cannot hold
            the run.
    """
    from headway.changes import base_of, changes_in, configured, told
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
    sources = [word for word in words if not FIELD.match(word) and not word.startswith("-")]
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
