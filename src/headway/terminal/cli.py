"""The command line: verbs only. Bad input is one clear line on stderr and exit code 2."""

import os
import re
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import FrameType

from headway import text, userfile
from headway.errors import HeadwayError
from headway.terminal.output import screen_on
from headway.verbs.arguments import Parser, print_fields
from headway.verbs.listing import VERBS, function_of, usage

KEEPING = ("ask", "depend", "sweep")
"""Verbs that keep what is done, so that the same command goes on where it was."""

GONE = 141
"""The exit code when who reads has seen enough, as `| head` does."""


def main(args: list[str] | None = None) -> None:
    """The program `headway`."""
    if args is None:
        args = sys.argv[1:]
        os.environ["MPLBACKEND"] = "agg"  # figures are written, never shown
        for one in (signal.SIGINT, signal.SIGTERM):  # the second as a scheduler ends a job
            if signal.getsignal(one) is not signal.SIG_IGN:
                signal.signal(one, interrupt)
    with redirect_stdout(screen_on(sys.stdout)) as screen, redirect_stderr(screen_on(sys.stderr)):
        code, line = 0, ""
        try:
            dispatch(args)
            screen.flush()
        except (Exception, KeyboardInterrupt) as error:
            code, line = ending(error)
        if screen.losses and not code:
            code, line = 2, f"cannot print: {screen.losses[0].strerror}"
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
        return 130, "; ".join(["interrupted", *getattr(error, "__notes__", [])[-1:]])
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


def dispatch(args: list[str]) -> None:
    """Does what a verb says.

    Raises:
        HeadwayError: if there is no such verb, or it cannot be done.
    """
    command = text.command(*args)
    while args[:1] == ["--trust"] and len(args) > 2:
        userfile.trust(args[1])
        args = args[2:]
    if not args or args[0] in ("-h", "--help", "help"):
        print(usage())
        return
    verb, rest = args[0], args[1:]
    if verb == "--version":
        from importlib import metadata

        print(metadata.version("headway"))
        return
    function = function_of(verb)
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
