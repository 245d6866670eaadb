"""What the papers report, claim by claim, and the rule by which a measurement supports it."""

import operator
import re
import statistics
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headway.errors import HeadwayError, require
from headway.fields import from_json
from headway.files import is_file, read_bytes

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


def parsed(rule: str) -> tuple[str, Callable[[float], bool]]:
    """The statistic of a rule, and the test of a single value.

    Args:
        rule: `STATISTIC OP NUMBER` or `STATISTIC in LOW..HIGH`. The statistics `every` and `any`
            compare each of the numbers, the others one value.

    Raises:
        HeadwayError: if it is neither.
    """
    words = "|".join(STATISTICS)
    if found := re.fullmatch(rf"({words}) (<=|>=|==|<|>) ({NUMBER})", rule):
        compare, bound = COMPARISONS[found[2]], float(found[3])
        return found[1], lambda value: compare(value, bound)
    if found := re.fullmatch(rf"({words}) in ({NUMBER})\.\.({NUMBER})", rule):
        low, high = float(found[2]), float(found[3])
        require(low <= high, "rule", rule, "from a number to one that is not below it")
        return found[1], lambda value: low <= value <= high
    allowed = f"STATISTIC OP NUMBER or STATISTIC in LOW..HIGH, with one of {words}"
    raise HeadwayError(f"rule = {rule!r} is not allowed: it must be {allowed}")


def supports(rule: str, values: Sequence[float]) -> bool:
    """Whether numbers, at least one, are as a rule says."""
    statistic, holds = parsed(rule)
    verdicts = [holds(value) for value in STATISTICS[statistic](values)]
    return any(verdicts) if statistic == "any" else all(verdicts)


@dataclass(frozen=True)
class Own:
    """What one scale has of its own.

    Attributes:
        rule: that it judges by; empty if by the paper's words.
        why: the reason for it.
        differs: what makes its runs too different from the paper's for a verdict.
    """

    rule: str = ""
    why: str = ""
    differs: str = ""


@dataclass(frozen=True)
class Claim:
    """One thing that a paper reports.

    Attributes:
        figure: the name of the experiment: a figure of the paper, an appendix, a study, a mechanism
            of the talk, or a user's own.
        measure: the name of the numbers that it is judged by.
        section: of the paper, or of the source that the talk reports.
        claim: in words.
        paper: the published value, or what is to be expected, in words.
        rule: when these support it, by the paper's words.
        small: what scale `small` has of its own; `fresh` has the same.
        smoke: what scale `smoke` has of its own.
    """

    figure: str
    measure: str
    section: str
    claim: str
    rule: str
    paper: str
    small: Own
    smoke: Own

    def __post_init__(self):
        for own in (self.small, self.smoke):
            reason = "the reason for the scale's own rule, and empty without one"
            require(bool(own.rule) == bool(own.why), "why", own.why, reason)
            parsed(own.rule or self.rule)

    def own(self, scale: str) -> Own:
        """What a scale has of its own."""
        return {"small": self.small, "smoke": self.smoke}.get(setting(scale), Own())

    def rule_at(self, scale: str) -> str:
        """The rule that a scale judges by."""
        return self.own(scale).rule or self.rule

    def note(self, scale: str) -> str:
        """Why a scale has a rule of its own, or is not comparable; may be empty."""
        return self.own(scale).differs or self.own(scale).why


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
        if self.claim.own(self.scale).differs:
            return "not comparable"
        return "holds" if supports(self.claim.rule_at(self.scale), values) else "does not hold"

    @property
    def measured(self) -> str:
        """Mean ± standard deviation and count; and what the rule judges instead, the median or,
        of `every` and `any`, the range. Of yes and no, how many."""
        values, (statistic, _) = list(self.values.values()), parsed(self.claim.rule_at(self.scale))
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
    """The claims of an experiment, from the .toml beside the module that it is in (see `read`).

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
        found = read(read_bytes(path).decode())
    except HeadwayError as error:
        raise HeadwayError(f"{path}: {error}") from None
    there = dict.fromkeys(claim.figure for claim in found)
    if experiment not in there:
        figures = ", ".join(there) or "none"
        raise HeadwayError(f"{path}: there is no table [{experiment}] of claims, only: {figures}")
    return tuple(claim for claim in found if claim.figure == experiment)


def read(text: str) -> list[Claim]:
    """The claims in a TOML text.

    A claim is the table `[FIGURE.MEASURE]`, with the other fields of `Claim`. Fields in the table
    `[FIGURE]` hold for all its claims that do not say otherwise. If scale `small` or `smoke` judges
    by another rule, the claim has the field `SCALE = {rule = "…", why = "…"}`; if its runs are too
    different from the paper's for a verdict, `SCALE = {differs = "…"}`.

    Raises:
        HeadwayError: if it is no TOML, or a claim lacks a field, has an unknown one or an invalid
            rule.
    """
    try:
        figures = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HeadwayError(f"it is no TOML: {error}") from None
    found = []
    for figure, table in figures.items():
        require(isinstance(table, dict), figure, table, "a table of claims")
        usual = {"paper": "open", "small": {}, "smoke": {}}
        shared = {name: value for name, value in table.items() if not isinstance(value, dict)}
        for measure in (name for name in table if name not in shared):
            whole = {**usual, **shared, **table[measure], "figure": figure, "measure": measure}
            try:
                found.append(from_json(Claim, whole))
            except HeadwayError as error:
                raise HeadwayError(f"claim {figure}.{measure}: {error}") from None
    return found
