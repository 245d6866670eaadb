"""Factual recall: a subject and a relation among noise, and the answer that belongs to
them.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from jaxtyping import Int
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastOne, NotNegative
from headway.tasks import Batch, Task


@dataclass(frozen=True)
class Recall(Task):
    """Sequences with one subject and one relation; asks for the answer at the end.

    One sequence of six positions reads

        n3  s1  n0  n0  r2  EOS

    and its target is a*(s1, r2), one of the answers A_r2 that relation 2 can have. It
    was drawn uniformly from A_r for every subject, by the task and not by a run's seed:
    it cannot be found in the sequence and must be memorised. Subject and relation stand
    at random places, in either order; every other place holds noise (Nichani, Lee and
    Bietti 2024, arXiv 2412.06538).

    Roles: EOS, the query; subject; relation. Noise plays none.

    Attributes:
        n_subjects: S; their tokens come first, then those of relations, noise, EOS and
            answers.
        n_relations: R.
        n_answers: |A_r|, answers that a relation can have; no two relations share one.
        n_noise: tokens that say nothing.
        length: positions in a sequence, the last token (EOS) among them.
    """

    n_subjects: AtLeastOne = 16
    n_relations: AtLeastOne = 4
    n_answers: AtLeastOne = 8
    n_noise: NotNegative = 8
    length: Annotated[int, Ge(3)] = 16  # pyright: ignore[reportIncompatibleMethodOverride]

    def __post_init__(self):
        super().__post_init__()
        least = 1 if self.length > 3 else 0
        allowed = f"a whole number of at least {least} with task.length = {self.length}"
        require(self.n_noise >= least, "task.n_noise", self.n_noise, allowed)

    @property
    def roles(self) -> tuple[str, ...]:
        return ("EOS", "subject", "relation")

    @property
    def label(self) -> str:
        return f"S={self.n_subjects}"

    @property
    def first_noise(self) -> int:
        return self.n_subjects + self.n_relations

    @property
    def eos(self) -> int:
        return self.first_noise + self.n_noise

    @property
    def first_answer(self) -> int:
        """The token of the first answer; all after it are answers, too."""
        return self.eos + 1

    @property
    def vocabulary(self) -> int:
        return self.first_answer + self.n_relations * self.n_answers

    def answers(
        self, device: torch.device | str = "cpu"
    ) -> Int[Tensor, "relation answer"]:
        """The tokens that are answers of a relation."""
        count = self.n_relations * self.n_answers
        tokens = self.first_answer + torch.arange(count, device=device)
        return tokens.view(self.n_relations, self.n_answers)

    def facts(
        self, device: torch.device | str = "cpu"
    ) -> Int[Tensor, "subject relation"]:
        """The answer of every subject and relation."""
        fixed = torch.Generator().manual_seed(0)
        drawn = torch.randint(
            self.n_answers, (self.n_subjects, self.n_relations), generator=fixed
        )
        first = self.answers()[:, 0]
        return (drawn + first).to(device)

    def draw(
        self, count: int, generator: torch.Generator
    ) -> tuple[
        Int[Tensor, "batch 2"], Int[Tensor, "batch 2"], Int[Tensor, "batch place"]
    ]:

        def integers(high: int, *shape: int) -> Tensor:
            return torch.randint(
                high, shape, generator=generator, device=generator.device
            )

        subject = integers(self.n_subjects, count)
        relation = integers(self.n_relations, count)
        before = self.length - 1
        first = integers(before, count)
        second = integers(before - 1, count)
        places = torch.stack([first, second + (second >= first)], dim=1)
        noise = integers(max(self.n_noise, 1), count, before)
        return torch.stack([subject, relation], dim=1), places, noise

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        asked, places, noise = draws
        device = asked.device
        last = self.length - 1
        tokens = torch.full((len(asked), self.length), self.eos, device=device)
        tokens[:, :last] = self.first_noise + noise
        offsets = torch.tensor([0, self.n_subjects], device=device)
        tokens.scatter_(1, places, asked + offsets)
        targets = self.facts(device)[asked[:, 0], asked[:, 1]]
        query = torch.full_like(places[:, :1], last)
        roles = torch.cat([query, places], dim=1)
        return Batch(tokens, targets[:, None, None], roles[..., None])

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """Predicting all tokens alike, all answers, and all answers of the relation."""
        a = self.n_answers
        r = self.n_relations
        return {
            "uniform": {"answer": math.log(self.vocabulary)},
            "any answer": {"answer": math.log(r * a)},
            "any answer of the relation": {"answer": math.log(a)},
        }
