"""The programs in RASP: those that Tracr ships, its library with other arguments, and
ours.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import pstdev
from typing import Any, Literal

from headway.errors import HeadwayError, require
from headway_experiments.arena.tracr_model import Compiled, compile_program, tracr

Origin = Literal["shipped", "library", "ours"]


@dataclass(frozen=True)
class Program:
    """A program and the sequences that it is tried on.

    Attributes:
        origin: `shipped` with Tracr as a test case; Tracr's `library` with other
            arguments, or on other tokens; or `ours`, written here in RASP.
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
"""Test cases of Tracr, and how sequences are drawn: all different programs of two or
more heads.
"""


@cache
def programs() -> dict[str, Program]:
    """All programs by name.

    Raises:
        HeadwayError: if Tracr is not installed.
    """
    every = [*_shipped(), *_library(), *_ours()]
    return {program.name: program for program in every}


@cache
def compiled_program(name: str) -> Compiled:
    """A program compiled, once in a process.

    Raises:
        HeadwayError: if there is no such program, or Tracr refuses it.
    """
    known = programs()
    require(name in known, "program", name, f"one of {', '.join(known)}")
    its = known[name]
    compiled = compile_program(its.program, its.tokens, its.length)
    draw = DRAWN[its.style]
    rng = random.Random(0)
    answers = []
    for _ in range(256):
        sequence = draw(rng, its.tokens, its.length)
        answers += its.program(sequence)
    if len(set(answers)) < 2:
        raise HeadwayError(
            f"program {name}: its output is constant, so it has no circuit"
        )
    if compiled.values is None:
        compiled.module.scale = 1 / pstdev(answers)
    return compiled


def _shipped() -> list[Program]:
    test_cases = tracr("compiler.test_cases").TEST_CASES
    cases = {case["testcase_name"]: case for case in test_cases}
    shipped: list[Program] = []
    for name, style in SHIPPED.items():
        case = cases[name]
        tokens = sorted(case["vocab"])
        length = case["max_seq_len"]
        shipped.append(Program("shipped", name, case["program"], tokens, length, style))
    return shipped


class Suite:
    """Programs of one origin; their sequences have any tokens unless a style is
    given.
    """

    def __init__(self, origin: Origin):
        self.origin: Origin = origin
        self.programs: list[Program] = []

    def add(
        self,
        name: str,
        program: Any,
        tokens: Sequence[Any],
        length: int,
        style: str = "any",
    ) -> None:
        """Adds a program (see `Program`)."""
        made = Program(self.origin, name, program, tokens, length, style)
        self.programs.append(made)


def _library() -> list[Program]:
    lib = tracr("compiler.lib")
    tokens = tracr("rasp.rasp").tokens
    shifted = lib.shift_by(1, tokens)
    sort = lib.make_sort(tokens, tokens, max_seq_len=7, min_key=1)
    suite = Suite("library")
    suite.add("reverse_8", lib.make_reverse(tokens), "abc", 8)
    suite.add("reverse_shifted", lib.make_reverse(shifted), "abcd", 6)
    suite.add("detect_aba", lib.detect_pattern(tokens, "aba"), "ab", 7)
    suite.add("detect_abcd", lib.detect_pattern(tokens, "abcd"), "abcd", 8, "patterns")
    suite.add("detect_aabb", lib.detect_pattern(tokens, "aabb"), "ab", 8)
    suite.add("dyck_1", lib.make_shuffle_dyck(["()"]), "()", 8, "balanced")
    suite.add("pair_balance_6", lib.make_pair_balance(tokens, "[", "]"), "[]x", 6)
    suite.add("sort_7", sort, (1, 2, 3), 7)
    suite.add(
        "sort_unique_6", lib.make_sort_unique(tokens, tokens), range(1, 8), 6, "unique"
    )
    suite.add("sort_freq_6", lib.make_sort_freq(6), "ab", 6)
    suite.add("count_less_freq_1", lib.make_count_less_freq(1), "abcd", 6)
    suite.add("count_less_freq_3", lib.make_count_less_freq(3), "ab", 7)
    return suite.programs


def _ours() -> list[Program]:
    suite = Suite("ours")
    lib = tracr("compiler.lib")
    rasp = tracr("rasp.rasp")
    words = Words(lib, rasp)
    _move_tokens(suite, lib, rasp, words)
    _follow_pointers(suite, lib, rasp, words)
    _rearrange(suite, lib, rasp, words)
    _compare(suite, lib, rasp, words)
    _count(suite, lib, rasp, words)
    _share(suite, lib, rasp, words)
    return suite.programs


class Words:
    """Expressions of RASP that our programs have in common.

    Args:
        lib: Tracr's `compiler.lib`.
        rasp: Tracr's `rasp.rasp`.
    """

    def __init__(self, lib: Any, rasp: Any):
        self.rasp = rasp
        self.length = lib.make_length()
        tokens = rasp.tokens
        first = self.select(rasp.indices, rasp.indices, lambda k, q: k == 0)
        self.first = rasp.Aggregate(first, tokens)
        indices = rasp.indices
        before = self.select(indices, indices, lambda k, q: k == max(q - 1, 0))
        self.before = rasp.Aggregate(before, tokens)

    def select(self, keys: Any, queries: Any, holds: Any = None) -> Any:
        """The pairs of a key and a query for which something holds; by default they are
        equal.
        """
        return self.rasp.Select(keys, queries, holds or self.rasp.Comparison.EQ)

    def at(self, place: Any, what: Any) -> Any:
        """The token at a place that every position may compute for itself."""
        return self.rasp.Aggregate(self.select(self.rasp.indices, place), what)

    def share(self, holds: Any, earlier: bool = False) -> Any:
        """The share of positions, or of those up to here, at which something holds."""
        rasp = self.rasp
        which = rasp.Comparison.LEQ if earlier else rasp.Comparison.TRUE
        as_number = rasp.Map(lambda x: 1 if x else 0, holds)
        truth = rasp.numerical(as_number)
        seen = self.select(rasp.indices, rasp.indices, which)
        share = rasp.Aggregate(seen, truth, default=0)
        return rasp.numerical(share)

    def same(self, first: Any, second: Any) -> Any:
        """True at every position where two values are equal."""
        return self.rasp.SequenceMap(lambda x, y: x == y, first, second)

    def how_many(self, keys: Any, queries: Any, holds: Any = None) -> Any:
        """The number of keys that `select` pairs with each query."""
        return self.rasp.SelectorWidth(self.select(keys, queries, holds))


def _move_tokens(suite: Suite, lib: Any, rasp: Any, words: Words) -> None:
    shift = lib.shift_by
    once = shift(1, rasp.tokens)
    twice = shift(1, once)
    suite.add("shift_twice", twice, "abcd", 6)
    three_times = shift(1, twice)
    suite.add("shift_three_times", three_times, "abcd", 7)
    shifted = shift(2, rasp.tokens)
    suite.add("there_and_back", shift(-1, shifted), "abcd", 6)


def _follow_pointers(suite: Suite, lib: Any, rasp: Any, words: Words) -> None:
    tokens = rasp.tokens
    at = words.at
    one_step = at(tokens, tokens)
    two_steps = at(at(tokens, tokens), tokens)
    doubled = at(one_step, one_step)
    suite.add("pointer_2", two_steps, range(6), 6, "whole")
    suite.add("pointer_3", at(two_steps, tokens), range(6), 6, "whole")
    suite.add("pointer_4_doubling", at(doubled, doubled), range(6), 6, "whole")
    # a predicate of its own, as `Comparison` refuses the None before the first token
    alike = words.select(lib.shift_by(1, tokens), tokens, lambda k, q: k == q)
    suite.add("induction", rasp.Aggregate(alike, tokens), range(6), 8, "repeated")


def _rearrange(suite: Suite, lib: Any, rasp: Any, words: Words) -> None:
    tokens = rasp.tokens
    indices = rasp.indices
    length = words.length
    following = rasp.SequenceMap(lambda i, n: (i + 1) % n if n else 0, indices, length)
    suite.add("rotate", words.at(following, tokens), "abcd", 6)
    half = rasp.SequenceMap(lambda i, n: (i + n // 2) % n if n else 0, indices, length)
    suite.add("swap_halves", words.at(half, tokens), "abcd", 6)
    middle = rasp.Map(lambda n: (n - 1) // 2, length)
    suite.add("middle", words.at(middle, tokens), "abcd", 7)


def _compare(suite: Suite, lib: Any, rasp: Any, words: Words) -> None:
    tokens = rasp.tokens
    same = words.same
    last = words.at(words.length - 1, tokens)
    suite.add("ends_meet", same(words.first, last), "ab", 6)
    reverse = lib.make_reverse(tokens)
    suite.add("mirrored", same(reverse, tokens), "ab", 6)
    mirrored = words.share(same(reverse, tokens))
    suite.add("palindrome", mirrored, "ab", 6)


def _count(suite: Suite, lib: Any, rasp: Any, words: Words) -> None:
    tokens = rasp.tokens
    pair = rasp.SequenceMap(lambda x, y: f"{x}{y}", words.before, tokens)
    suite.add("bigram_count", words.how_many(pair, pair), "ab", 6)
    hist = lib.make_hist()
    suite.add("same_count", words.how_many(hist, hist), "abcd", 6)
    suite.add("token_at_count", words.at(hist - 1, tokens), "abcd", 6)
    a = lib.make_count(tokens, "a")
    b = lib.make_count(tokens, "b")
    more = rasp.SequenceMap(lambda x, y: x > y, a, b)
    suite.add("more_a_than_b", more, "abc", 6)
    placed = rasp.SequenceMap(lambda token, i: (token, i), tokens, rasp.indices)
    earlier = words.how_many(placed, placed, lambda k, q: k[0] == q[0] and k[1] < q[1])
    distinct = words.how_many(earlier, earlier, lambda k, q: k == 0)
    suite.add("distinct", distinct, "abc", 6)


def _share(suite: Suite, lib: Any, rasp: Any, words: Words) -> None:
    tokens = rasp.tokens
    like_first = words.same(tokens, words.first)
    suite.add("share_like_first", words.share(like_first, earlier=True), "abc", 6)
    repeating = words.same(tokens, words.before)
    suite.add("share_repeating", words.share(repeating), "abc", 6)
    zero = rasp.Map(lambda x: 0, rasp.indices)
    most_frequent = words.at(zero, lib.make_sort_freq(5))
    suite.add("most_frequent", most_frequent, "abc", 5)


def any_tokens(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Independent tokens; lengths from half of the most on."""
    least = max(2, length // 2)
    return rng.choices(tokens, k=rng.randint(least, length))


def whole(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Independent tokens, always as many as there may be."""
    return rng.choices(tokens, k=length)


def unique(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """No token twice."""
    most = min(length, len(tokens))
    least = max(2, most // 2)
    return rng.sample(tokens, k=rng.randint(least, most))


def repeated(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Some tokens, no two alike, over and over."""
    different = rng.randint(2, length - 2)
    once = rng.sample(tokens, k=different)
    end = rng.randint(different + 1, length)
    return (once * length)[:end]


def balanced(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Brackets: independent ones, or half of the time pairs that close in any order."""
    if rng.random() < 0.5:
        return any_tokens(rng, tokens, length)
    brackets = [
        (opening, closing)
        for opening, closing in ("()", "[]", "{}")
        if opening in tokens
    ]
    pairs = rng.choices(brackets, k=length // 2)
    some = rng.randint(1, len(pairs))
    said: list[Any] = []
    waiting: list[Any] = []
    for opening, closing in pairs[:some]:
        said.append(opening)
        waiting.append(closing)
        while waiting and rng.random() < 0.5:
            which = rng.randrange(len(waiting))
            said.append(waiting.pop(which))
    return said + waiting


def patterns(rng: random.Random, tokens: Sequence[Any], length: int) -> list[Any]:
    """Independent tokens with all tokens in order somewhere, but for one in four of
    them.
    """
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
