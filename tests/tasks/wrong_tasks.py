"""A task that keeps its word, and changes that break it, each with what must be told of
it.
"""

from textwrap import indent

GOOD = '''
"""Chains in tokens: pairs in random order, then the first symbol of every chain."""
from dataclasses import dataclass
import torch
from headway import Batch, Edges, Task

@dataclass(frozen=True)
class Pairs(Task):
    """Pairs a b, b c in random order; asked for b and c at a."""
    depth: int = 2
    n_chains: int = 3
    n_symbols: int = 30

    roles = property(lambda self: tuple(f"s{i}" for i in range(2 * self.depth + 1)))
    vocabulary = property(lambda self: self.n_symbols)

    def draw(self, count, generator):
        device = generator.device
        drawn = (count, self.n_symbols)
        by_symbol = torch.rand(drawn, generator=generator, device=device)
        symbols = by_symbol.argsort(-1)
        n_pairs = self.n_chains * self.depth
        by_place = torch.rand(count, n_pairs, generator=generator, device=device)
        places = by_place.argsort(-1)
        return symbols[:, : self.n_chains * (self.depth + 1)], places

    def assemble(self, draws):
        chains = draws[0].unflatten(1, (self.n_chains, -1))
        places = 2 * draws[1].unflatten(1, (self.n_chains, -1))
        ends = torch.stack([places, places + 1], -1).flatten(2)
        chain = torch.arange(self.n_chains, device=ends.device)
        first = ends.shape[1] * ends.shape[2] + chain
        first = first.expand(len(ends), -1)[..., None]
        roles = torch.cat([first, ends], -1)
        tokens = chains.repeat_interleave(2, -1)[..., :-1]
        inputs = tokens.new_zeros(len(tokens), tokens[0].numel())
        inputs.scatter_(1, roles.flatten(1), tokens.flatten(1))
        return Batch(inputs, chains[..., 1:], roles.transpose(1, 2))
'''
ADDED = "    vocabulary = property(lambda self: self.n_symbols)\n"


DOUBLED = """
def doubled(batch):
    return Batch(batch.inputs, batch.targets.repeat(1, 1, 2), batch.roles)

"""


def swap(old, new):
    """A text replaced by another."""
    return ((old, new),)


def more(text):
    """Lines in the body of the class."""
    return swap(ADDED, ADDED + indent(text, "    ") + "\n")


def relations(returned):
    return more(f"def relations(self, batch):\n    return {returned}")


def inputs(instead):
    return swap("Batch(inputs,", f"Batch({instead},")


def targets(instead):
    return swap("chains[..., 1:],", f"{instead},")


def roles(instead):
    return swap("roles.transpose(1, 2)", instead)


DRAWN = "return symbols[:, : self.n_chains * (self.depth + 1)], places"
LAID_OUT = "return Batch(inputs, chains[..., 1:], roles.transpose(1, 2))"
IN_VECTORS = swap(ADDED, "") + inputs("inputs[..., None].float()")

WRONG: dict[str, tuple[tuple[str, str], ...]] = {}
"""Changes of the good task, by what must be told of it."""


def broken(told, *changes):
    """Note changes, and what must be told of a task that has them."""
    WRONG[told] = sum(changes, ())


broken("error n_read: 7: assemble says 3", more("n_read = 7"))
broken("error length: None: it must be of type int", more("length = None"))
broken("error looks_ahead: 'yes': it must be of type bool", more("looks_ahead = 'yes'"))
broken(
    "error title: it raised ZeroDivisionError",
    more("title = property(lambda self: 1 / 0)"),
)
broken(
    "error sample: 3: it must be of type Batch",
    more("sample = lambda self, count, generator: 3"),
)
broken(
    "error room: -1 at depth 1 of 1: it must be at least 0",
    more("room = lambda self, depth: -1"),
)
broken("error flow: 3: it must be of type Flow | None", more("flow = lambda self: 3"))
broken(
    "error tokens: ('a', 'b'): each of the 30 tokens needs a name",
    more("tokens = ('a', 'b')"),
)
broken(
    "error hops: a, b, c: there must be as many as the third size of",
    more("hops = tuple('abc')"),
)
broken(
    "error judged: ('hop 9',): it must be some of hop 1, hop 2",
    more("judged = ('hop 9',)"),
)
broken(
    "error reference_losses: 'a': 'b' = 1.0: it",
    more("reference_losses = lambda self: {'a': {'b': 1.0}}"),
)

broken(
    "error assemble: int64 [8, 15]: it must be of type Batch",
    swap(LAID_OUT, "return inputs"),
)
broken("error assemble: it raised SystemExit", swap(LAID_OUT, "return exit()"))
broken(
    "error assemble: it raised RecursionError: maximum",
    swap(LAID_OUT, "return self.assemble(draws)"),
)
broken("error assemble: targets are None: they must be a", targets("None"))
broken(
    "error assemble: roles are sparse_coo int64 [8, 5, 3]",
    roles("roles.transpose(1, 2).to_sparse()"),
)
broken(
    "error assemble: targets hold 0 to 30: it must be 0 to 29",
    targets("chains[..., 1:] + (chains[..., :1] == 7) * (chains[..., 1:] == 29)"),
)
broken(
    "error assemble: targets are not finite: only a whole vector may be NaN",
    IN_VECTORS,
    targets("torch.stack([chains[..., 1:], chains[..., 1:] * torch.nan], -1)"),
)
broken(
    "error assemble: targets are NaN everywhere: nothing is asked",
    IN_VECTORS,
    targets("chains[..., 1:, None] * torch.nan"),
)
broken("error assemble: Pairs must have it", swap("def assemble", "def lay_out"))
broken(
    "error assemble: it changes what draw drew",
    swap("2 * draws[1].unflatten", "draws[1].mul_(2).unflatten"),
)
broken(
    "error assemble: inputs of the same draws differ from call to call",
    inputs("torch.randint_like(inputs, 30)"),
)
broken(
    "error assemble: inputs hold 0 to 29: it must be 0 to 28",
    swap("lambda self: self.n_symbols", "lambda self: self.n_symbols - 1"),
)
broken(
    "error assemble: inputs are float32 [8, 15]: they must be int64 [batch, posit",
    inputs("inputs.float()"),
)
broken(
    "error assemble: inputs are int64 [8, 15, 1]: they must be int64 [batch,",
    inputs("inputs[..., None]"),
)
broken(
    "error assemble: inputs are not finite everywhere",
    swap(ADDED, ""),
    inputs("inputs[..., None] / torch.zeros(())"),
)
broken(
    "error assemble: targets are int64 [8, 3]: they must be tokens int64",
    targets("chains[..., 1]"),
)
broken(
    "error assemble: targets are float32 [8, 3, 2, 1]: they must be int64, t",
    targets("chains[..., 1:, None].float()"),
)
broken(
    "error assemble: targets hold -1 to 28: it must be 0 to 29, or IGNORE",
    targets("chains[..., 1:] - 1"),
)
broken(
    "error assemble: targets are IGNORE_INDEX everywhere",
    targets("chains[..., 1:] * 0 - 100"),
)
broken(
    "error assemble: roles are int64 [8, 3, 5]: the second size must", roles("roles")
)
broken(
    "error assemble: roles hold 1 to 15: it must be 0 to 14",
    roles("roles.transpose(1, 2) + 1"),
)
broken(
    "error assemble: every query has the same answer in all of 512 sequences: one",
    targets("chains[..., 1:] * 0 + 7"),
)
broken(
    "error assemble: targets are others if sequences stand in another order: no",
    targets("(chains[..., 1:] + chains[:1, :1, :1]) % 30"),
)
broken(
    "error assemble: inputs of 4 sequences differ from those among 8",
    inputs("(inputs + inputs.sum()) % 30"),
)

broken(
    "error draw: None: it must be of type tuple[Tensor, ...]",
    swap(DRAWN, "return None"),
)
broken(
    "error draw: tensor 1 is int64 [8, 6] on meta",
    swap(DRAWN, "return symbols, places.to('meta')"),
)
broken(
    "error draw: tensor 1 is int64 [6] of 8 sequences: the fi",
    swap(DRAWN, "return symbols, places[0]"),
)
broken(
    "error draw: tensor 0 is int64 [] of 8 sequences: the f",
    swap(DRAWN, "return symbols[0, 0], places"),
)
broken(
    "error draw: inputs of each of 512 sequences are [16], of 8 they are [15]",
    inputs("torch.cat([inputs[:, : int(len(inputs) > 99)], inputs], 1)"),
)
broken(
    "error draw: it raised AttributeError: 'torch._C.Generator' object has no",
    swap("device = generator.device", "device = generator.place"),
)
broken(
    "error draw: the same generator draws something else: all that",
    swap("generator=generator, ", ""),
)
broken(
    "error draw: every generator draws the same sequences: all that",
    swap(
        "device = generator.device",
        "device, generator = 'cpu', torch.Generator().manual_seed(1)",
    ),
)
broken(
    "error draw: inputs of a sequence are [16] by one seed and [15] by another",
    swap(
        DRAWN,
        "fill = torch.randint(2, (1,), generator=generator).item()\n        "
        f"{DRAWN}, "
        "torch.zeros(count, fill)",
    ),
    inputs("torch.cat([inputs, draws[2].long()], 1)"),
)
broken(
    "error draw: targets of a sequence are [3, 2] by one seed and [2, 2] by another",
    swap(
        DRAWN,
        "asked = 2 + torch.randint(2, (1,), generator=generator).item()\n     "
        f"   {DRAWN}, "
        "torch.zeros(count, asked)",
    ),
    targets("chains[:, : draws[2].shape[1], 1:]"),
)

broken(
    "error depth: it is no field: Pairs must be decorated, @dataclass(frozen=True)",
    swap("@dataclass(frozen=True)\n", ""),
)

broken(
    "error names: a list of 1: it must be hashable, as a tuple is",
    swap("n_symbols: int = 30", "n_symbols: int = 30; names: list = None"),
    more("def __post_init__(self):\n    object.__setattr__(self, 'names', [1])"),
)

broken(
    "doubt n_pairs: it has no type, so it is no field: n_pairs: int = 3 is one",
    more("n_pairs = 3\nMOST = 4\nlooks_ahead = False"),
)

broken("error vocabulary: None, but inputs are int64 [8, 15]", swap(ADDED, ""))

broken(
    "error roles: ('s0', 's1', 's2', 's3', 's0'): names must differ",
    swap('f"s{i}"', 'f"s{i % 4}"'),
)
broken("error roles: ('s←0', ", swap('f"s{i}"', 'f"s←{i}"'))
broken(
    "error roles: s0 stands at position 1: the first role is the query's",
    roles("roles.transpose(1, 2).flip(1)"),
)

broken(
    "doubt roles: two stand at one position in 100% of sequences",
    roles("roles.transpose(1, 2)[:, [0, 1, 2, 2, 4]]"),
)

broken(
    "error relations: a list of 1: it must be of type dict[str, Edges]",
    relations("[1]"),
)
broken(
    "error relations: 'next': queries are int64 [8, 3], keys int64 [8, 3]",
    relations('{"next": Edges(batch.roles[:, 0], batch.roles[:, 1])}'),
)
broken(
    "error relations: 'next': use = 'way': it must be path, stay or measured",
    relations('{"next": Edges(batch.roles[:, 0], batch.roles[:, 1, :, None], "way")}'),
)
broken(
    "error relations: 'next': keys stand after their queries: looks_ahead must be",
    relations('{"next": Edges(batch.roles[:, 1], batch.roles[:, 0, :, None])}'),
)

broken(
    "doubt relations: no relation has a key for 67% of the asked positions (query 1 of",
    relations(
        '{"next": Edges(batch.roles[:, 0, :1], batch.roles[:, 1, :1, None] * 0)}'
    ),
)
broken(
    "doubt relations: 'next' leads nowhere in 8 sequences",
    relations('{"next": Edges(batch.roles[:, 0], batch.roles[:, 1, :, None] * 0 - 1)}'),
)
broken(
    "doubt relations: 'later' leads where 'next' does in 8 sequences",
    relations(
        "{n: Edges(batch.roles[:, 0], batch.roles[:, 1, :, None]) for n in "
        '("next", "later")}'
    ),
)
broken("doubt relations: no circuit can be found", relations("{}"))

broken(
    "error shallower: at depth 1 of 2: targets are int64 [8, 3, 4], of assemble",
    more("n_depths = 2"),
    more(
        "def shallower(self, draws, depth):\n    return doubled(self.assemble(draws))"
    ),
    swap("@dataclass(frozen", DOUBLED + "@dataclass(frozen"),
)

broken(
    "doubt reading: without a docstring, pages cannot say how",
    swap('    """Pairs a b, b c in random order; asked for b and c at a."""\n', ""),
)

broken(
    "doubt assemble: the answer to hop 1 is the query's own token in 100% of 1536",
    targets("chains[..., :-1]"),
)
broken(
    "doubt assemble: the answer to hop 2 stands one position after s4, and at no role",
    inputs("inputs.roll(1, 1)"),
)
broken(
    "doubt assemble: the answer to hop 1 stands at no role of its chain (at s0 in 0%)",
    targets("chains[..., 1:].roll(1, 1)"),
)
broken(
    "doubt assemble: the answer to hop 1 is the token 7 in 100% of 1536 cases",
    targets("torch.stack([chains[..., 1] * 0 + 7, chains[..., 2]], -1)"),
)
broken(
    "doubt assemble: one sequence has two answers to hop 1: it does not decide",
    inputs("inputs * 0"),
)

broken(
    "doubt hops: hop 2 is never asked in 512 sequences",
    swap(
        "return Batch(",
        "chains = chains.clone()\n        chains[..., 2] = -100\n        return Batch(",
    ),
)
