"""Texts of random tokens that repeat a stretch: what induction heads are known by."""

from dataclasses import dataclass

import torch
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastOne, NotNegative
from headway.tasks import Batch, Task


@dataclass(frozen=True)
class Repeats(Task, registered=False):
    """Random tokens, no two alike, of which the last repeat a stretch from a random
    place before.

    The answer is what followed the stretch there. In the corrupted sequence other
    tokens stand in the place of the repeat. (Olsson et al. 2022 know induction heads by
    repeated random tokens.)

    Attributes:
        n_tokens: how many tokens the model tells apart.
        n_places: tokens in a text.
        stretch: how many of them are repeated.
        start: the token that every text begins with, such as BOS; none if it is below
            0.
        lowest: the first token that may be drawn; those below may have a special
            meaning.
    """

    kind = "repeats"

    n_tokens: int = 50_000
    n_places: int = 40
    stretch: AtLeastOne = 3
    start: int = -1
    lowest: NotNegative = 1_000

    def __post_init__(self):
        super().__post_init__()
        least = 2 * self.stretch + 2
        require(
            self.n_places >= least, "task.n_places", self.n_places, f"at least {least}"
        )
        require(self.start < self.n_tokens, "task.start", self.start, "below n_tokens")
        room = self.lowest + self._drawn
        require(
            room <= self.n_tokens, "task.n_tokens", self.n_tokens, f"at least {room}"
        )

    @property
    def vocabulary(self) -> int:
        return self.n_tokens

    @property
    def _drawn(self) -> int:
        """Tokens that are drawn for a text and its corruption."""
        return self.n_places + self.stretch

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Tokens, all different, [sequence, token], and where the stretch begins,
        [sequence].
        """
        each = (self.n_tokens - self.lowest) // self._drawn
        size = (count, self._drawn)
        device = generator.device
        rank = torch.rand(size, generator=generator, device=device).argsort(1)
        tokens = self.lowest + rank * each
        tokens += torch.randint(each, size, generator=generator, device=device)
        last = self.n_places - 2 * self.stretch
        return tokens, torch.randint(
            1, last, (count,), generator=generator, device=device
        )

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """The texts, what comes next, and the texts without a repeat."""
        tokens, begins = draws
        inputs = tokens[:, : self.n_places].clone()
        if self.start >= 0:
            inputs[:, 0] = self.start
        corrupted = inputs.clone()
        corrupted[:, -self.stretch :] = tokens[:, self.n_places :]
        stretch = torch.arange(self.stretch + 1, device=tokens.device)
        places = begins[:, None] + stretch
        repeated = inputs.gather(1, places)
        inputs[:, -self.stretch :] = repeated[:, :-1]
        return Batch(inputs, repeated[:, None, -1:], corrupted=corrupted)
