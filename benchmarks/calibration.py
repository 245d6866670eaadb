"""Calibration of the verdicts by exchange: right circuits must get three yeses, wrong
ones none.

    python benchmarks/calibration.py --models choosing --out results/calibration.jsonl
    python benchmarks/calibration.py --read results/calibration_choosing.jsonl

Rules and limits are fixed on the models for choosing; they are judged on those for
judging, whose seeds were written down before (`headway_experiments.arena.cohorts`). A
wrong circuit is the right one with one fault. Every row of the output is one circuit:
its model, its fault, and what breaks it at half, the whole and twice the limit; or a
model that was left out, and why. What is there already is not judged again. Models that
need Tracr, `transformers` or a folder that is not here are skipped by name.
"""

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from headway.errors import HeadwayError
from headway.intervals import wilson
from headway.judge.by_exchange import LIMIT, judge
from headway.replace.exchange import Exchange
from headway_experiments.arena.cohorts import (
    COHORTS,
    STRANGERS,
    Case,
    MissingError,
    case_of,
    names_of,
)
from headway_experiments.arena.faults import Fault, Faults

SEQUENCES = 128
LIMITS = {"half": LIMIT / 2, "whole": LIMIT, "twice": 2 * LIMIT}
Row = dict[str, Any]


def rows_for(name: str, case: Case) -> Iterator[Row]:
    """The rows of one model: its right circuit, then wrong ones."""
    generator = torch.Generator().manual_seed(77)
    exchange = Exchange.drawn(case.model, case.task, SEQUENCES, generator)
    wrong = Faults(exchange, case.right, case.acceptable).drawn(random.Random(name))
    for fault in [Fault("none", case.because, case.right), *wrong]:
        passes = judge(exchange, fault.circuit).passes
        by_limit = {
            which: judge(exchange, fault.circuit, limit)
            for which, limit in LIMITS.items()
        }
        yield {
            "model": name,
            "kind": fault.kind,
            "what": fault.what,
            "broken": {
                which: judgement.broken for which, judgement in by_limit.items()
            },
            "passes": passes,
        }


def rows_of(name: str, folder: Path, strangers: Path) -> list[Row]:
    """The rows of one model, or the one that says why it was left out.

    Raises:
        MissingError: if what it needs is not here.
    """
    try:
        return [*rows_for(name, case_of(name, folder, strangers))]
    except MissingError:
        raise
    except HeadwayError as error:
        return [{"model": name, "left_out": str(error)}]


def told(rows: Sequence[Row]) -> str:
    """Tables of what is accepted, with 95 % intervals: by kind of fault, and by
    family.
    """
    judged = [row for row in rows if "kind" in row]
    left_out = [row for row in rows if "left_out" in row]
    right = [row for row in judged if row["kind"] == "none"]
    wrong = [row for row in judged if row["kind"] != "none"]
    passes = sorted(row["passes"] for row in right)
    about = [
        f"{len(right)} models",
        *(f"left out: {row['model']}: {row['left_out']}" for row in left_out),
        f"passes of right circuits: {passes[len(passes) // 2]} (median), "
        f"{passes[-1]} (most)",
    ]
    tables = [
        table_of(
            "fault", {"none": right, **grouped(wrong, kind_of), "all wrong": wrong}
        ),
        table_of("right circuits", grouped(right, family_of)),
        table_of("wrong circuits", grouped(wrong, family_of)),
    ]
    return "\n\n".join(["\n".join(about), *tables])


def grouped(
    rows: Sequence[Row], group_of: Callable[[Row], str]
) -> dict[str, list[Row]]:
    """Rows by their group, in the order in which groups come first."""
    groups = defaultdict[str, list[Row]](list)
    for row in rows:
        groups[group_of(row)].append(row)
    return groups


def kind_of(row: Row) -> str:
    """The kind of a row's fault."""
    return str(row["kind"])


def family_of(row: Row) -> str:
    """The family of a row's model."""
    first = str(row["model"]).split()[0]
    return "compiled" if first in ("doubling", "sequential", "passing") else first


def table_of(title: str, groups: Mapping[str, Sequence[Row]]) -> str:
    """A table of how many circuits of every group are accepted."""
    lines = [
        f"| {title} | circuits | half the limit | limit | twice the limit |",
        "|---|---|---|---|---|",
    ]
    for group, rows in groups.items():
        cells = [accepted_of(rows, which) for which in LIMITS]
        lines.append(f"| {group} | {len(rows)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def accepted_of(rows: Sequence[Row], which: str) -> str:
    """How many circuits nothing breaks at a limit, with an interval of 95 %."""
    accepted = sum(not row["broken"][which] for row in rows)
    low, high = wilson(accepted, len(rows))
    return f"{accepted} ({low:.3f} to {high:.3f})"


def read(file: Path) -> list[Row]:
    """The rows of a file; none if there is no such file."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def show(name: str, rows: Sequence[Row]) -> None:
    """Prints a model's mistakes: its right circuit if it is refused, and wrong ones
    that pass.
    """
    why = rows[0].get("left_out", "")
    print(f"{name}: {len(rows)} circuits, {why}", flush=True)
    for row in rows:
        if "kind" not in row:
            continue
        kind, broken = row["kind"], row["broken"]["whole"]
        is_right = kind == "none"
        is_refused = bool(broken)
        if is_right == is_refused:
            print("   ", kind, row["what"], broken, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--models", choices=COHORTS, default="choosing")
    parser.add_argument("--only", default="", help="models whose names begin with this")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("runs/calibration"))
    parser.add_argument("--strangers", type=Path, default=STRANGERS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.read:
        print(told(read(asked.read)))
        return
    done = {row["model"] for row in read(asked.out)} if asked.out else set[str]()
    for name in names_of(asked.models):
        if name in done or not name.startswith(asked.only):
            continue
        try:
            rows = rows_of(name, asked.folder, asked.strangers)
        except MissingError as missing:
            print(f"{name} is skipped: {missing}", file=sys.stderr)
            continue
        show(name, rows)
        if asked.out:
            text = "".join(json.dumps(row) + "\n" for row in rows)
            with asked.out.open("a") as file:
                file.write(text)


if __name__ == "__main__":
    main()
