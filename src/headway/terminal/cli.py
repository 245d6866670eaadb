"""The command line: verbs only. Bad input is one clear line on stderr and exit code 2.

A verb is a function. A parameter that is positional only, `runs: tuple[Path, ...], /`,
takes the words that stand alone; all others are options. Their values are read as
fields' are.
"""

import argparse
import inspect
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from types import FrameType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from headway import userfile
from headway.errors import HeadwayError, nearest
from headway.screen import screen_on
from headway.text import command, width, wrapped
from headway.verbs.listing import VERBS, function_of, usage
from headway.version import __version__

KEEPING = ("ask", "depend", "sweep")
"""Verbs that keep what is done, so that the same command goes on where it was."""

GONE = 141
"""The exit code when who reads has seen enough, as `| head` does."""


def main(args: list[str] | None = None) -> None:
    """The program `headway`."""
    if args is None:
        args = sys.argv[1:]
        os.environ["MPLBACKEND"] = "agg"  # figures are written, never shown
        for number in (
            signal.SIGINT,
            signal.SIGTERM,
        ):  # the second as a scheduler ends a job
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, interrupt)
    with (
        redirect_stdout(screen_on(sys.stdout)) as screen,
        redirect_stderr(screen_on(sys.stderr)),
    ):
        code, line = 0, ""
        try:
            dispatch(args)
            screen.flush()
        except (Exception, KeyboardInterrupt) as error:
            code, line = ending(error)
        if screen.losses and not code:
            code = 2
            line = f"cannot print: {screen.losses[0].strerror}"
        if screen.losses or code == GONE:  # the interpreter is not to try again
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if line:
            print(f"headway: {line}", file=sys.stderr)
        if code:
            sys.exit(code)


def ending(error: BaseException) -> tuple[int, str]:
    """The exit code and the line with which an error ends the program.

    Raises:
        BaseException: the error, if it is a fault of the program's own.
    """
    if isinstance(error, HeadwayError):
        return 2, str(error)
    if isinstance(error, KeyboardInterrupt):
        notes = getattr(error, "__notes__", [])
        return 130, "; ".join(["interrupted", *notes[-1:]])
    if isinstance(error, BrokenPipeError):
        return GONE, ""
    line = str(error).strip().partition("\n")[0]
    torch = line if isinstance(error, RuntimeError) else ""
    if isinstance(error, OverflowError) or "overflow" in torch:
        return 2, f"a number is too large ({line})"
    if isinstance(error, MemoryError) or re.search("allocate|out of memory", torch):
        return 2, f"not enough memory ({line or 'MemoryError'}): ask for less"
    if (where := userfile.one_line(error)) is None:
        raise error
    return 2, where


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raises a `KeyboardInterrupt`, or ends the program during an import.

    An import that is interrupted can fail in any way, and nothing has begun yet that
    could be finished.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"headway: interrupted\n")
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt


def dispatch(args: list[str]) -> None:
    """Does what a verb says.

    Raises:
        HeadwayError: if there is no such verb, or it cannot be done.
    """
    typed = command(*args)
    while args[:1] == ["--trust"] and len(args) > 2:
        userfile.trust(args[1])
        args = args[2:]
    if not args or args[0] in ("-h", "--help", "help"):
        print(usage())
        return
    verb = args[0]
    rest = args[1:]
    if verb == "--version":
        print(__version__)
        return
    function = function_of(verb)
    parser = Parser(function, verb)
    if {"-h", "--help"} & {*rest}:
        print(parser.format_help())
        if "words" in function.__annotations__ and not all(
            word.startswith("-") for word in rest
        ):
            print_fields(rest)
        return
    asked = parser.asked(rest)
    try:
        function(*asked.args, **asked.kwargs)
    except KeyboardInterrupt as stop:
        if verb in KEEPING or verb not in VERBS:
            stop.add_note(f"continue with: {typed}")
        raise


class Parser(argparse.ArgumentParser):
    """The parser of a verb's words, made from its function's signature and docstring.

    Args:
        function: of the verb.
        verb: its name.
    """

    def __init__(self, function: Callable[..., Any], verb: str):
        self.signature = inspect.signature(function)
        about = (inspect.getdoc(function) or "").partition("\n\nArgs:")[0]
        paragraphs = [
            "\n".join(wrapped(paragraph, rest="")) for paragraph in about.split("\n\n")
        ]
        super().__init__(
            prog=f"headway {verb}",
            description="\n\n".join(paragraphs),
            argument_default=argparse.SUPPRESS,  # the function has its own
            formatter_class=partial(
                argparse.RawDescriptionHelpFormatter, width=width(), max_help_position=6
            ),
            allow_abbrev=False,
            add_help=False,
        )
        hints = get_type_hints(function, include_extras=True)
        of_arguments = uses(function)
        for name, parameter in self.signature.parameters.items():
            use = of_arguments[name].removesuffix(".")
            self._add(parameter, hints[name], use.replace("%", "%%"))
        alone = [str(action.metavar) for action in self._get_positional_actions()]
        self.usage = " ".join(["%(prog)s", *alone, "[--OPTION VALUE …]"])

    def _add(self, parameter: inspect.Parameter, hint: Any, use: str) -> None:
        """Adds what a parameter is given by: words that stand alone, or an option."""
        from headway.fields import described, read

        name = parameter.name
        default = parameter.default
        option = f"--{name.replace('_', '-')}"
        if default is False:
            self.add_argument(option, action="store_true", help=use)
            return
        if get_origin(hint) in (Union, UnionType):  # None is no value that can be given
            hint = Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007
        several = get_origin(hint) is tuple
        item = get_args(hint)[0] if several else hint
        about = described(item)
        if default not in (None, (), parameter.empty):
            about += f"; by default {default}"
        given: dict[str, Any] = {
            "type": partial(read, name, hint=item),
            "help": f"{use} ({about})",
        }
        if parameter.kind is parameter.POSITIONAL_ONLY:
            self.add_argument(name, **given, **_standing_alone(parameter, several))
        elif several:
            self.add_argument(
                option, metavar="VALUE", action="extend", nargs="+", **given
            )
        else:
            self.add_argument(option, metavar="VALUE", **given)

    def asked(self, words: Sequence[str]) -> inspect.BoundArguments:
        """The arguments that words give the function.

        Raises:
            HeadwayError: for the first word that does not fit.
        """
        parsed, left = self.parse_known_intermixed_args(words)
        if left:
            name = left[0].partition("=")[0]
            hint = nearest(name, self._option_string_actions)
            if not name.startswith("-"):
                self.error(f"{left[0]!r} belongs to no option")
            if "words" in self.signature.parameters:
                field = name.lstrip("-").replace("-", "_")
                hint += f": a field is written without dashes, {field}=…"
            self.error(f"{name} is no option{hint}")
        asked = self.signature.bind_partial()
        for name, value in vars(parsed).items():
            asked.arguments[name] = tuple(value) if isinstance(value, list) else value
        return asked

    def error(self, message: str) -> Any:
        """Raises a `HeadwayError` in the place of ending the program."""
        raise HeadwayError(f"{message} (see {self.prog} --help)")


def _standing_alone(parameter: inspect.Parameter, several: bool) -> dict[str, Any]:
    """The number of words that a parameter takes, and their name in help."""
    metavar = (
        "RECIPE FIELD=VALUE" if parameter.name == "words" else parameter.name.upper()
    )
    needed = parameter.default is parameter.empty
    nargs = None if needed else "?"
    if several:
        metavar = f"{metavar.removesuffix('S')} …"
        nargs = "+" if needed else "*"
    default = None if needed else parameter.default
    return {"metavar": metavar, "nargs": nargs, "default": default}


def uses(documented: Callable[..., object], prefix: str = "") -> dict[str, str]:
    """The use of every argument or field, as a docstring says."""
    from docstring_parser import parse

    about: dict[str, str] = {}
    for param in parse(inspect.getdoc(documented) or "").params:
        words = (param.description or "").split()
        about[prefix + param.arg_name] = " ".join(words)
    return about


def print_fields(words: Sequence[str]) -> None:
    """Prints what can be changed in the recipe or the task that is named among words,
    if one is: its arguments, then all fields."""
    from headway.fields import described, said
    from headway.training.config import flat, parts
    from headway.training.curriculum import CURRICULA
    from headway.training.recipes import annotations, base_of, source_and_fields

    source, _ = source_and_fields(words)
    if source is None:
        return
    base = base_of(source)
    config = base.make()
    values = flat(config)
    about = uses(base.make)
    for where, part in parts(config).items():
        about |= uses(type(part), where)
    for kind in CURRICULA.values():
        about |= uses(kind, "training.curriculum.")
    named = {
        f"arguments of {base.name}, to which other fields adapt": base.arguments,
        "\nfields": annotations(config),
    }
    for title, hints in named.items():
        print(title)
        for name, hint in hints.items():
            use = about.get(name) or about.get(f"task.{name}", "")
            if name in values:
                name = f"{name}={said(values[name])}"
            _print_field(name, described(hint), use)


def _print_field(name: str, kind: str, use: str) -> None:
    """Prints a field, perhaps with its value, and what it is for below."""
    named_kind = f"{name}  ({kind})"
    print(*wrapped(named_kind, "  ", "      "), sep="\n")
    print(*wrapped(use, "      ", "      "), sep="\n")
