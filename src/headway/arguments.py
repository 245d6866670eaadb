"""How the words of a command line become what a verb is asked for."""

import contextlib
import functools
import io
import itertools
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import (
    AvoidSubcommands,
    FlagConversionOff,
    FlagCreatePairsOff,
    Positional,
    UseAppendAction,
)

from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.training import RunConfig

Switch = FlagConversionOff[bool]
"""Something that is said to be True or False."""
Flag = FlagCreatePairsOff[bool]
"""Something that is so if it is named."""
Words = Annotated[
    tuple[tuple[str, ...], ...], UseAppendAction, tyro.conf.arg(metavar="FIELD=VALUES …")
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


@contextlib.contextmanager
def continued_by(verb: str, words: Sequence[str], options: Mapping[str, object]) -> Iterator[None]:
    """Notes on an interrupt that the same command goes on where it was."""
    try:
        yield
    except KeyboardInterrupt as stop:
        given = {name: value for name, value in options.items() if value}
        said = [part for name, value in given.items() for part in (f"--{name}", value)]
        command = shlex.join(map(str, ["headway", verb, *words, *said]))
        stop.add_note(f"continue with: {command}")
        raise


def parse(function: Callable[..., Any], program: str, args: list[str]) -> Any:
    """Calls a function with arguments from the command line.

    Raises:
        HeadwayError: if they do not fit, with the parser's complaint on one line.
    """

    @functools.wraps(function)
    def bound(*given: Any, **named: Any) -> Callable[[], Any]:
        return functools.partial(function, *given, **named)

    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            call = tyro.cli(bound, prog=program, args=args, config=(AvoidSubcommands,))
    except SystemExit as stop:
        if not stop.code:
            raise
        raise HeadwayError(f"{program}: {one_line(complaint.getvalue())}") from None
    return call()


def one_line(complaint: str) -> str:
    """The parser's framed complaint as one line: what is wrong, and the nearest options."""
    sections, frame = [""], "[\\s\u2500-\u257f-]"
    for line in complaint.splitlines()[1:]:
        if re.fullmatch(f"{frame}*-*{frame}*", line):
            sections.append("")
        else:
            sections[-1] += " " + line.strip("\u2502 ")
    message, *others = [" ".join(section.split()) for section in sections if section.strip()]
    near = [option for part in others for option in re.findall(r"--[a-z][\w.-]+", part)]
    near = [option for option in near if "Perhaps" in complaint and option != "--help"]
    if near:
        return f"{message} (did you mean {' or '.join(near)}?)"
    return f"{message} (see --help)"


def training_asked_for(args: list[str]) -> "tuple[RunConfig, Path | None] | Path":
    """What `headway train` is to train: a recipe with changes and a folder, or a run to resume.

    Raises:
        HeadwayError: if there is no such recipe, or the changes do not fit.
    """
    from headway.training import RECIPES, RunConfig

    args = [word for arg in args for word in re.split("(?<=^--resume)=", arg)]
    if "--resume" in args:
        args.remove("--resume")
        return parse(_run_to_resume, "headway train --resume", args)
    recipe = args[0] if args and not args[0].startswith("-") else "fast"
    if recipe not in RECIPES:
        raise HeadwayError(
            f"recipe = {recipe!r} is not allowed: it must be one of {', '.join(RECIPES)}"
        )
    args = args[1:] if args[:1] == [recipe] else args
    own = list(itertools.takewhile(lambda word: re.match(r"[\w.]+=", word), args))
    default = recipe_with(recipe, own) if own else RECIPES[recipe]()
    args = args[len(own) :]

    def configured(
        config: FlagConversionOff[Annotated[RunConfig, tyro.conf.arg(name="")]] = default,
        folder: Path | None = None,
    ) -> tuple[RunConfig, Path | None]:
        """Train a model on a task; every field of the recipe can be changed. A recipe's own
        arguments stand before: headway train fast depth=4 mixture=false --seed 7.

        Args:
            config: what decides the run.
            folder: of the run; none means a free one in runs/.
        """
        return config, folder

    return parse(configured, f"headway train {recipe}", args)


def recipe_with(recipe: str, words: Sequence[str]) -> "RunConfig":
    """A recipe's config with arguments of its own, each written NAME=VALUE.

    Raises:
        HeadwayError: if it takes no such argument, or the value is none for it.
    """
    from headway.sweeps import load_plan

    runs = load_plan(recipe, words).runs
    if len(runs) != 1:
        raise HeadwayError(f"{' '.join(words)}: one value each, as one run is trained")
    return next(iter(runs.values()))


def _run_to_resume(run: Positional[Path]) -> Path:
    """Continue a run that was stopped, from its last saved state.

    Args:
        run: the run's folder.
    """
    return run
