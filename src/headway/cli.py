"""The command line: verbs only. Bad input is one clear line on stderr and exit code 2.

A verb is a function. A parameter that is positional only, `runs: tuple[Path, ...], /`, takes the
words that stand alone; all others are options. Their values are read as fields' are.
"""

import argparse
import difflib
import inspect
import os
import shlex
import signal
import sys
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from types import FrameType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from headway import userfile
from headway.errors import HeadwayError, require
from headway.terminal import output
from headway.text import width, wrapped
from headway.userfile import installed

USAGE = """\
usage: headway VERB …

See a circuit being learnt
  demo [RECIPE]          train, find the circuit, date it, report: all in one

Train
  train [RECIPE]         train a model; recipes: fast, conditional, hops,
                         composition, paper, or a file with a task of your own
  train --resume RUN     continue a run that was stopped
  check FILE or RUN      try a task of your own; read every file of a run

Look inside
  circuit RUN …          find the circuit that a model learnt, and the evidence
  circuit RUN --all      find every minimal circuit, too
  circuit RUN --certify  on how many of all sequences do circuit and model
                         agree, at least? with a guarantee
  emergence RUN          date every path of the circuit
  depend RUN …           train again with each path clamped: what depends on
                         what?

Show
  report RUN             write report.html, and draw figures for papers
  report RUN RUN …       one page that compares runs
  report FOLDER          one page about all runs in a folder, such as a sweep's
  serve [FOLDER]         show the runs in a folder in the browser, live
  runs [FOLDER]          the runs in a folder and their state, as a table

Scale
  sweep [PLAN]           many runs: a plan (a recipe, a Python file) and fields

Theory
  theory [RUN]           how few layers could do; what a circuit brings where

Language models
  ask                    put the same questions to a local model; or write them
                         down
{added}
Recipes and tasks are changed field by field, here and in grids of sweeps:

  headway train fast depth=4 model.n_heads=2 training.steps=300 seed=3

RUN is a run's folder. `headway VERB --help` lists a verb's options, and
`headway train RECIPE --help` all fields. Python files that you train with are
run again when a run names them; `headway --trust FILE VERB …` allows others."""

ROOMS = {
    "training": ("demo", "train", "check"),
    "circuits": ("circuit", "emergence", "depend"),
    "showing": ("report", "serve", "runs"),
    "sweeps": ("sweep",),
    "theory": ("theory",),
    "language": ("ask",),
}
VERBS = {verb: f"headway.verbs.{room}" for room, verbs in ROOMS.items() for verb in verbs}
"""Headway's own verbs, and the modules of their functions, imported when they are called."""

KEEPING = ("ask", "depend", "sweep")
"""Verbs that keep what is done, so that the same command goes on where it was."""

GROUP = "headway.verbs"
"""The entry points by which an installed package adds verbs: a function for each, by its name."""


def added_verbs() -> dict[str, str]:
    """The verbs that installed packages add, and the modules of their functions."""
    return {name: point.module for name, point in installed(GROUP).items() if name not in VERBS}


def module_of(verb: str) -> str:
    """The module whose function of that name does what a verb says.

    Raises:
        HeadwayError: if there is no such verb.
    """
    every = VERBS if verb in VERBS else {**VERBS, **added_verbs()}
    if verb not in every:
        near = difflib.get_close_matches(verb, every, n=1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        require(False, "verb", verb, f"one of {', '.join(every)}{meant}")
    return every[verb]


def usage() -> str:
    """The verbs by their use: headway's own, and by package those that others add."""
    packages: dict[str, list[str]] = {}
    for verb, module in added_verbs().items():
        packages.setdefault(module.partition(".")[0], []).append(verb)
    lines = [f"  {package}: {', '.join(names)}" for package, names in packages.items()]
    broken = [textwrap.fill(line, 79, subsequent_indent="    ") + "\n" for line in lines]
    return USAGE.format(added="\n".join(["\nVerbs that packages add", *broken] if broken else []))


def main(args: list[str] | None = None) -> None:
    """The program `headway`."""
    if args is None:
        args = sys.argv[1:]
        os.environ["MPLBACKEND"] = "agg"  # figures are written, never shown
        for one in (signal.SIGINT, signal.SIGTERM):  # the second as a scheduler ends a job
            if signal.getsignal(one) is not signal.SIG_IGN:
                signal.signal(one, interrupt)
    with output.guarded() as screen:
        try:
            dispatch(args)
            screen.flush()
        except HeadwayError as error:
            print(f"headway: {error}", file=sys.stderr)
            sys.exit(2)
        except KeyboardInterrupt as stop:
            print(
                "; ".join(["headway: interrupted", *getattr(stop, "__notes__", [])[-1:]]),
                file=sys.stderr,
            )
            sys.exit(130)
        except BrokenPipeError:  # who reads has seen enough, as `| head` does
            output.give_up_stdout()
            sys.exit(141)
        except Exception as error:
            if (line := too_large(error) or userfile.one_line(error)) is None:
                raise
            print(f"headway: {line}", file=sys.stderr)
            sys.exit(2)
        if screen.losses:
            output.give_up_stdout()
            print(f"headway: cannot print: {screen.losses[0].strerror}", file=sys.stderr)
            sys.exit(2)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raises a `KeyboardInterrupt`, or ends the program while a module is being imported.

    An import that is interrupted can fail in any way, and nothing has begun yet that could be
    finished.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"headway: interrupted\n")
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt


def too_large(error: Exception) -> str | None:
    """Says in one line that something was asked for that is too large; None if it was not that."""
    if not isinstance(error, MemoryError | OverflowError | RuntimeError):
        return None
    line = str(error).strip().partition("\n")[0]
    if isinstance(error, OverflowError):
        return f"a number is too large ({line})"
    if isinstance(error, MemoryError) or "allocate" in line or "out of memory" in line:
        return f"not enough memory ({line or 'MemoryError'}): ask for less"
    return f"a number is too large ({line})" if "overflow" in line else None


def dispatch(args: list[str]) -> None:
    """Does what a verb says.

    Raises:
        HeadwayError: if there is no such verb, or it cannot be done.
    """
    if not args or args[0] in ("-h", "--help", "help"):
        print(usage())
        return
    command = shlex.join(["headway", *args])
    while args[0] == "--trust" and len(args) > 2:
        userfile.trust(args[1])
        args = args[2:]
    verb, rest = args[0], args[1:]
    if verb == "--version":
        from importlib import metadata

        print(metadata.version("headway"))
        return
    function = getattr(import_module(module_of(verb)), verb)
    from headway.verbs import print_fields

    parser = Parser(function, verb)
    if {"-h", "--help"} & {*rest}:
        print(parser.format_help())
        if "words" in function.__annotations__ and not all(word.startswith("-") for word in rest):
            print_fields(rest)
        return
    asked = parser.asked(rest)
    try:
        function(*asked.args, **asked.kwargs)
    except KeyboardInterrupt as stop:
        if verb in KEEPING or verb not in VERBS:
            stop.add_note(f"continue with: {command}")
        raise


class Parser(argparse.ArgumentParser):
    """The parser of a verb's words, made from its function's signature and docstring.

    Args:
        function: of the verb.
        verb: its name.
    """

    def __init__(self, function: Callable[..., Any], verb: str):
        from docstring_parser import parse

        documented, self.function = parse(inspect.getdoc(function) or ""), function
        paragraphs = f"{documented.short_description}\n\n{documented.long_description or ''}"
        broken = ("\n".join(wrapped(part, rest="")) for part in paragraphs.strip().split("\n\n"))
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
        from headway.fields import described, read

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
        """The arguments that words give the function.

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
        """The reason why a word is of no use, and the option that may have been meant."""
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
    """The use of every argument of a function, or field of a class, as its docstring says."""
    from docstring_parser import parse

    params = parse(inspect.getdoc(documented) or "").params
    return {prefix + one.arg_name: " ".join((one.description or "").split()) for one in params}
