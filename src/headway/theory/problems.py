"""Tasks as flow problems: chains of facts, facts that need several others, k-hop."""

import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from headway.errors import require
from headway.theory.flow import Flow
from headway.theory.formulas import require_depth

Order = Literal["deep-first", "shallow-first"]
"""The pair that stands first: the deepest, or the one that is asked about."""

Copies = Literal["same", "rotated", "independent"]
"""The likeness of the two places of a symbol (see `tasks.Retrieval`)."""

PairOrder = Order | Sequence[int]
"""`deep-first`, `shallow-first`, or the numbers 1 .. D of the pairs as they stand in
the sequence; pair k is (x_{k-1}, x_k)."""


def pair_order(depth: int, order: PairOrder) -> list[int]:
    """The numbers of the pairs in the order of the sequence.

    Raises:
        HeadwayError: if `depth` is below 1, or `order` is no order of `depth` pairs.
    """
    require_depth(depth)
    rising = list(range(1, depth + 1))
    if isinstance(order, str):
        names = typing.get_args(Order)
        require(order in names, "order", order, " or ".join(names))
        return rising[::-1] if order == "deep-first" else rising
    allowed = f"deep-first, shallow-first or an order of the numbers 1 to {depth}"
    pairs = list(order)
    require(sorted(pairs) == rising, "order", pairs, allowed)
    return pairs


def _roles_of(pair: int) -> tuple[str, str]:
    """The roles of the two tokens of a pair."""
    return f"s{2 * pair - 1}", f"s{2 * pair}"


def retrieval_flow(
    depth: int,
    order: PairOrder = "deep-first",
    queries: int = 1,
    related: Iterable[tuple[str, str]] = (),
    codes_first: bool = False,
    copies: Copies = "same",
) -> Flow:
    """One chain of the retrieval problem (appendix B, definitions 1 and 2).

    Role s_i starts with the symbol x_⌊i/2⌋ and the code p_⌊(i+1)/2⌋ of its pair, so
    that s_{2k} and s_{2k+1} share x_k, and s_{2k-1} and s_{2k} share p_k. Other chains
    share nothing with it.

    Args:
        depth: D, retrieval steps.
        order: of the pairs in the sequence; see `pair_order`.
        queries: how many positions at the end hold x_0, each with a code of its own;
            the last is `s0`. The others are room in which information can be gathered.
        related: further pairs of roles along which a head can attend; see `Flow`.
        codes_first: whether layer 0 can find by codes alone; see `Flow`.
        copies: if `independent`, s_{2k} and s_{2k+1} share nothing (k ≥ 1): x_k stands
            at the one, and at the other y_k, which says nothing about it. `rotated` is
            as `same`, since a fixed rotation can be undone.

    Raises:
        HeadwayError: if an argument is out of range.
    """
    require(queries >= 1, "queries", queries, "a whole number of at least 1")
    starts = dict[str, frozenset[str]]()
    for pair in pair_order(depth, order):
        first, second = _roles_of(pair)
        has_own_letter = copies == "independent" and pair > 1
        letter = "y" if has_own_letter else "x"
        starts[first] = frozenset({f"{letter}_{pair - 1}", f"p_{pair}"})
        starts[second] = frozenset({f"x_{pair}", f"p_{pair}"})
    for i in range(1, queries):
        starts[f"s0.{i}"] = frozenset({"x_0", f"p_0.{i}"})
    starts["s0"] = frozenset({"x_0", "p_0"})
    return Flow(
        roles=tuple(starts),
        starts=tuple(starts.values()),
        goal=f"x_{depth}",
        related=frozenset(related),
        codes_first=codes_first,
    )


def chain_depth(flow: Flow) -> int | None:
    """D, if a flow is that of one chain in either order; else None."""
    depth = len(flow.roles) // 2
    if depth == 0:
        return None
    chains = [retrieval_flow(depth, order) for order in typing.get_args(Order)]
    return depth if flow in chains else None


def facts_flow(
    facts: Sequence[str] | Mapping[str, str],
    query: str,
    goal: str,
    singled: bool = False,
) -> Flow:
    """A query about facts that form a directed acyclic graph.

    A fact is a few symbols side by side, `xyz`, whose tokens share a code, and whose
    last symbol is what the others lead to. A chain is `yz`, `xy`, `ax`, asked for `a`.
    The query counts as able to answer once it holds the goal.

    Args:
        facts: in the order of the sequence, a letter per symbol; perhaps by name. Roles
            are called `name.symbol`, and where there is no name, after the fact itself.
        query: the symbol that is asked about.
        goal: the symbol that is the answer.
        singled: whether a position must hold all symbols of a fact that lead on before
            it can attend there, as in a table with a row for every combination of them.
            Otherwise one of them is enough, which gives the smaller minimum.

    Raises:
        HeadwayError: if a fact has a symbol twice or is there twice, or the goal is in
            none.
    """
    named = facts if isinstance(facts, Mapping) else {fact: fact for fact in facts}
    require(
        len(named) == len(facts) > 0,
        "facts",
        list(facts),
        "one or more, each said once",
    )
    _require_facts(named, query, goal)
    starts = dict[str, frozenset[str]]()
    rows = list[tuple[frozenset[str], frozenset[str]]]()
    for name, fact in named.items():
        roles = [f"{name}.{symbol}" for symbol in fact]
        for role, symbol in zip(roles, fact, strict=True):
            starts[role] = frozenset({symbol, f"p_{name}"})
        if singled and len(fact) > 2:
            leading_on = frozenset(fact[:-1])
            rows.append((frozenset(roles), leading_on))
    starts[query] = frozenset({query, "p_query"})
    return Flow(
        roles=tuple(starts),
        starts=tuple(starts.values()),
        goal=goal,
        singled=tuple(rows),
    )


def _require_facts(named: Mapping[str, str], query: str, goal: str) -> None:
    for fact in named.values():
        fits = len(set(fact)) == len(fact) > 1
        require(fits, "facts", fact, "two or more symbols, each once")
    said = ", ".join(named.values())
    symbols = set().union(*named.values())
    require(goal in symbols, "goal", goal, f"a symbol of one of {said}")
    fits = len(query) == 1 and query not in named
    require(fits, "query", query, "a single letter")


def conditional_flow(order: Order = "deep-first", singled: bool = False) -> Flow:
    """One query of conditional retrieval, its two facts and row of the table.

    Other queries and other rows open no shorter way.

    Args:
        order: table, y fact, x fact, or the other way round; the query stands last.
        singled: whether the row must be singled out by x and y; see `facts_flow`.
    """
    facts = [("xy", "xyz"), ("ay", "ay"), ("ax", "ax")]
    if order != "deep-first":
        facts.reverse()
    return facts_flow(dict(facts), "a", "z", singled=singled)


def hop_flow(hops: int, gap: int = 1) -> Flow:
    """The k-hop task: to the latest earlier copy, to what follows, k times.

    The pairs of a chain stand somewhere in one running text, so there are no codes of
    pairs: every position shares one piece with the position before it and one with that
    after it.

    Args:
        hops: k.
        gap: tokens of other symbols between two pairs, and before the query.

    Raises:
        HeadwayError: if `hops` is below 1 or `gap` below 0.
    """
    require(hops >= 1, "hops", hops, "a whole number of at least 1")
    require(gap >= 0, "gap", gap, "a whole number of at least 0")
    symbols = dict[str, str]()
    for pair in range(hops, 0, -1):
        first, second = _roles_of(pair)
        symbols[first] = f"x_{pair - 1}"
        symbols[second] = f"x_{pair}"
        for i in range(1, gap + 1):
            symbols[f"other {pair}.{i}"] = f"o_{pair}.{i}"
    symbols["s0"] = "x_0"
    starts = list[frozenset[str]]()
    for i, symbol in enumerate(symbols.values()):
        start = frozenset({symbol, f"n_{i}", f"n_{i + 1}"})
        starts.append(start)
    return Flow(roles=tuple(symbols), starts=tuple(starts), goal=f"x_{hops}")
