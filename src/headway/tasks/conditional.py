"""The conditional retrieval problem: a step needs two values found before (Musat 2024, 3.1)."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import require, require_types
from headway.tasks.base import Batch, Order, Relation, Task, require_code, sinusoid


@dataclass(frozen=True)
class ConditionalConfig:
    """The conditional retrieval problem's parameters.

    Attributes:
        n_values: M, values of x and of y; the table has M² rows.
        n_chains: N, queries, each with a cell (x, y) of the table to itself; at most M².
        d_token: K, dimensions of a token and of the position code; even.
        curriculum: the implicit curriculum (IC): predict x, y and z rather than z alone.
        position_code: a code for every token, or one for all tokens of a pair or row.
        position_base: the base of the code's wavelengths (2π to 2π · base^(1 - 2/K)); none picks
            the base whose longest wave is 1.25 sequences.
        order: table first and queries' facts last, or the other way round.
    """

    n_values: int = 2
    n_chains: int = 4
    d_token: int = 4
    curriculum: bool = True
    position_code: Literal["token", "pair"] = "token"
    position_base: float | None = 10_000.0
    order: Order = "deep-first"

    def __post_init__(self):
        require_types(self, "task.")
        require(self.n_values >= 2, "task.n_values", self.n_values, "a whole number of at least 2")
        require(
            1 <= self.n_chains <= self.n_values**2,
            "task.n_chains",
            self.n_chains,
            f"from 1 to {self.n_values**2} (one row of the table each)",
        )
        require_code(self.d_token, self.position_base)

    @property
    def asked(self) -> tuple[str, ...]:
        """What a query must predict."""
        return ("x", "y", "z") if self.curriculum else ("z",)


class Conditional(Task):
    """Samples sequences `… x y z … a y … a x … a`; asks for z, which needs both x and y.

    The table holds a row x y z for *every* pair (x, y), so that neither value alone tells z, as in
    the functions formulation of appendix A.4. With M = 2, the values x, x' and y, y', and two
    queries a and b, one sequence, table first, reads

        x y z   x' y z'   x y' z"   x' y' z*   b y'   a y'   a x   b x'   b   a
        └ table, rows shuffled               ┘ └ y facts ┘   └ x facts ┘  └ queries

    with targets (x', y', z*) at the query b and (x, y', z") at the query a. Symbols are drawn
    from N(0, I) afresh for every sequence.

    Roles: `a` is the query; `ax.a ax.x` the tokens of its x fact; `ay.a ay.y` those of its y
    fact; `xy.x xy.y xy.z` the tokens of its row of the table.
    """

    role_names = ("a", "ax.a", "ax.x", "ay.a", "ay.y", "xy.x", "xy.y", "xy.z")

    def __init__(self, config: ConditionalConfig | None = None, device: str = "cpu"):
        self.config = config = config or ConditionalConfig()
        m, n, k = config.n_values, config.n_chains, config.d_token
        table = 3 * m * m
        self.length = table + 5 * n
        self.n_chains = self.n_read = n
        self.d_token, self.d_input = k, 2 * k
        self.d_target = k * len(config.asked)
        self.hop_names = config.asked
        if config.order == "deep-first":
            self._table_start, self._y_start, self._x_start = 0, table, table + 2 * n
        else:
            self._x_start, self._y_start, self._table_start = 0, 2 * n, 4 * n
        self._query_start = table + 4 * n

        positions = torch.arange(self.length)
        if config.position_code == "pair":
            positions = torch.empty(self.length, dtype=torch.long)
            for start, rows, width in (
                (self._table_start, m * m, 3),
                (self._y_start, n, 2),
                (self._x_start, n, 2),
                (self._query_start, n, 1),
            ):
                positions[start : start + rows * width] = start + torch.arange(
                    rows
                ).repeat_interleave(width)
            positions = positions.unique(return_inverse=True)[1]
        self.position_code: Float[Tensor, "position token"] = sinusoid(
            positions, k, config.position_base
        ).to(device)

    @property
    def hop_order(self) -> list[tuple[str, str]]:
        """Both x and y are nearer to the query than z; between them there is no order."""
        return [("x", "z"), ("y", "z")] if self.config.curriculum else []

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draws symbols, the row of the table each query asks for, and every shuffle.

        Returns: the symbols a, x, y, z side by side; each query's cell; the slot of every row of
            the table; the slots of every chain in the queries, the x facts and the y facts.
        """
        m, n, device = self.config.n_values, self.n_chains, generator.device

        def shuffled(*shape: int) -> Tensor:
            noise = torch.rand(count, *shape, generator=generator, device=device)
            return noise.argsort(-1).to(torch.uint8 if shape[-1] <= 256 else torch.int32)

        symbols = torch.randn(
            count, n + 2 * m + m * m, self.d_token, generator=generator, device=device
        )
        return symbols, shuffled(m * m)[:, :n], shuffled(m * m), shuffled(3, n)

    def assemble(self, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
        """Puts the table's rows, both kinds of facts and the queries at their slots."""
        m, n, k = self.config.n_values, self.n_chains, self.d_token
        symbols = draws[0]
        cells, rows, slots = (drawn.long() for drawn in draws[1:])
        a, x, y, z = symbols.split([n, m, m, m * m], dim=1)
        own_x, own_y = (
            values.gather(1, index[..., None].expand(-1, -1, k))
            for values, index in ((x, cells // m), (y, cells % m))
        )
        own_z = z.gather(1, cells[..., None].expand(-1, -1, k))

        inputs = symbols.new_empty(len(symbols), self.length, 2 * k)
        inputs[..., k:] = self.position_code

        def put(start: int, width: int, slot: Tensor, *columns: Tensor) -> list[Tensor]:
            where = [start + width * slot + i for i in range(width)]
            for positions, tokens in zip(where, columns, strict=True):
                inputs[..., :k].scatter_(1, positions[..., None].expand(-1, -1, k), tokens)
            return where

        x_of_row, y_of_row = x.repeat_interleave(m, 1), y.repeat(1, m, 1)
        table = put(self._table_start, 3, rows, x_of_row, y_of_row, z)
        queries = put(self._query_start, 1, slots[:, 0], a)
        x_fact = put(self._x_start, 2, slots[:, 1], a, own_x)
        y_fact = put(self._y_start, 2, slots[:, 2], a, own_y)
        own_row = [positions.gather(1, cells) for positions in table]
        roles = torch.stack([*queries, *x_fact, *y_fact, *own_row], dim=1)

        asked = [own_x, own_y, own_z] if self.config.curriculum else [own_z]
        targets = torch.stack(asked, dim=2)
        at_query = slots[:, 0, :, None, None].expand_as(targets)
        return Batch(inputs, torch.zeros_like(targets).scatter_(1, at_query, targets), roles)

    def relations(self, batch: Batch) -> dict[str, Relation]:
        """As in every task, and from each query to all the rows of its x, or of its y."""
        relations = super().relations(batch)
        m, k = self.config.n_values, self.d_token
        tokens = batch.inputs[..., :k]
        rows = self._table_start + 3 * torch.arange(m * m, device=batch.roles.device)
        for i, role in enumerate(("xy.x", "xy.y")):
            own = batch.roles[:, self.role_names.index(role)]
            column = tokens[:, rows + i]
            mine = tokens.gather(1, own[..., None].expand(-1, -1, k))
            same = (column[:, None] == mine[:, :, None]).all(-1)
            keys = (rows + i)[same.float().topk(m, dim=-1).indices]
            name = f"a→{role} (rows of the same {'xy'[i]})"
            relations[name] = Relation(name, batch.roles[:, 0], keys)
        return relations

    def reference_losses(self) -> dict[str, float]:
        """Predicting zero, the mean of all candidates (hop by hop), and z knowing x alone."""
        m = self.config.n_values
        values, cells = 1 - 1 / m, 1 - 1 / m**2
        hops = {"x": values, "y": values, "z": cells}
        mean = sum(hops[name] for name in self.hop_names) / self.n_hops
        return {"zero": 1.0, "mean of the candidates": mean, "z from x alone": values}
