"""Calibration of the verdicts by exchange: right circuits must get three yeses, wrong ones none.

    python benchmarks/calibration.py --models choosing --out results/calibration_choosing.jsonl
    python benchmarks/calibration.py --read results/calibration_choosing.jsonl

Rules and limits are fixed on the models for choosing; they are judged on those for judging, whose
seeds were written down before. A wrong circuit is the right one with one fault. Every row of the
output is one circuit: its model, its fault, and what breaks it at half, the whole and twice the
limit.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import torch

from headway.circuits import AttentionPath, Circuit
from headway.circuits.exchange import Exchange
from headway.circuits.judge import LIMIT, judge
from headway.circuits.mechanism import Head, Mean
from headway.circuits.partners import partners
from headway.errors import HeadwayError
from headway.intervals import wilson
from headway_experiments.arena.case import Known
from headway_experiments.arena.families import build_known

PLANTED = {"choosing": range(6000, 6020), "judging": range(7000, 7020)}
COMPILED = {
    "choosing": ["doubling D=1", "doubling D=3", "sequential D=4", "passing D=2"],
    "judging": ["doubling D=2", "doubling D=4", "sequential D=3", "passing D=3"],
}
SEQUENCES = 128
Row = dict[str, Any]
MOST_OF_A_KIND = 3
LESS = ("path dropped", "head without its paths", "needed head as mean")
"""Kinds of faults by which a circuit has fewer paths."""


@dataclass(frozen=True)
class Fault:
    """A circuit that differs from the right one.

    Attributes:
        kind: of the difference; `none` of the right one.
        what: it is.
        circuit: with it.
    """

    kind: str
    what: str
    circuit: Circuit


def names_of(purpose: str) -> list[str]:
    """The models for choosing or for judging."""
    return [*COMPILED[purpose], *(f"planted {seed}" for seed in PLANTED[purpose])]


def right_of(known: Known) -> Circuit:
    """The circuit that a model has; of each group of alternatives it has the first."""
    first = (group[0] for group in known.alternatives)
    return Circuit.of(sorted(known.required.union(*first)))


def faults(
    exchange: Exchange, right: Circuit, acceptable: frozenset[AttentionPath], draw: random.Random
) -> Iterator[Fault]:
    """The right circuit, and wrong ones of every kind.

    Args:
        exchange: the model.
        right: its circuit.
        acceptable: paths that another right circuit may have.
        draw: chooses among the faults of a kind.
    """
    yield Fault("none", "", right)
    kinds: Mapping[str, Callable[[], Iterator[Fault]]] = {
        "path dropped": lambda: _dropped(right),
        "head without its paths": lambda: _emptied(right),
        "needed head as mean": lambda: _by_place(right),
        "path added to its head": lambda: _added(exchange, right, right.useful_heads),
        "idle head with a path": lambda: _added(exchange, right, _idle(exchange, right)),
        "neighbouring relation": lambda: _neighbouring(exchange, right),
        "wrong head": lambda: _moved(exchange, right),
    }
    for made in kinds.values():
        wrong = [one for one in made() if not {*one.circuit.paths} <= acceptable]
        wrong += [one for one in made() if one.kind in LESS]
        draw.shuffle(wrong)
        yield from wrong[:MOST_OF_A_KIND]


def _dropped(right: Circuit) -> Iterator[Fault]:
    for path in right.paths:
        yield Fault("path dropped", str(path), right.without(path))


def _emptied(right: Circuit) -> Iterator[Fault]:
    for head in right.useful_heads:
        paths = [path for path in right.paths if path.at != head]
        if len(right.paths) - len(paths) > 1:
            yield Fault("head without its paths", str(head), Circuit.of(paths))


def _by_place(right: Circuit) -> Iterator[Fault]:
    for head in right.useful_heads:
        yield Fault("needed head as mean", str(head), right.replacing(head, Mean()))


def _added(exchange: Exchange, right: Circuit, heads: Sequence[Head]) -> Iterator[Fault]:
    for head in heads:
        for name in _relations(exchange, head):
            path = AttentionPath.of(*head, name)
            if path not in right.paths:
                kind = "path added to its head" if head in right.useful_heads else ""
                wrong = right.adding(path)
                yield Fault(kind or "idle head with a path", str(path), wrong)


def _neighbouring(exchange: Exchange, right: Circuit) -> Iterator[Fault]:
    for path in right.paths:
        ends = set(path.relation.ends or ())
        for name in _relations(exchange, path.at):
            other = AttentionPath.of(*path.at, name)
            shares_an_end = ends & set(other.relation.ends or ())
            if other not in right.paths and shares_an_end:
                wrong = right.without(path).adding(other)
                yield Fault("neighbouring relation", f"{path} → {other.relation}", wrong)


def _moved(exchange: Exchange, right: Circuit) -> Iterator[Fault]:
    for path in right.paths:
        for head in exchange.heads:
            moved = AttentionPath.of(*head, path.relation)
            if head != path.at and moved not in right.paths:
                wrong = right.without(path).adding(moved)
                yield Fault("wrong head", f"{path} → {moved}", wrong)


def _idle(exchange: Exchange, right: Circuit) -> list[Head]:
    return [head for head in exchange.heads if head not in right.useful_heads]


def _relations(exchange: Exchange, head: Head) -> list[str]:
    """The relations that a head may follow; those of the last layer must end at a query."""
    patterns = exchange.patterns
    names = patterns.used_as("path")
    is_last = head[0] == exchange.model.n_layers - 1
    return [name for name in names if name in patterns.read] if is_last else names


def rows_for(known: Known, name: str) -> Iterator[Row]:
    """The rows of one model."""
    generator = torch.Generator().manual_seed(77)
    exchange = Exchange.among(known.model, known.task, partners(known.task, SEQUENCES, generator))
    right = right_of(known)
    options = (option for group in known.alternatives for option in group)
    acceptable = known.required.union(*options)
    draw = random.Random(name)
    for fault in faults(exchange, right, acceptable, draw):
        judged = judge(exchange, fault.circuit)
        limits = {"half": LIMIT / 2, "whole": LIMIT, "twice": 2 * LIMIT}
        broken = {which: judged.broken(limit) for which, limit in limits.items()}
        yield {
            "model": name,
            "kind": fault.kind,
            "what": fault.what,
            "broken": broken,
            "passes": judged.passes,
        }


def told(rows: Sequence[Row]) -> str:
    """A table of what is accepted, by kind of fault and limit, with 95 % intervals."""
    lines = [
        "| fault | circuits | half the limit | limit | twice the limit |",
        "|---|---|---|---|---|",
    ]
    kinds = Counter(str(row["kind"]) for row in rows)
    for kind, count in kinds.items():
        cells = []
        for which in ("half", "whole", "twice"):
            accepted = sum(not row["broken"][which] for row in rows if row["kind"] == kind)
            low, high = wilson(accepted, count)
            cells.append(f"{accepted} ({low:.2f} to {high:.2f})")
        lines.append(f"| {kind} | {count} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--models", choices=("choosing", "judging"), default="choosing")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.read:
        rows = [json.loads(line) for line in asked.read.read_text().splitlines()]
        print(told(rows))
        return
    done = set[str]()
    if asked.out and asked.out.exists():
        done = {json.loads(line)["model"] for line in asked.out.read_text().splitlines()}
    for name in names_of(asked.models):
        if name in done:
            continue
        try:
            rows = [*rows_for(build_known(name, Path(gettempdir())), name)]
        except HeadwayError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        text = "".join(json.dumps(row) + "\n" for row in rows)
        if asked.out:
            with asked.out.open("a") as file:
                file.write(text)
        wrong = [row for row in rows if (row["kind"] == "none") == bool(row["broken"]["whole"])]
        print(
            name,
            len(rows),
            *((row["kind"], row["what"], row["broken"]["whole"]) for row in wrong),
            flush=True,
        )


if __name__ == "__main__":
    main()
