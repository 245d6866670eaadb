"""The claims of a document, each with the rule by which a measurement supports it."""

import math
import operator
import re
import statistics
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headway.errors import HeadwayError, nearest, require
from headway.fields import from_json
from headway.intervals import wilson
from headway.reading import is_file, read_bytes

SCALES = ("smoke", "small", "fresh", "paper")
"""Seconds, to see that all works; minutes per run; the same with seeds by which nothing
was chosen; as printed."""

FRESH = 10_000
"""Settings and rules were chosen by runs with seeds below this. `fresh` judges by seeds
from it on: those of `small`, with this added."""


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

T95 = (
    12.71,
    4.30,
    3.18,
    2.78,
    2.57,
    2.45,
    2.36,
    2.31,
    2.26,
    2.23,
    2.20,
    2.18,
    2.16,
    2.14,
    2.13,
)
"""Student's t for a two-sided 95 % interval, by degrees of freedom from 1 on."""

Said = Literal[
    "holds",
    "does not hold",
    "by construction",
    "not comparable",
    "not measured",
    "not run",
]

Measures = dict[str, dict[str, float]]
"""Numbers by measure, and by the run or other thing that was measured."""


def parsed(rule: str) -> tuple[str, Callable[[float], bool]]:
    """The statistic of a rule, and the test of a single value.

    Args:
        rule: `STATISTIC OP NUMBER` or `STATISTIC in LOW..HIGH`. The statistics `every`
            and `any` compare each of the numbers, the others one value.

    Raises:
        HeadwayError: if it is neither.
    """
    words = "|".join(STATISTICS)
    if match := re.fullmatch(rf"({words}) (<=|>=|==|<|>) ({NUMBER})", rule):
        compare = COMPARISONS[match[2]]
        bound = float(match[3])
        return match[1], lambda value: compare(value, bound)
    if match := re.fullmatch(rf"({words}) in ({NUMBER})\.\.({NUMBER})", rule):
        low = float(match[2])
        high = float(match[3])
        require(low <= high, "rule", rule, "from a number to one that is not below it")
        return match[1], lambda value: low <= value <= high
    allowed = f"STATISTIC OP NUMBER or STATISTIC in LOW..HIGH, with one of {words}"
    raise HeadwayError(f"rule = {rule!r} is not allowed: it must be {allowed}")


def supports(rule: str, values: Sequence[float]) -> bool:
    """True if numbers, at least one, are as a rule says."""
    statistic, holds = parsed(rule)
    verdicts = [holds(value) for value in STATISTICS[statistic](values)]
    return any(verdicts) if statistic == "any" else all(verdicts)


@dataclass(frozen=True)
class Own:
    """The rule of one scale, or why it has none.

    Attributes:
        rule: that it judges by.
        why: the reason for it; without a rule, what makes its runs too different from
            the paper's for a verdict.
    """

    rule: str = ""
    why: str = ""


@dataclass(frozen=True)
class Claim:
    """One thing that a paper reports.

    Attributes:
        figure: the name of the experiment: a figure of the paper, an appendix, a study,
            a mechanism of the talk, or a user's own.
        measure: the name of the numbers that it is judged by.
        section: of the paper, or of the source that the talk reports.
        claim: in words.
        paper: the published value, or what is to be expected, in words.
        rule: when these support it, by the paper's words.
        small: what scale `small` has of its own; `fresh` has the same.
        by_construction: why it cannot fail, if it cannot; it is then not counted among
            those that hold.
    """

    figure: str
    measure: str
    section: str
    claim: str
    rule: str
    paper: str
    small: Own
    by_construction: str

    def __post_init__(self):
        reason = "the reason for the scale's own rule"
        require(
            bool(self.small.why or not self.small.rule), "why", self.small.why, reason
        )
        parsed(self.small.rule or self.rule)

    def own(self, scale: str) -> Own:
        """The rule or the reservation of a scale."""
        return self.small if setting(scale) == "small" else Own()

    def rule_at(self, scale: str) -> str:
        """The rule that a scale judges by."""
        return self.own(scale).rule or self.rule

    def note(self, scale: str) -> str:
        """The reason why a scale has a rule of its own or is not comparable, or why the
        claim cannot fail.
        """
        return self.own(scale).why or self.by_construction


SHARED = {"section", "rule", "paper", "small", "by_construction"}
"""The fields that all claims of a figure may share."""


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
        """The rule's verdict, if anything was run and measured, and can be compared."""
        values = list(self.values.values())
        if not values:
            return "not measured" if self.ran else "not run"
        own = self.claim.own(self.scale)
        if own.why and not own.rule:
            return "not comparable"
        if not supports(self.claim.rule_at(self.scale), values):
            return "does not hold"
        return "by construction" if self.claim.by_construction else "holds"

    @property
    def measured(self) -> str:
        """The numbers that the rule judges, with their count.

        Of `every`, `any` and a `median` the median, and in brackets the range; of a
        `mean` its 95 % interval by Student's t, and the median; of a `share` its 95 %
        interval by Wilson.
        """
        values = list(self.values.values())
        if not values:
            return "–"
        count = len(values)
        statistic, _ = parsed(self.claim.rule_at(self.scale))
        if statistic == "share":
            right = sum(value != 0 for value in values)
            low, high = wilson(right, count)
            interval = f"{low:.2f}..{high:.2f}"
            return f"{right} of {count} ({interval})"
        if count == 1:
            return f"{values[0]:.3g} (n=1)"
        how_many = f"n={count}"
        median = f"{statistics.median(values):.3g}"
        if statistic == "mean":
            mean = statistics.mean(values)
            low, high = mean_interval(values)
            interval = f"({low:.3g}..{high:.3g}, {how_many})"
            return f"mean {mean:.3g} {interval}, median {median}"
        low = min(values)
        high = max(values)
        return f"{median} ({low:.3g}..{high:.3g}, {how_many})"


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean of at least two values, by Student's t."""
    count = len(values)
    free = count - 1
    times = T95[free - 1] if free <= len(T95) else 1.96 + 2.5 / free
    half = times * statistics.stdev(values) / math.sqrt(count)
    mean = statistics.mean(values)
    return mean - half, mean + half


Judged = Mapping[str, Verdict]
"""The verdicts on one claim, by scale."""


def claims_beside(file: str, experiment: str) -> tuple[Claim, ...]:
    """The claims of an experiment, from the .toml beside the module that it is in (see
    `read`).

    Args:
        file: of the module: its `__file__`.
        experiment: its name.

    Raises:
        HeadwayError: if there is no such file, or a claim in it is wrong.
    """
    path = Path(file).with_suffix(".toml")
    if not is_file(path):
        raise HeadwayError(
            f"{path} is missing: the claims of experiment {experiment!r} belong there"
        )
    try:
        claims = read(read_bytes(path).decode())
    except HeadwayError as error:
        raise HeadwayError(f"{path}: {error}") from None
    known = dict.fromkeys(claim.figure for claim in claims)
    if experiment not in known:
        figures = ", ".join(known) or "none"
        raise HeadwayError(
            f"{path}: there is no table [{experiment}] of claims, only: {figures}"
        )
    return tuple(claim for claim in claims if claim.figure == experiment)


def read(text: str) -> list[Claim]:
    """The claims in a TOML text.

    A claim is the table `[FIGURE.MEASURE]`, with the other fields of `Claim`, or, if
    its words are all that it has of its own, `MEASURE = "…"` in the table `[FIGURE]`.
    Fields in that table hold for all its claims that do not say otherwise. If scale
    `small` judges by another rule, the claim has the field `small = {rule = "…", why =
    "…"}`; if its runs are too different from the paper's for a verdict, `small = {why =
    "…"}`. One that cannot fail says why in `by_construction = "…"`.

    Raises:
        HeadwayError: if it is no TOML, or a claim lacks a field, has an unknown one or
            an invalid rule.
    """
    try:
        figures = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HeadwayError(f"it is no TOML: {error}") from None
    claims = []
    for figure, table in figures.items():
        require(isinstance(table, dict), figure, table, "a table of claims")
        shared = {name: table[name] for name in SHARED & table.keys()}
        for measure, told in table.items():
            if measure in shared:
                continue
            if hint := nearest(measure, SHARED):
                raise HeadwayError(f"{figure}.{measure} is no field{hint}")
            own = told if isinstance(told, dict) else {"claim": told}
            claims.append(_claim(figure, measure, {**shared, **own}))
    return claims


def _claim(figure: str, measure: str, fields: Mapping[str, Any]) -> Claim:
    """A claim of some fields, with the usual ones where they are not given."""
    usual = {"paper": "open", "small": {}, "by_construction": ""}
    try:
        return from_json(
            Claim, {**usual, **fields, "figure": figure, "measure": measure}
        )
    except HeadwayError as error:
        raise HeadwayError(f"claim {figure}.{measure}: {error}") from None
