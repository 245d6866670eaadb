"""Blind reading of heads, on small models that nobody describes: what it finds, and
whether it predicts what the model does.

    python benchmarks/reading.py --cohort choosing --out results/reading_choosing.jsonl
    python benchmarks/reading.py --strangers FOLDER --seeds 5 6 7 8 9 --out FILE
    python benchmarks/reading.py --cohort choosing --limit UNREAD=0.25 --out FILE
    python benchmarks/reading.py --read results/reading_choosing.jsonl

Rules of reading are chosen on the cohort for choosing, never on the one for judging
(`headway_experiments.cohort`). Models are trained where their folder lacks them. Each
is read in a process of its own with one thread, and every row of the output is one
reading; what is there already is not read again.
"""

import json
import resource
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import nn

from frame import options
from headway import Task, discover
from headway.errors import HeadwayError, require
from headway.find import blind
from headway.judge import Discovery
from headway.judge.verdict import verdicts
from headway.replace.heads import name_of
from headway_experiments.cohort.members import COHORTS
from headway_experiments.cohort.training import learnt_by, load
from strangers import loaded

GOOD = 0.95
"""The share of whole sequences from which a reading counts as one that predicts."""

Row = dict[str, Any]


def peak() -> float:
    """The most memory that this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def opened(name: str, folder: Path, is_stranger: bool) -> tuple[nn.Module, Task]:
    """A model and its task, from a folder of others' models or from a cohort's."""
    if is_stranger:
        build, task = loaded(folder)[name]
        return build(), task
    module, task, _ = load(name, folder)
    return module, task


def reading(
    name: str, folder: Path, is_stranger: bool, seed: int, limit: str = ""
) -> Row:
    """The row of one model, read with one thread, with a limit of `blind` changed."""
    torch.set_num_threads(1)
    if limit:
        which, _, value = limit.partition("=")
        require(hasattr(blind, which), "--limit", limit, "as UNREAD=0.25")
        setattr(blind, which, type(getattr(blind, which))(value))
    module, task = opened(name, folder, is_stranger)
    accuracy, sequences = learnt_by(module, task)
    row = {"model": name, "seed": seed}
    row |= {"accuracy": accuracy, "sequences_right": sequences}
    before = peak()
    begun = time.process_time()
    try:
        found = discover(module, task, seed=seed, trials=False, workers=1)
    except HeadwayError as error:
        return row | {"refused": str(error)}
    took = time.process_time() - begun
    return row | said_by(found) | {"seconds": took, "memory_mb": peak() - before}


def said_by(found: Discovery) -> Row:
    """What a discovery says of a model's heads, and how far it predicts the model."""
    likeness = found.evidence.likeness.circuit
    explained = {look.head: look.explained for look in found.looks}
    heads = [
        {
            "head": name_of(head),
            "words": str(found.circuit.mechanisms[head]),
            "explained": explained.get(head),
        }
        for head in found.circuit.useful_heads
    ]
    return {
        "agreement": likeness.agreement,
        "sequence_agreement": likeness.sequence_agreement,
        "intact_loss": found.intact_loss,
        "replaced_loss": found.replaced_loss,
        "heads": heads,
        "of_heads": len(found.circuit.mechanisms),
        "tables": len(found.circuit.tabled_heads),
        "verdicts": {verdict.name: verdict.holds for verdict in verdicts(found)},
    }


def apart(name: str, folder: Path, is_stranger: bool, seed: int, limit: str) -> Row:
    """The row of one model, from a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        work = pool.submit(reading, name, folder, is_stranger, seed, limit)
        try:
            return work.result()
        except BrokenProcessPool as error:
            return {"model": name, "seed": seed, "refused": f"it ended: {error}"}


def told(rows: Sequence[Row]) -> str:
    """A table of readings, and how many of them predict whole sequences."""
    lines = [
        "| model | whole sequences right | answers agree | whole sequences agree |"
        " useful heads (attention explained) | tables | verdicts | s | MB |",
        "|---|---|---|---|---|---|---|---|---|",
        *map(line_of, rows),
    ]
    read = [row for row in rows if "refused" not in row]
    if read:
        shares = [row["sequence_agreement"] for row in read]
        good = sum(share >= GOOD for share in shares)
        lines += [
            "",
            f"Whole sequences agree in at least {GOOD:g} in {good} of {len(rows)}"
            f" readings: mean {statistics.mean(shares):.3f},"
            f" median {statistics.median(shares):.3f}.",
        ]
    return "\n".join(lines)


def line_of(row: Row) -> str:
    """The line of a table."""
    start = f"| {row['model']}, {row['seed']} |"
    if "refused" in row:
        return f"{start} refused: {row['refused']} |"
    words = [
        f"{head['head']}: {head['words']} ({head['explained']:.2f})"
        if head["explained"] is not None
        else f"{head['head']}: {head['words']}"
        for head in row["heads"]
    ]
    marks = {True: "yes", False: "no", None: "?"}
    judged = ", ".join(marks[holds] for holds in row["verdicts"].values())
    cells = [
        f"{row['sequences_right']:.3f}",
        f"{row['agreement']:.3f}",
        f"{row['sequence_agreement']:.3f}",
        "; ".join(words),
        str(row["tables"]),
        judged,
        f"{row['seconds']:.0f}",
        f"{row['memory_mb']:.0f}",
    ]
    return f"{start} {' | '.join(cells)} |"


def rows_in(file: Path | None) -> list[Row]:
    """The rows of a file; none if there is no such file."""
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]


def main() -> None:
    given = options(
        __doc__,
        cohort=str,
        strangers=Path,
        folder=Path("runs/cohort"),
        seeds=(5,),
        only=(),
        limit="",
        read=Path,
    )
    if given.read:
        print(told(rows_in(given.read)))
        return
    is_stranger = given.strangers is not None
    if is_stranger:
        folder = given.strangers
        names = loaded(folder)
    else:
        require(given.cohort in COHORTS, "--cohort", given.cohort, "one of the cohorts")
        folder = given.folder
        names = COHORTS[given.cohort]
    done = {(row["model"], row["seed"]) for row in rows_in(given.out)}
    for name in given.only or names:
        for seed in given.seeds:
            if (name, seed) in done:
                continue
            row = apart(name, folder, is_stranger, seed, given.limit)
            print(line_of(row), flush=True)
            if given.out:
                with given.out.open("a") as file:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
