"""Programs compiled by Tracr, as plain PyTorch modules, with the selector of every
head.

Tracr (Lindner et al. 2023, arXiv 2301.05062) compiles programs in RASP into
transformers. Its
models are read as they are: one-hot streams, attention, ReLU, no layer norm. Its graph
of the program says which head computes which selector. Needs the package `tracr-pypi`,
which needs JAX; both are loaded when a program is compiled, and never before.
"""

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn

from headway.errors import HeadwayError

HOW = "pip install tracr-pypi==1.0.0 (it brings JAX), or run: make arena"
"""The way to get Tracr."""

LOGITS = 20.0
"""Nats between an answer and the others: one-hot outputs times this are logits."""


def has_tracr() -> bool:
    """True if Tracr is installed."""
    return find_spec("tracr") is not None


def tracr(module: str) -> Any:
    """A module of Tracr.

    Raises:
        HeadwayError: if it is not installed.
    """
    if not has_tracr():
        raise HeadwayError(f"the family tracr needs Tracr: {HOW}")
    logging.getLogger("absl").setLevel(logging.ERROR)  # advice on how to write RASP
    return import_module(f"tracr.{module}")


class TracrModule(nn.Module):
    """A compiled model. Reads tokens [sequence, position]: BOS first, padding last.

    Attributes:
        weights: Tracr's, by their names there; `unembed` picks the output's directions.
        pad: the token that is never attended to; Tracr itself takes sequences without
            padding.
        scale: of the output.
        nothing: whether there is an output for no value at all.
    """

    def __init__(
        self, params: Any, n_heads: int, key_size: int, unembed: np.ndarray, pad: int
    ):
        super().__init__()
        self.n_heads = n_heads
        self.key_size = key_size
        self.pad = pad
        self.scale = 1.0
        self.nothing = False
        self.weights = nn.ParameterDict()
        self._keep("unembed", torch.tensor(unembed, dtype=torch.float32))
        self.n_layers = 0
        for where, named in params.items():
            for name, value in named.items():
                key = f"{where}.{name}".replace(".", "/")
                self._keep(key, torch.tensor(np.asarray(value)))
                self.n_layers += key.endswith("attn/query/w")
        self.blocks = nn.ModuleList()
        for _ in range(self.n_layers):
            block = nn.ModuleDict({"hook_z": nn.Identity()})
            self.blocks.append(block)

    def _keep(self, name: str, value: Tensor) -> None:
        self.weights[name] = nn.Parameter(value, requires_grad=False)

    def _linear(self, stream: Tensor, where: str) -> Tensor:
        weight = self.weights[f"{where}/w"]
        bias = self.weights[f"{where}/b"]
        return stream @ weight + bias

    def stream(self, tokens: Tensor) -> Tensor:
        """The residual stream after the last layer, [sequence, position, direction]."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        stream = self.weights["token_embed/embeddings"][tokens]
        stream = stream + self.weights["pos_embed/embeddings"][places]
        padding = (tokens == self.pad)[:, None, None]
        for layer in range(self.n_layers):
            at = f"transformer/layer_{layer}"
            z = self._attention(stream, layer, padding)
            stream = stream + self._linear(z.flatten(2), f"{at}/attn/linear")
            hidden = torch.relu(self._linear(stream, f"{at}/mlp/linear_1"))
            stream = stream + self._linear(hidden, f"{at}/mlp/linear_2")
        return stream

    def _attention(self, stream: Tensor, layer: int, padding: Tensor) -> Tensor:
        """The values that the heads of a layer read, [sequence, position, head,
        number], after its hook.
        """
        query = self._by_head(stream, layer, "query")
        key = self._by_head(stream, layer, "key")
        value = self._by_head(stream, layer, "value")
        scores = query @ key.mT / math.sqrt(self.key_size)
        pattern = torch.softmax(scores.masked_fill(padding, -1e30), dim=-1)
        hook = self.get_submodule(f"blocks.{layer}.hook_z")
        return hook((pattern @ value).transpose(1, 2))

    def _by_head(self, stream: Tensor, layer: int, name: str) -> Tensor:
        """Queries, keys or values, [sequence, head, position, number]."""
        numbers = self._linear(stream, f"transformer/layer_{layer}/attn/{name}")
        return numbers.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of every value and, last, of none at all; or one number, scaled.

        RASP's None is a stream without any value, so it is the answer below one half.
        """
        outputs = self.stream(tokens) @ self.weights["unembed"]
        if self.nothing:
            no_value = torch.full_like(outputs[..., :1], 0.5)
            outputs = torch.cat([outputs, no_value], dim=-1)
        return outputs * self.scale


class Attends(NamedTuple):
    """A head that the compiler uses.

    Attributes:
        layer: of it.
        head: its number in the layer.
        selector: of RASP, that it attends by.
        counts: whether it counts what is selected (`SelectorWidth`); then it attends to
            BOS, too.
    """

    layer: int
    head: int
    selector: Any
    counts: bool


@dataclass(frozen=True)
class Compiled:
    """A program as the compiler made it.

    Attributes:
        assembled: Tracr's own model.
        module: the same in PyTorch.
        heads: every head that the compiler uses; all others have no weights.
        tokens: by number.
        values: that are put out, by number; None if the output is a number.
    """

    assembled: Any
    module: TracrModule
    heads: tuple[Attends, ...]
    tokens: tuple[Any, ...]
    values: tuple[Any, ...] | None


def compile_program(program: Any, vocabulary: Sequence[Any], length: int) -> Compiled:
    """Compiles as `compile_rasp_to_model` does, and keeps the graph.

    Raises:
        HeadwayError: if Tracr refuses the program or is not installed.
    """
    try:
        built = _built(program, vocabulary, length)
    except (NotImplementedError, ValueError, TypeError, AssertionError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise HeadwayError(
            f"Tracr refuses the program {program.name}: {reason}"
        ) from None
    assembled = built.assembled
    directions = built.sink["OUTPUT_BASIS"]
    tokens = assembled.input_encoder.encoding_map
    module = TracrModule(
        assembled.params,
        assembled.model_config.num_heads,
        assembled.model_config.key_size,
        _unembedding(assembled.residual_labels, directions),
        tokens[tracr("compiler.compiling").COMPILER_PAD],
    )
    values = None
    rasp = tracr("rasp.rasp")
    if rasp.is_categorical(program):
        values = tuple(direction.value for direction in directions)
        module.scale = LOGITS
        module.nothing = True
    heads = tuple(_heads(built.graph, built.craft, rasp))
    return Compiled(assembled, module.eval(), heads, tuple(tokens), values)


def _unembedding(labels: list[str], directions: Sequence[Any]) -> np.ndarray:
    """Picks directions of the stream, [label, direction]."""
    unembed = np.zeros((len(labels), len(directions)))
    for column, direction in enumerate(directions):
        unembed[labels.index(str(direction)), column] = 1
    return unembed


class _Built(NamedTuple):
    """A program as Tracr compiles it, step by step."""

    graph: Any
    sink: Any
    craft: Any
    assembled: Any


def _built(program: Any, vocabulary: Sequence[Any], length: int) -> _Built:
    """The steps of Tracr's compiler, which raises errors of many kinds."""
    compiling = tracr("compiler.compiling")
    rasp = tracr("rasp.rasp")
    bos = compiling.COMPILER_BOS
    pad = compiling.COMPILER_PAD
    refused = compiling.validating.static_validate(program)
    if refused:
        raise NotImplementedError("; ".join(refusal.reason for refusal in refused))
    extracted = compiling.rasp_to_graph.extract_rasp_graph(program)
    graph = extracted.graph
    sink = extracted.sink
    compiling.basis_inference.infer_bases(graph, sink, set(vocabulary), length)
    bos_dir = compiling.bases.BasisDirection(rasp.tokens.label, bos)
    compiling.expr_to_craft_graph.add_craft_components_to_rasp_graph(
        graph, bos_dir=bos_dir
    )
    craft = compiling.craft_graph_to_model.craft_graph_to_model(
        graph, extracted.sources
    )
    assemble = compiling.craft_model_to_transformer.craft_model_to_transformer
    # Tracr draws weights, which takes most of its time, and clears them.
    drawn = import_module("haiku").initializers.VarianceScaling
    with patch.object(
        drawn, "__call__", lambda _, shape, dtype: np.zeros(shape, dtype)
    ):
        assembled = assemble(craft, graph, sink, length, bos, pad)
    return _Built(graph, sink, craft, assembled)


def _heads(graph: Any, craft: Any, rasp: Any) -> Iterator[Attends]:
    """Every head's selector: blocks of the graph, found again where the compiler put
    them.
    """
    transformers = tracr("craft.transformers")
    whose: dict[int, Any] = {}
    for node in graph.nodes.values():
        block = node.get("MODEL_BLOCK")
        if isinstance(node["EXPR"], rasp.SelectorWidth):
            whose[id(block.blocks[0])] = node["EXPR"]
        elif isinstance(node["EXPR"], rasp.Aggregate):
            whose[id(block)] = node["EXPR"]
    half = -1  # even: attention, odd: MLP, as `assemble` numbers them
    for block in craft.blocks:
        is_mlp = isinstance(block, transformers.MLP)
        half += 1 if (half + 1) % 2 == int(is_mlp) else 2
        if not is_mlp:
            for number, head in enumerate(block.as_multi().heads()):
                made_of = whose[id(head)]
                counts = isinstance(made_of, rasp.SelectorWidth)
                yield Attends(half // 2, number, made_of.selector, counts)
