"""How the words of a command line become what a verb is asked for."""

import contextlib
import functools
import inspect
import io
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

import tyro
from tyro.conf import (
    AvoidSubcommands,
    FlagConversionOff,
    FlagCreatePairsOff,
    Positional,
    UseAppendAction,
)

from headway.errors import HeadwayError
from headway.text import wrapped

if TYPE_CHECKING:
    from headway.training import Run, RunConfig

FIELD = re.compile(r"[^\W\d][\w.\- ]*=")
"""How a word begins that gives a field a value."""
Switch = FlagConversionOff[bool]
"""An option that takes True or False."""
Flag = FlagCreatePairsOff[bool]
"""An option that is true if it is named."""
ARGUMENT = type(tyro.conf.arg())
NAMES = {int: "N", float: "X", str: "TEXT"}
"""What the help calls whole numbers, numbers and words."""
Fields = Annotated[
    Positional[tuple[str, ...]], tyro.conf.arg(metavar="FIELD=VALUE …", help_behavior_hint="")
]
"""A recipe or a file, and any number of FIELD=VALUE; options may stand among them."""
Words = Annotated[
    tuple[tuple[str, ...], ...],
    UseAppendAction,
    tyro.conf.arg(metavar="FIELD=VALUES …", help_behavior_hint="(repeatable)"),
]
"""Words that may follow one option, or the same option again."""


def flattened(option: str, words: tuple[tuple[str, ...], ...]) -> list[str]:
    """The words of an option that was given once or several times.

    Raises:
        HeadwayError: if it was given without any.
    """
    if not all(words):
        raise HeadwayError(f"Missing value for argument '--{option}': FIELD=VALUES …")
    return [word for group in words for word in group]


def parse(function: Callable[..., Any], program: str, args: list[str]) -> Any:
    """Calls a function with arguments from the command line.

    Raises:
        HeadwayError: if they do not fit, with the parser's complaint on one line.
    """

    words = list[str]()
    if "words" in inspect.signature(function).parameters:
        args, words = options_and_words(function, args)

    @functools.wraps(function)
    def bound(*given: Any, **named: Any) -> Callable[[], Any]:
        return functools.partial(function, *given, **named)

    plainly_told(bound, function)
    told, complaint = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(complaint):
            call = tyro.cli(bound, prog=program, args=[*args, *words], config=(AvoidSubcommands,))
    except SystemExit as stop:
        if not stop.code:
            print(fitted(told.getvalue()))
            if sources := sources_in(words):
                list_fields(sources[0])
            raise
        verb = program.removeprefix("headway ")
        raise HeadwayError(f"{verb}: {one_line(complaint.getvalue())}") from None
    return call()


def plainly_told(bound: Callable[..., Any], function: Callable[..., Any]) -> None:
    """Has the help of a function's options say types as people write them, and no empty default.

    Lines of the docstring are joined, as the help breaks them by itself.

    Args:
        bound: the function that the parser sees; gets the parameters.
        function: that is asked for.
    """
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    told = [
        one.replace(annotation=_told(name, hints[name], one.default))
        for name, one in signature.parameters.items()
    ]
    bound.__doc__ = re.sub(r"\n {8,}", " ", inspect.getdoc(function) or "")
    del bound.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]
    bound.__annotations__ = {one.name: one.annotation for one in told}
    bound.__signature__ = signature.replace(parameters=told)  # pyright: ignore[reportFunctionMemberAccess]


def fitted(told: str) -> str:
    """The parser's help, with lines broken that it leaves wider than the terminal."""
    lines = map(str.rstrip, told.strip().splitlines())
    return "\n".join("\n".join(wrapped(x)) if x[:1].isalpha() else x for x in lines)


def _told(name: str, hint: Any, default: Any) -> Any:
    """A parameter's type, with what the help says of it."""
    plain, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if any(isinstance(mark, ARGUMENT) for mark in marks):
        return hint
    if get_origin(plain) is tuple:
        several = f"{re.sub('ies$', 'y', name).removesuffix('s').upper()} …"
        return Annotated[hint, tyro.conf.arg(metavar=several, help_behavior_hint="")]
    if default is False or default == ():
        return Annotated[hint, tyro.conf.arg(help_behavior_hint="")]
    if default is not None:
        return Annotated[hint, tyro.conf.arg(metavar=NAMES[plain])] if plain in NAMES else hint
    (kind,) = [part for part in get_args(plain) if part is not NoneType]
    if get_origin(kind) is Literal:
        word = "{" + ",".join(get_args(kind)) + "}"
    else:
        word = NAMES.get(kind) or kind.__name__.upper()
    return Annotated[hint, tyro.conf.arg(metavar=word, help_behavior_hint="")]


def one_line(complaint: str) -> str:
    """The parser's framed complaint as one line: what is wrong, and the nearest options."""
    sections, frame = [""], "[\\s\u2500-\u257f-]"
    for line in complaint.splitlines()[1:]:
        if re.fullmatch(f"{frame}*-*{frame}*", line):
            sections.append("")
        else:
            sections[-1] += " " + line.strip("\u2502 ")
    message, *others = [" ".join(section.split()) for section in sections if section.strip()]
    message = re.sub(r"Expected one of \((.*?)\)", _without_none, message)
    near = [option for part in others for option in re.findall(r"--[a-z][\w.-]+", part)]
    near = [option for option in near if "Perhaps" in complaint and option != "--help"]
    if near:
        return f"{message} (did you mean {' or '.join(near)}?)"
    return f"{message} (see --help)"


def _without_none(found: re.Match[str]) -> str:
    """The choices of an option; one that may be left out has None among them, in any order."""
    choices = re.findall(r"'([^']*)'", found[1])
    if "None" in choices:
        choices = sorted(choice for choice in choices if choice != "None")
    return f"Expected one of {', '.join(choices)}"


def options_and_words(
    function: Callable[..., Any], args: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The options among some arguments, each with its value, and all other words.

    Raises:
        HeadwayError: if an option is a field, which is written without dashes, or lacks its value.
    """
    taken = inspect.signature(function).parameters
    flags = {f"--{name.replace('_', '-')}" for name, one in taken.items() if one.default is False}
    options, words, rest = list[str](), list[str](), iter(args)
    for arg in rest:
        if not arg.startswith("-"):
            words.append(arg)
            continue
        name = arg.lstrip("-").partition("=")[0].replace("-", "_")
        if name not in taken and name not in ("h", "help"):
            told = f"a field is written without dashes, {name}=…"
            raise HeadwayError(f"{arg} is no option: {told} (see --help)")
        options.append(arg)
        if "=" not in arg and arg not in flags and name in taken:
            value = next(rest, "-")
            if value.startswith("-"):
                raise HeadwayError(f"Missing value for argument '{arg}' (see --help)")
            options.append(value)
    return options, words


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
    config, carried = configured(base, changes_in(base, list(filter(FIELD.match, words))))
    require_size(config)
    for line in told(carried):
        note(line)
    return config


def fields_in(words: Sequence[str], cls: type) -> dict[str, Any]:
    """The values that words give the fields of a dataclass.

    Raises:
        HeadwayError: if a word is no FIELD=VALUE, there is no such field, or the value is not
            allowed.
    """
    from headway.fields import hints_of
    from headway.words import named, read, texts_of

    values = {}
    for field, text in texts_of(filter(FIELD.match, words)).items():
        name = named(field.removeprefix("task."), hints_of(cls))
        values[name] = read(field, text, hints_of(cls)[name])
    return values


def sources_in(words: Sequence[str]) -> list[str]:
    """The recipe or the file that is named among words, if there is one.

    Raises:
        HeadwayError: if there are several.
    """
    sources = [word for word in words if not FIELD.match(word) and not word.startswith("-")]
    if len(sources) > 1:
        told = f"{' and '.join(sources)} are {len(sources)} recipes or files: it must be one"
        raise HeadwayError(f"{told}, and all else FIELD=VALUE")
    return sources


def list_fields(source: str) -> None:
    """Prints what a recipe or a file lets one change."""
    from headway import terminal
    from headway.bases import base_of

    terminal.print_fields(base_of(source))


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
