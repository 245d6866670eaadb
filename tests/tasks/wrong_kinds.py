"""Changes that break the good task, by kind: every part of it in every wrong shape."""

from wrong_tasks import ADDED, case, inputs, more, roles, targets

DRAWN = "return symbols[:, : self.n_chains * (self.depth + 1)], places"
LAID_OUT = "return Batch(inputs, chains[..., 1:], roles.transpose(1, 2))"
ROLES = 'property(lambda self: tuple(f"s{i}" for i in range(2 * self.depth + 1)))'

PARTS = {
    "inputs": (inputs, "inputs", "8, 15"),
    "targets": (targets, "chains[..., 1:]", "8, 3, 2"),
    "roles": (roles, "roles.transpose(1, 2)", "8, 5, 3"),
}

NO_TENSORS = {
    ".tolist()": "a list of ",
    ".numpy()": "a ndarray",
    ".unbind()": "a tuple of ",
    ".shape": "a Size",
    ".to('meta')": "int64 [{shape}] on meta",
    ".to_sparse()": "sparse_coo int64 [{shape}]",
}
"""What is made of a part, and what is told of it."""

WRONG_SHAPES = [
    ("inputs", "inputs[:, 0]", "int64 [8]: they must be int64 [batch, position]"),
    ("inputs", "inputs[1:]", "int64 [7, 15]: they must"),
    ("inputs", "inputs > 3", "bool [8, 15]: they must"),
    ("inputs", "inputs.half()", "float16 [8, 15]: they must"),
    ("inputs", "inputs + 1j", "complex64 [8, 15]: they must"),
    ("targets", "chains[0, 0, 0]", "int64 []: they must be tokens int64"),
    ("targets", "chains[1:, :, 1:]", "int64 [7, 3, 2]: they must"),
    ("targets", "chains[:1, :, 1:]", "int64 [1, 3, 2]: they must"),
    ("targets", "chains[..., 1:].repeat(1, 9, 1)", "int64 [8, 27, 2], inputs int64 [8, 15]: q"),
    ("targets", "chains[:, :0, 1:]", "int64 [8, 0, 2], inputs int64 [8, 15]: q"),
    ("targets", "chains[..., 1:] > 3", "bool [8, 3, 2]: they must"),
    ("targets", "chains[..., 1:].int()", "int32 [8, 3, 2]: they must"),
    ("targets", "chains[..., 1:] + 1j", "complex64 [8, 3, 2]: they must"),
    ("roles", "roles[:, :, 0]", "int64 [8, 3]: they must"),
    ("roles", "roles.transpose(1, 2)[1:]", "int64 [7, 5, 3]: the second size"),
    ("targets", "None", "None: they must be a dense tensor"),
    ("inputs", "None", "None: they must be a dense tensor"),
]

RETURNED = {
    "assemble": (
        LAID_OUT,
        [
            ("inputs", "int64 [8, 15]: it must be of type Batch"),
            ("{'inputs': inputs}", "a dict of 'inputs': int64 [8, 15]: it must be of type Batch"),
            ("exit()", "it raised SystemExit"),
            ("self.assemble(draws)", "it raised RecursionError: maximum"),
        ],
    ),
    "draw": (
        DRAWN,
        [
            ("None", "None: it must be of type tuple[Tensor, ...]"),
            ("[symbols, places]", "a list of int64 [8, 30], int64 [8, 6]: it must be of type"),
            ("symbols.numpy(), places", "a tuple of a ndarray, int64 [8, 6]: it must be of type"),
            ("symbols, places.to('meta')", "tensor 1 is int64 [8, 6] on meta: it must be dense"),
            ("symbols[0, 0], places", "tensor 0 is int64 [] of 8 sequences: the first"),
        ],
    ),
}

ATTRIBUTES = [
    ("n_read", "7", "7: assemble says 3"),
    ("n_hops", "7", "7: assemble says 2"),
    ("d_input", "7", "7: assemble says 1"),
    ("d_target", "7", "7: assemble says 60"),
    ("length", "None", "None: it must be of type int"),
    ("targets", "'tokens'", "'tokens': it must be of type Targets"),
    ("hop_order", "3", "3: it must be of type list[tuple[str, str]]"),
    ("looks_ahead", "'yes'", "'yes': it must be of type bool"),
    ("drawn_from", "3", "3: it must be of type str | None"),
    ("title", "property(lambda self: 1 / 0)", "it raised ZeroDivisionError"),
    ("n_depths", "2.0", "2.0: it must be of type int"),
    ("sample", "lambda self, count, generator: 3", "3: it must be of type Batch"),
    ("references", "lambda self: {'x': 1.0}", "{'x': 1.0}: by reference_losses it must be {}"),
    ("room", "lambda self, depth: -1", "-1 at depth 1 of 1: it must be at least 0"),
]

TYPE = "of type int | None"
IN_VECTORS = ((ADDED, ""), inputs("inputs[..., None].float()"))

KINDS_OF_WRONG = {
    **{
        f"{part}{made}": case(
            f"error assemble: {part} are {told.format(shape=shape)}", change(f"{value}{made}")
        )
        for part, (change, value, shape) in PARTS.items()
        for made, told in NO_TENSORS.items()
    },
    **{
        f"{part} {value}": case(f"error assemble: {part} are {told}", PARTS[part][0](value))
        for part, value, told in WRONG_SHAPES
    },
    **{
        f"{name} returns {value}": case(f"error {name}: {told}", (text, f"return {value}"))
        for name, (text, values) in RETURNED.items()
        for value, told in values
    },
    "draw returns nothing": case(
        "error assemble: it raised IndexError: tuple index out of range", (DRAWN, "return ()")
    ),
    **{
        f"{name} = {value}": case(f"error {name}: {told}", more(f"{name} = {value}"))
        for name, value, told in ATTRIBUTES
    },
    **{
        f"vocabulary = {value}": case(
            f"error vocabulary: {value}: it must be {told}",
            ("lambda self: self.n_symbols", f"lambda self: {value}"),
        )
        for value, told in (("'x'", TYPE), ("30.0", TYPE), ("True", TYPE), ("0", "at least 1"))
    },
    "roles = numbers": case("error roles: a tuple of 1, 2: it must be", (ROLES, "(1, 2)")),
    "a length that depends on the count": case(
        "error draw: inputs of each of 512 sequences are [16], of 8 they are [15]: they must be",
        inputs("torch.cat([inputs[:, : int(len(inputs) > 99)], inputs], 1)"),
    ),
    "a target too large now and then": case(
        "error assemble: targets hold 0 to 30: it must be 0 to 29",
        targets("chains[..., 1:] + (chains[..., :1] == 7) * (chains[..., 1:] == 29)"),
    ),
    "vectors of another size": case(
        "error targets: Vectors(size=2): its size must be the last of targets, float32 [8, 3, 2,",
        *IN_VECTORS,
        targets("chains[..., 1:, None].float()"),
        ("import torch\n", "import headway, torch\n"),
        ("    n_symbols: int = 30", "    n_symbols: int = 30\n    targets = headway.Vectors(2)"),
    ),
    "vectors that are half asked": case(
        "error assemble: targets are not finite: only a whole vector may be NaN",
        *IN_VECTORS,
        targets("torch.stack([chains[..., 1:], chains[..., 1:] * torch.nan], -1)"),
    ),
    "vectors that are not asked": case(
        "error assemble: targets are NaN everywhere: nothing is asked",
        *IN_VECTORS,
        targets("chains[..., 1:, None] * torch.nan"),
    ),
    "a NaN in a vector now and then": case(
        "error assemble: inputs are not finite everywhere",
        (ADDED, ""),
        inputs("(inputs / (inputs[:, :1] != 7))[..., None]"),
        targets("chains[..., 1:, None].float()"),
    ),
}
