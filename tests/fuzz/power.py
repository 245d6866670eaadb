"""Power cuts: what was flushed is kept, anything else by chance."""

import contextlib
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz.calls import Calls
from fuzz.crashes import Files, carried_on, put
from fuzz.runs import CONFIG, kept, require_same
from fuzz.tried import Tried
from headway.training import Run, train

CUTS_OF_A_PASS = 50
"""So many of the cuts at most are of one run, or of one that is resumed."""
CUTS_AT_THE_END = 5
"""More, when it has just been reported as done."""


class Disk:
    """The part of a folder that survives a power cut: what was flushed, and by chance
    more.

    A file's content and a folder's entries are flushed apart. An entry that was made,
    exchanged or removed since its folder was flushed is as it was then or as it is now,
    whatever it stands for.

    Args:
        folder: all that it holds now was flushed.
        chance: draws what is kept.
        every: the share of moments at which power is cut.
    """

    def __init__(self, folder: Path, chance: random.Random, every: float):
        self.folder = folder
        self.chance = chance
        self.every = every
        self.contents: dict[int, bytes] = {}
        self.entries: dict[int, dict[str, int]] = {}
        self.cuts: list[Files] = []
        self._held: list[int] = []
        for path in (folder, *folder.rglob("*")):
            self._flushed(path)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Take note of what is flushed, and cut the power in thought around every
        call.
        """
        with Calls(self.folder, self._at).watched():
            yield
        for file in self._held:
            os.close(file)

    def cut(self) -> Files:
        """The files that are there if power fails now, by chance."""
        found: Files = {}
        self._keep(self.folder.stat().st_ino, self.folder, "", found)
        return found

    def _at(self, name: str, moment: str, file: Any) -> None:
        if (name, moment) == ("fsync", "after"):
            self._flushed(Path(os.readlink(f"/proc/self/fd/{file}")))
        if self.chance.random() < self.every:
            self.cuts.append(self.cut())

    def _flushed(self, path: Path) -> None:
        """Take note of a file or folder as it is. Held open, its number goes to no
        other.
        """
        paths = [path, *path.iterdir()] if path.is_dir() else [path]
        self._held += [os.open(one, os.O_RDONLY) for one in paths]
        number, *inside = [one.stat().st_ino for one in paths]
        if path.is_dir():
            self.entries[number] = dict(
                zip((p.name for p in paths[1:]), inside, strict=True)
            )
        else:
            self.contents[number] = path.read_bytes()

    def _keep(self, number: int, path: Path | None, name: str, found: Files) -> None:
        """Keep a part of a file, or of a folder and all in it.

        Args:
            number: of its inode.
            path: where it is now; none if it was removed.
            name: where it is found.
            found: gets it.
        """
        if path is not None and not path.is_dir():
            found[name] = self._content(number, path.read_bytes())
        elif number in self.contents:
            found[name] = self.contents[number]
        elif path is not None or number in self.entries:
            if name:
                found[name] = None
            now = {p.name: p for p in path.iterdir()} if path is not None else {}
            flushed = self.entries.get(number, {})
            for one in sorted({*now, *flushed}):
                at = now.get(one)
                here = None if at is None else at.stat().st_ino
                inode = self.chance.choice([here, flushed.get(one)])
                if inode is not None:
                    where = at if inode == here else None
                    self._keep(inode, where, f"{name}/{one}".lstrip("/"), found)

    def _content(self, number: int, whole: bytes) -> bytes:
        """A file's flushed content, or what was written over it, or a part of what was
        added.
        """
        safe = self.contents.get(number, b"")
        if not whole.startswith(safe):
            return self.chance.choice([safe, whole])
        end = self.chance.randint(len(safe), len(whole))
        if (
            self.chance.random() < 0.2
        ):  # its length is on the disk, and its content is not
            return safe + bytes(end - len(safe))
        return whole[:end]


def power_cuts(tried: Tried, count: int, seed: int, folder: Path) -> None:
    """A recorded run whose power is cut, even again and again, goes on to the same end.

    Args:
        tried: takes note.
        count: cuts, drawn at random.
        seed: of the draw.
        folder: to work in.
    """
    chance = random.Random(seed)
    end = kept(train(CONFIG, folder / "whole"))
    cuts: list[tuple[Files, bool]] = []
    start: Files = {}
    while len(cuts) < count:
        put(folder / "watched", start)
        disk = Disk(folder / "watched", chance, 0.1)
        with disk.watching():
            carried_on(disk.folder)
            ended = [disk.cut() for _ in range(CUTS_AT_THE_END)]
        some = chance.sample(disk.cuts, min(len(disk.cuts), CUTS_OF_A_PASS))
        cuts += [
            *((files, True) for files in ended),
            *((files, False) for files in some),
        ]
        start = chance.choice([{}, *some])
    for number, (files, is_done) in enumerate(cuts[:count]):
        what = f"cut {number} of seed {seed}: {sorted(files)}"
        with tried.case("power cuts", what):
            put(folder / "cut", files)
            assert not is_done or Run.open(folder / "cut" / "run").status == "done"
            require_same(carried_on(folder / "cut"), end)
            left = [path.name for path in (folder / "cut").rglob("*draft*")]
            assert not left, left
    shutil.rmtree(folder / "cut")
