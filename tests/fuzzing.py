"""Damage, tried at random: power cuts, files of a run, command lines. `make fuzz` tries many.

A case fails if it ends in anything but success or one clear line, or takes more than ten seconds;
a power cut also if the run does not go on to the same end.
"""

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headway import cli
from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.report import Findings, render
from headway.tasks import Retrieval
from headway.training import Run, RunConfig, TrainingConfig, resume, train

CONFIG = RunConfig(
    task=Retrieval(depth=1, n_chains=2),
    model=TransformerConfig(n_layers=1, d_model=8),
    training=TrainingConfig(
        steps=12, batch_size=4, train_examples=None, eval_every=2, eval_examples=4,
        checkpoint_every=3, save_every=4,
    ),
)  # fmt: skip
VALUES = (
    *(None, True, -1, 0, 0.5, 10**30, 1e308, "", "x", "\x00", "\x1b[2J", "<b>", "../..", "9" * 50),
    *([], {}, [[]], {"a": 1}, "L0.H0 s0←s1", "uniform", 2**63, -(2**31), "é\u202e"),
)
WORDS = (
    *("fast", "nowhere", "depth=2", "depth=-1", "steps=x", "seed=0..3", "=", "a=b", "1e999", "--"),
    *("--folder", "--sort", "--where", "status=done", "--threshold", "nan", "--step", "3", "-1"),
    *("--sequences", "8", "99999999999999999999", "model.n_layers=10000000000", "é\udcff", ""),
)
VERBS = ("runs", "check", "theory", "report", "claims", "circuit", "certify", "emergence", "bogus")
PATIENCE = 10


@dataclass
class Tried:
    """How many cases were tried in every area, and which failed."""

    counts: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, str]] = field(default_factory=list)

    @contextlib.contextmanager
    def case(self, area: str, what: str) -> Iterator[None]:
        """One case, which must not take long."""
        self.counts[area] += 1
        before = signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(PATIENCE)
        try:
            yield
        except HeadwayError as error:
            if "\n" in str(error):
                self.failed.append((area, f"{what}: {error!r}"))
        except Exception as error:
            self.failed.append((area, f"{what}: {type(error).__name__}: {error}"))
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    def table(self) -> str:
        """Tried and failed, by area."""
        wrong = Counter(area for area, _ in self.failed)
        rows = [f"| {area} | {n:,} | {wrong[area]} |" for area, n in self.counts.items()]
        return "\n".join(["| area | tried | failed |", "|---|---|---|", *rows])


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {PATIENCE} s")


class Disk:
    """What of a folder would be there after a power cut: what was flushed, and by chance more."""

    def __init__(self, folder: Path, chance: random.Random, every: float):
        self.folder, self.chance, self.every = folder, chance, every
        self.contents: dict[int, bytes] = {}
        self.entries: dict[str, dict[str, int]] = {}
        self.cuts: list[dict[str, bytes]] = []

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Takes note of what is flushed and renamed, and cuts the power in thought."""
        fsync, rename = os.fsync, os.replace

        def flushed(file: int) -> None:
            self.cut()
            fsync(file)
            path = Path(os.readlink(f"/proc/self/fd/{file}"))
            if path.is_dir():
                self.entries[str(path)] = {
                    p.name: p.stat().st_ino for p in path.iterdir() if p.is_file()
                }
            else:
                self.contents[os.fstat(file).st_ino] = path.read_bytes()
            self.cut()

        def renamed(*given: Any) -> None:
            rename(*given)
            self.cut()

        os.fsync, os.replace = flushed, renamed
        try:
            yield
        finally:
            os.fsync, os.replace = fsync, rename

    def cut(self) -> None:
        """What is there if power fails now, by chance."""
        if self.chance.random() > self.every or str(self.folder) not in self.entries:
            return
        found: dict[str, bytes] = {}
        for place in (self.folder, self.folder / "checkpoints"):
            now = {p.name: p for p in place.iterdir() if p.is_file()} if place.is_dir() else {}
            kept = self.entries.get(str(place), {})
            inodes = {p.stat().st_ino: p for p in now.values()}
            for name in {*now, *kept}:
                path = now.get(name)
                inode = path.stat().st_ino if path is not None else None
                if name in kept and kept[name] != inode and self.chance.random() < 0.5:
                    inode, path = kept[name], inodes.get(kept[name])
                elif name not in kept and self.chance.random() < 0.5:
                    continue
                if inode is None:
                    continue
                safe = self.contents.get(inode, b"")
                whole = path.read_bytes() if path is not None else safe
                if whole.startswith(safe):
                    safe = whole[: self.chance.randint(len(safe), len(whole))]
                found[str((place / name).relative_to(self.folder))] = safe
        self.cuts.append(found)


def power_cuts(tried: Tried, count: int, seed: int, folder: Path) -> None:
    """A recorded run whose power is cut goes on, to the same end."""
    chance = random.Random(seed)
    whole = train(CONFIG, folder / "whole")
    end = [line["val_loss"] for line in whole.metrics()]
    disk = Disk(folder / "watched", chance, 0.5)
    while len(disk.cuts) < count:
        shutil.rmtree(folder / "watched", ignore_errors=True)
        disk.contents.clear(), disk.entries.clear()
        run = Run.create(folder / "watched", CONFIG)
        disk.entries[str(run.folder)] = {
            p.name: p.stat().st_ino for p in run.folder.iterdir() if p.is_file()
        }
        for path in run.folder.glob("*.json"):
            disk.contents[path.stat().st_ino] = path.read_bytes()
        with disk.watching():
            resume(run.folder)
    for number, files in enumerate(disk.cuts[:count]):
        place = folder / f"cut-{number}"
        (place / "checkpoints").mkdir(parents=True)
        for name, content in files.items():
            (place / name).write_bytes(content)
        with tried.case("power cuts", f"cut {number} of seed {seed}: {sorted(files)}"):
            try:
                found = [line["val_loss"] for line in resume(place).metrics()]
            except HeadwayError as error:
                raise AssertionError(str(error)) from None
            assert found == end, f"{found} is not {end}"
            left = [path.name for path in place.rglob("*draft*")]
            assert not left, left
        shutil.rmtree(place)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """A file with a value exchanged, or with bytes changed, cut off or doubled."""
    if chance.random() < 0.7:
        with contextlib.suppress(ValueError):
            *lines, _ = (
                content.decode().split("\n") if b"\n{" in content else [content.decode(), ""]
            )
            at = chance.randrange(len(lines))
            lines[at] = json.dumps(altered(json.loads(lines[at]), chance))
            return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")
    at = chance.randrange(len(content) + 1)
    match chance.randrange(4):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + chance.randbytes(chance.randint(1, 8)) + content[at + 1 :]
        case 2:
            return content[:at] + content[at // 2 : at] + content[at:]
        case _:
            return content[:at] + b"[" * 10 ** chance.randint(1, 5) + content[at:]


def altered(data: Any, chance: random.Random) -> Any:
    """Data with one value exchanged, left out or given twice, somewhere in it."""
    if isinstance(data, dict) and data and chance.random() < 0.85:
        key = chance.choice(list(data))
        if chance.random() < 0.1:
            return {name: value for name, value in data.items() if name != key}
        return {**data, key: altered(data[key], chance)}
    if isinstance(data, list) and data and chance.random() < 0.85:
        at = chance.randrange(len(data))
        if chance.random() < 0.2:
            return data[:at] + data[at + 1 :] if chance.random() < 0.5 else [*data, data[at]]
        return [*data[:at], altered(data[at], chance), *data[at + 1 :]]
    return chance.choice(VALUES)


def damaged_files(tried: Tried, count: int, seed: int, run: Run) -> None:
    """A run with one file damaged is shown, or refused in one line."""
    chance = random.Random(seed)
    files = [p for p in run.folder.rglob("*") if p.suffix in (".json", ".jsonl", ".safetensors")]
    whole = {path: path.read_bytes() for path in files}
    for number in range(count):
        path = chance.choice(files)
        path.write_bytes(damaged(whole[path], chance))
        with tried.case("damaged files", f"case {number} of seed {seed}: {path.name}"):
            found = Findings.of(Run.open(run.folder))
            if number % 20 == 0:
                render(found)
        path.write_bytes(whole[path])


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


def main() -> None:
    """Tries as many as asked for, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("seed", 0), ("cuts", 1000), ("files", 20_000), ("commands", 5000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked, tried = parser.parse_args(), Tried()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        power_cuts(tried, asked.cuts, asked.seed, folder)
        damaged_files(tried, asked.files, asked.seed, taken_apart(folder))
        command_lines(tried, asked.commands, asked.seed, Run.open(folder / "runs" / "run"))
    print(tried.table())
    for area, what in tried.failed:
        print(f"{area}: {what}")
    raise SystemExit(bool(tried.failed))


def taken_apart(folder: Path) -> Run:
    """A run with a circuit and its dates."""
    from headway.circuits import certify, discover, emergence

    config = replace(CONFIG, training=replace(CONFIG.training, steps=4))
    run = train(config, folder / "runs" / "run")
    emergence(run, discover(run, threshold=10.0, sequences=8, trials=False), sequences=8)
    certify(run, agreement=0.5)
    return run


if __name__ == "__main__":
    main()
