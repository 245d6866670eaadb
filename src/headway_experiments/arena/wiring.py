"""The retrieval problem with every position told its chain and its role, and attention
along chosen paths, written into the heads of a model of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headway.models import Transformer
from headway.relations import AttentionPath, Relation
from headway.replace import Head
from headway.tasks import Batch, Retrieval
from headway_experiments.arena.assembly import ONE, Assembly, Match

SHARP = 20.0
"""Nats between a key of the right chain and role and a key with only one of them."""
STEEP = 40.0
"""The steepness of a gate in its flag: at 0.25 above or below 0.75 it is open or shut
to ±10.
"""

Move = tuple[str, str]
"""A register of the key, and the register of the query that it is added to."""


@dataclass(frozen=True)
class Labelled(Retrieval):
    """The sequences of `Retrieval`, with labels in place of the position code.

    With D = 2 and the chains a b c and p q r, whose ids are 0 and 1, one sequence reads

        token   b  c    q  r    p  q    a  b    a   p
        chain   0  0    1  1    1  1    0  0    0   1
        role    s3 s4   s3 s4   s1 s2   s1 s2   s0  s0

    so the model reads a token (K numbers), a one-hot chain (N) and a one-hot role (2D +
    1). Any attention along paths can be written into a single head, and so any pattern
    of paths planted in a model: for scoring discovery, not for learning. The position
    code is not used.
    """

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """Inputs with labels."""
        batch = super().assemble(draws)
        roles = batch.roles
        count, n_roles, n_chains = roles.shape
        sequence = torch.arange(count, device=roles.device)[:, None, None]
        chain = torch.arange(n_chains, device=roles.device)
        role = torch.arange(n_roles, device=roles.device)[:, None]
        first_role = self.d_token + n_chains
        inputs = batch.inputs.new_zeros(*batch.inputs.shape[:2], first_role + n_roles)
        inputs[..., : self.d_token] = batch.inputs[..., : self.d_token]
        inputs[sequence, roles, self.d_token + chain] = 1
        inputs[sequence, roles, first_role + role] = 1
        return Batch(inputs, batch.targets, roles)

    def flow(self) -> None:
        """None: where every position is told its role, attention needs nothing in
        common.
        """
        return None


@dataclass
class Wire:
    """The work of one head.

    Attributes:
        keys: for every role that attends along a path, the role attended to.
        moves: what is carried along all these paths.
        told: a register in place of the asker's role: it looks along the paths if this
            holds 1, and anywhere else in its chain if this holds at most 1/2.
        selfish: whether roles without a path attend to themselves, or evenly to their
            own chain.
    """

    keys: dict[str, str] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    told: str | None = None
    selfish: bool = False


@dataclass
class Wiring:
    """A model of the labelled task in the making: paths, what they carry, and gates.

    Registers: the halves `token.low` and `token.high` of the token, the one-hot
    `chain`, a number for every role, and whatever `register` adds, which starts at 0.
    """

    task: Labelled
    n_layers: int
    n_heads: int
    wires: dict[Head, Wire] = field(init=False)
    widths: dict[str, int] = field(init=False)
    gates: list[tuple[str, str, str, str]] = field(init=False, default_factory=list)

    def __post_init__(self):
        half = self.task.d_token // 2
        self.widths = {
            "token.low": half,
            "token.high": half,
            "chain": self.task.n_chains,
        }
        self.widths |= dict.fromkeys(self.task.roles, 1)
        self.wires = {}
        for layer in range(self.n_layers):
            for head in range(self.n_heads):
                self.wires[layer, head] = Wire()

    def register(self, name: str, like: str) -> None:
        """Adds a register as wide as another."""
        self.widths[name] = self.widths[like]

    def path(
        self, head: Head, query: str, key: str, moves: Sequence[Move] = ()
    ) -> AttentionPath:
        """Lets a head attend from a role to a role, and carry `moves` along all its
        paths.
        """
        wire = self.wires[head]
        assert wire.keys.setdefault(query, key) == key
        wire.moves += moves
        return AttentionPath(*head, Relation.between(query, key))

    def gate(self, primary: str, backup: str, flag: str, result: str) -> None:
        """Sets `result` to `primary` where `flag` is 1, to `backup` where it is at most
        1/2.
        """
        self.register(result, primary)
        self.gates.append((primary, backup, flag, result))

    def build(self, targets: Sequence[str]) -> Transformer:
        """The model, which predicts the `targets` registers side by side."""
        embeds: dict[str, int] = {}
        first = 0
        for name in ("token.low", "token.high", "chain", *self.task.roles):
            embeds[name] = first
            first += self.widths[name]
        assembly = Assembly(self.widths, embeds)
        for at, wire in self.wires.items():
            if wire.keys:
                assembly.heads[at] = self._matches(wire), wire.moves
        for gate in self.gates:
            self._write_gate(assembly, *gate)
        return assembly.build(self.task, targets, self.n_layers, self.n_heads)

    def _matches(self, wire: Wire) -> list[Match]:
        matches = [Match("chain", "chain", SHARP)]
        if wire.told:
            keys = wire.keys.values()
            matches += [Match(wire.told, key, 4 * SHARP) for key in keys]
            matches += [Match(ONE, key, -3 * SHARP) for key in keys]
        else:
            matches += [Match(query, key, SHARP) for query, key in wire.keys.items()]
        if wire.selfish:
            others = [role for role in self.task.roles if role not in wire.keys]
            matches += [Match(role, role, SHARP) for role in others]
        return matches

    def _write_gate(
        self, assembly: Assembly, primary: str, backup: str, flag: str, result: str
    ) -> None:
        """For |x| ≤ c, (relu(c + x) - relu(c - x)) / 2 is x, and 0 for -c in the place
        of c.
        """
        eye = torch.eye(self.widths[primary])
        signs = torch.cat([eye, -eye])
        count = len(signs)
        for source, steep in ((primary, STEEP), (backup, -STEEP)):
            reads = {source: signs, flag: torch.full((count, 1), steep)}
            bias = torch.full((count,), -0.75 * steep)
            assembly.units(self.n_layers - 1, reads, bias, writes={result: signs.T / 2})
