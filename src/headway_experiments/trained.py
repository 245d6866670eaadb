"""Training that moves some of a model's weights, together or one after the other.

    training.curriculum = trained
    training.curriculum.weights = "W_O.1 > 1e4 W_K.1"

Weights have TransformerLens' names: `W_E W_pos W_U`, and with the layer after a dot
`W_Q.0 W_K.0 W_V.0 W_O.0 W_in.0 W_out.0`; without it, `W_K` is that of all layers. What
is named side by side is trained together; a stage after a `>` begins once the one
before is over. A number in front of a stage multiplies its rates. The others stay as
they were drawn.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastOne
from headway.models import Transformer, TransformerConfig
from headway.tasks import Task
from headway.training import Curriculum, TrainingConfig
from headway_experiments.curricula import require_time

FIELD = "training.curriculum.weights"


class Place(NamedTuple):
    """The parameter that a weight lies in, which part of it, and how many parts it
    has.
    """

    key: str
    part: int = 0
    parts: int = 1

    def of(self, whole: Tensor) -> Tensor:
        """The part of the parameter, or of its gradient."""
        return whole.chunk(self.parts)[self.part]


ENDS = {
    "W_E": Place("embed.weight"),
    "W_pos": Place("pos_embed.weight"),
    "W_U": Place("unembed.weight"),
}
INNER = {
    **{
        name: Place("attn.qkv.weight", part, 3)
        for part, name in enumerate(("W_Q", "W_K", "W_V"))
    },
    "W_O": Place("attn.out.weight"),
    "W_in": Place("mlp.up.weight"),
    "W_out": Place("mlp.down.weight"),
}
"""The weights of a block, as it names them."""


class Stage(NamedTuple):
    """The weights that are trained together, and the factor on their rates."""

    names: tuple[str, ...]
    factor: float


def stages_of(weights: str) -> list[Stage]:
    """The stages, one after the other.

    Raises:
        HeadwayError: if a name is not that of a weight, a factor is no positive number,
            or a stage has no weight.
    """
    allowed = (
        f"made of {', '.join([*ENDS, *INNER])}, with .LAYER or without, and "
        "> between stages"
    )
    parts = []
    for text in weights.split(">"):
        names = tuple(text.split())
        factor = 1.0
        with suppress(ValueError, IndexError):  # unless the first word is a name
            factor = float(names[0])
            names = names[1:]
        require(bool(names), FIELD, weights, allowed)
        for name in names:
            kind, dot, layer = name.partition(".")
            fits = name in ENDS or (kind in INNER and (layer.isdecimal() or not dot))
            require(fits, FIELD, name, allowed)
        require(0 < factor < math.inf, FIELD, weights, "with positive factors")
        parts.append(Stage(names, factor))
    return parts


@dataclass(frozen=True)
class Trained(Curriculum):
    """All hops at every step, for some of the weights.

    Attributes:
        weights: that are trained, stage by stage (see the module).
        every: steps between one stage and the next.
    """

    kind = "trained"
    weights: str = "W_Q W_K W_V W_O"
    every: AtLeastOne = 200

    def __post_init__(self):
        super().__post_init__()
        stages_of(self.weights)

    def require(
        self, task: Task, model: TransformerConfig, training: TrainingConfig
    ) -> None:
        """Checks that the last stage comes before the end, and that the optimiser moves
        numbers one by one."""
        require_time(self.every, len(stages_of(self.weights)), training.steps)
        allowed = "adam or sgd with training.curriculum = trained"
        require(
            training.optimizer != "muon",
            "training.optimizer",
            training.optimizer,
            allowed,
        )

    def learning(
        self, model: Transformer
    ) -> Callable[[int], AbstractContextManager[float]]:
        """Freezes what is never trained; then moves only the weights of the step's
        stage.
        """
        return Held(model, self.weights, self.every).holding


def places_in(model: Transformer) -> dict[str, Place]:
    """The weights that a model has, by name."""
    places = dict(ENDS)
    for layer in range(model.n_layers):
        for name, place in INNER.items():
            key = f"blocks.{layer}.{place.key}"
            places[f"{name}.{layer}"] = place._replace(key=key)
    parameters = dict(model.named_parameters())
    return {name: place for name, place in places.items() if place.key in parameters}


def named_in(stage: Stage, places: Mapping[str, Place]) -> set[str]:
    """The weights that a stage trains; a name without a layer means that of every
    layer.
    """
    named: set[str] = set()
    for wanted in stage.names:
        those = {name for name in places if wanted in (name, name.partition(".")[0])}
        allowed = f"a weight that the model has ({', '.join(places)})"
        require(bool(those), FIELD, wanted, allowed)
        named |= those
    return named


class Held:
    """A model of which some weights are trained and the others stay as they are.

    The gradients of weights that no stage trains are never computed.

    Args:
        model: whose weights they are.
        weights: that are trained, and when (see the module).
        every: steps between one stage and the next.

    Raises:
        HeadwayError: if the model has no weight of a name.
    """

    def __init__(self, model: Transformer, weights: str, every: int):
        self._parameters = dict(model.named_parameters())
        self._every = every
        self._factors = []
        places = places_in(model)
        trained_in = []
        for stage in stages_of(weights):
            self._factors.append(stage.factor)
            trained_in.append(named_in(stage, places))
        ever = {places[name].key for names in trained_in for name in names}
        for key, weight in self._parameters.items():
            weight.requires_grad_(key in ever)
        self._held = []
        for names in trained_in:
            held = [place for name, place in places.items() if name not in names]
            self._held.append([place for place in held if place.key in ever])

    @contextmanager
    def holding(self, step: int) -> Iterator[float]:
        """A context in which an optimiser moves only the weights that are trained at a
        step; all others are put back at its end.

        Yields:
            The factor on the rates.
        """
        stage = min(step // self._every, len(self._held) - 1)
        weights = []
        before = []
        for place in self._held[stage]:
            weight = self._parameters[place.key]
            held = place.of(weight.detach())
            weights.append(held)
            before.append(held.clone())
            if weight.grad is not None:
                place.of(weight.grad).zero_()
        yield self._factors[stage]
        for weight, kept in zip(weights, before, strict=True):
            weight.copy_(kept)
