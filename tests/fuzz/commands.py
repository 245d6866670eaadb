"""Command lines: arbitrary words behind every verb; long work ends where it would
begin.
"""

import contextlib
import functools
import io
import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from fuzz.tried import Tried
from headway.terminal import cli
from headway.training import Run
from headway.verbs import listing

WORDS = (
    "fast",
    "nowhere",
    "depth=2",
    "depth=-1",
    "steps=x",
    "seed=0..3",
    "=",
    "a=b",
    "1e999",
    "--",
    "status=done",
    "nan",
    "3",
    "-1",
    "0",
    "8",
    "99999999999999999999",
    "1..99999999999",
    ",",
    "model.n_layers=10000000000",
    "training.batch_size=1e9",
    "depth=1..3",
    "é\udcff",
    "",
    "\x00",
    "conditional",
    "hops",
    "training.curriculum=growing",
    "L0.H0 s0←s1",
    "uniform",
    "../..",
    ".",
    "table.csv",
    "page.html",
    "plan.json",
    "[" * 2000,
    "x" * 300,
    "none",
    "true",
    "all",
    "x.py",
)
BEGINNINGS = (
    "headway.training.loop.Trainer.fit",
    "headway.sweeps.engines.Engine.submit",
    "headway.sweeps.on_ray.RayEngine.__enter__",
    "headway_experiments.arena.contest.contest",
    "headway_experiments.language.local.located",
    "headway.report.server.Server.serve_forever",
)
"""Places where work begins that takes long, needs a network or does not end."""


def command_lines(tried: Tried, count: int, seed: int, run: Run) -> None:
    """Any words behind any verb are done, or refused in one line.

    A second run beside the given one makes its folder one of several.
    """
    chance = random.Random(seed)
    here = os.getcwd()
    codes = Counter[int]()
    os.chdir(run.folder.parent)
    try:
        with ended_at_the_beginning():
            for number in range(count):
                words = line(chance, run.folder.name)
                with tried.case("command lines", f"{number}: {shown(words)}"):
                    said, code = called(words)
                    codes[code] += 1
                    assert "Traceback" not in said, said
                    assert code in (0, 1, 2, 130), code
                    assert code != 2 or said.strip(), "no reason was given"
    finally:
        os.chdir(here)
    tried.note(
        f"command lines: {codes[0]:,} done, {codes[130]:,} begun, {codes[2]:,} refused,"
        f" {codes[1]:,} that found something wrong"
    )


def line(chance: random.Random, run: str) -> list[str]:
    """A verb, and words behind it of which some are the verb's own options."""
    verb = chance.choice([*listing.VERBS, *listing.added_verbs(), "bogus"])
    if chance.random() < 0.5:  # nearly what somebody would ask for
        target = [chance.choice([run, run, ".", "fast", "equations"])] * (
            chance.random() < 0.9
        )
        options = chance.sample(
            options_of(verb), min(len(options_of(verb)), chance.randint(0, 2))
        )
        given = (one for name in options for one in (name, chance.choice(WORDS)))
        return [verb, *target, *given]
    some = chance.choices([*WORDS, run, run, *options_of(verb)], k=chance.randint(0, 5))
    return [verb, *some]


@functools.cache
def options_of(verb: str) -> tuple[str, ...]:
    """The options that a verb's help lists."""
    return tuple(
        sorted(set(re.findall(r"--[a-z][a-z-]+", called([verb, "--help"])[0])))
    )


def called(words: list[str]) -> tuple[str, int]:
    """The output of a command line, and its exit code."""
    said = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            cli.main(words)
        except SystemExit as stop:
            code = (
                stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            )
    return said.getvalue(), code


@contextlib.contextmanager
def ended_at_the_beginning() -> Iterator[None]:
    """Within it, whoever begins long work is interrupted."""
    with contextlib.ExitStack() as patches:
        for place in BEGINNINGS:
            patches.enter_context(patch(place, _interrupt))
        patches.enter_context(patch("webbrowser.open", lambda address: True))
        yield


def _interrupt(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def shown(words: list[str]) -> str:
    """Words as the report tells of them."""
    return " ".join(map(ascii, words))
