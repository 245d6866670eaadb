"""All that a run's folder says, read once."""

import functools
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits import ABLATIONS, THRESHOLD, Discovery, Head, Timeline
from headway.errors import HeadwayError
from headway.models import attention_patterns
from headway.report.roles import role_attention
from headway.tasks import Batch
from headway.theory import proven_minimum
from headway.training import Run, held_out

SEQUENCES = 16
"""Held-out sequences over which the attention between roles is averaged."""

MOST_NUMBERS = 400_000
"""Attention values kept for the page at most; with more, checkpoints are left out evenly."""

MOST_CHECKPOINTS = 60

MOST_HEADS = 16
"""With more heads than this, the page follows the useful ones only, if they are known."""


@dataclass(frozen=True)
class Findings:
    """What a run's folder holds, as data.

    Attributes:
        run: the run.
        metrics: its evaluations in order, perhaps none.
        outcome: how it ended, if it did.
        sessions: where it was computed, one entry a start or resume.
        discovery: its circuit, if it was looked for.
        timeline: the births of the circuit's paths, if they were dated.
        checkpoints: the steps whose weights are kept.
    """

    run: Run
    metrics: list[dict[str, Any]]
    outcome: dict[str, Any] | None
    sessions: list[dict[str, Any]]
    discovery: Discovery | None
    timeline: Timeline | None
    checkpoints: list[int]

    @classmethod
    def of(cls, run: Run) -> "Findings":
        """Reads a run's folder.

        Raises:
            HeadwayError: if a file in it is corrupted.
        """
        circuit, dated = run.read("circuit.json"), run.read("emergence.json")
        discovery = None if circuit is None else Discovery.from_json(circuit)
        timeline = None if dated is None else Timeline.from_json(dated)
        if discovery and timeline:
            paths = [history.path for history in timeline.paths]
            if paths != discovery.circuit.paths:
                raise HeadwayError(
                    f"{run.folder}: emergence.json dates another circuit than circuit.json;"
                    f" date this one with: headway emergence {run.folder}"
                )
        return cls(
            run=run,
            metrics=run.metrics(),
            outcome=run.outcome(),
            sessions=run.read("environment.json") or [],
            discovery=discovery,
            timeline=timeline,
            checkpoints=run.checkpoint_steps(),
        )

    @property
    def loss(self) -> float | None:
        """The validation loss at the last evaluation."""
        return self.metrics[-1]["val_loss"] if self.metrics else None

    @property
    def solved_at(self) -> dict[str, Any] | None:
        """The first evaluation at which the task counts as solved."""
        return next((line for line in self.metrics if line["val_loss"] < THRESHOLD), None)

    @property
    def solved(self) -> bool:
        """Whether the task counts as solved at the last evaluation."""
        return self.loss is not None and self.loss < THRESHOLD

    @property
    def causal(self) -> bool:
        """Whether the model has the causal mask."""
        return self.run.config.model.causal

    @property
    def minimum(self) -> int | None:
        """The proven least number of layers for the run's task and mask; none if none is enough."""
        return proven_minimum(self.run.config.task, self.causal)

    @property
    def ablation(self) -> str:
        """How heads were replaced, in words; empty if they were not."""
        return "" if self.discovery is None else ABLATIONS[self.discovery.ablation]

    @property
    def several_heads(self) -> bool:
        """Whether the model has more than one head in a layer."""
        return self.run.config.model.n_heads > 1

    @property
    def useful_heads(self) -> list[Head]:
        """The heads of the circuit, or of the timeline, or none if neither is there."""
        if self.discovery is not None:
            return self.discovery.circuit.useful_heads
        if self.timeline is not None:
            return sorted({history.path[:2] for history in self.timeline.paths})
        return []

    @property
    def followed_heads(self) -> list[Head]:
        """The heads whose attention the page follows through training."""
        model = self.run.config.model
        every = [(layer, h) for layer in range(model.n_layers) for h in range(model.n_heads)]
        return self.useful_heads if len(every) > MOST_HEADS and self.useful_heads else every

    @functools.cached_property
    def example(self) -> Batch:
        """One held-out sequence, to show."""
        return self._held_out(1)

    @torch.no_grad()
    def example_attention(self) -> Float[Tensor, "layer head query key"]:
        """Every head's attention on the example, at the last checkpoint."""
        return attention_patterns(self.run.model(), self.example.inputs)[0].cpu()

    @torch.no_grad()
    def attention_over_time(self) -> tuple[list[int], Float[Tensor, "step head role role"]]:
        """Mean attention between the roles of a chain, at every checkpoint or evenly many of them.

        Returns: the steps, at least the first and the last; and `role_attention` at each, of
            `followed_heads`.

        Raises:
            HeadwayError: if there is no checkpoint, or one cannot be read.
        """
        task, batch, heads = self.run.task, self._held_out(SEQUENCES), self.followed_heads
        numbers = len(heads) * len(task.role_names) ** 2
        most = max(2, min(MOST_CHECKPOINTS, MOST_NUMBERS // numbers))
        steps = thinned(self.checkpoints, most)
        tables = []
        for step in steps:
            patterns = attention_patterns(self.run.model(step), batch.inputs)
            table = role_attention(patterns, task, batch).cpu()
            tables.append(torch.stack([table[head] for head in heads]))
        return steps, torch.stack(tables)

    def _held_out(self, count: int) -> Batch:
        config = self.run.config
        return held_out(self.run.task, count, config.seed, self.run.device, "emergence")


def thinned(steps: list[int], most: int) -> list[int]:
    """At most so many of the steps, evenly spread, with the first and the last."""
    if len(steps) <= most:
        return steps
    return [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]
