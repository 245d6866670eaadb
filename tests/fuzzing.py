"""Damage, tried at random or case by case: `make fuzz` tries many.

A case fails if it ends in anything but success or one clear line, or takes more than ten seconds.
A run, a sweep or a page that was cut off also fails if it does not go on to the same end, or leaves
anything behind.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

from browser import browsing
from tiny_runs import tiny_config, trained

from fuzz.calls import failing_calls
from fuzz.commands import command_lines
from fuzz.crashes import crash_points
from fuzz.damage import damaged_files
from fuzz.markup import browsed, markup, with_every_file
from fuzz.power import power_cuts
from fuzz.runs import taken_apart, without_git
from fuzz.strangers import strangers
from fuzz.tried import Tried
from headway.tasks import Retrieval

AREAS = ("power", "calls", "crashes", "markup", "files", "commands", "strangers")


def in_a_browser(tried: Tried, folder: Path) -> None:
    """Markup in every leaf; nothing if there is no browser."""
    config = tiny_config(Retrieval(depth=1, n_chains=2))
    run = with_every_file(trained(folder / "run", config))
    with browsing() as browser:
        if browser is None:
            tried.note("markup: there is no browser")
        else:
            markup(tried, run, folder / "copies", browsed(browser))


def main() -> None:
    """Tries as many as asked for, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    counts = {"cuts": 1000, "files": 20_000, "commands": 5000, "strangers": 200}
    for name, default in {"seed": 0, **counts}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=AREAS)
    asked, tried = parser.parse_args(), Tried()
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place,
        without_git(),
    ):
        folder = Path(place)
        os.environ["XDG_DATA_HOME"] = str(folder / "data")  # no list of the user's own
        run = taken_apart(folder)
        areas = {
            "power": lambda: power_cuts(tried, asked.cuts, asked.seed, folder / "power"),
            "calls": lambda: failing_calls(tried, None, asked.seed, folder / "calls"),
            "crashes": lambda: crash_points(tried, 1, folder / "crashes", run),
            "markup": lambda: in_a_browser(tried, folder / "markup"),
            "files": lambda: damaged_files(tried, asked.files, asked.seed, run),
            "strangers": lambda: strangers(
                tried, asked.strangers, asked.seed, folder / "strangers", run
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
