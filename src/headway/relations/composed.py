"""Relations that are composed of words, evaluated on sequences."""

from collections.abc import Callable, Mapping
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor

from headway.errors import HeadwayError
from headway.relations.edges import Edges, own_position
from headway.relations.expressions import BY_WEIGHT, Expression, Mask, Weights, parse

MARKER = 0.95
"""A token that stands once in at least this share of the sequences is looked for by its
number.
"""

FEW_TOKENS = 8
"""Of no more tokens than these, each is looked for by its number."""


class Related(dict[str, Edges]):
    """The relations of a batch by name: a task's own, and composed ones when asked for.

    Args:
        given: those of the task.
        composed: of the same sequences.
    """

    def __init__(self, given: Mapping[str, Edges], composed: "Composed"):
        super().__init__(given)
        self.composed = composed

    def __missing__(self, name: str) -> Edges:
        weights = self.composed.weights(name) if BY_WEIGHT in name else None
        edges = Edges.where(self.composed.mask(name), weights=weights)
        self[name] = edges
        return edges


class Composed:
    """Sequences on which expressions are evaluated.

        >>> Composed(torch.tensor([[5, 3, 5]])).mask("same token")[0].nonzero()
        tensor([[2, 0]])

    Args:
        inputs: [batch, position], tokens by number, or vectors [batch, position,
            number].
        of_tokens: whether inputs are tokens.
        ahead: whether positions may read later ones, too.
        given: relations of the task itself, which come first.
        ordered: whether tokens have an order, so that one is larger than another.
    """

    def __init__(
        self,
        inputs: Tensor,
        of_tokens: bool = True,
        ahead: bool = False,
        given: Mapping[str, Edges] | None = None,
        ordered: bool = True,
    ):
        self.inputs = inputs
        self.of_tokens = of_tokens
        self.ahead = ahead
        self.length = inputs.shape[1]
        self.given = given or {}
        self.ordered = ordered
        self._names = frozenset(self.given)
        self._given_masks = dict[str, Mask]()

    def parse(self, name: str) -> Expression:
        """The expression that a name stands for in these sequences."""
        return parse(name, self._names)

    def mask(self, relation: str | Expression) -> Mask:
        """The keys of every query in a relation.

        Raises:
            HeadwayError: if its name is not made of the words of the language, or the
                sequences do not have what it is about.
        """
        return self._expression(relation).mask(self)

    def of_given(self, name: str) -> Mask:
        """The keys of every query in a relation of the task itself."""
        if name not in self._given_masks:
            self._given_masks[name] = self.given[name].mask(self.length)
        return self._given_masks[name]

    def weights(self, relation: str | Expression) -> Weights:
        """The weight of every key of a relation, in proportion; 0 for what is no key.

        Raises:
            HeadwayError: as `mask` does.
        """
        return self._expression(relation).weights(self)

    def part(self, rows: slice) -> "Composed":
        """Some of the sequences."""
        given = {name: edges.part(rows) for name, edges in self.given.items()}
        part = Composed(
            self.inputs[rows], self.of_tokens, self.ahead, given, self.ordered
        )
        # Which tokens are special is told by all sequences.
        part.known = self.known
        part.markers = self.markers
        part.separators = self.separators
        return part

    def _expression(self, relation: str | Expression) -> Expression:
        return self.parse(relation) if isinstance(relation, str) else relation

    def has(self, needs: str) -> bool:
        """True if the sequences have what a primitive needs (`Primitive.needs`)."""
        if not needs:
            return True
        return self.of_tokens and (self.ordered or needs != "order")

    def require(self, needs: str, name: str) -> None:
        """Make sure that the sequences have what a relation of this name needs."""
        if not self.has(needs):
            lacking = "order of tokens" if self.of_tokens else "tokens"
            lack = f"these sequences have no {lacking}"
            raise HeadwayError(f"relation = {name!r} is not allowed: {lack}")

    @property
    def tokens(self) -> Int[Tensor, "batch position"]:
        """The tokens of the sequences.

        Raises:
            HeadwayError: if they have none.
        """
        self.require("tokens", "of tokens")
        return self.inputs

    @cached_property
    def known(self) -> list[int]:
        """Every token that stands in the sequences."""
        return self.inputs.unique().tolist() if self.of_tokens else []

    @cached_property
    def markers(self) -> list[int]:
        """Tokens that stand once in nearly every sequence, as a separator does; all if
        few.
        """
        return self.known if len(self.known) <= FEW_TOKENS else self.separators

    @cached_property
    def separators(self) -> list[int]:
        """Tokens that stand once in nearly every sequence."""
        if not self.of_tokens:
            return []
        first = self.inputs[0].unique()
        counts = [(self.inputs == token).sum(1) for token in first]
        times = torch.stack(counts)
        is_single = (times == 1).double().mean(1) >= MARKER
        return first[is_single].tolist()

    @cached_property
    def seen(self) -> Mask:
        """The keys that a query may see, itself among them."""
        n = self.length
        seen = torch.ones(n, n, dtype=torch.bool, device=self.inputs.device)
        if not self.ahead:
            seen = seen.tril()
        return seen.expand(len(self.inputs), n, n)

    @cached_property
    def places(self) -> Int[Tensor, " position"]:
        """The number of every position, from 0."""
        return torch.arange(self.length, device=self.inputs.device)

    @cached_property
    def offset(self) -> Int[Tensor, "query key"]:
        """The number of places by which a key stands before a query."""
        return self.places[:, None] - self.places

    def compared(self, compare: Callable[[Tensor, Tensor], Tensor]) -> Mask:
        """The keys at other positions whose token compares so with the query's."""
        is_so = compare(self.tokens[:, :, None], self.tokens[:, None])
        return is_so & (self.offset != 0)

    def latest(self, token: int) -> Int[Tensor, "batch query"]:
        """The place of the latest of a token, as a query sees it; -1 without one."""
        places = self.places.where(self.tokens == token, -1)
        return places.cummax(1).values

    def anchored(self, token: int, of_token: int, of_query: int) -> Mask:
        """The key at `of_token` times the place of the latest of a token, and
        `of_query` times the query's own, added.
        """
        latest = self.latest(token)
        key = of_token * latest + of_query * self.places
        is_key = key[..., None] == self.places
        return is_key & (latest >= 0)[..., None]


def general_relations(
    inputs: Tensor, of_tokens: bool = True, ahead: bool = False
) -> dict[str, Edges]:
    """Relations of any sequence, by where a position stands and by its token.

    `previous token`, `2 back`, … `4 back`; `first position`, which it does not read
    itself; of tokens `same token`, `after same token` (the induction head of Olsson et
    al. 2022) and `after latest same token`; and `own position`. A row that leads to
    several positions shares its attention evenly among them. A relation that applies
    nowhere in these sequences has no rows.

    Args:
        inputs: [batch, position], tokens by number, or vectors [batch, position,
            number].
        of_tokens: whether inputs are tokens; vectors have places alone.
        ahead: whether positions may read later ones, too.
    """
    composed = Composed(inputs, of_tokens, ahead)
    farthest = min(4, inputs.shape[1] - 1)
    back = [f"{offset} back" for offset in range(2, farthest + 1)]
    names = ["previous token", *back, "first position"]
    if of_tokens:
        names += ["same token", "after same token", "after latest same token"]
    masks = {name: composed.mask(name) for name in names}
    masks["first position"] &= composed.mask("all before")
    edges = {name: Edges.where(mask) for name, mask in masks.items()}
    return edges | {"own position": own_position(inputs)}
