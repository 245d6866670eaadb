"""Damaged files: values exchanged, bytes changed, cut off or doubled."""

import contextlib
import json
import random
from typing import Any

from fuzz.tried import Tried
from headway.report import Findings, render
from headway.training import Run

VALUES = (
    *(None, True, -1, 0, 0.5, 10**30, 1e308, "", "x", "\x00", "\x1b[2J", "<b>", "../..", "9" * 50),
    *([], {}, [[]], {"a": 1}, "L0.H0 s0←s1", "uniform", 2**63, -(2**31), "é\u202e"),
)


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
    files = [
        p for p in sorted(run.folder.rglob("*")) if p.suffix in (".json", ".jsonl", ".safetensors")
    ]
    whole = {path: path.read_bytes() for path in files}
    for number in range(count):
        path = chance.choice(files)
        path.write_bytes(damaged(whole[path], chance))
        with tried.case("damaged files", f"case {number} of seed {seed}: {path.name}"):
            found = Findings.of(Run.open(run.folder))
            if number % 20 == 0:
                render(found)
        path.write_bytes(whole[path])
