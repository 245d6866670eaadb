"""Command lines: arbitrary words behind a verb."""

import contextlib
import io
import os
import random

from fuzz.tried import Tried
from headway import cli
from headway.training import Run

WORDS = (
    *("fast", "nowhere", "depth=2", "depth=-1", "steps=x", "seed=0..3", "=", "a=b", "1e999", "--"),
    *("--folder", "--sort", "--where", "status=done", "--threshold", "nan", "--step", "3", "-1"),
    *("--sequences", "8", "99999999999999999999", "model.n_layers=10000000000", "é\udcff", ""),
)
VERBS = ("runs", "check", "theory", "report", "claims", "circuit", "emergence", "bogus")


def command_lines(tried: Tried, count: int, seed: int, run: Run) -> None:
    """Any words behind any verb are done, or refused in one line."""
    chance = random.Random(seed)
    here = os.getcwd()
    os.chdir(run.folder.parent)
    try:
        for _ in range(count):
            some = chance.choices([*WORDS, run.folder.name], k=chance.randint(0, 4))
            words = [chance.choice(VERBS), *some]
            said = io.StringIO()
            with tried.case("command lines", shown(words)), contextlib.redirect_stdout(said):
                with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
                    cli.main(words)
                assert "Traceback" not in said.getvalue()
    finally:
        os.chdir(here)


def shown(words: list[str]) -> str:
    """Words as the report tells of them."""
    return " ".join(map(ascii, words))
