"""Damage, tried at random or case by case: `make fuzz` tries many.

A case fails if it ends in a traceback, or takes more than ten seconds. A run, a sweep
or a page that was cut off also fails if it is refused, does not go on to the same end,
in every file, or leaves anything behind; a file, if it is sound and refused, or broken
and read; a tree with links, if anything outside of it is touched.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

from browser import browsing

from fuzz.calls import failing_calls
from fuzz.commands import command_lines
from fuzz.crashes import crash_points
from fuzz.damage import altered_files, damaged_files
from fuzz.links import linked_trees
from fuzz.markup import browsed, markup
from fuzz.power import power_cuts
from fuzz.runs import taken_apart
from fuzz.strangers import strangers
from fuzz.tried import Tried
from headway.training import Run

AREAS = (
    "power",
    "calls",
    "crashes",
    "markup",
    "altered",
    "damaged",
    "commands",
    "strangers",
    "links",
)
COUNTS = {
    **{"seed": 0, "cuts": 1000, "calls": None, "every": 1},
    **{
        "altered": 4000,
        "damaged": 20_000,
        "commands": 5000,
        "strangers": 200,
        "links": 500,
    },
}
"""Counts of what is tried: of calls all, unless told otherwise; of crash points one in
so many.
"""


def in_a_browser(tried: Tried, run: Run, folder: Path) -> None:
    """Markup in every leaf; nothing if there is no browser."""
    with browsing() as browser:
        if browser is None:
            tried.note("markup: there is no browser")
        else:
            markup(tried, run, folder, browsed(browser))


def main() -> None:
    """Try as many as asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in COUNTS.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=AREAS)
    asked = parser.parse_args()
    tried = Tried()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        folder = Path(place)
        os.environ["XDG_DATA_HOME"] = str(folder / "data")  # no list of the user's own
        run = taken_apart(folder)
        areas = {
            "power": lambda: power_cuts(
                tried, asked.cuts, asked.seed, folder / "power"
            ),
            "calls": lambda: failing_calls(
                tried, asked.calls, asked.seed, folder / "calls"
            ),
            "crashes": lambda: crash_points(
                tried, asked.every, folder / "crashes", run
            ),
            "markup": lambda: in_a_browser(tried, run, folder / "markup"),
            "altered": lambda: altered_files(tried, asked.altered, asked.seed, run),
            "damaged": lambda: damaged_files(tried, asked.damaged, asked.seed, run),
            "strangers": lambda: strangers(
                tried, asked.strangers, asked.seed, folder / "strangers", run
            ),
            "links": lambda: linked_trees(
                tried, asked.links, asked.seed, folder / "links", run
            ),
            "commands": lambda: command_lines(tried, asked.commands, asked.seed, run),
        }
        for name in asked.areas:
            start = time.monotonic()
            areas[name]()
            tried.note(f"{name}: {time.monotonic() - start:.0f} s")
            print(f"{name} tried, {len(tried.failed)} failed so far", flush=True)
    print(tried.table(), *tried.notes, sep="\n")
    for area, what in tried.failed:
        print(ascii(f"{area}: {what}"))
    raise SystemExit(bool(tried.failed))


if __name__ == "__main__":
    main()
