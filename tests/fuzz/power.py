"""Power cuts: what was flushed is kept, anything else by chance."""

import contextlib
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz.runs import CONFIG
from fuzz.tried import Tried
from headway.errors import HeadwayError
from headway.training import Run, resume, train


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
        disk.contents.clear()
        disk.entries.clear()
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
