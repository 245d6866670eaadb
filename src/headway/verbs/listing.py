"""The verbs by their use, and the functions that do what they say."""

import re
import textwrap
from collections.abc import Callable
from importlib import import_module

from headway.errors import nearest, require
from headway.userfile import installed

USAGE = """\
usage: headway VERB …
{verbs}
Recipes and tasks are changed field by field, here and in grids of sweeps:

  headway train fast depth=4 model.n_heads=2 training.steps=300 seed=3

Recipes: fast, conditional, hops, composition, paper; or a file with a task of
your own. `headway VERB --help` lists a verb's options, and `headway train
RECIPE --help` all fields. Python files that you train with are run again when a
run names them; `headway --trust FILE VERB …` allows others."""

GROUPS = {
    "See a circuit being learnt": {"demo": "training"},
    "Train": {"train": "training", "check": "training"},
    "Look inside": {
        "circuit": "circuits",
        "emergence": "circuits",
        "depend": "circuits",
    },
    "Show": {"report": "showing", "serve": "showing", "runs": "showing"},
    "Scale": {"sweep": "sweeps"},
    "Theory": {"theory": "theory"},
}
"""Headway's own verbs by their use, and the files of their functions."""
VERBS = {
    verb: f"headway.verbs.{file}"
    for verbs in GROUPS.values()
    for verb, file in verbs.items()
}


def added_verbs() -> dict[str, str]:
    """The verbs that installed packages add, and the modules of their functions, by the
    entry points `headway.verbs`: a function for each, by its name."""
    points = installed("headway.verbs")
    return {name: point.module for name, point in points.items() if name not in VERBS}


def function_of(verb: str) -> Callable[..., None]:
    """The function that does what a verb says.

    Raises:
        HeadwayError: if there is no such verb.
    """
    homes = VERBS if verb in VERBS else {**VERBS, **added_verbs()}
    require(
        verb in homes, "verb", verb, f"one of {', '.join(homes)}{nearest(verb, homes)}"
    )
    return getattr(import_module(homes[verb]), verb)


def _summary(verb: str) -> str:
    """The first clause of what a verb does, in one line."""
    documented = function_of(verb).__doc__ or ""
    clause = re.split(r"[:;.](?=\s|$)", documented)[0]
    return " ".join(clause.split())


def usage() -> str:
    """The verbs by their use: headway's own, and by package those that others add."""
    lines, packages = list[str](), dict[str, list[str]]()
    for title, verbs in GROUPS.items():
        lines += ["", title]
        for verb in verbs:
            lines += textwrap.wrap(
                f"  {verb:<11}{_summary(verb)}", 79, subsequent_indent=" " * 13
            )
    for verb, module in added_verbs().items():
        package = module.partition(".")[0]
        packages.setdefault(package, []).append(verb)
    if packages:
        lines += ["", "Verbs that packages add"]
    for package, names in packages.items():
        lines += textwrap.wrap(
            f"  {package}: {', '.join(names)}", 79, subsequent_indent="    "
        )
    return USAGE.format(verbs="\n".join([*lines, ""]))
