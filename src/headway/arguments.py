"""The words behind a verb: its options.

A verb is a function. A parameter that is positional only, `runs: tuple[Path, ...], /`, takes the
words that stand alone; all others are options. Their values are read as fields' are (`words`).
"""

import argparse
import difflib
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from headway.errors import HeadwayError
from headway.text import width, wrapped


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
    """The use of every argument of a function, or field of a class, as its docstring says."""
    from docstring_parser import parse

    params = parse(inspect.getdoc(documented) or "").params
    return {prefix + one.arg_name: " ".join((one.description or "").split()) for one in params}
