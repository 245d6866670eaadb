"""Pairs of prompts from files: JSON lines, CSV, or templates in TOML.

JSON lines   an object a line, with the fields of `Pair`
CSV          the same fields as columns; answers with `|` between are several
TOML         clean, corrupted, right, wrong, maybe roles; or several such tables
             `[[template]]`; lists of words in `[lists]`; count and seed
"""

import csv
import io
import tomllib
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, require
from headway.reading import parsed, read_bytes
from headway.tasks.prompts.pair import FIELDS, NEEDED, Pair, require_fields
from headway.tasks.prompts.templates import filled

KINDS = (".jsonl", ".csv", ".toml")

BEYOND = "a cell beyond the columns"

OF_TEMPLATES = (*FIELDS, "template", "lists", "count", "seed")
"""The keys that a file of templates may have."""


def pairs_in(
    path: str | Path, count: int | None = None, seed: int | None = None
) -> list[Pair]:
    """The pairs that a file holds, or that its templates are filled to.

    Args:
        path: of a file `.jsonl`, `.csv` or `.toml`.
        count: of pairs; by default all, or as many as the file of templates says.
        seed: of the draws from templates; by default as that says.

    Raises:
        HeadwayError: if there is no such file, or something in it is wrong: where and
            what.
    """
    path = Path(path)
    kind = path.suffix.lower()
    known = ", ".join(KINDS)
    require(kind in KINDS, "file", str(path), f"a file {known}")
    text = _text_of(path)
    if kind == ".toml":
        return _of_templates(path, text, count, seed)
    require(seed is None, "seed", seed, f"left out: {path.name} has no templates")
    pairs = _of_lines(path, text) if kind == ".jsonl" else _of_rows(path, text)
    require(bool(pairs), str(path), "", "a file with at least one pair")
    if count is None:
        return pairs
    allowed = f"from 1 to {len(pairs)}, as {path.name} has no more pairs"
    require(1 <= count <= len(pairs), "count", count, allowed)
    return pairs[:count]


def _text_of(path: Path) -> str:
    """The text of a file."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HeadwayError(f"{path} is not UTF-8: byte {error.start}") from None


def _of_lines(path: Path, text: str) -> list[Pair]:
    """The pairs of a file of JSON lines; empty lines count as none."""
    pairs = list[Pair]()
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            where = f"{path}, line {number}"
            pairs.append(Pair.read(parsed(line.encode(), where), where))
    return pairs


def _of_rows(path: Path, text: str) -> list[Pair]:
    """The pairs of a file of CSV, whose first line names the columns."""
    lines = io.StringIO(text)
    reader = csv.DictReader(lines, restkey=BEYOND, restval="", strict=True)
    pairs = list[Pair]()
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        require_fields(dict.fromkeys(names), f"{path}, line 1", NEEDED, NEEDED)
        is_once = len({*names}) == len(names)
        require(is_once, f"{path}, line 1: columns", names, "there once each")
        reader.fieldnames = names
        for fields in reader:
            answers = {name: fields[name].split("|") for name in ("right", "wrong")}
            where = f"{path}, line {reader.line_num}"
            pairs.append(Pair.read({**fields, **answers}, where))
    except csv.Error as error:
        line = reader.reader.line_num
        raise HeadwayError(f"{path}, line {line}: {error}") from None
    return pairs


def _of_templates(
    path: Path, text: str, count: int | None, seed: int | None
) -> list[Pair]:
    """The pairs that templates in TOML are filled to."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HeadwayError(f"{path} is no TOML: {error}") from None
    require_fields(data, str(path), OF_TEMPLATES)
    alone = {name: data[name] for name in FIELDS if name in data}
    templates = data.get("template", alone)
    is_one_way = not (alone and "template" in data)
    require(is_one_way, f"{path}: template", [*alone], "the only place of templates")
    lists = data.get("lists", {})
    allowed = "a table of lists of words"
    require(isinstance(lists, dict), f"{path}: lists", lists, allowed)
    wanted: Any = data.get("count", 64)
    drawn_by: Any = data.get("seed", 0)
    if count is not None:
        wanted = count
    if seed is not None:
        drawn_by = seed
    return filled(templates, lists, wanted, drawn_by, str(path))
