"""Maps that are made anew before the first step: of another size, or a flat spectrum.

    training.curriculum = remade
    training.curriculum.weights = "W_Q W_K"
    training.curriculum.gain = 0.5

Weights are named as in `trained`. Nothing is drawn: a map is made of the one that is
there, so that runs of one seed differ in nothing else.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor

from headway.errors import require
from headway.fields import Positive
from headway.models import Transformer
from headway.training import Curriculum
from headway_experiments.trained import FIELD, Stage, named_in, places_in, stages_of


@dataclass(frozen=True)
class Remade(Curriculum):
    """All hops at every step; some maps are made anew before the first.

    Attributes:
        weights: that are made anew.
        flat: whether they become orthogonal: all singular values alike, the singular
            vectors as they are.
        gain: their size. With 1 they are as large as with `model.init` = `orthogonal`
            or `fan_in`: the squares in a row add up to 1, on average. By default as
            large as they are.
    """

    kind = "remade"
    weights: str = "W_Q W_K W_V W_O W_in W_out W_E W_U"
    flat: bool = True
    gain: Positive | None = None

    def __post_init__(self):
        super().__post_init__()
        one_stage = len(stages_of(self.weights)) == 1
        require(one_stage, FIELD, self.weights, "names of weights, without a >")

    @torch.no_grad()
    def learning(
        self, model: Transformer
    ) -> Callable[[int], AbstractContextManager[float]]:
        """Makes the maps anew."""
        places = places_in(model)
        parameters = dict(model.named_parameters())
        (stage,) = stages_of(self.weights)
        for name in named_in(Stage(stage.names, 1.0), places):
            place = places[name]
            weight = place.of(parameters[place.key])
            weight.copy_(remade(weight, self.flat, self.gain))
        return super().learning(model)


def remade(weight: Tensor, flat: bool, gain: float | None) -> Tensor:
    """A map with a flat spectrum if that is wanted, and of the size that a gain gives.

    Args:
        weight: the map.
        flat: whether all its singular values become alike.
        gain: the root of the mean square sum of a row; None keeps that of the map.
    """
    size = weight.norm() if gain is None else gain * len(weight) ** 0.5
    if flat:
        left, _, right = torch.linalg.svd(weight, full_matrices=False)
        weight = left @ right
    return weight * (size / weight.norm())
