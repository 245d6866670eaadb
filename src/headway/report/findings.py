"""All that a run's folder says, read once."""

import functools
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits import ABLATIONS, THRESHOLD, Discovery, Head, Timeline
from headway.circuits.emergence import hop_steps
from headway.errors import HeadwayError
from headway.models import attention_patterns
from headway.tasks import Batch, ChainConfig, task_kind
from headway.theory import proven_minimum
from headway.training import Run, held_out

SEQUENCES = 16
"""Held-out sequences over which the attention between roles is averaged; the first is shown."""

MOST_HEADS = 64
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

    @property
    def chains(self) -> ChainConfig:
        """What is learned: a task of chains."""
        config = self.run.config.task
        assert isinstance(config, ChainConfig)
        return config

    @classmethod
    def of(cls, run: Run) -> "Findings":
        """Reads a run's folder.

        Raises:
            HeadwayError: if a file in it is corrupted, or the task has no chains to look at.
        """
        config = run.config.task
        if not isinstance(config, ChainConfig):
            raise HeadwayError(
                f"{run.folder}: task.kind = {task_kind(config)!r}: only what follows chains has a"
                " page; figures of the others are drawn by: headway mechanism"
            )
        circuit, dated = run.read("circuit.json"), run.read("emergence.json")
        discovery = None if circuit is None else Discovery.from_json(circuit)
        timeline = None if dated is None else Timeline.from_json(dated)
        model = run.config.model
        heads = {(layer, h) for layer in range(model.n_layers) for h in range(model.n_heads)}
        if discovery and set(discovery.circuit.mechanisms) != heads:
            raise HeadwayError(
                f"{run.folder}: circuit.json is of another model than config.json;"
                f" find this one's with: headway circuit {run.folder}"
            )
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
            sessions=run.sessions(),
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

    @functools.cached_property
    def hops(self) -> dict[str, float | None]:
        """The step at which each hop was learnt, from the evaluations; none if it was not yet."""
        return hop_steps(self.metrics, self.run.task.hop_names)

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
    def sequences(self) -> Batch:
        """The held-out sequences on which the page looks at attention."""
        config = self.run.config
        return held_out(self.run.task, SEQUENCES, config.seed, self.run.device, "emergence")

    @functools.cached_property
    def example(self) -> Batch:
        """The first of them, to show."""
        batch = self.sequences
        return batch.part(slice(1))

    @torch.no_grad()
    def example_attention(self) -> Float[Tensor, "layer head query key"]:
        """Every head's attention on the example, at the last checkpoint."""
        return attention_patterns(self.run.model(), self.example.inputs)[0].cpu()
