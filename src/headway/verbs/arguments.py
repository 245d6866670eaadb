"""Arguments of verbs, as their functions' signatures and docstrings say.

A verb is a function. A parameter that is positional only, `runs: tuple[Path, ...], /`, takes the
words that stand alone; all others are options. Their values are read as fields' are.
"""

import argparse
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from headway.errors import HeadwayError, nearest
from headway.text import width, wrapped


class Parser(argparse.ArgumentParser):
    """The parser of a verb's words, made from its function's signature and docstring.

    Args:
        function: of the verb.
        verb: its name.
    """

    def __init__(self, function: Callable[..., Any], verb: str):
        self.signature = inspect.signature(function)
        paragraphs = (inspect.getdoc(function) or "").partition("\n\nArgs:")[0].split("\n\n")
        super().__init__(
            prog=f"headway {verb}",
            description="\n\n".join("\n".join(wrapped(one, rest="")) for one in paragraphs),
            argument_default=argparse.SUPPRESS,  # the function has its own
            formatter_class=partial(
                argparse.RawDescriptionHelpFormatter, width=width(), max_help_position=6
            ),
            allow_abbrev=False,
            add_help=False,
        )
        hints, about = get_type_hints(function, include_extras=True), uses(function)
        for name, one in self.signature.parameters.items():
            self._add(one, hints[name], about[name].removesuffix(".").replace("%", "%%"))
        alone = [str(one.metavar) for one in self._get_positional_actions()]
        self.usage = " ".join(["%(prog)s", *alone, "[--OPTION VALUE …]"])

    def _add(self, one: inspect.Parameter, hint: Any, use: str) -> None:
        """Adds what a parameter is given by: words that stand alone, or an option."""
        from headway.fields import described, read

        option = f"--{one.name.replace('_', '-')}"
        if one.default is False:
            self.add_argument(option, action="store_true", help=use)
            return
        if get_origin(hint) in (Union, UnionType):  # None is no value that can be given
            hint = Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007
        several, needed = get_origin(hint) is tuple, one.default is one.empty
        item = get_args(hint)[0] if several else hint
        default = "" if one.default in (None, (), one.empty) else f"; by default {one.default}"
        given: dict[str, Any] = {"type": partial(read, one.name, hint=item)}
        given["help"] = f"{use} ({described(item)}{default})"
        if one.kind is one.POSITIONAL_ONLY:
            words = "RECIPE FIELD=VALUE" if one.name == "words" else one.name.upper()
            given["metavar"] = words.removesuffix("S") + " …" if several else words
            given["nargs"] = ("+" if needed else "*") if several else None if needed else "?"
            given["default"] = None if needed else one.default
            self.add_argument(one.name, **given)
        else:
            given |= {"action": "extend", "nargs": "+"} if several else {}
            self.add_argument(option, metavar="VALUE", **given)

    def asked(self, words: Sequence[str]) -> inspect.BoundArguments:
        """The arguments that words give the function.

        Raises:
            HeadwayError: for the first word that does not fit.
        """
        found, left = self.parse_known_intermixed_args(words)
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
        for name, value in vars(found).items():
            asked.arguments[name] = tuple(value) if isinstance(value, list) else value
        return asked

    def error(self, message: str) -> Any:
        """Raises a `HeadwayError` in the place of ending the program."""
        raise HeadwayError(f"{message} (see {self.prog} --help)")


def uses(documented: Callable[..., object], prefix: str = "") -> dict[str, str]:
    """The use of every argument of a function, or field of a class, as its docstring says."""
    from docstring_parser import parse

    params = parse(inspect.getdoc(documented) or "").params
    return {prefix + one.arg_name: " ".join((one.description or "").split()) for one in params}


def print_fields(words: Sequence[str]) -> None:
    """Prints what can be changed in the recipe or the task that is named among words, if one is:
    its arguments, then all fields."""
    from headway.fields import described, said
    from headway.recipes import annotations, base_of, source_and_fields
    from headway.training.config import flat, parts
    from headway.training.curriculum import CURRICULA

    source, _ = source_and_fields(words)
    if source is None:
        return
    base = base_of(source)
    config = base.make()
    values, about = flat(config), uses(base.make)
    for where, part in parts(config).items():
        about |= uses(type(part), where)
    for kind in CURRICULA.values():
        about |= uses(kind, "training.curriculum.")
    for title, hints in (
        (f"arguments of {base.name}, to which other fields adapt", base.arguments),
        ("\nfields", annotations(config)),
    ):
        print(title)
        for name, hint in hints.items():
            shown = f"{name}={said(values[name])}" if name in values else name
            use = about.get(name) or about.get(f"task.{name}", "")
            print(*wrapped(f"{shown}  ({described(hint)})", "  ", "      "), sep="\n")
            print(*wrapped(use, "      ", "      "), sep="\n")
