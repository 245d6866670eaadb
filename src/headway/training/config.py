"""Everything that decides a run, as data."""

import re
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, Lt
from pydantic import PlainSerializer

from headway.errors import HeadwayError, require
from headway.fields import (
    AtLeastOne,
    NotBelowZero,
    NotNegative,
    Positive,
    Share,
    check,
    from_json,
    hints_of,
    to_json,
)
from headway.models import TransformerConfig
from headway.relations.paths import AttentionPath
from headway.tasks import Task, task_from_json, task_to_json
from headway.training.clamp import require_clampable
from headway.training.curriculum import CURRICULUM, Chosen, Implicit
from headway.training.modules import Module

FORMAT = 1
"""The version of configs in JSON."""

SECTIONS = ("task", "model", "training")

DEVICES = re.compile(r"cpu|cuda(:[0-9]+)?|mps")


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of training.

    Attributes:
        steps: at most so many optimiser steps, over all attempts.
        batch_size: sequences in a step.
        train_examples: size of a fixed training set of different sequences, drawn once
            from the seed and reshuffled every epoch; held-out sequences are none of
            these. By default, sequences are fresh at every step.
        curriculum: which depth and which hops a step asks for (see
            `training.curriculum`). The validation loss is always that of the full
            depth, over all hops that a model answers.
        clamped: paths, such as `L1.H0 s0←s2`, that are blocked: attention along them is
            set to zero, while training and in evaluations (see `training.clamp`).
        clamped_after: the step after which they are blocked.
        clamped_until: the last step at which they are; by default, to the end.
        optimizer: `adam`, whose decay is decoupled (Loshchilov & Hutter 2017); `muon`
            (Jordan et al. 2024) on the blocks' matrices with Adam on the rest; or
            `sgd`, gradient descent with momentum.
        learning_rate: Adam's, or that of gradient descent.
        matrix_learning_rate: Muon's.
        betas: Adam's.
        momentum: Muon's, or that of gradient descent.
        weight_decay: of matrices, embeddings and the read-out, not of biases and norms.
            Decoupled from the gradient: per step, a weight shrinks by the rate times
            this, and this falls with the rate in the cool-down, so that in the end
            attention may grow sharp.
        warmup_steps: steps over which the rates rise linearly.
        cooldown_steps: steps over which the rates fall linearly to zero at the end; 0
            keeps them.
        cooldown_below: start to cool down as soon as the validation loss is below this,
            and stop when cool; 0 means only to cool down before `steps`.
        stop_below: stop as soon as the validation loss is below this; 0 means never.
        patience: an attempt in which some hop is not learnt (its loss is above 0.5) and
            none was for so many steps is given up, and training starts again from other
            weights, as long as `patience` and `cooldown_steps` together still fit into
            `steps`; 0 means never. A hop that is learnt on a fixed training set counts.
            Attempts that were given up are listed in `outcome.json`.
        eval_every: steps between evaluations.
        eval_examples: held-out sequences.
        checkpoints: `linear` (every `checkpoint_every` steps) or `log` (steps 1, 2, 4,
            8, …).
        checkpoint_every: steps between checkpoints, if linear; 0 keeps only the first
            and the last.
        save_every: steps between saves of the state from which a killed run resumes.
        precision: of the matrix products in a step, Muon's too; weights, the
            optimisers' state and evaluations are float32 in any case. `bfloat16` casts
            the factors automatically; `auto` is bfloat16 where the device is quicker
            with it and float32 elsewhere (`environment.json` tells).
    """

    steps: AtLeastOne = 24_000
    batch_size: AtLeastOne = 128
    train_examples: AtLeastOne | None = None
    curriculum: Chosen = Implicit()  # noqa: RUF009
    clamped: tuple[str, ...] = ()
    clamped_after: NotNegative = 0
    clamped_until: AtLeastOne | None = None
    optimizer: Literal["adam", "muon", "sgd"] = "adam"
    learning_rate: Positive = 1e-3
    matrix_learning_rate: Positive = 0.02
    betas: tuple[Share, Share] = (0.9, 0.999)
    momentum: Share = 0.95
    weight_decay: NotBelowZero = 0.1
    warmup_steps: NotNegative = 0
    cooldown_steps: NotNegative = 0
    cooldown_below: NotBelowZero = 0.0
    stop_below: NotBelowZero = 0.0
    patience: NotNegative = 0
    eval_every: AtLeastOne = 100
    eval_examples: AtLeastOne = 1024
    checkpoints: Literal["linear", "log"] = "linear"
    checkpoint_every: NotNegative = 400
    save_every: AtLeastOne = 200
    precision: Literal["float32", "bfloat16", "auto"] = "float32"

    def __post_init__(self):
        check(self, "training.")

        def rule(name: str, holds: bool, allowed: str) -> None:
            require(holds, f"training.{name}", getattr(self, name), allowed)

        sgd = self.optimizer == "sgd"
        steps = f"training.steps = {self.steps}"
        rule("cooldown_steps", self.cooldown_steps <= self.steps, f"at most {steps}")
        rule(
            "weight_decay",
            not sgd or self.weight_decay == 0,
            "0 with training.optimizer = sgd",
        )
        paths = map(AttentionPath.parse, self.clamped)
        object.__setattr__(self, "clamped", tuple(map(str, paths)))
        until = self.steps if self.clamped_until is None else self.clamped_until
        rule("clamped_until", until <= self.steps, f"at most {steps}")
        rule(
            "clamped_after",
            self.clamped_after < until,
            f"below {until}, the last clamped step",
        )
        if self.train_examples is not None:
            least = (
                f"at least training.batch_size = {self.batch_size},"
                " or none for fresh data"
            )
            rule("train_examples", self.train_examples >= self.batch_size, least)


@dataclass(frozen=True)
class Elsewhere(TrainingConfig):
    """Training by a loop of one's own, otherwise unknown (see `Recorder`)."""


@dataclass(frozen=True)
class RunConfig:
    """One training run: what is learned, by what, how, and from which seed.

    Attributes:
        task: what is learned.
        model: what learns it; a `Module` if it is none of headway's.
        training: how; `Elsewhere` if a loop of one's own trained it.
        seed: of the initial weights and of all data.
        device: cpu, cuda, cuda:N or mps.
        threads: threads that compute on a CPU. With another process busy, two threads
            can be far slower than one. The last bits of the result depend on it.
    """

    task: Annotated[Task, PlainSerializer(task_to_json)]
    model: TransformerConfig | Module = field(default_factory=TransformerConfig)
    training: Annotated[
        TrainingConfig,
        PlainSerializer(
            lambda training: (
                None if isinstance(training, Elsewhere) else to_json(training)
            )
        ),
    ] = field(default_factory=TrainingConfig)
    seed: Annotated[int, Ge(0), Lt(2**31)] = 0
    device: str = "cpu"
    threads: Annotated[int, Ge(1), Le(256)] = 1

    def __post_init__(self):
        check(self)
        known = DEVICES.fullmatch(self.device) is not None
        require(known, "device", self.device, "cpu, cuda, cuda:N or mps")
        causal = self.model.causal
        allowed = "false: hops of this task lead on to later positions"
        require(not (self.task.looks_ahead and causal), "model.causal", causal, allowed)
        if isinstance(self.model, TransformerConfig):
            self.training.curriculum.require(self.task, self.model, self.training)
            require_clampable(self.training, self.task, self.model)

    @property
    def transformer(self) -> TransformerConfig:
        """The shape of the model, which must be one of headway's.

        Raises:
            HeadwayError: if it is a module of one's own.
        """
        if isinstance(self.model, Module):
            raise HeadwayError(
                "model: it must be a transformer of headway, no module of your own"
            )
        return self.model


def from_dict(data: Any) -> RunConfig:
    """The config that `to_json` wrote.

    Raises:
        HeadwayError: if the task cannot be found, a field is unknown or missing, or a
            value is not allowed.
    """
    is_own = isinstance(data, dict) and data.get("training", "") is None
    model = partial(
        from_json, Module if is_own else TransformerConfig, section="model."
    )
    training = partial(from_json, TrainingConfig, section="training.")
    readers = {
        "model": model,
        "training": (lambda _: Elsewhere()) if is_own else training,
    }
    return from_json(RunConfig, data, task=task_from_json, **readers)


def parts(config: RunConfig) -> dict[str, Any]:
    """The parts of a config by the prefix of their fields, such as `task.`."""
    training = config.training
    sections = {"task.": config.task, "model.": config.model}
    if not isinstance(training, Elsewhere):
        sections |= {"training.": training, f"{CURRICULUM}.": training.curriculum}
    return {**sections, "": config}


def flat(config: RunConfig) -> dict[str, Any]:
    """Every field of a config by its dotted name, the task's kind first.

    The curriculum is its kind, `training.curriculum`, and its own fields behind that
    name.
    """
    values = {"task.kind": config.task.kind}
    for where, part in parts(config).items():
        values |= {where + name: getattr(part, name) for name in hints_of(type(part))}
    if CURRICULUM in values:
        values[CURRICULUM] = config.training.curriculum.kind
    return {name: value for name, value in values.items() if name not in SECTIONS}
