"""In-context bigrams: why it takes two layers, and how an induction head is learnt as
three associative memories (Bietti et al. 2023, arXiv 2306.00802).

The simplified model has two layers of one head, no norms and no MLPs. W_Q is the
identity, embeddings, places, read-out, W_V and the first W_O are random and stay. W_K
of both layers and the second W_O start at zero and are trained. Only in-context outputs
are asked for.

*Probes* count how many of the associations that it needs are in a weight (section 4):
of the i → i' that a matrix is to hold, the share of the i for which i' has the largest
score. They are read off
the weights of a simplified model alone: no sequence is needed.

The source prints its rates for embeddings of length √d; here they have length 1, which
multiplies rates by d. As printed, a score is divided by √d here too.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.dynamics import crossing
from headway.judge import saved_discovery
from headway.models import Transformer, TransformerConfig
from headway.tasks import Batch
from headway.training import Run, RunConfig, TrainingConfig, held_out
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.figures import Panel, curves, draw_panels, losses
from headway_experiments.reading import Row, accuracies, by_run, task_of
from headway_experiments.recipes import by_seed, moving
from headway_experiments.tasks import Bigrams
from headway_experiments.tasks.bigrams import ALL, LATEST
from headway_experiments.tasks.bigrams import PREVIOUS as PREVIOUS_TOKEN
from headway_experiments.trained import Trained

OUTPUT, TRIGGER, PREVIOUS = "W_OV.1", "W_KQ.1", "W_KQ.0"
"""The memories: W_OV of the second layer, and W_KQ of the second and of the first."""

SEQUENCES = 1024
"""Sequences on which accuracies are measured, none of them seen in training."""

JOINT = "W_K.0 W_K.1 W_O.1"
STAGES = "W_O.1 > W_K.1 > W_K.0"

SIMPLE = TransformerConfig(
    n_layers=2, n_heads=1, d_mlp=0, norm="none", init="associative"
)


def ordinary(n_layers: int, scale: str) -> Configs:
    """Ordinary transformers, trained as `fast` trains: maps that start orthogonal,
    Muon.

    Small: sequences of 64, and only in-context outputs are asked for.
    """
    task = Bigrams(length=64, asked_at="in-context")
    model = TransformerConfig(
        n_layers=n_layers, d_model=64, n_heads=1, act_fn="relu", init="orthogonal"
    )
    training = TrainingConfig(
        steps=1500,
        batch_size=32,
        train_examples=None,
        optimizer="muon",
        learning_rate=3e-3,
        betas=(0.9, 0.95),
        weight_decay=0.0,
        warmup_steps=20,
        cooldown_steps=750,
        eval_every=50,
        eval_examples=256,
        checkpoint_every=100,
    )
    if scale == "paper":
        task = replace(task, length=256, asked_at="all")
        model = replace(model, d_model=256, n_heads=4)
        training = replace(training, steps=5000, batch_size=128, cooldown_steps=2500)
    if scale == "smoke":
        task = replace(task, length=24, n_tokens=12, n_triggers=2)
        model = replace(model, d_model=32, d_mlp=32)
        short = {
            "steps": 250,
            "batch_size": 32,
            "cooldown_steps": 120,
            "eval_examples": 128,
        }
        training = replace(training, **short)
    return by_seed(RunConfig(task, model, training), _seeds(scale))


def simple(weights: str, scale: str) -> Configs:
    """Simplified models, all three weights trained together, with checkpoints every few
    steps; or one after the other, in the same number of steps.

    Small: T = 32, width 128, batches of 32.
    """
    task = Bigrams(length=32, asked_at="in-context")
    d_model = 128
    steps = 300
    rate = 20.0
    batch = 32
    if scale == "paper":
        task = replace(task, length=256)
        d_model = 256
        steps = 1000
        rate = 0.03 * 256
        batch = 512
    if scale == "smoke":
        task = replace(task, length=16, n_tokens=12, n_triggers=2)
        d_model = 32
        steps = 60
    model = replace(SIMPLE, d_model=d_model)
    probed = 4 if weights == JOINT else 0
    each = {"momentum": 0.9, "eval_every": 10, "checkpoint_every": probed}
    stages = Trained(weights, every=max(1, steps // 3))
    training = moving(stages, steps, rate, batch, optimizer="sgd", **each)
    return by_seed(RunConfig(task, model, training), _seeds(scale))


def three_steps(scale: str) -> Configs:
    """Three steps of gradient descent: the second layer's W_O, then its W_K, then the
    first layer's W_K, each from zero (section 5). One trigger twice among tokens that
    are equally frequent; one large batch a step.

    While attention is uniform a position sees the mean of what came before. So the
    first step stores in W_OV of the second layer that a token is more often followed,
    at a trigger, by itself than by others: outputs are in the context, other tokens are
    there by chance. The second step raises the scores of the positions that say the
    output, and what these have in common is that the trigger was before them. The third
    step should do the same one layer below, for the place before.

    A step's rate makes no difference to its own probe, as its weight starts from zero,
    only to those of later steps: the first must not make the model certain, and the
    second must make attention sharp. So the second has a rate 2000 times as large.
    """
    sizes = {"paper": (32, 256, 65536), "small": (12, 128, 8192)}
    length, d_model, batch = sizes.get(scale, (8, 96, 512))
    task = Bigrams(
        length=length,
        n_tokens=32,
        exponent=0.0,
        concentration=None,
        asked_at="in-context",
        layout="pair",
    )
    model = replace(SIMPLE, d_model=d_model, init="orthonormal")
    stages = Trained("W_O.1 > 2e3 W_K.1 > W_K.0", every=1)
    each = {"momentum": 0.0, "eval_every": 1, "checkpoint_every": 1}
    training = moving(stages, 3, 100.0, batch, optimizer="sgd", **each)
    seeds = 1 if scale == "smoke" else 5
    return by_seed(RunConfig(task, model, training), range(seeds))


def _seeds(scale: str) -> Iterable[int]:
    return {"paper": range(5), "small": range(10)}.get(scale, range(1))


def unseen(run: Run) -> Batch:
    """Sequences to measure a run on, which no training step saw."""
    return held_out(run.task, SEQUENCES, run.config.seed, run.device, "talk")


def in_context_accuracy(run: Run) -> float:
    """The share of the in-context outputs that the last weights predict."""
    return accuracies(run, unseen(run))["in-context"]


def recalled(
    scores: Float[Tensor, "item candidate"], answers: Int[Tensor, " item"]
) -> float:
    """The share of the items of which the answer has the largest score."""
    is_right = scores.argmax(1).eq(answers)
    return is_right.double().mean().item()


def moves(model: Transformer, layer: int) -> Float[Tensor, "d_model d_model"]:
    """The map from what a layer's heads read to what they write, W_O W_V, without the
    biases.
    """
    attention = model.layers[layer].attn
    return attention.out.weight @ attention.qkv.weight.chunk(3)[2]


@torch.no_grad()
def output_recall(model: Transformer, task: Bigrams) -> float:
    """The share of possible outputs that the second layer reads out when it sees
    them.
    """
    tokens = torch.arange(task.n_tokens)
    tokens = tokens[~torch.isin(tokens, task.frequent())]
    moved = moves(model, 1)
    scores = model.embed.weight[tokens] @ moved.T @ model.unembed.weight.T
    return recalled(scores, tokens)


@torch.no_grad()
def trigger_recall(model: Transformer, task: Bigrams) -> float:
    """The share of triggers that look, in the second layer, for positions to which the
    first layer brought the same trigger.

    The first layer brings W_O W_V e of a token e, the remapped token.
    """
    tokens = task.frequent()
    triggers = model.embed.weight[tokens]
    told = triggers @ moves(model, 0).T
    scores = _scores(model, 1, triggers, told)
    own = torch.arange(len(tokens))
    return recalled(scores, own)


@torch.no_grad()
def previous_recall(model: Transformer, task: Bigrams) -> float:
    """The share of places that look, in the first layer, for the place before them,
    among the places that they can see. The first place is left out; so is the last if
    sequences are pairs, as no output stands there."""
    assert model.pos_embed is not None  # models of these experiments learn places
    places = model.pos_embed.weight
    scores = _scores(model, 0, places, places)
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(hidden, -torch.inf)
    count = _after_outputs(task)
    return recalled(scores[1:count], torch.arange(count - 1))


def _after_outputs(task: Bigrams) -> int:
    """The first place behind all those that an output can stand at."""
    return task.length - (task.layout == "pair")


PROBES: dict[str, Callable[[Transformer, Bigrams], float]] = {
    OUTPUT: output_recall,
    TRIGGER: trigger_recall,
    PREVIOUS: previous_recall,
}
"""The probes, in the order in which they are learnt."""


def chances(task: Bigrams) -> dict[str, float]:
    """The mean of every probe if all scores are random."""
    seen = torch.arange(2, _after_outputs(task) + 1).double()
    previous = (1 / seen).mean().item()
    return {
        OUTPUT: 1 / task.vocabulary,
        TRIGGER: 1 / task.n_triggers,
        PREVIOUS: previous,
    }


def histories(run: Run) -> tuple[list[int], dict[str, list[float]]]:
    """The steps of a run's checkpoints, and every probe at each."""
    task = task_of(run.config, Bigrams)
    steps = run.checkpoint_steps()
    probed: dict[str, list[float]] = {name: [] for name in PROBES}
    for step in steps:
        model = run.transformer(step)
        for name, probe in PROBES.items():
            probed[name].append(probe(model, task))
    return steps, probed


def _scores(model: Transformer, layer: int, asking: Tensor, asked: Tensor) -> Tensor:
    """The scores [query, key] of vectors [query, d_model] with others [key,
    d_model].
    """
    queries, keys, _ = model.layers[layer].attn.qkv.weight.chunk(3)
    return (asking @ queries.T) @ (asked @ keys.T).T


def measured(one_layer: Runs, two_layers: Runs, joint: Runs, stages: Runs) -> Measures:
    """One layer against two, the heads that are found in two, and the order in which
    the three associative memories of an induction head are learnt."""
    heads = {}
    for name, run in two_layers.items():
        is_taken_apart = run.read("circuit.json") is not None
        heads[name] = float(is_taken_apart and has_induction_head(run))
    gain = {}
    for name, run in joint.items():
        if name in stages:
            by_stages = final_in_context_loss(stages[name])
            gain[name] = by_stages - final_in_context_loss(run)
    return {
        "induction_one_layer": {
            name: in_context_accuracy(run) for name, run in one_layer.items()
        },
        "induction_two_layers": {
            name: in_context_accuracy(run) for name, run in two_layers.items()
        },
        "induction_heads": heads,
        **by_run(joint, memories),
        "induction_joint_gain": gain,
    }


def memories(run: Run) -> Row:
    """The contents of the three trained weights of a run at last, with their dates and
    order.
    """
    steps, recalled = histories(run)
    last = {}
    dates = {}
    for probe, values in recalled.items():
        last[f"induction_recall_{probe}"] = values[-1]
        dates[probe] = settled(steps, values, halfway(run, probe, values))
    in_turn = [dates[probe] for probe in (OUTPUT, TRIGGER, PREVIOUS)]
    learnt = [date for date in in_turn if date is not None]
    named = {f"induction_date_{probe}": date for probe, date in dates.items()}
    in_order = len(learnt) == 3 and learnt[0] < learnt[1] < learnt[2]
    return {**last, **named, "induction_order": in_order}


def has_induction_head(run: Run) -> bool:
    """True if the run's circuit explains the model, and has a previous-token head in
    its first layer and, in its second, one that attends from a trigger to what followed
    it."""
    discovery = saved_discovery(run)
    paths = {(layer, relation) for layer, _, relation in discovery.circuit.paths}
    looks_back = (0, PREVIOUS_TOKEN) in paths
    looks_for_repeats = (1, ALL) in paths or (1, LATEST) in paths
    return discovery.faithful and looks_back and looks_for_repeats


def final_in_context_loss(run: Run) -> float:
    """The last held-out loss of in-context outputs, in nats."""
    return run.metrics()[-1]["partial"]["in-context"]


def halfway(run: Run, probe: str, values: Sequence[float]) -> float:
    """The level between a probe's chance and its last value."""
    return (chances(task_of(run.config, Bigrams))[probe] + values[-1]) / 2


def settled(
    steps: Sequence[int], values: Sequence[float], level: float
) -> float | None:
    """The step at which a curve rises above a level for good, interpolated; None if it
    ends below.

    A probe of a few triggers is above the level by chance now and then; that does not
    count.
    """
    below = [i for i, value in enumerate(values) if value <= level]
    start = below[-1] if below else 0
    return crossing(steps[start:], values[start:], level)


def probes(run: Run) -> Row:
    """The three probes after the three steps of a run."""
    model = run.transformer()
    task = task_of(run.config, Bigrams)
    return {
        f"three_steps_{probe}": recall(model, task) for probe, recall in PROBES.items()
    }


def drawn(one_layer: Runs, two_layers: Runs, joint: Runs, stages: Runs) -> Drawn:
    """One layer against two; and the probes of the three memories, trained together."""
    drawn: Drawn = {}
    ordinary = {"one layer": one_layer, "two layers": two_layers}
    simplified = {"together": joint, "one by one": stages}
    panels = []
    for title, pair in (
        ("Ordinary transformers", ordinary),
        ("Three weights", simplified),
    ):
        if any(pair.values()):
            lines = {name: losses(runs, "in-context") for name, runs in pair.items()}
            panels.append(
                Panel(title, curves(lines), y="loss of in-context outputs, nats")
            )
    if panels:
        title = "In-context outputs: losses against the step"
        drawn["induction-losses"] = title, draw_panels(panels)
    if joint:
        figure = draw_panels([_recall_panel(joint)])
        drawn["induction-recall"] = (
            "Memory-recall probes of the three trained weights",
            figure,
        )
    return drawn


def _recall_panel(runs: Runs) -> Panel:
    """The share that every probe recalls, against the step."""
    lines: dict[str, list[tuple[list[int], list[float]]]] = {
        name: [] for name in PROBES
    }
    for run in runs.values():
        steps, recalled = histories(run)
        for name, values in recalled.items():
            lines[name].append((steps, values))
    limits = {"ylim": (0, 1.05)}
    return Panel(
        "Memory recall", curves(lines), y="share recalled", log="steps", limits=limits
    )


TITLE = (
    "induction heads: two layers against one, and the order in which they are learnt"
)
TWO_LAYERS = "ordinary transformers of two layers"
GROUPS = (
    Group(
        "induction-one-layer",
        "ordinary transformers of one layer",
        partial(ordinary, 1),
    ),
    Group(
        "induction-two-layers", TWO_LAYERS, partial(ordinary, 2), True, threshold=0.2
    ),
    Group(
        "induction-joint",
        "the simplified model, trained jointly",
        partial(simple, JOINT),
    ),
    Group(
        "induction-stages",
        "the simplified model, stage by stage",
        partial(simple, STAGES),
    ),
)
STEPS = (
    Group(
        "three-gradient-steps", "the simplified model, one step a weight", three_steps
    ),
)
THREE = "three steps of gradient descent, one a weight, towards an induction head"
EXPERIMENTS = (
    Experiment(__file__, "induction", TITLE, GROUPS, measured, drawn),
    Experiment(
        __file__, "three-gradient-steps", THREE, STEPS, partial(by_run, row=probes)
    ),
)
