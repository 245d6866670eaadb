"""The five verdicts on a circuit, each with its reason in words."""

from dataclasses import dataclass

from markupsafe import Markup

from headway.circuits import Discovery
from headway.circuits.verdicts import held, kept_as_they_are, untestable
from headway.report.page.templating import ENVIRONMENT


@dataclass(frozen=True)
class Verdict:
    """One property of a circuit.

    Attributes:
        name: the property.
        holds: whether the circuit has it; None if that cannot be said.
        words: why.
    """

    name: str
    holds: bool | None
    words: Markup


def verdicts(discovery: Discovery, several_heads: bool) -> list[Verdict]:
    """The five verdicts on a circuit; the template has a macro of words for each."""
    data = {
        "discovery": discovery,
        "several": several_heads,
        "kept": kept_as_they_are(discovery),
        "untestable": untestable(discovery),
        "holds": held(discovery),
    }
    words = ENVIRONMENT.get_template("run/verdicts.html").make_module(data)
    return [Verdict(name, holds, getattr(words, name)()) for name, holds in data["holds"].items()]
