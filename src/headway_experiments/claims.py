"""What the papers report, claim by claim, and the rule by which a measurement supports it."""

import functools
import operator
import re
import statistics
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from headway.errors import HeadwayError, require
from headway.reading import is_file, read_bytes

SCALES = ("smoke", "small", "fresh", "paper")
"""Seconds, to see that all works; minutes per run; the same with seeds by which nothing was chosen;
as printed."""

FRESH = 10_000
"""Settings and rules were chosen by runs with seeds below this. `fresh` judges by seeds from it on:
those of `small`, with this added."""


def setting(scale: str) -> str:
    """The scale whose settings and rules a scale has: `fresh` has those of `small`."""
    return "small" if scale == "fresh" else scale


STATISTICS: dict[str, Callable[[Sequence[float]], Sequence[float]]] = {
    "every": lambda values: values,
    "any": lambda values: values,
    "mean": lambda values: [statistics.mean(values)],
    "median": lambda values: [statistics.median(values)],
    "share": lambda values: [sum(value != 0 for value in values) / len(values)],
}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
NUMBER = r"-?\d+(?:\.\d+)?"

Said = Literal["holds", "does not hold", "not comparable", "not measured", "not run"]

Measures = dict[str, dict[str, float]]
"""Numbers by measure, and by the run or other thing that was measured."""


@dataclass(frozen=True)
class Rule:
    """When numbers support a claim.

    Attributes:
        text: as it is written.
        statistic: of the numbers: `every` and `any` compare each of them, the others one value.
        holds: whether a single value is as it should be.
    """

    text: str
    statistic: str
    holds: Callable[[float], bool]

    @classmethod
    def of(cls, text: str) -> "Rule":
        """Reads `STATISTIC OP NUMBER` or `STATISTIC in LOW..HIGH`.

        Raises:
            HeadwayError: if it is neither.
        """
        words = "|".join(STATISTICS)
        if found := re.fullmatch(rf"({words}) (<=|>=|==|<|>) ({NUMBER})", text):
            compare, bound = COMPARISONS[found[2]], float(found[3])
            return cls(text, found[1], lambda value: compare(value, bound))
        if found := re.fullmatch(rf"({words}) in ({NUMBER})\.\.({NUMBER})", text):
            low, high = float(found[2]), float(found[3])
            require(low <= high, "rule", text, "from a number to one that is not below it")
            return cls(text, found[1], lambda value: low <= value <= high)
        allowed = f"STATISTIC OP NUMBER or STATISTIC in LOW..HIGH, with one of {words}"
        raise HeadwayError(f"rule = {text!r} is not allowed: it must be {allowed}")

    def judge(self, values: Sequence[float]) -> bool:
        """Whether the numbers, at least one, support it."""
        verdicts = [self.holds(value) for value in STATISTICS[self.statistic](values)]
        return any(verdicts) if self.statistic == "any" else all(verdicts)


@dataclass(frozen=True)
class Claim:
    """One thing that a paper reports.

    Attributes:
        id: its name.
        figure: the name of the experiment: a figure of the paper, an appendix, a study, a mechanism
            of the talk, or a user's own.
        section: of the paper, or of the source that the talk reports.
        claim: in words.
        paper: the published value, or what is to be expected, in words.
        measure: the name of the numbers that it is judged by.
        rules: by scale; where a scale has none of its own, the paper's words, under `paper`.
        why: by scale, why its rule differs.
        differs: by scale, what makes its runs too different from the paper's for a verdict.
    """

    id: str
    figure: str
    section: str
    claim: str
    paper: str
    measure: str
    rules: Mapping[str, Rule]
    why: Mapping[str, str]
    differs: Mapping[str, str]

    def rule(self, scale: str) -> Rule:
        """The rule that a scale judges by."""
        return self.rules.get(setting(scale), self.rules["paper"])

    def note(self, scale: str) -> str:
        """Why a scale has a rule of its own, or is not comparable; may be empty."""
        own = setting(scale)
        return self.differs.get(own, self.why.get(own, ""))


@dataclass(frozen=True)
class Verdict:
    """A claim, and what was measured.

    Attributes:
        claim: the claim.
        scale: at which it was tested.
        values: what was measured, by run; empty if nothing was.
        missing: why some or all of it could not be measured; empty if all was.
        ran: whether there are results of its experiment.
    """

    claim: Claim
    scale: str
    values: Mapping[str, float]
    missing: str = ""
    ran: bool = False

    @property
    def said(self) -> Said:
        """What its rule says, if anything was run and measured, and can be compared."""
        values = list(self.values.values())
        if not values:
            return "not measured" if self.ran else "not run"
        if setting(self.scale) in self.claim.differs:
            return "not comparable"
        return "holds" if self.claim.rule(self.scale).judge(values) else "does not hold"

    @property
    def measured(self) -> str:
        """Mean ± standard deviation and count; and what the rule judges instead, the median or,
        of `every` and `any`, the range. Of yes and no, how many."""
        values, statistic = list(self.values.values()), self.claim.rule(self.scale).statistic
        if not values:
            return "–"
        if statistic == "share":
            return f"{sum(value != 0 for value in values)} of {len(values)}"
        if len(values) == 1:
            return f"{values[0]:.3g} (n=1)"
        mean = f"{statistics.mean(values):.3g} ± {statistics.stdev(values):.2g} (n={len(values)})"
        if statistic == "median":
            return f"{mean}, median {statistics.median(values):.3g}"
        if statistic in ("every", "any"):
            return f"{mean}, {min(values):.3g} to {max(values):.3g}"
        return mean


Judged = Mapping[str, Verdict]
"""The verdicts on one claim, by scale."""


def claims_beside(file: str, experiment: str) -> tuple[Claim, ...]:
    """The claims of an experiment, from the .toml beside the module that it is in.

    There is one table per claim, `[[claim]]`, with the fields of `Claim`; `figure` is the
    experiment and `rule` the rule by the paper's words. Fields above the first table hold for every
    claim that does not say otherwise. If a scale judges by another rule,
    `[claim.SCALE]` has that as `rule`, and the reason as `why`. If its runs are too different from
    the paper's for a verdict, it has the difference as `differs`.

    Args:
        file: of the module: its `__file__`.
        experiment: its name.

    Raises:
        HeadwayError: if there is no such file, or a claim in it is wrong, see `read`.
    """
    path = Path(file).with_suffix(".toml")
    if not is_file(path):
        raise HeadwayError(
            f"{path} is missing: the claims of experiment {experiment!r} belong there"
        )
    try:
        found = _in_file(path)
    except HeadwayError as error:
        raise HeadwayError(f"{path}: {error}") from None
    there = dict.fromkeys(claim.figure for claim in found)
    if experiment not in there:
        figures = ", ".join(there) or "none"
        raise HeadwayError(f"{path}: no claim has figure = {experiment!r}, only: {figures}")
    return tuple(claim for claim in found if claim.figure == experiment)


@functools.cache
def _in_file(path: Path) -> list[Claim]:
    return read(read_bytes(path).decode())


def read(text: str) -> list[Claim]:
    """The claims in a TOML text. Fields above the first one are of all that have none of their own.

    Raises:
        HeadwayError: if it is no TOML, a claim lacks a field, has an unknown one or an invalid
            rule, or two have one name.
    """
    try:
        shared = tomllib.loads(text)
        found = [_claim({**shared, **entry}) for entry in shared.pop("claim", [])]
    except tomllib.TOMLDecodeError as error:
        raise HeadwayError(f"it is no TOML: {error}") from None
    names = [claim.id for claim in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    require(not twice, "claims: id", twice, "different for every claim")
    return found


def _claim(entry: dict[str, Any]) -> Claim:
    """One table; a scale's own holds `rule` and `why`, or `differs`."""
    name = entry.get("id")
    scales: dict[str, Any] = {s: entry.pop(s) for s in ("smoke", "small") if s in entry}
    differs = {scale: data["differs"] for scale, data in scales.items() if "differs" in data}
    own = {scale: data for scale, data in scales.items() if scale not in differs}
    try:
        rules = {"paper": Rule.of(entry.pop("rule"))}
        rules |= {scale: Rule.of(data["rule"]) for scale, data in own.items()}
        why = {scale: data["why"] for scale, data in own.items()}
        return Claim(**entry, rules=rules, why=why, differs=differs)
    except KeyError as error:
        raise HeadwayError(f"claim {name!r}: it lacks the field {error}") from None
    except TypeError:
        known = [
            field.name for field in fields(Claim) if field.name not in ("rules", "why", "differs")
        ]
        raise HeadwayError(
            f"claim {name!r} has {', '.join(entry)}: its fields must be {', '.join(known)}, rule"
        ) from None
