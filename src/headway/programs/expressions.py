"""Typed expressions: what a program computes of every position, and its values.

An expression is a small tree. Its type says what it may be compared with: symbols and
tokens with their like, and by size only where the task says that tokens have an order;
places with places; counts with counts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from headway.programs import prelude

Kind = Literal["token", "place", "count", "bool", "select"]
Array = np.ndarray[Any, Any]
Tokens = Int[np.ndarray, "sequence position"]
Mask = Bool[np.ndarray, "sequence query key"]

FUNCTIONS = {
    name: function
    for name, function in vars(prelude).items()
    if callable(function) and function.__module__ == prelude.__name__
}
"""Those of the prelude, by name."""


@dataclass(frozen=True, eq=False)
class Expression:
    """A value of every position, or the keys of every query.

    Attributes:
        form: its code, with `{}` for every part.
        kind: its type.
        parts: expressions that it is made of.
        own_price: what it adds to the prices of its parts.
        heads: whose keys it selects; of a select alone.
        says: the relation that it selects by, in words.
    """

    form: str
    kind: Kind
    parts: tuple["Expression", ...] = ()
    own_price: float = 1.0
    heads: tuple[str, ...] = ()
    says: str = ""

    @property
    def price(self) -> float:
        """The number of its parts, by and large: a shorter expression is cheaper.

        What a head selects is told by the circuit, and costs no more than its name.
        """
        if self.heads:
            return self.own_price
        return self.own_price + sum(part.price for part in self.parts)

    @property
    def below(self) -> "set[Expression]":
        """Its parts, theirs, and so on."""
        return {*self.parts}.union(*(part.below for part in self.parts))

    @property
    def is_line(self) -> bool:
        """True if a program gives it a line and a name."""
        if self.kind == "select":
            return bool(self.heads)
        return any(part.kind == "select" for part in self.parts)

    @property
    def brought_by(self) -> tuple[str, ...]:
        """The heads whose keys its own line reads."""
        if self.heads:
            return self.heads
        read = [part.heads for part in self.parts if part.kind == "select"]
        return tuple(head for heads in read for head in heads)

    def code(self, names: Mapping["Expression", str] = MappingProxyType({})) -> str:
        """Its code; parts that have names are called by them."""
        parts = [names.get(part) or part.code(names) for part in self.parts]
        return self.form.format(*parts)


TOKEN = Expression("t", "token")
PLACE = Expression("j", "place")


def constant(value: int) -> Expression:
    """A number."""
    return Expression(str(value), "token")


@dataclass(frozen=True)
class Input:
    """A model's inputs as a program sees them.

    Attributes:
        ahead: whether queries see later keys, too.
        width: how many numbers of a vector are its symbol; 0 if inputs are tokens.
        padding: the token that no query sees; -1 if there is none.
    """

    ahead: bool = False
    width: int = 0
    padding: int = -1

    def tokens(self, inputs: Array) -> Tokens:
        """Tokens by number, or a number for every vector."""
        return prelude.symbols(inputs, self.width) if self.width else inputs


@dataclass
class Scope:
    """The values of expressions on some sequences.

    Attributes:
        inputs: tokens [sequence, position], or vectors [sequence, position, number].
        how: how they are seen.
        instead: by expression, what stands in its place.
    """

    inputs: Array
    how: Input
    instead: Mapping[Expression, Array] = field(default_factory=dict)

    def __post_init__(self):
        self.tokens = self.how.tokens(self.inputs)
        n, i, j, q, k, self.seen = prelude.frame(
            self.tokens, self.how.ahead, self.how.padding
        )
        frame = {"t": self.tokens, "n": n, "i": i, "j": j}
        cells = {"q": q, "k": k, "seen": self.seen}
        nothing_else = {"__builtins__": {}, "np": np}
        self._names = {**nothing_else, **FUNCTIONS, **frame, **cells}
        self._known = dict[Expression, Array](self.instead)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Forgets in the end what selects have been valued meanwhile: there may be many
        that are only tried.
        """
        known = set(self._known)
        yield
        for expression in set(self._known) - known:
            if expression.kind == "select":
                del self._known[expression]

    def value(self, expression: Expression) -> Array:
        """A value for every position, or the keys of every query."""
        if expression not in self._known:
            names = {f"part{at}": at for at, _ in enumerate(expression.parts)}
            values = [self.value(part) for part in expression.parts]
            of_parts = dict(zip(names, values, strict=True))
            code = expression.form.format(*names)
            # Code is made by this room alone: names of relations are parsed before.
            evaluated = eval(
                code, {"__builtins__": {}, "np": np, **self._names, **of_parts}
            )
            is_select = expression.kind == "select"
            like = self.seen if is_select else self.tokens
            self._known[expression] = np.broadcast_to(evaluated, like.shape)
        return self._known[expression]
