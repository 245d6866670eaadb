"""Relations that are composed of few words, and evaluated on any sequences.

A relation is written as it is read: `smallest larger token`, `after latest same token`,
`mirror position if the same token, else own position`. The words say

where    `own position`, `previous token`, `2 back`, `every 3 back`, `first position`,
`position 2`
         (from 0), `mirror position`, `all so far`, `all before`; `mirror across token
         7`, as far before the latest token 7 as the query is past it, `aligned past
         token 7`, as far from the first position as the query is past it, `twice past
         token 7`, twice as far
which    `same token`, `larger token`, `smaller token`, `other token`, `same or larger
token`, `same
         or smaller token`, `token 7`, `token of 0–3,7`, `any token`, `repeated token`,
         `new token`, `single token`, that stands once so far, `token unlike its
         mirror`, `token like its mirror`
of them  `latest …`, `earliest …`, `largest …`, `smallest …`, and the `second` of these
by value;
         without such a word all
moved    `after …`, `before …`: the position next to each of these if       `… if the
same token`, `… if another token` than the query's; `… for tokens 0–3,7`, for
         queries that are among these
and      `… and first position`: the keys of both, one as much as the other by       `…
by weight (token 0 0.92)`: these tokens count so much among the keys, all others 1; else
`…, else …`: for the queries that the first relation gives no key

Tokens are larger or smaller by their numbers. Of vectors there are places alone.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.errors import HeadwayError
from headway.relations.edges import Edges, own_position

Mask = Bool[Tensor, "batch query key"]

ELSE = ", else "
AND = " and "
BY_WEIGHT = " by weight ("
WEIGHT = r"token (\d{1,9}) (\d{1,6}(?:\.\d{1,6})?)"
FARTHEST = 40
"""The largest offset and number of a position among the relations that are tried."""

LONGEST = 6
"""The largest period among them."""

MARKER = 0.95
"""A token that stands once in at least this share of the sequences is looked for by its
number.
"""

FEW_TOKENS = 8
"""Of no more tokens than these, each is looked for by its number."""

MOVES = {"after ": 1, "before ": -1}
CONDITIONS = {" if the same token": True, " if another token": False}
WHICH = ("", "latest ", "earliest ")
BY_PLACE = (
    "own position",
    "previous token",
    "first position",
    "all so far",
    "all before",
)
BY_TOKEN = ("same token", "larger token", "smaller token", "other token")
ANCHORED = {"mirror across": (2, -1), "aligned past": (-1, 1), "twice past": (-2, 2)}
"""The place that is looked at, by how often the token's place and the query's own are
added.
"""

FOR = " for tokens "
LISTED = r"(\d{1,9}(?:[–-]\d{1,9})?(?:,\d{1,9}(?:[–-]\d{1,9})?)*)"

NUMBERED = (
    *(
        r"(\d{1,6}) back",
        r"every (\d{1,6}) back",
        r"position (\d{1,6})",
        r"token (\d{1,9})",
    ),
    *(f"token of {LISTED}", rf"({'|'.join(ANCHORED)}) token (\d{{1,9}})"),
)
"""The forms of names with numbers."""

OF_TOKENS = (
    *("repeated token", "new token", "single token"),
    *("token unlike its mirror", "token like its mirror"),
)


class Related(dict[str, Edges]):
    """The relations of a batch by name: those of a task, and composed ones as they are
    asked for.

    Args:
        given: those of the task.
        composed: of the same sequences.
    """

    def __init__(self, given: Mapping[str, Edges], composed: "Composed"):
        super().__init__(given)
        self.composed = composed

    def __missing__(self, name: str) -> Edges:
        weights = self.composed.weights(name) if BY_WEIGHT in name else None
        self[name] = made = Edges.where(self.composed.mask(name), weights=weights)
        return made


class Composed:
    """The composed relations of some sequences.

    Args:
        inputs: [batch, position], tokens by number, or vectors [batch, position,
            number].
        of_tokens: whether inputs are tokens.
        ahead: whether positions may read later ones, too.
        given: relations of the task itself, which come first.
    """

    def __init__(
        self,
        inputs: Tensor,
        of_tokens: bool = True,
        ahead: bool = False,
        given: Mapping[str, Edges] | None = None,
    ):
        self.inputs, self.of_tokens, self.ahead = inputs, of_tokens, ahead
        self.length, self.given = inputs.shape[1], given or {}
        self._masks: dict[str, Mask] = {}

    def mask(self, name: str) -> Mask:
        """The keys of every query in a relation.

        Raises:
            HeadwayError: if the name is not made of the words that there are.
        """
        found, *others = (self.part(part) for part in name.split(ELSE))
        for other in others:
            found = torch.where(found.any(2, keepdim=True), found, other)
        return found

    def part(self, name: str) -> Mask:
        """The keys of every query in a relation without an `else`; kept for the next
        time.
        """
        name, *weighed = name.split(BY_WEIGHT)
        if weighed and not weighed[-1].endswith(")"):
            raise HeadwayError(f"relation = {name!r} is not allowed: weights come last")
        if name not in self._masks:
            known = self.given.get(name)
            self._masks[name] = (
                self._moved(name) if known is None else known.mask(self.length)
            )
        return self._masks[name]

    def weights(self, name: str) -> Float[Tensor, "batch query key"]:
        """The weight of every key of a relation, in proportion; 0 for what is no key.

        Raises:
            HeadwayError: as `mask` does.
        """
        found = torch.zeros_like(self.part("own position"), dtype=torch.float32)
        for part in reversed(name.split(ELSE)):
            rows = self.part(part) * self._counts(part)
            found = torch.where(rows.any(2, keepdim=True), rows, found)
        return found

    def _counts(self, name: str) -> Float[Tensor, "batch one key"]:
        """The weight of every position by its token."""
        base, _, listed = name.partition(BY_WEIGHT)
        shape, device = (len(self.inputs), self.length), self.inputs.device
        counts = torch.ones(shape, dtype=torch.float32, device=device)
        for entry in listed.removesuffix(")").split(", ") if listed else ():
            known = re.fullmatch(WEIGHT, entry)
            if known is None:
                raise HeadwayError(
                    f"relation = {name!r} is not allowed: weights are written as in"
                    f" {base}{BY_WEIGHT}token 0 0.92, token 3 0.5)"
                )
            counts[self._tokens(name) == int(known[1])] = float(known[2])
        return counts[:, None]

    def vocabulary(self, layer: int, matters: Mask | None = None) -> list[str]:
        """The relations to try in a layer, without an `else`, the simplest first.

        In the first layer a position holds its own token and place alone, so nothing
        can be looked for there by what stands next to it or came before it.

        Args:
            layer: from 0.
            matters: queries whose keys matter, [batch, query, 1]; by default all. Of
                several relations that lead these to the same keys the first alone is
                tried.
        """
        names = [*self.given, *BY_PLACE, "mirror position"]
        farthest = min(FARTHEST, self.length - 1)
        names += [f"{n} back" for n in range(2, farthest + 1)]
        names += [f"every {n} back" for n in range(2, LONGEST + 1)]
        names += [f"position {n}" for n in range(1, farthest + 1)]
        if self.of_tokens:
            sets = [*BY_TOKEN, *(f"token {token}" for token in self.markers)]
            picks = [f"{which}{one}" for which in WHICH for one in sets]
            names += picks
            names += [f"{which}{one}" for which in WHICH for one in self.ordinary]
            names += [
                f"smallest {one}"
                for one in ("larger token", "smaller token", "any token")
            ]
            names += [
                f"largest {one}"
                for one in ("smaller token", "larger token", "any token")
            ]
            names += [f"second {which} any token" for which in ("smallest", "largest")]
            names += ["smallest same or larger token", "largest same or smaller token"]
            names += [
                f"{which} {one}"
                for which in ("smallest", "largest")
                for one in self.ordinary
            ]
            names += [
                f"{at}{c}"
                for at in ("mirror position", "previous token")
                for c in CONDITIONS
            ]
            if layer > 0:
                names += [f"{move}{pick}" for move in MOVES for pick in picks]
                names += [f"{which}{one}" for which in WHICH for one in OF_TOKENS]
            anchors = [
                f"{way} token {marker}"
                for way in ANCHORED
                for marker in self.separators
            ]
            names += [f"{move}{one}" for move in ("", *MOVES) for one in anchors]
        known: dict[bytes, str] = {}
        for name in names:
            mask = self.part(name) if matters is None else self.part(name) & matters
            if mask.any():
                known.setdefault(mask.cpu().numpy().tobytes(), name)
        return list(known.values())

    @cached_property
    def markers(self) -> list[int]:
        """Tokens that stand once in nearly every sequence, such as a separator; all if
        few.
        """
        if len(known := self.inputs.unique()) <= FEW_TOKENS:
            return known.tolist()
        return self.separators

    @cached_property
    def separators(self) -> list[int]:
        """Tokens that stand once in nearly every sequence."""
        first = self.inputs[0].unique()
        times = (self.inputs[..., None] == first).sum(1)
        return first[(times == 1).double().mean(0) >= MARKER].tolist()

    @cached_property
    def ordinary(self) -> list[str]:
        """The tokens whose numbers are all below, or all above, those that separate."""
        marks, known = self.separators, self.inputs.unique().tolist()
        if not marks or len(known) <= FEW_TOKENS:
            return []
        below, above = (
            f"token of 0–{min(marks) - 1}",
            f"token of {max(marks) + 1}–{known[-1]}",
        )
        found = [below] if known[0] < min(marks) else []
        return found + ([above] if known[-1] > max(marks) else [])

    @cached_property
    def seen(self) -> Mask:
        """The keys that a query may see, itself among them."""
        n = self.length
        every = torch.ones(n, n, dtype=torch.bool, device=self.inputs.device)
        return (every if self.ahead else every.tril()).expand(len(self.inputs), n, n)

    @cached_property
    def _offset(self) -> Int[Tensor, "query key"]:
        at = torch.arange(self.length, device=self.inputs.device)
        return at[:, None] - at

    def _moved(self, name: str) -> Mask:
        if known := re.fullmatch(f"(.*){FOR}{LISTED}", name):
            return self.part(known[1]) & self._among(name, known[2])[..., None]
        first, both, others = name.partition(AND)
        if both:
            return self.part(first) | self.part(others)
        for word, by in MOVES.items():
            if name.startswith(word):
                found = self._conditional(name.removeprefix(word))
                return F.pad(found, (by, -by)) & self.seen
        return self._conditional(name)

    def _conditional(self, name: str) -> Mask:
        for words, same in CONDITIONS.items():
            if name.endswith(words):
                alike = self._tokens(name)[:, :, None] == self._tokens(name)[:, None]
                return self._picked(name.removesuffix(words)) & (alike == same)
        return self._picked(name)

    def _picked(self, name: str) -> Mask:
        which, _, rest = name.partition(" ")
        if which in ("latest", "earliest"):
            mask = self._set(rest)
            count = mask.cumsum(2)
            return mask & (count == (count[..., -1:] if which == "latest" else 1))
        is_second = which == "second"
        which, _, rest = rest.partition(" ") if is_second else (which, _, rest)
        if which in ("largest", "smallest"):
            mask, sign = self._set(rest), 1 if which == "largest" else -1
            value = (sign * self._tokens(name))[:, None].expand(mask.shape)
            worst = value.min() - 1
            best = value == value.where(mask, worst).amax(2, keepdim=True)
            if is_second:
                mask = mask & ~best
                best = value == value.where(mask, worst).amax(2, keepdim=True)
            return mask & best
        return self._set(name)

    def _set(self, name: str) -> Mask:
        if (known := self._simple.get(name)) is not None:
            return known() & self.seen
        back, every, place, token, among, anchored = (
            re.fullmatch(form, name) for form in NUMBERED
        )
        if back:
            return self.seen & (self._offset == int(back[1]))
        if every and int(every[1]):
            return self.seen & (self._offset % int(every[1]) == 0) & (self._offset != 0)
        if place:
            at = torch.arange(self.length, device=self.inputs.device)
            return self.seen & (at == int(place[1]))
        if token:
            return self.seen & (self._tokens(name) == int(token[1]))[:, None]
        if among:
            return self.seen & self._among(name, among[1])[:, None]
        if anchored:
            return self._anchored(name, anchored[1], int(anchored[2]))
        raise HeadwayError(
            f"relation = {name!r} is not allowed: it must be one of the task's, or "
            "composed as"
            " smallest larger token, after latest same token, mirror position if "
            "the same token"
        )

    def _among(self, name: str, listed: str) -> Bool[Tensor, "batch position"]:
        """The positions of tokens that are listed, as in 0–3,7."""
        tokens, ends = (
            self._tokens(name),
            [re.split("[–-]", part) for part in listed.split(",")],
        )
        return torch.stack(
            [(tokens >= int(x[0])) & (tokens <= int(x[-1])) for x in ends]
        ).any(0)

    def _anchored(self, name: str, way: str, marker: int) -> Mask:
        """The one key that stands to a query as its place past the latest of a token
        says.
        """
        at = torch.arange(self.length, device=self.inputs.device)
        places = at.where(self._tokens(name) == marker, -1)
        latest = places.cummax(1).values  # [batch, query]
        token, query = ANCHORED[way]
        key = token * latest + query * at
        return self.seen & (key[..., None] == at) & (latest >= 0)[..., None]

    @cached_property
    def _simple(self) -> dict[str, Callable[[], Tensor]]:
        """The sets of keys that have one name, before what is hidden is taken away."""
        apart, ends = self._offset, self._offset.flip(1) == 0

        def tokens(compare: Callable[[Tensor, Tensor], Tensor]) -> Callable[[], Tensor]:
            def made() -> Tensor:
                values = self._tokens("tokens")
                return compare(values[:, :, None], values[:, None]) & (apart != 0)

            return made

        def holding(name: str, wanted: bool) -> Callable[[], Tensor]:
            def made() -> Tensor:
                return (self.part(name).any(2) == wanted)[:, None]

            return made

        return {
            "own position": lambda: apart == 0,
            "previous token": lambda: apart == 1,
            "first position": lambda: (
                torch.arange(self.length, device=apart.device) == 0
            ),
            "mirror position": lambda: ends,
            "all so far": lambda: self.seen,
            "all before": lambda: apart != 0,
            "any token": lambda: self.seen,
            "same token": tokens(torch.eq),
            "other token": tokens(torch.ne),
            "larger token": tokens(torch.lt),
            "smaller token": tokens(torch.gt),
            "same or larger token": tokens(torch.le),
            "same or smaller token": tokens(torch.ge),
            "repeated token": holding("same token", True),
            "new token": holding("same token", False),
            "single token": self._single,
            "token unlike its mirror": holding(
                "mirror position if another token", True
            ),
            "token like its mirror": holding("mirror position if the same token", True),
        }

    def _single(self) -> Mask:
        tokens = self._tokens("single token")
        alike = (tokens[:, :, None] == tokens[:, None]).float()
        return self.seen.float() @ alike == 1

    def _tokens(self, name: str) -> Int[Tensor, "batch position"]:
        if not self.of_tokens:
            raise HeadwayError(
                f"relation = {name!r} is not allowed: these sequences have no tokens"
            )
        return self.inputs


def complexity(name: str) -> int:
    """The parts of a relation: `else`, `and`, `for` and a place past a token add one
    each.
    """
    more = [AND, FOR, *(f"{way} token" for way in ANCHORED)]
    return 1 + name.count(ELSE) + sum(word in name for word in more)


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
    composed, farthest = Composed(inputs, of_tokens, ahead), min(4, inputs.shape[1] - 1)
    names = [
        "previous token",
        *(f"{n} back" for n in range(2, farthest + 1)),
        "first position",
    ]
    names += (
        ["same token", "after same token", "after latest same token"]
        if of_tokens
        else []
    )
    found = {name: composed.mask(name) for name in names}
    found["first position"] = found["first position"] & composed.mask("all before")
    return {n: Edges.where(x) for n, x in found.items()} | {
        "own position": own_position(inputs)
    }
