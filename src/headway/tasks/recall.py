"""Factual recall: a subject and a relation among noise, and the answer that belongs to them."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from headway.errors import require, require_types
from headway.tasks.base import Batch, Task


@dataclass(frozen=True)
class RecallConfig:
    """Factual recall's parameters (Nichani, Lee and Bietti 2024, arXiv 2412.06538).

    Attributes:
        n_subjects: S.
        n_relations: R.
        n_answers: |A_r|, answers that a relation can have; no two relations share one.
        n_noise: tokens that say nothing.
        length: positions in a sequence, the last token (EOS) among them.
    """

    n_subjects: int = 16
    n_relations: int = 4
    n_answers: int = 8
    n_noise: int = 8
    length: int = 16

    def __post_init__(self):
        require_types(self, "task.")
        for name in ("n_subjects", "n_relations", "n_answers"):
            value = getattr(self, name)
            require(value >= 1, f"task.{name}", value, "a whole number of at least 1")
        require(
            self.length >= 3,
            "task.length",
            self.length,
            "a whole number of at least 3 (a subject, a relation, and the last token)",
        )
        least = 1 if self.length > 3 else 0
        require(
            self.n_noise >= least,
            "task.n_noise",
            self.n_noise,
            f"a whole number of at least {least} with task.length = {self.length}",
        )


class Recall(Task):
    """Samples sequences with one subject and one relation; asks for the answer at the end.

    One sequence of six positions reads

        n3  s1  n0  n0  r2  EOS

    and its target is a*(s1, r2), one of the answers A_r2 that relation 2 can have. Which it is, was
    drawn uniformly from A_r for every subject, by the task and not by a run's seed: it cannot be
    found in the sequence and must be memorised. Subject and relation stand at random places, in
    either order; every other place holds noise.

    Roles: EOS, the query; subject; relation. Noise plays none.
    """

    def __init__(self, config: RecallConfig | None = None, device: str = "cpu"):
        self.config = config = config or RecallConfig()
        s, r, a = config.n_subjects, config.n_relations, config.n_answers
        self.length, self.n_read, self.n_chains = config.length, 1, 1
        self.first_relation = s
        self.first_noise = s + r
        self.eos = self.first_noise + config.n_noise
        self.first_answer = self.eos + 1
        self.vocabulary = self.first_answer + r * a
        self.d_input, self.d_target = 2, self.vocabulary
        self.hop_names = ("answer",)
        self.role_names = ("EOS", "subject", "relation")
        fixed = torch.Generator().manual_seed(0)
        drawn = torch.randint(a, (s, r), generator=fixed).to(device)
        answers = self.first_answer + torch.arange(r * a, device=device)
        self.answers: Int[Tensor, "relation answer"] = answers.view(r, a)
        self.facts: Int[Tensor, "subject relation"] = drawn + self.answers[:, 0]

    def draw(
        self, count: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "batch 2"], Int[Tensor, "batch 2"], Int[Tensor, "batch place"]]:
        """Draws subject and relation, their two places, and noise for all places before EOS."""
        config, device = self.config, generator.device

        def integers(high: int, *shape: int) -> Tensor:
            return torch.randint(high, shape, generator=generator, device=device)

        asked = [integers(config.n_subjects, count), integers(config.n_relations, count)]
        before = config.length - 1
        first, second = integers(before, count), integers(before - 1, count)
        places = torch.stack([first, second + (second >= first)], dim=1)
        noise = integers(max(config.n_noise, 1), count, before)
        return torch.stack(asked, dim=1), places, noise

    def assemble(self, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
        """Puts subject and relation at their places among the noise, and EOS at the end."""
        asked, places, noise = draws
        count, last = len(asked), self.length - 1
        tokens = torch.full((count, self.length), self.eos, device=asked.device)
        tokens[:, :last] = self.first_noise + noise
        offsets = torch.tensor([0, self.first_relation], device=asked.device)
        tokens.scatter_(1, places, asked + offsets)
        position = torch.arange(self.length, device=asked.device).expand_as(tokens)
        targets = self.facts[asked[:, 0], asked[:, 1]]
        roles = torch.cat([torch.full_like(places[:, :1], last), places], dim=1)
        inputs = torch.stack([tokens, position], dim=-1)
        return Batch(inputs, targets[:, None, None], roles[..., None])

    def reference_losses(self) -> dict[str, float]:
        """Predicting all tokens alike, all answers, and all answers of the relation."""
        a, r = self.config.n_answers, self.config.n_relations
        return {
            "uniform": math.log(self.d_target),
            "any answer": math.log(r * a),
            "any answer of the relation": math.log(a),
        }
