"""Which readings change if a limit of blind reading is halved or doubled.

    python benchmarks/sensitivity.py --cohort choosing --folder runs/cohort --out FILE
    python benchmarks/sensitivity.py --read results/reading_sensitivity.jsonl

Every model is read with the limits as they are, then with each of them changed. A row
of the output is one model under one change; what is there already is not read again.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from frame import options
from headway.errors import require
from headway.find import blind
from headway_experiments.cohort.members import COHORTS
from reading import GOOD, reading, rows_in

LIMITS = ("UNREAD", "LITTLE", "NAMED", "MARGIN_BITS", "PLACED", "LEAST")
"""The limits of `headway.find.blind` that decide what is named."""

CHANGES = {"half": 0.5, "twice": 2.0}

AS_IT_IS = "as it is"

Row = dict[str, Any]


def changes() -> Iterator[tuple[str, str, float | None]]:
    """The name of a limit, its change, and its value then; none for all as they are.

    A share is never more than 1.
    """
    yield AS_IT_IS, "", None
    for limit in LIMITS:
        own = getattr(blind, limit)
        for change, factor in CHANGES.items():
            value = own * factor
            yield limit, change, min(value, 1.0) if own < 1 else value


def read_with(
    limit: str, value: float | None, name: str, folder: Path, seed: int
) -> Row:
    """The row of one model, with one limit changed meanwhile."""
    if value is None:
        return reading(name, folder, False, seed)
    own = getattr(blind, limit)
    try:
        return reading(name, folder, False, seed, f"{limit}={value}")
    finally:
        setattr(blind, limit, own)


def words_of(row: Row) -> dict[str, str]:
    """The words of every useful head, by its name."""
    return {head["head"]: head["words"] for head in row.get("heads", [])}


def told(rows: list[Row]) -> str:
    """A table: for every change, how many readings and heads it changes."""
    as_they_are = {row["model"]: row for row in rows if row["limit"] == AS_IT_IS}
    lines = [
        "| limit | changed | value | models read otherwise | heads read otherwise |"
        f" whole sequences agree in {GOOD:g} |",
        "|---|---|---|---|---|---|",
    ]
    for limit, change, value in changes():
        those = [
            row for row in rows if row["limit"] == limit and row["change"] == change
        ]
        if not those:
            continue
        others = [changed_heads(as_they_are[row["model"]], row) for row in those]
        models = sum(count > 0 for count in others)
        good = sum(row.get("sequence_agreement", 0.0) >= GOOD for row in those)
        written = "" if value is None else f"{value:g}"
        lines.append(
            f"| {limit} | {change} | {written} | {models} of {len(those)} |"
            f" {sum(others)} | {good} |"
        )
    return "\n".join(lines)


def changed_heads(before: Row, after: Row) -> int:
    """The number of heads that have other words, or words in one of both alone."""
    first, second = words_of(before), words_of(after)
    return sum(first.get(head) != second.get(head) for head in {*first, *second})


def main() -> None:
    given = options(
        __doc__, cohort=str, folder=Path("runs/cohort"), seeds=(5,), only=(), read=Path
    )
    if given.read:
        print(told(rows_in(given.read)))
        return
    require(given.cohort in COHORTS, "--cohort", given.cohort, "one of the cohorts")
    torch.set_num_threads(1)
    done = {(row["model"], row["limit"], row["change"]) for row in rows_in(given.out)}
    for name in given.only or COHORTS[given.cohort]:
        for limit, change, value in changes():
            if (name, limit, change) in done:
                continue
            row = read_with(limit, value, name, given.folder, given.seeds[0])
            row |= {"limit": limit, "change": change}
            print(name, limit, change, row.get("sequence_agreement"), flush=True)
            if given.out:
                with given.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print(told(rows_in(given.out)))


if __name__ == "__main__":
    main()
