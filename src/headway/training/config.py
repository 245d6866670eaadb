"""Everything that decides a run, as data."""

import dataclasses
import math
import re
import typing
from dataclasses import dataclass, field
from typing import Any, Literal

from headway.errors import HeadwayError, require, require_types
from headway.models import TransformerConfig
from headway.tasks import (
    TASKS,
    CompositionConfig,
    RetrievalConfig,
    TaskConfig,
    make_task,
    task_kind,
)
from headway.training.trained import stages_of

Targets = Literal["all", "random", "rising", "falling"]


@dataclass(frozen=True)
class TrainingConfig:
    """How to train.

    Attributes:
        steps: at most so many optimiser steps, over all attempts.
        batch_size: sequences in a step.
        train_examples: size of the fixed training set, reshuffled every epoch; none means fresh
            sequences at every step.
        depths: how deep the training sequences are: `full`; `mixture`, every batch of one depth
            drawn from 1..D; or `rising`, first of depth 1, and of one more every `rising_every`
            steps. The shallower sequences are the ends of deeper ones, and ask for their own last
            symbol, or with the implicit curriculum for all of theirs. The validation loss is
            always that of the full depth.
        targets: which of the hops that the task asks for a step counts: `all` at once; `random`,
            one of them, drawn afresh for every step; `rising`, first the nearest, and one more
            every `rising_every` steps; or `falling`, first the farthest, and so on. The validation
            loss counts all.
        supervise: where a step asks: at the `end`, or after the `layers`. Then the task asks for
            x_D alone at the end, and the map that reads it out there must find x_j at the query
            after layer ⌈j · n_layers / D⌉ already: every hop has a layer by which it must be done.
        rising_every: steps between one depth, target or stage of `trained` and the next.
        trained: which weights are trained, such as `W_K.0 W_K.1 W_O.1`, the others staying as they
            were drawn, or one after the other, such as `W_O.1 > W_K`, perhaps with a factor on the
            rates of a stage, `10 W_K` (see `training.trained`); none means all, biases and norms
            too.
        optimizer: `adam`; `muon` (Jordan et al. 2024) on the blocks' matrices with Adam on
            the rest; or `sgd`, gradient descent with momentum.
        learning_rate: Adam's, or that of gradient descent.
        matrix_learning_rate: Muon's.
        betas: Adam's.
        momentum: Muon's, or that of gradient descent.
        weight_decay: decoupled from the gradient (Loshchilov & Hutter 2017); per step, a weight
            shrinks by the rate times this, and this falls with the rate in the cool-down, so that
            in the end attention may grow sharp.
        decay_on: which weights decay.
        warmup_steps: steps over which the rates rise linearly.
        cooldown_steps: steps over which the rates fall to zero at the end; 0 keeps them.
        cooldown_power: they fall as (what is left of the cool-down) to this power.
        cooldown_below: start to cool down as soon as the validation loss is below this, and stop
            when cool; 0 means only to cool down before `steps`.
        stop_below: stop as soon as the validation loss is below this; 0 means never.
        patience: an attempt in which some hop is not learnt (partial loss above 0.5) and none was
            for so many steps is given up, and training starts again from other weights, as long
            as a whole attempt still fits into `steps`; 0 means never. What was given up is told
            in `outcome.json`.
        eval_every: steps between evaluations.
        eval_examples: held-out sequences.
        checkpoints: `linear` (every `checkpoint_every` steps) or `log` (steps 1, 2, 4, 8, …).
        checkpoint_every: steps between checkpoints, if linear; 0 keeps only the first and the last.
        save_every: steps between saves of the state from which a killed run resumes.
        precision: of the matrix products in a step, Muon's too; weights, the optimisers' state and
            evaluations are float32 in any case. `tf32` matters on a CUDA device only; `bfloat16`
            casts the factors automatically, wherever it runs; `auto` is bfloat16 where the
            device has instructions for it and float32 elsewhere (`environment.json` tells).
    """

    steps: int = 24_000
    batch_size: int = 128
    train_examples: int | None = 262_144
    depths: Literal["full", "mixture", "rising"] = "full"
    targets: Targets = "all"
    supervise: Literal["end", "layers"] = "end"
    rising_every: int = 200
    trained: str | None = None
    optimizer: Literal["adam", "muon", "sgd"] = "adam"
    learning_rate: float = 1e-3
    matrix_learning_rate: float = 0.02
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.95
    weight_decay: float = 0.1
    decay_on: Literal["matrices", "all"] = "matrices"
    warmup_steps: int = 0
    cooldown_steps: int = 0
    cooldown_power: float = 1.0
    cooldown_below: float = 0.0
    stop_below: float = 0.0
    patience: int = 0
    eval_every: int = 100
    eval_examples: int = 1024
    checkpoints: Literal["linear", "log"] = "linear"
    checkpoint_every: int = 400
    save_every: int = 200
    precision: Literal["float32", "tf32", "bfloat16", "auto"] = "float32"

    def __post_init__(self):
        require_types(self, "training.")
        for name in (
            *("steps", "batch_size", "rising_every"),
            *("eval_every", "eval_examples", "save_every"),
        ):
            value = getattr(self, name)
            require(value >= 1, f"training.{name}", value, "a whole number of at least 1")
        for name in (
            *("warmup_steps", "cooldown_steps", "cooldown_below", "stop_below"),
            *("checkpoint_every", "weight_decay", "patience"),
        ):
            value = getattr(self, name)
            require(0 <= value < math.inf, f"training.{name}", value, "0 or more, and finite")
        for name in ("learning_rate", "matrix_learning_rate", "cooldown_power"):
            value = getattr(self, name)
            require(0 < value < math.inf, f"training.{name}", value, "a positive number")
        below = "at least 0 and below 1"
        fits = all(0 <= beta < 1 for beta in self.betas)
        require(fits, "training.betas", self.betas, f"two numbers, each {below}")
        require(0 <= self.momentum < 1, "training.momentum", self.momentum, below)
        require(
            self.cooldown_steps <= self.steps,
            "training.cooldown_steps",
            self.cooldown_steps,
            f"at most training.steps = {self.steps}",
        )
        require(
            self.optimizer != "sgd" or self.weight_decay == 0,
            "training.weight_decay",
            self.weight_decay,
            "0 with training.optimizer = sgd",
        )
        if self.trained is not None:
            stages_of(self.trained)
            require(
                self.optimizer != "muon",
                "training.optimizer",
                self.optimizer,
                "adam or sgd where training.trained names weights",
            )
        if self.train_examples is not None:
            require(
                self.train_examples >= self.batch_size,
                "training.train_examples",
                self.train_examples,
                f"at least training.batch_size = {self.batch_size}, or none for fresh data",
            )


@dataclass(frozen=True)
class RunConfig:
    """One training run: what is learned, by what, how, and from which seed.

    Attributes:
        task: what is learned.
        model: what learns it.
        training: how.
        seed: of the initial weights and of all data.
        device: cpu, cuda, cuda:N or mps.
        threads: threads that compute on a CPU. With another process busy, two threads can be far
            slower than one. The last bits of the result depend on it.
    """

    task: TaskConfig = field(default_factory=RetrievalConfig)
    model: TransformerConfig = field(default_factory=TransformerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    seed: int = 0
    device: str = "cpu"
    threads: int = 1

    def __post_init__(self):
        require_types(self, "")
        require(self.threads >= 1, "threads", self.threads, "a whole number of at least 1")
        require(0 <= self.seed < 2**31, "seed", self.seed, "a whole number from 0 to 2147483647")
        require(
            re.fullmatch(r"cpu|cuda(:[0-9]+)?|mps", self.device) is not None,
            "device",
            self.device,
            "cpu, cuda, cuda:N or mps",
        )
        self._require_course()

    def _require_course(self) -> None:
        """Checks that what is asked for when and where is something that the task can ask."""
        task, training = self.task, self.training
        chain = task if isinstance(task, RetrievalConfig) else None
        require(
            training.depths == "full" or n_depths(task) > 1,
            "training.depths",
            training.depths,
            "full, unless the task is the retrieval problem with task.depth > 1, task.order ="
            " deep-first and task.hops = none, or hops of several numbers (fast mixes depths:"
            " headway train fast mixture=false does not; of composition, training.targets says"
            " when which hops count)",
        )
        composed = task if isinstance(task, CompositionConfig) else None
        require(
            composed is None or not self.model.causal,
            "model.causal",
            self.model.causal,
            "false with task.kind = composition, whose hops lead on to later places",
        )
        several = composed is not None and len(composed.hops) > 1
        asks = several or (getattr(task, "curriculum", False) and training.depths == "full")
        require(
            training.targets == "all" or asks,
            "training.targets",
            training.targets,
            "all, unless task.curriculum is true and training.depths = full (fast mixes depths:"
            " headway train fast mixture=false does not), or the task is composition of several"
            " task.hops",
        )
        require(
            training.supervise == "end"
            or (chain is not None and not chain.curriculum and training.depths == "full"),
            "training.supervise",
            training.supervise,
            "end, unless the task is the retrieval problem with task.curriculum = false, and"
            " training.depths = full (fast mixes depths: headway train fast mixture=false does"
            " not)",
        )
        if training.supervise == "layers" and chain is not None:
            require(
                chain.depth <= self.model.n_layers,
                "model.n_layers",
                self.model.n_layers,
                f"at least task.depth = {chain.depth} with training.supervise = layers",
            )
        if "rising" in (training.depths, training.targets) or training.targets == "falling":
            rising = training.depths == "rising"
            stages = n_depths(task) if rising else make_task(task).n_hops
            require(
                (stages - 1) * training.rising_every < training.steps,
                "training.rising_every",
                training.rising_every,
                f"so few that the last of {stages} stages comes before"
                f" training.steps = {training.steps}",
            )
        weights = 1 if training.trained is None else len(stages_of(training.trained))
        require(
            (weights - 1) * training.rising_every < training.steps,
            "training.rising_every",
            training.rising_every,
            f"so few that the last of {weights} stages of training.trained comes before"
            f" training.steps = {training.steps}",
        )


def n_depths(task: TaskConfig) -> int:
    """How many depths the sequences of a task can have (see `TrainingConfig.depths`)."""
    return make_task(task).n_depths


SECTIONS = ("task", "model", "training")


def flat(config: RunConfig) -> dict[str, Any]:
    """Every field of a config by its dotted name, the task's kind first."""
    fields: dict[str, Any] = {"task.kind": task_kind(config.task)}
    for section in SECTIONS:
        part = getattr(config, section)
        fields |= {f"{section}.{f.name}": getattr(part, f.name) for f in dataclasses.fields(part)}
    rest = [f.name for f in dataclasses.fields(config) if f.name not in SECTIONS]
    return fields | {name: getattr(config, name) for name in rest}


def changed(config: RunConfig, fields: dict[str, Any]) -> RunConfig:
    """A config with some fields changed, all at once.

    Args:
        config: to start from.
        fields: new values by dotted name; every name is one of the config's.

    Raises:
        HeadwayError: if the values do not go together.
    """
    sections, own = {section: dict[str, Any]() for section in SECTIONS}, dict[str, Any]()
    for name, value in fields.items():
        section, _, field = name.rpartition(".")
        (sections[section] if section else own)[field] = value
    parts = {
        section: dataclasses.replace(getattr(config, section), **values)
        for section, values in sections.items()
        if values
    }
    return dataclasses.replace(config, **own, **parts)


def to_dict(config: RunConfig) -> dict[str, Any]:
    """The config as plain JSON data; the task's kind is written beside its fields."""
    data = dataclasses.asdict(config)
    data["task"] = {"kind": task_kind(config.task), **data["task"]}
    return data


def from_dict(data: dict[str, Any]) -> RunConfig:
    """The config that `to_dict` wrote.

    Raises:
        HeadwayError: if a field is unknown or missing, or a value is not allowed.
    """
    require(isinstance(data, dict), "config", data, "an object of fields")
    task = dict(_section(data, "task"))
    kind = task.pop("kind", None)
    known = isinstance(kind, str) and kind in TASKS
    require(known, "task.kind", kind, "one of " + ", ".join(TASKS))
    return _build(
        RunConfig,
        "",
        {
            **data,
            "task": _build(TASKS[kind][0], "task.", task),
            "model": _build(TransformerConfig, "model.", _section(data, "model")),
            "training": _build(TrainingConfig, "training.", _section(data, "training")),
        },
    )


FORMAT = 6
"""Of a config that is kept as JSON."""

ADDED: dict[int, dict[str, dict[str, Any]]] = {
    2: {"training": {"precision": "float32", "depths": "full", "rising_every": 200}},
    3: {"task.retrieval": {"copies": "same"}},
    4: {
        "task.retrieval": {"hops": None},
        "training": {"targets": "all", "supervise": "end"},
    },
    5: {
        "model": {"norm": "pre", "attention": "softmax", "positions": "learned", "init_scale": 1.0},
        "training": {"trained": None},
    },
    6: {"task.bigrams": {"sha256": None}},
}
"""For every format of `config.json` since the first, the fields that it added to a section, perhaps
of one kind of task, and what they are for a run that was written before."""


def upgraded(data: dict[str, Any], version: int) -> dict[str, Any]:
    """A config as some earlier format wrote it, with the fields added since.

    What is no config is returned as it is, for `from_dict` to refuse.
    """
    for later, sections in ADDED.items():
        for place, fields in sections.items() if later > version else ():
            name, _, kind = place.partition(".")
            section = data.get(name)
            if isinstance(section, dict) and kind in ("", section.get("kind")):
                data = {**data, name: {**fields, **section}}
    return data


def _section(data: dict[str, Any], name: str) -> dict[str, Any]:
    section = data.get(name)
    require(isinstance(section, dict), name, section, "an object of fields")
    return typing.cast(dict[str, Any], section)


def _build(cls: type, prefix: str, values: dict[str, Any]) -> Any:
    fields = {f.name: f for f in dataclasses.fields(cls)}
    for name in values:
        if name not in fields:
            raise HeadwayError(f"{prefix}{name} is not a field: the fields are {', '.join(fields)}")
    for name in fields:
        if name not in values:
            raise HeadwayError(f"{prefix}{name} is missing: every field must be given")
    hints = typing.get_type_hints(cls)
    values = {
        name: tuple(value) if isinstance(value, list) and _takes_tuples(hints[name]) else value
        for name, value in values.items()
    }
    return cls(**values)


def _takes_tuples(hint: Any) -> bool:
    return any(typing.get_origin(kind) is tuple for kind in (hint, *typing.get_args(hint)))
