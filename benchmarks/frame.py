"""The frame of every benchmark: its options, work timed in turn, and a file of what was
found.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from headway.training import describe_environment

Work = Callable[[], object]
Clock = Callable[[], float]


def options(doc: str | None, **defaults: Any) -> argparse.Namespace:
    """The options of the command line, `--threads` and `--out` among them.

    Args:
        doc: of the script, whose first line the help shows.
        defaults: by option. A type stands for none of it; in a list, for at least one
            word without an option's name. A tuple takes several words, of several words
            only these; `False` takes none.
    """
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    for name, value in {"threads": 1, "out": Path, **defaults}.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, list):
            parser.add_argument(name, type=value[0], nargs="+")
        elif value is False:
            parser.add_argument(option, action="store_true")
        elif isinstance(value, type):
            parser.add_argument(option, type=value)
        elif isinstance(value, tuple):
            kind = type(value[0]) if value else str
            among = value if kind is str and len(value) > 1 else None
            parser.add_argument(
                option, type=kind, nargs="*", default=value, choices=among
            )
        else:
            parser.add_argument(option, type=type(value), default=value)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    return given


def seconds(work: Work, repeats: int = 1, clock: Clock = time.process_time) -> float:
    """Mean seconds of a call, with all that a GPU has been given done; by default of
    processor time, which does not depend on what else the machine does."""
    begun = clock()
    for _ in range(repeats):
        work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return (clock() - begun) / repeats


def in_turn(
    works: Mapping[str, Work],
    rounds: int,
    repeats: int = 1,
    clock: Clock = time.process_time,
    warm: int = 2,
) -> dict[str, list[float]]:
    """Seconds of every work, round by round, so that whatever else the machine does
    strikes all alike. Each is called `warm` times before, and the order changes from
    round to round."""
    for work in works.values():
        for _ in range(warm):
            work()
    took: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        for name in list(works)[:: -1 if number % 2 else 1]:
            took[name].append(seconds(works[name], repeats, clock))
    return took


def ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """The median of the ratios round by round."""
    return statistics.median(a / b for a, b in zip(one, other, strict=True))


def spread(values: Sequence[float]) -> str:
    """Median, mean ± standard deviation and count."""
    if not values:
        return "none"
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    mean, middle = statistics.mean(values), statistics.median(values)
    return f"median {middle:.4g}, mean {mean:.4g} ± {deviation:.2g} (n={len(values)})"


def write(given: argparse.Namespace, found: Any, name: str = "", **about: Any) -> None:
    """Writes what was found, with its environment, where `--out` says: a file, or a
    name in it.
    """
    if given.out:
        environment = (
            describe_environment(getattr(given, "device", "cpu"), given.threads) | about
        )
        data = {"environment": environment, "found": found}
        text = json.dumps(data, indent=1, ensure_ascii=False, default=str) + "\n"
        path = given.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
