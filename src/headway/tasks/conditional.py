"""Conditional retrieval: a step needs two values found before (Musat 2024, 3.1)."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway import theory
from headway.errors import require
from headway.fields import AtLeastOne, AtLeastTwo
from headway.relations.edges import Edges
from headway.tasks.base import Batch, Task
from headway.tasks.retrieval import Base, Even, at_queries, coded, sinusoid


@dataclass(frozen=True)
class Conditional(Task):
    """Sequences `… x y z … a y … a x … a`; asks for z, which needs both x and y.

    The table holds a row x y z for *every* pair (x, y), so that neither value alone
    tells z, as in the functions formulation of appendix A.4. With M = 2, the values x,
    x' and y, y', and two queries a and b, one sequence, table first, reads

        x y z   x' y z'   x y' z"   x' y' z*   b y'   a y'   a x   b x'   b   a
        └ table, rows shuffled               ┘ └ y facts ┘   └ x facts ┘  └ queries

    with targets (x', y', z*) at the query b and (x, y', z") at the query a. Symbols are
    drawn from N(0, I) afresh for every sequence.

    Roles: `a` is the query; `ax.a ax.x` the tokens of its x fact; `ay.a ay.y` those of
    its y fact; `xy.x xy.y xy.z` the tokens of its row of the table.

    Attributes:
        n_values: M, values of x and of y; the table has M² rows.
        n_chains: N, queries, each with a cell (x, y) of the table to itself; at most
            M².
        d_token: K, dimensions of a token and of the position code; even.
        position_code: a code for every token, or one for all tokens of a pair or row.
        position_base: the base of the code's wavelengths (2π to 2π · base^(1 - 2/K));
            if None, the longest is 1.25 sequences.
        order: table first and queries' facts last, or the other way round.
    """

    threshold = 0.05
    n_values: AtLeastTwo = 2
    n_chains: AtLeastOne = 4
    d_token: Even = 4
    position_code: Literal["token", "pair"] = "token"
    position_base: Base | None = 10_000.0
    order: "theory.Order" = "deep-first"

    def __post_init__(self):
        super().__post_init__()
        most = self.n_values**2
        allowed = f"from 1 to {most} (one row of the table each)"
        require(self.n_chains <= most, "task.n_chains", self.n_chains, allowed)

    @property
    def roles(self) -> tuple[str, ...]:
        return ("a", "ax.a", "ax.x", "ay.a", "ay.y", "xy.x", "xy.y", "xy.z")

    @property
    def hops(self) -> tuple[str, ...]:
        return ("x", "y", "z")

    @property
    def hop_order(self) -> list[tuple[str, str]]:
        """x and y both come before z; neither comes before the other."""
        return [("x", "z"), ("y", "z")]

    @property
    def label(self) -> str:
        return f"M={self.n_values}"

    @property
    def title(self) -> str:
        return "Looking up what needs two facts at once"

    @property
    def reading(self) -> str:
        return (
            f"A table with a row x y z for each of {self.n_values**2} pairs of values,"
            " facts that give every query a its y and its x,"
            " and the queries, which ask for z."
            " The number tells which query a position belongs to;"
            " rows that nobody asks for are marked with a dot."
            " Symbols are random vectors drawn afresh for every sequence."
        )

    def flow(self) -> "theory.Flow":
        return theory.conditional_flow(self.order)

    @property
    def length(self) -> int:
        return 3 * self.n_values**2 + 5 * self.n_chains

    @property
    def starts(self) -> dict[str, int]:
        """The positions at which the table, the y facts, the x facts and the queries
        begin.
        """
        table = 3 * self.n_values**2
        facts = 2 * self.n_chains
        if self.order == "deep-first":
            return {
                "table": 0,
                "y": table,
                "x": table + facts,
                "query": table + 2 * facts,
            }
        return {"table": 2 * facts, "y": facts, "x": 0, "query": table + 2 * facts}

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draws symbols, the row of the table each query asks for, and every shuffle.

        Returns: the symbols a, x, y, z side by side; each query's cell; the slot of
            every row of the table; the slots of every chain in the queries, the x facts
            and the y facts.
        """
        m = self.n_values
        n = self.n_chains
        device = generator.device

        def shuffled(*shape: int) -> Tensor:
            noise = torch.rand(count, *shape, generator=generator, device=device)
            order = noise.argsort(-1)
            return order.to(torch.uint8 if shape[-1] <= 256 else torch.int32)

        n_symbols = n + 2 * m + m * m
        shape = (count, n_symbols, self.d_token)
        symbols = torch.randn(shape, generator=generator, device=device)
        cells = shuffled(m * m)[:, :n]
        rows = shuffled(m * m)
        slots = shuffled(3, n)
        return symbols, cells, rows, slots

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        symbols = draws[0]
        cells, rows, slots = (drawn.long() for drawn in draws[1:])
        table, chains = self._positions(rows, slots)
        tokens, targets = self._tokens(symbols, cells)
        positions = torch.cat([*table, *chains], dim=1)
        code = code_of(self, symbols.device)
        own_row = [column.gather(1, cells) for column in table]
        return Batch(
            inputs=coded(tokens, positions, code),
            targets=at_queries(targets, slots[:, 0]),
            roles=torch.stack([*chains, *own_row], dim=1),
        )

    def _positions(
        self, rows: Tensor, slots: Tensor
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The positions of the table's three columns, and of a chain's other parts.

        Args:
            rows: the slot of every row of the table.
            slots: of every chain in the queries, the x facts and the y facts.
        """

        def placed(block: str, width: int, slot: Tensor) -> list[Tensor]:
            first = self.starts[block] + width * slot
            return [first + i for i in range(width)]

        table = placed("table", 3, rows)
        query, x_slot, y_slot = slots.unbind(1)
        queries = placed("query", 1, query)
        facts = placed("x", 2, x_slot) + placed("y", 2, y_slot)
        return table, queries + facts

    def _tokens(self, symbols: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """The tokens, in the order of `_positions`, and what each chain is asked."""
        m = self.n_values
        a, x, y, z = symbols.split([self.n_chains, m, m, m * m], dim=1)
        table = [x.repeat_interleave(m, 1), y.repeat(1, m, 1), z]
        each = torch.arange(len(symbols), device=symbols.device)[:, None]
        own_x, own_y, own_z = (column[each, cells] for column in table)
        tokens = torch.cat([*table, a, a, own_x, a, own_y], dim=1)
        targets = torch.stack([own_x, own_y, own_z], dim=2)
        return tokens, targets

    def relations(self, batch: Batch) -> dict[str, Edges]:
        """The relations of every task, and those from each query to all the rows of
        its x, or of its y.
        """
        relations = super().relations(batch)
        queries = batch.roles[:, 0]
        for i, symbol in enumerate("xy"):
            role = f"xy.{symbol}"
            own = batch.roles[:, self.roles.index(role)]
            keys = self._rows_of_the_same(own, i, batch.inputs)
            name = f"a←{role} (rows of the same {symbol})"
            relations[name] = Edges(queries, keys, "measured")
        return relations

    def _rows_of_the_same(
        self,
        own: Int[Tensor, "batch chain"],
        i: int,
        inputs: Float[Tensor, "batch position _"],
    ) -> Int[Tensor, "batch chain row"]:
        """The positions in a column of the table with the same symbol as a chain's."""
        rows = torch.arange(self.n_values**2, device=own.device)
        column = self.starts["table"] + 3 * rows + i
        tokens = inputs[..., : self.d_token]
        where = own[..., None].expand(-1, -1, self.d_token)
        own_symbol = tokens.gather(1, where)[:, :, None]
        in_column = tokens[:, None, column]
        same = (in_column == own_symbol).all(-1)
        matching = same.float().topk(self.n_values, dim=-1).indices
        return column[matching]

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """Predicting zero, the mean of all candidates, and z knowing x alone."""
        m = self.n_values
        values = 1 - 1 / m
        cells = 1 - 1 / m**2
        by_mean = {"x": values, "y": values, "z": cells}
        by_zero = dict.fromkeys(self.hops, 1.0)
        from_x = {"z": values}
        return {
            "zero": by_zero,
            "mean of the candidates": by_mean,
            "z from x alone": from_x,
        }


@cache
def code_of(task: Conditional, device: torch.device) -> Float[Tensor, "position token"]:
    """The position code of a task on a device."""
    positions = torch.arange(task.length)
    if task.position_code == "pair":
        widths = {"table": 3, "y": 2, "x": 2, "query": 1}
        for block, width in widths.items():
            start = task.starts[block]
            count = task.n_values**2 if block == "table" else task.n_chains
            places = torch.arange(count).repeat_interleave(width)
            end = start + count * width
            positions[start:end] = start + places
        positions = positions.unique(return_inverse=True)[1]
    return sinusoid(positions, task.d_token, task.position_base).to(device)
