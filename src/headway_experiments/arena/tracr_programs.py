"""The programs in RASP: those that Tracr ships, its library with other arguments, and ours."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import pstdev
from typing import Any, Literal

from headway.errors import HeadwayError, require
from headway_experiments.arena.tracr_model import Compiled, compile_program, tracr

Origin = Literal["shipped", "library", "ours"]


@dataclass(frozen=True)
class Program:
    """A program and the sequences that it is tried on.

    Attributes:
        origin: `shipped` with Tracr as a test case; Tracr's `library` with other arguments, or on
            other tokens; or `ours`, written here in RASP.
        name: of it.
        program: in RASP.
        tokens: that sequences are made of.
        length: positions at most, without BOS.
        style: how sequences are drawn (`DRAWN`).
    """

    origin: Origin
    name: str
    program: Any
    tokens: Sequence[Any]
    length: int
    style: str = "any"


SHIPPED = {
    "reverse_1": "any",
    "detect_pattern_abc": "any",
    "pair_balance_1": "any",
    "shuffle_dyck2_1": "balanced",
    "shuffle_dyck3_1": "balanced",
    "sort_unique_1": "unique",
    "sort_unique_2": "any",
    "sort_1": "any",
    "sort_2": "any",
    "sort_freq": "any",
    "make_count_less_freq_categorical_1": "any",
    "make_count_less_freq_numerical_1": "any",
}
"""Test cases of Tracr, and how sequences are drawn: all different programs of two or more heads."""


@cache
def programs() -> dict[str, Program]:
    """All programs by name.

    Raises:
        HeadwayError: if Tracr is not installed.
    """
    found = [*_shipped(), *_library(), *_ours()]
    return {one.name: one for one in found}


@cache
def compiled_program(name: str) -> Compiled:
    """A program compiled, once in a process.

    Raises:
        HeadwayError: if there is no such program, or Tracr refuses it.
    """
    known = programs()
    require(name in known, "program", name, f"one of {', '.join(known)}")
    one = known[name]
    found = compile_program(one.program, one.tokens, one.length)
    rng = random.Random(0)
    said = [one.program(DRAWN[one.style](rng, one.tokens, one.length)) for _ in range(256)]
    different = {answer for answers in said for answer in answers}
    if len(different) < 2:
        raise HeadwayError(f"program {name}: its output is constant, so it has no circuit")
    if found.values is None:
        found.module.scale = 1 / pstdev([answer for answers in said for answer in answers])
    return found


def _shipped() -> list[Program]:
    cases = {case["testcase_name"]: case for case in tracr("compiler.test_cases").TEST_CASES}
    found: list[Program] = []
    for name, style in SHIPPED.items():
        case = cases[name]
        tokens = sorted(case["vocab"])
        found.append(Program("shipped", name, case["program"], tokens, case["max_seq_len"], style))
    return found


def _library() -> list[Program]:
    lib, rasp = tracr("compiler.lib"), tracr("rasp.rasp")
    tokens, four = rasp.tokens, "abcd"
    of = partial(Program, "library")
    return [
        of("reverse_8", lib.make_reverse(tokens), "abc", 8),
        of("reverse_shifted", lib.make_reverse(lib.shift_by(1, tokens)), four, 6),
        of("detect_aba", lib.detect_pattern(tokens, "aba"), "ab", 7),
        of("detect_abcd", lib.detect_pattern(tokens, "abcd"), four, 8, "patterns"),
        of("detect_aabb", lib.detect_pattern(tokens, "aabb"), "ab", 8),
        of("dyck_1", lib.make_shuffle_dyck(["()"]), "()", 8, "balanced"),
        of("pair_balance_6", lib.make_pair_balance(tokens, "[", "]"), "[]x", 6),
        of("sort_7", lib.make_sort(tokens, tokens, max_seq_len=7, min_key=1), (1, 2, 3), 7),
        of("sort_unique_6", lib.make_sort_unique(tokens, tokens), range(1, 8), 6, "unique"),
        of("sort_freq_6", lib.make_sort_freq(6), "ab", 6),
        of("count_less_freq_1", lib.make_count_less_freq(1), four, 6),
        of("count_less_freq_3", lib.make_count_less_freq(3), "ab", 7),
    ]


def _ours() -> list[Program]:
    lib, rasp = tracr("compiler.lib"), tracr("rasp.rasp")
    tokens, indices, four = rasp.tokens, rasp.indices, "abcd"
    select, width, both = rasp.Select, rasp.SelectorWidth, rasp.SequenceMap
    equal, shift = rasp.Comparison.EQ, lib.shift_by
    hist, length = lib.make_hist(), lib.make_length()

    def at(place: Any, what: Any) -> Any:
        """The token at a place that every position may compute for itself."""
        return rasp.Aggregate(select(indices, place, equal), what)

    def share(holds: Any, earlier: bool = False) -> Any:
        """The share of positions, or of those up to here, at which something holds."""
        which = rasp.Comparison.LEQ if earlier else rasp.Comparison.TRUE
        truth = rasp.numerical(rasp.Map(lambda x: 1 if x else 0, holds))
        return rasp.numerical(rasp.Aggregate(select(indices, indices, which), truth, default=0))

    def same(one: Any, other: Any) -> Any:
        return both(lambda x, y: x == y, one, other)

    first = rasp.Aggregate(select(indices, indices, lambda k, q: k == 0), tokens)
    before = rasp.Aggregate(select(indices, indices, lambda k, q: k == max(q - 1, 0)), tokens)
    last = at(length - 1, tokens)
    one_step, two_steps = at(tokens, tokens), at(at(tokens, tokens), tokens)
    doubled = at(one_step, one_step)
    placed = both(lambda token, i: (token, i), tokens, indices)
    earlier = width(select(placed, placed, lambda k, q: k[0] == q[0] and k[1] < q[1]))
    # a predicate of its own, as `Comparison` refuses the None before the first token
    copies = rasp.Aggregate(select(shift(1, tokens), tokens, lambda k, q: k == q), tokens)
    middle = rasp.Map(lambda n: (n - 1) // 2, length)
    half = both(lambda i, n: (i + n // 2) % n if n else 0, indices, length)
    following = both(lambda i, n: (i + 1) % n if n else 0, indices, length)
    reverse = lib.make_reverse(tokens)
    pair = both(lambda x, y: f"{x}{y}", before, tokens)
    counts = [lib.make_count(tokens, token) for token in "ab"]
    of = partial(Program, "ours")
    return [
        of("shift_twice", shift(1, shift(1, tokens)), four, 6),
        of("shift_three_times", shift(1, shift(1, shift(1, tokens))), four, 7),
        of("there_and_back", shift(-1, shift(2, tokens)), four, 6),
        of("pointer_2", two_steps, range(6), 6, "whole"),
        of("pointer_3", at(two_steps, tokens), range(6), 6, "whole"),
        of("pointer_4_doubling", at(doubled, doubled), range(6), 6, "whole"),
        of("induction", copies, range(6), 8, "repeated"),
        of("rotate", at(following, tokens), four, 6),
        of("swap_halves", at(half, tokens), four, 6),
        of("middle", at(middle, tokens), four, 7),
        of("ends_meet", same(first, last), "ab", 6),
        of("mirrored", same(reverse, tokens), "ab", 6),
        of("palindrome", share(same(reverse, tokens)), "ab", 6),
        of("bigram_count", width(select(pair, pair, equal)), "ab", 6),
        of("same_count", width(select(hist, hist, equal)), four, 6),
        of("token_at_count", at(hist - 1, tokens), four, 6),
        of("more_a_than_b", both(lambda x, y: x > y, *counts), "abc", 6),
        of("distinct", width(select(earlier, earlier, lambda k, q: k == 0)), "abc", 6),
        of("share_like_first", share(same(tokens, first), earlier=True), "abc", 6),
        of("share_repeating", share(same(tokens, before)), "abc", 6),
        of("most_frequent", at(rasp.Map(lambda x: 0, indices), lib.make_sort_freq(5)), "abc", 5),
    ]


def any_tokens(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Independent tokens; lengths from half of the most on."""
    return rng.choices(tokens, k=rng.randint(max(2, length // 2), length))


def whole(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Independent tokens, always as many as there may be."""
    return rng.choices(tokens, k=length)


def unique(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """No token twice."""
    most = min(length, len(tokens))
    return rng.sample(tokens, k=rng.randint(max(2, most // 2), most))


def repeated(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Some tokens, no two alike, over and over."""
    once = rng.sample(tokens, k=rng.randint(2, length - 2))
    return (once * length)[: rng.randint(len(once) + 1, length)]


def balanced(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Brackets: independent ones, or half of the time pairs that close in any order."""
    if rng.random() < 0.5:
        return any_tokens(rng, tokens, length)
    closing = {"(": ")", "[": "]", "{": "}"}
    brackets = [(one, other) for one, other in closing.items() if one in tokens]
    pairs = rng.choices(brackets, k=length // 2)
    said: list[Any] = []
    waiting: list[Any] = []
    for one, other in pairs[: rng.randint(1, len(pairs))]:
        said.append(one)
        waiting.append(other)
        while waiting and rng.random() < 0.5:
            said.append(waiting.pop(rng.randrange(len(waiting))))
    return said + waiting


def patterns(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Independent tokens with all tokens in order somewhere, but for one in four of them."""
    said = whole(rng, tokens, length)
    start = rng.randint(0, length - len(tokens))
    for i, token in enumerate(tokens):
        said[start + i] = token if rng.random() < 0.9 else rng.choice(tokens)
    return said


DRAWN: dict[str, Callable[[random.Random, Sequence[Any], int], list[Any]]] = {
    "any": any_tokens,
    "whole": whole,
    "unique": unique,
    "repeated": repeated,
    "balanced": balanced,
    "patterns": patterns,
}
"""The functions that draw sequences, by style."""
