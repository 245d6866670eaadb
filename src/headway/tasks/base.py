"""The base of all tasks: frozen dataclasses that draw sequences."""

import re
from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway import theory
from headway.errors import require
from headway.fields import check
from headway.relations import (
    Composed,
    Edges,
    Related,
    between_roles,
    general_relations,
    own_position,
    previous_token,
)
from headway.settings import makes_as_usual
from headway.tasks.meter import IN_ALL, Meter, TooMuchError
from headway.tasks.registry import register, require_hints
from headway.tasks.targets import Targets, Tokens, Vectors

MAKES = {"draw", "assemble", "relations", "shallower"}
"""Methods of headway's tasks that make the same tensors, whatever default type is set.
Those of a user's do so where headway calls them, and elsewhere as the user has set
it."""


TokensAre = Literal["symbols", "ordered", "numbers"]
"""The operations that tokens allow: telling them apart; comparing them by size, too; or
adding and subtracting them, too."""

SEARCHED_ON = "circuit"
"""The purpose of the sequences that a circuit is searched for on."""

OTHER_SAMPLES = ("stability 1", "stability 2")
"""Those of sequences on which it is searched for again."""

SEARCHES = (SEARCHED_ON, *OTHER_SAMPLES)


@dataclass(frozen=True)
class Batch:
    """Sequences, what must be predicted at their queries, and where every role stands.

    Attributes:
        inputs: tokens by number [batch, position], or vectors [batch, position,
            number].
        targets: for the last positions of every sequence, the queries, in order: a
            token [batch, query, hop] or a vector [batch, query, hop, output] for every
            hop. `IGNORE_INDEX`, or NaN, where a hop is not asked.
        roles: the position at which each chain plays each role (names: `Task.roles`);
            None if positions play no roles.
        corrupted: the same sequences but for what their answers depend on, like
            `inputs`: what heads attend to there stands in the place of their attention
            (`circuits.Corrupted`); None if nobody says how to corrupt them.
    """

    inputs: Float[Tensor, "batch position number"] | Int[Tensor, "batch position"]
    targets: Float[Tensor, "batch query hop output"] | Int[Tensor, "batch query hop"]
    roles: Int[Tensor, "batch role chain"] = None  # pyright: ignore[reportAssignmentType]
    corrupted: Tensor | None = None

    def __post_init__(self):
        if self.roles is None:
            shape = (len(self.inputs), 0, 0)
            device = self.inputs.device
            none = torch.zeros(shape, dtype=torch.long, device=device)
            object.__setattr__(self, "roles", none)

    def part(self, rows: slice | Int[Tensor, " row"]) -> "Batch":
        """Some of the sequences, a slice or by number."""
        inputs = self.inputs[rows]
        targets = self.targets[rows]
        corrupted = None if self.corrupted is None else self.corrupted[rows]
        return replace(
            self,
            inputs=inputs,
            targets=targets,
            roles=self.roles[rows],
            corrupted=corrupted,
        )


def largest_field(config: Any) -> str:
    """The field of a dataclass whose number is the most times its default; empty
    without any.
    """

    def times(field: Field[Any]) -> int:
        value = getattr(config, field.name)
        usual = field.default
        if not isinstance(value, int):
            return 0
        unit = abs(usual) if isinstance(usual, int) else 1
        return abs(value) // max(1, unit)

    every = fields(config)
    if every:
        return max(every, key=times).name
    return ""


@dataclass(frozen=True)
class Task(ABC):
    """A task and its parameters: a subclass is a frozen dataclass, its fields are the
    parameters.

    It must say how sequences are drawn (`draw`) and laid out (`assemble`), and either
    what `roles` positions play in a chain or which `relations` there are between
    positions. All else follows from a sequence that it lays out, or has a default.
    Subclassing registers the task by its `kind`, so that a run's folder finds it again.
    """

    kind: ClassVar[str]
    """The task's name in `config.json`; by default the class's in snake_case."""

    threshold: ClassVar[float | None] = None
    """The loss below which a circuit solves the task, if known (`Yardstick`)."""

    way: ClassVar[str | None] = None
    """The way to a circuit that suits the task, by name; by default it follows from
    what the task tells (`ways.way_for`).
    """

    def __init_subclass__(cls, registered: bool = True, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("headway"):
            for name in MAKES & vars(cls).keys():
                method = vars(cls)[name]
                if callable(method):  # not a property that hands on another task's
                    setattr(cls, name, makes_as_usual(method))
        if "kind" not in cls.__dict__:
            cls.kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        if registered:
            register(cls)

    def __post_init__(self):
        require_hints(type(self))
        check(self, "task.")

    @abstractmethod
    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draws all that is random about `count` sequences, on the generator's device.

        Returns: tensors whose first dimension is the sequence.
        """

    @abstractmethod
    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """Lays out what `draw` drew as sequences."""

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that positions play in a chain, the query first."""
        return ()

    def relations(self, batch: Batch) -> dict[str, Edges]:
        """The relations that attention is measured along, by name; some are paths.

        By default they lead from every role to every role of its chain and of other
        chains, and there is `previous token`. A task without roles has those of
        `general_relations`.
        """
        if not self.roles:
            return general_relations(
                batch.inputs, self.vocabulary is not None, self.looks_ahead
            )
        previous = {"previous token": previous_token(batch.inputs, "measured")}
        return between_roles(batch.roles, self.roles) | previous

    def edges(self, batch: Batch, ahead: bool = False) -> Related:
        """Every relation; with `own position` if no other keeps a position's content.

        Composed ones (`headway.relations`) are made when they are asked for by name, of
        the task's own paths, too. With `ahead`, those that nobody named lead to later
        positions, too.
        """
        ahead = ahead or self.looks_ahead
        tokens = self.vocabulary is not None
        if self.is_read_blind:
            edges = general_relations(batch.inputs, tokens, ahead)
            own = {}
        else:
            edges = self.relations(batch)
            own = {name: path for name, path in edges.items() if path.use == "path"}
        is_ordered = self.tokens_are != "symbols"
        composed = Composed(batch.inputs, tokens, ahead, own, is_ordered)
        if edges and not any(relation.use == "stay" for relation in edges.values()):
            edges = {**edges, "own position": own_position(batch.inputs)}
        return Related(edges, composed)

    @property
    def is_read_blind(self) -> bool:
        """True if the task names neither roles nor relations of its own."""
        return not self.roles and type(self).relations is Task.relations

    @property
    def is_corrupted(self) -> bool:
        """True if the task draws corrupted sequences, too (`Batch.corrupted`)."""
        return self._example.corrupted is not None

    @property
    def hops(self) -> tuple[str, ...]:
        """The names of what a query must predict, in the order of the chain."""
        count = self._example.targets.shape[2]
        if count == 1:
            return ("answer",)
        numbers = range(1, count + 1)
        return tuple(f"hop {j}" for j in numbers)

    @property
    def tokens(self) -> tuple[str, ...] | None:
        """The names of the tokens, as shown with sequences; without them, numbers."""
        return None

    @property
    def vocabulary(self) -> int | None:
        """The number of tokens, if there are any; by default of those with names."""
        if self.tokens is None:
            return None
        return len(self.tokens)

    @property
    def tokens_are(self) -> TokensAre:
        """The kind of the tokens: symbols alone, ordered, or numbers.

        By default tokens without names have an order, as numbers do. Those with names
        have none, nor have vectors: nothing is said to look at larger ones.
        """
        has_numbers = self.vocabulary is not None and self.tokens is None
        return "ordered" if has_numbers else "symbols"

    def token_name(self, token: int) -> str:
        """A token as it is shown: its name, if it has one, else its number."""
        if self.tokens is None:
            return str(token)
        return self.tokens[token]

    @property
    def drawn_from(self) -> str | None:
        """The text that sequences are drawn from, in words; None if there is none."""
        return None

    @property
    def targets(self) -> Targets:
        """The judge of predictions: as tokens out of the vocabulary, or as vectors.

        Of several hops every one is read off logits of its own, unless a task says
        otherwise.
        """
        if self.vocabulary is not None:
            return Tokens(self.vocabulary, own_logits=len(self.hops) > 1)
        return Vectors(self._example.targets.shape[3])

    @property
    def n_depths(self) -> int:
        """The number of depths that sequences can have (see `shallower`)."""
        return 1

    def shallower(
        self, draws: tuple[Tensor, ...], depth: int, earlier: int = 0
    ) -> Batch:
        """Lays out sequences of fewer hops, if the task has any.

        Args:
            draws: what `draw` drew.
            depth: from 1 to `n_depths`. Targets may have only as many hops.
            earlier: by how many places the position code is moved towards the start, as
                if the sequences stood there; at most `room(depth)`.
        """
        return self.assemble(draws)

    def room(self, depth: int) -> int:
        """The places by which a sequence of so many hops can move to the start."""
        return 0

    def sample(self, count: int, generator: torch.Generator) -> Batch:
        """Samples `count` fresh sequences on the generator's device."""
        return self.assemble(self.draw(count, generator))

    def sample_for(self, purpose: str, count: int, generator: torch.Generator) -> Batch:
        """Samples sequences for a purpose, such as one of `SEARCHES`.

        A task of few sequences may give fewer, so that those of a search are for
        searches alone.
        """
        return self.sample(count, generator)

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """Losses, hop by hop, of predictors that follow no chain, for comparison."""
        return {}

    def references(self) -> dict[str, float]:
        """Means over the hops of the reference losses."""
        means = {}
        for name, losses in self.reference_losses().items():
            asked = [losses[hop] for hop in self.hops if hop in losses]
            if asked:
                means[name] = sum(asked) / len(asked)
        return means

    @property
    def hop_order(self) -> list[tuple[str, str]]:
        """Pairs of hops of which the first is nearer to the query in the chain."""
        return list(pairwise(self.hops))

    @property
    def judged(self) -> tuple[str, ...]:
        """The hops that a circuit is judged by: those predictable without error."""
        return self.hops

    @property
    def looks_ahead(self) -> bool:
        """True if hops lead to later positions, so that a model must see both ways."""
        return False

    def flow(self) -> "theory.Flow | None":
        """The flow of information to an answer (section 5 of the paper), if known."""
        return None

    @property
    def label(self) -> str:
        """The task's size in a few letters, `D=3`; by default its first field."""
        if not fields(self):
            return ""
        first = fields(self)[0].name
        return f"{first}={getattr(self, first)}"

    @property
    def title(self) -> str:
        """The title of a page about the task."""
        name = self.kind.replace("_", " ")
        if not self.label:
            return name
        name = f"{name[:1].upper()}{name[1:]}"
        return f"{name}, {self.label}"

    @property
    def reading(self) -> str:
        """A sentence or two about a sequence: the start of the class's docstring."""
        text = type(self).__doc__ or ""
        if text.startswith(
            f"{type(self).__name__}("
        ):  # the signature, which dataclasses put there
            return ""
        first = text.split("\n\n")[0]
        return " ".join(first.split())

    @property
    def _example(self) -> Batch:
        return self._laid_out[0]

    @cached_property
    def _laid_out(self) -> tuple[Batch, int]:
        """Two sequences, and what they cost."""
        meter = Meter()
        field = largest_field(self)
        value = getattr(self, field, None)
        generator = torch.Generator().manual_seed(0)
        try:
            if isinstance(value, int) and abs(value) >= 2**62:  # no number of torch
                raise TooMuchError
            with meter:
                batch = self.sample(2, generator)
        except (TooMuchError, TypeError, RuntimeError) as error:
            # Of a size that is no number of torch, torch says that it would overflow.
            if (
                not isinstance(error, TooMuchError)
                and "overflow" not in str(error).lower()
            ):
                raise
            told = "two of its sequences would take too many numbers"
            allowed = f"smaller: no sequence can be laid out, as {told}"
            require(False, f"task.{field}", value, allowed)
            raise
        return batch, meter.made

    @property
    def length(self) -> int:
        """Positions in a sequence."""
        return self._example.inputs.shape[1]

    @property
    def n_read(self) -> int:
        """Queries in a sequence: they are its last positions."""
        return self._example.targets.shape[1]

    @property
    def d_input(self) -> int:
        """Numbers that a model reads at a position; 1 if it reads a token."""
        if self.vocabulary is not None:
            return 1
        return self._example.inputs.shape[2]

    @property
    def d_target(self) -> int:
        """Numbers that a model puts out at a query."""
        return self.targets.width(self.n_hops)

    @property
    def n_hops(self) -> int:
        """The number of things that a query must predict."""
        return len(self.hops)

    @cached_property
    def standing(self) -> list[str]:
        """The roles in the order of their places, on average if shuffled."""
        fits = 2 * IN_ALL // cost_of(self)
        count = min(64, max(2, fits))
        generator = torch.Generator().manual_seed(0)
        batch = self.sample(count, generator)
        places = batch.roles.float().mean((0, 2))
        return [self.roles[i] for i in places.argsort().tolist()]


def cost_of(task: Task) -> int:
    """The numbers that are computed in laying out two sequences of a task.

    Raises:
        HeadwayError: if they are too many; it names the field that is most out of the
            way.
    """
    return task._laid_out[1]


def chains_in(task: Task) -> int:
    """Chains in a sequence that play a task's roles."""
    return task._laid_out[0].roles.shape[2]
