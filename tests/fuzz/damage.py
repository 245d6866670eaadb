"""Files of a run, altered: what says the same must be read, what says nothing must be
refused.
"""

import contextlib
import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzz.tried import Tried, is_one_line
from headway.dynamics.whole import faults_of
from headway.errors import HeadwayError
from headway.report import Findings
from headway.report.run import run_page
from headway.training import Run

VALUES = (
    None,
    True,
    -1,
    0,
    0.5,
    10**30,
    1e308,
    "",
    "x",
    "\x00",
    "\x1b[2J",
    "<b>",
    "../..",
    "9" * 50,
    [],
    {},
    [[]],
    {"a": 1},
    "L0.H0 s0←s1",
    "uniform",
    2**63,
    -(2**31),
    "é\u202e",
)
NO_JSON = (
    "NaN",
    "Infinity",
    "1e999",
    "-1e999",
    "[" * 250 + "]" * 250,
    "9" * 5000,
    "01",
    "'x'",
)
"""Texts that strict JSON does not allow in the place of a value."""
SUFFIXES = (".json", ".jsonl", ".safetensors")
MOST = 2**28
"""The most bytes of a JSON file."""
PASSED_OVER = {
    "circuit.json": {"loss", "useful_heads", "useful_layers"},
    "environment.json": {"torch", "platform", "device", "cores", "started"},
    "metrics.jsonl": {"rate_scale", "examples_per_second"},
}
"""Fields that are written for people, or follow from others; `unknown` in other files,
too.
"""
FREE = {
    "metrics.jsonl": {"train_loss", "seconds"},
    "outcome.json": {"seconds", "test_loss"},
}
"""Numbers that need not agree with others."""
OPTIONAL = {
    **PASSED_OVER,
    "outcome.json": {"message", "given_up", "test_loss"},
}
"""Fields that may be missing."""

Way = tuple[str | int | None, ...]
"""The keys that lead to a value."""
Alteration = Callable[[Path, random.Random], bool]
"""Alters a file of a run, if it holds what can be altered so."""


def read(path: Path) -> Any:
    """The data of a JSON file; of lines, a list."""
    text = path.read_text()
    if path.suffix == ".jsonl":
        return [*map(json.loads, text.splitlines())]
    return json.loads(text)


def write(path: Path, data: Any, spelt: Callable[[Any], str] = json.dumps) -> bool:
    """Write data to a JSON file, of which a value may be raw JSON; always succeeds."""
    lines = data if path.suffix == ".jsonl" else [data]
    text = "".join(f"{spelt(line)}\n" for line in lines)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return True


def ways_in(data: Any, way: Way = ()) -> Iterator[Way]:
    """The ways to all values in data."""
    yield way
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from ways_in(value, (*way, key))


def field_of(way: Way) -> str | None:
    """The field of a record in which a value lies; none if it holds records itself."""
    return next((key for key in way if isinstance(key, str)), None)


def exchanged(data: Any, way: Way, other: Callable[[Any], Any]) -> Any:
    """The data with another value at the end of a way; `...` leaves it out."""
    if not way:
        return other(data)
    copy = data.copy()
    (key, *rest) = way
    copy[key] = exchanged(data[key], tuple(rest), other)
    if copy[key] is ...:
        del copy[key]
    return copy


def drawn(
    path: Path,
    chance: random.Random,
    fits: Callable[[Way], bool],
    other: Callable[[Any], Any],
) -> bool:
    """Exchange the value at the end of one of the ways that fit, if there is any."""
    data = read(path)
    into_fields = [way for way in ways_in(data) if field_of(way) is not None]
    ways = [way for way in into_fields if fits(way)]
    if not ways:
        return False
    way = chance.choice(ways)
    return write(path, exchanged(data, way, other))


def left_out(_: Any) -> Any:
    """A value that is none, left out."""
    return ...


def is_whole_field(way: Way) -> bool:
    """Tell whether a way leads to a field of a record, and not into it."""
    *before, last = way
    return isinstance(last, str) and field_of(tuple(before)) is None


# What says the same as before.


def respelt(path: Path, chance: random.Random) -> bool:
    """Fields in another order, other white space, numbers and letters written
    otherwise.
    """
    within_a_line = ("", " ", "\t  ")
    over_lines = ("", " ", "\n\t", "\r\n")
    gaps = within_a_line if path.suffix == ".jsonl" else over_lines

    def spelt(value: Any) -> str:
        gap = chance.choice(gaps)
        letters = chance.random() < 0.5
        if isinstance(value, dict):
            items = []
            for key, entry in chance.sample([*value.items()], len(value)):
                name = json.dumps(key, ensure_ascii=letters)
                items.append(f"{gap}{name}{gap}:{spelt(entry)}{gap}")
            return f"{{{','.join(items)}{gap}}}"
        if isinstance(value, list):
            entries = f"{gap},".join(map(spelt, value))
            return f"[{gap}{entries}{gap}]"
        if isinstance(value, float):
            spellings = [repr(value), f"{value:.16e}", f"{value:.18E}"]
            return chance.choice(spellings)
        return json.dumps(value, ensure_ascii=letters)

    return write(path, read(path), spelt)


def with_a_line_that_was_torn(path: Path, chance: random.Random) -> bool:
    """Evaluations, and behind them a part of another one."""
    line = path.read_bytes().split(b"\n")[0]
    zeros = bytes(len(line))
    begun = chance.choice([line, zeros])
    with path.open("ab") as file:
        file.write(begun[: chance.randint(1, len(line))])
    return True


def with_an_unknown_field(path: Path, chance: random.Random) -> bool:
    """A field more, in a file that may have it: all but the config."""
    if path.name == "config.json":
        return False
    data = read(path)
    record = data if isinstance(data, dict) else chance.choice(data)
    record["unknown"] = chance.choice(VALUES[:-1])
    return write(path, data)


def otherwise_where_nobody_looks(path: Path, chance: random.Random) -> bool:
    """A field that is passed over with another value."""
    passed = PASSED_OVER.get(path.name, set())
    value = chance.choice(VALUES[:-1])
    return drawn(path, chance, lambda way: field_of(way) in passed, lambda _: value)


def without_what_may_be_missing(path: Path, chance: random.Random) -> bool:
    """A field left out that may be."""
    may = OPTIONAL.get(path.name, set())
    return drawn(
        path, chance, lambda way: is_whole_field(way) and way[-1] in may, left_out
    )


def with_another_number(path: Path, chance: random.Random) -> bool:
    """A number that may be what it now is."""
    may = FREE.get(path.name, set())
    value = chance.choice([0.0, 0.1, 3.5, 1e30])
    return drawn(
        path,
        chance,
        lambda way: is_whole_field(way) and way[-1] in may,
        lambda _: value,
    )


def with_another_header(path: Path, chance: random.Random) -> bool:
    """Tensors whose header has another order, more white space, or no checksum."""
    header, rest = parts(path)
    items = chance.sample([*header.items()], len(header))
    told = header["__metadata__"]
    if chance.random() < 0.3:
        about = json.loads(told["about"])
        about.pop("checksum", None)
        told["about"] = json.dumps(about)
    text = json.dumps({**dict(items), "__metadata__": told}).encode()
    to_a_full_word = -len(text) % 8
    text += b" " * (to_a_full_word + 8 * chance.randrange(3))
    length = len(text).to_bytes(8, "little")
    path.write_bytes(length + text + rest)
    return True


def parts(path: Path) -> tuple[dict[str, Any], bytes]:
    """The header of a safetensors file, and its tensors."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:start]), content[start:]


# What breaks a file.


def cut_off(path: Path, chance: random.Random) -> bool:
    """A file's beginning."""
    content = path.read_bytes()
    if path.suffix == ".json":
        content = content.rstrip()
    path.write_bytes(content[: chance.randrange(len(content))])
    return True


def with_a_changed_byte(path: Path, chance: random.Random) -> bool:
    """A byte of a tensor exchanged; or one of JSON for what is no text."""
    content = bytearray(path.read_bytes())
    if path.suffix == ".safetensors":
        _, tensors = parts(path)
        at = len(content) - chance.randint(1, len(tensors))
        content[at] ^= chance.randint(1, 255)
    else:
        content[chance.randrange(len(content) - 1)] = 0xFF
    path.write_bytes(content)
    return True


def with_what_is_no_json(path: Path, chance: random.Random) -> bool:
    """A value that JSON does not allow, or not so deep, so long or so large."""
    mark = "HERE"
    if not drawn(path, chance, lambda way: True, lambda _: mark):
        return False
    marked = path.read_text()
    path.write_text(marked.replace(f'"{mark}"', chance.choice(NO_JSON)))
    return True


def of_another_kind(path: Path, chance: random.Random) -> bool:
    """A value that its field does not allow."""
    passed = PASSED_OVER.get(path.name, set())
    if path.name == "environment.json":  # any of it
        return False
    return drawn(path, chance, lambda way: field_of(way) not in passed, wrong)


def wrong(value: Any) -> Any:
    """A value that a field with another one cannot hold."""
    if isinstance(value, bool | None | list | dict):
        return {"nobody": ["wrote this"]}
    return 7 if isinstance(value, str) else str(value)


def without_what_is_needed(path: Path, chance: random.Random) -> bool:
    """A field left out that must be there."""
    may = OPTIONAL.get(path.name, set())
    if path.name == "environment.json":  # none of it
        return False
    return drawn(
        path, chance, lambda way: is_whole_field(way) and way[-1] not in may, left_out
    )


def with_an_unknown_setting(path: Path, chance: random.Random) -> bool:
    """A config with a field that nothing has."""
    data = read(path)
    parts_of_it = [value for value in data.values() if isinstance(value, dict)]
    holder = chance.choice([data, *parts_of_it])
    holder["unknown"] = 0
    return write(path, data)


def of_other_evaluations(path: Path, chance: random.Random) -> bool:
    """Evaluations of which one is missing, there twice or in another place, or is
    another one.
    """
    lines = path.read_bytes().splitlines(keepends=True)
    at = chance.randrange(len(lines))
    before, line, behind = lines[:at], lines[at], lines[at + 1 :]
    others = [before + behind, [*before, line, line, *behind]]
    if behind:
        others.append([*before, behind[0], line, *behind[1:]])
    path.write_bytes(b"".join(chance.choice(others)))
    return True


def of_another_end(path: Path, chance: random.Random) -> bool:
    """An outcome that tells of another last evaluation."""
    outcome = read(path)
    outcome["step"] = chance.randrange(10**6, 10**9)
    return write(path, outcome)


def of_no_kind(path: Path, chance: random.Random) -> bool:
    """A pipe, a folder or a device in the place of a file; or one that is too large."""
    if path.suffix != ".safetensors" and chance.random() < 0.5:
        with path.open("ab") as file:
            file.truncate(MOST + 1)
        return True
    path.unlink()
    match chance.randrange(3):
        case 0:
            os.mkfifo(path)
        case 1:
            path.mkdir()
        case _:
            path.symlink_to("/dev/zero")
    return True


SOUND: dict[Alteration, str] = {
    with_a_line_that_was_torn: "*.jsonl",
    with_another_header: "*.safetensors",
    **dict.fromkeys(
        (respelt, with_an_unknown_field, otherwise_where_nobody_looks), "*.json*"
    ),
    **dict.fromkeys((without_what_may_be_missing, with_another_number), "*.json*"),
}
"""Alterations, and the files that they may be of."""
SAME = (respelt, with_a_line_that_was_torn, with_another_header)
"""Of these, those after which the same is read."""
BROKEN: dict[Alteration, str] = {
    **dict.fromkeys((cut_off, with_a_changed_byte, of_no_kind), "*"),
    **dict.fromkeys(
        (with_what_is_no_json, of_another_kind, without_what_is_needed), "*.json*"
    ),
    with_an_unknown_setting: "config.json",
    of_other_evaluations: "*.jsonl",
    of_another_end: "outcome.json",
}


# What may be either.


def damaged(path: Path, chance: random.Random) -> bool:
    """A value exchanged, left out or given twice; or bytes changed, cut off or
    doubled.
    """
    content = path.read_bytes()
    path.write_bytes(_damaged(content, chance))
    return True


def _damaged(content: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.7:
        with contextlib.suppress(ValueError):
            text = content.decode()
            has_lines = b"\n{" in content
            lines = text.split("\n")[:-1] if has_lines else [text]
            at = chance.randrange(len(lines))
            data = json.loads(lines[at])
            lines[at] = json.dumps(altered(data, chance))
            return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")
    at = chance.randrange(len(content) + 1)
    before, behind = content[:at], content[at:]
    match chance.randrange(4):
        case 0:
            return before
        case 1:
            noise = chance.randbytes(chance.randint(1, 8))
            return before + noise + behind[1:]
        case 2:
            return before + content[at // 2 : at] + behind
        case _:
            brackets = b"[" * 10 ** chance.randint(1, 5)
            return before + brackets + behind


def altered(data: Any, chance: random.Random) -> Any:
    """Data with one value exchanged, left out or, in a list, given twice, somewhere in
    it.
    """

    def other(value: Any) -> Any:
        first_twice = [*value, *value[:1]] if isinstance(value, list) else None
        return chance.choice([*VALUES, ..., first_twice])

    _, *ways = ways_in(data)
    return exchanged(data, chance.choice(ways), other)


def fault_of(folder: Path) -> str | None:
    """The line in which a run is refused; None if it is read as it should be."""
    try:
        fault = next(iter(faults_of(folder)), None)
        if fault is None:
            Findings.of(Run.open(folder))
    except HeadwayError as error:
        fault = str(error)
    assert fault is None or is_one_line(fault), repr(fault)
    return fault


@contextlib.contextmanager
def altering(run: Run, chance: random.Random) -> Iterator[Callable[[Alteration], Path]]:
    """Alter one file of a run after the other, drawn among those that can be altered
    so.
    """
    every = [*run.folder.glob("*"), *run.folder.glob("checkpoints/*")]
    paths = sorted(path for path in every if path.suffix in SUFFIXES)
    whole = {path: path.read_bytes() for path in paths}

    def alter(alteration: Alteration) -> Path:
        for path, content in whole.items():
            if path.is_dir():
                path.rmdir()
            path.unlink(missing_ok=True)
            path.write_bytes(content)
        allowed = {**SOUND, **BROKEN}.get(alteration, "*")
        fit = [path for path in paths if path.match(allowed)]
        while not alteration(path := chance.choice(fit), chance):
            pass
        return path

    yield alter
    alter(lambda path, chance: True)


def altered_files(tried: Tried, count: int, seed: int, run: Run) -> None:
    """A run with one file altered is read as before if that is sound, and refused if it
    is broken.

    Args:
        tried: takes note.
        count: alterations, drawn at random.
        seed: of the draw.
        run: with every file; as it was, afterwards.
    """
    chance = random.Random(seed)
    before = Findings.of(run)
    with altering(run, chance) as alter:
        for number in range(count):
            how = chance.choice([*(SOUND if number % 2 else BROKEN)])
            file = alter(how).name
            what = f"case {number} of seed {seed}: {file} {how.__name__}"
            if how in BROKEN:
                with tried.case("broken files", what):
                    assert fault_of(run.folder) is not None, "it was read"
                continue
            with tried.case("sound files", what):
                fault = fault_of(run.folder)
                assert fault is None, f"it was refused: {fault}"
                found = Findings.of(Run.open(run.folder))
                same = replace(found, sessions=before.sessions) == before
                assert same or how not in SAME, "it was read otherwise"


def damaged_files(tried: Tried, count: int, seed: int, run: Run) -> None:
    """A run with one file damaged is shown, or refused in one line; as
    `altered_files`.
    """
    chance = random.Random(seed)
    with altering(run, chance) as alter:
        for number in range(count):
            file = alter(damaged).name
            what = f"case {number} of seed {seed}: {file}"
            with tried.case("damaged files", what, may_refuse=True):
                found = Findings.of(Run.open(run.folder))
                if number % 20 == 0:
                    run_page(found)
