"""Recipes: functions that return a whole config. They choose values and do nothing else."""

import math
from collections.abc import Callable
from dataclasses import replace

from headway import theory
from headway.models import TransformerConfig
from headway.tasks import Conditional, Hops, Retrieval, Task
from headway.tasks.checking import require_sound
from headway.tasks.registry import Offered
from headway.training.config import RunConfig, TrainingConfig
from headway.training.curriculum import Deepening, Implicit

QUICK = TrainingConfig(
    train_examples=None,
    optimizer="muon",
    learning_rate=3e-3,
    betas=(0.9, 0.95),
    weight_decay=0.05,
    warmup_steps=50,
    eval_every=50,
    eval_examples=512,
    save_every=100,
    precision="auto",
)
"""Settings that `fast` and `own` share: fresh sequences, and Muon on the blocks' matrices."""


def fast(
    depth: int = 3, seed: int = 0, n_layers: int | None = None, deepening: bool = True
) -> RunConfig:
    """The retrieval problem with one head a layer, at the flow minimum; three hops take a minute.

    There are just as many layers as information must flow through, ⌊log2 D⌋ + 2, so there is
    little or no choice of circuits. It differs from the paper's recipe
    (docs/experiments/recipes.md says why): maps start orthogonal with nothing scaled down, so that
    what attention moves is as large as what stands there; one position code for both tokens of a
    pair, its longest wave no longer than the sequence; Muon on the blocks' matrices, with some
    decay as long as the rates are high; MLPs no wider than the stream, as attention does the work;
    and the rates start to fall as soon as hops are learnt, the more slowly the more hops there are:
    the more hops, the longer it takes until attention is so sharp that what every head gets
    slightly wrong does not add up. Decay and cool-down were chosen by measurements over seeds.

    Matrix products are in bfloat16 where the processor is quicker with it.

    Args:
        depth: D, attention hops to the answer.
        seed: of weights and data.
        n_layers: by default the flow minimum.
        deepening: whether a model in the fewest layers learns few hops first
            (`curriculum.Deepening`), another curriculum beside the implicit one. Otherwise it
            often stays on a plateau.
    """
    least = theory.closed_form(depth)
    n_layers = least if n_layers is None else n_layers
    deepens = deepening and depth > 1 and n_layers == least
    if deepens:
        more = 500 * depth - 100 if depth < 6 else 700 * depth
        decay, cooldown = 0.05, {2: 1_300, 3: 1_400}.get(depth, more)
    else:
        decay = 0.05 if depth <= 3 else {4: 0.1}.get(depth, 0.03)
        known = {1: 1_600, 2: 1_700, 3: 1_700, 4: 1_900}
        cooldown = known.get(depth, 100 + 600 * depth)
    return RunConfig(
        task=Retrieval(
            depth=depth, position_code="pair", position_base=12.0 if deepens and depth > 3 else None
        ),
        model=TransformerConfig(
            n_layers=n_layers,
            d_model=64,
            n_heads=1,
            d_mlp=64,
            act_fn="relu",
            init="orthogonal",
            silent_above=theory.closed_form(1) if deepens else None,
        ),
        training=replace(
            QUICK,
            steps=1_000 + 2_000 * depth if deepens else 400 + 1_200 * depth,
            curriculum=Deepening() if deepens else Implicit(),
            weight_decay=decay,
            cooldown_steps=cooldown,
            cooldown_below=0.4 if deepens else 0.62,
            stop_below=0.008,
            patience=600 if deepens else 150 * depth,
            checkpoint_every=25,
        ),
        seed=seed,
    )


def conditional(seed: int = 0) -> RunConfig:
    """The conditional retrieval problem, trained as `fast` trains."""
    task = Conditional(position_code="pair", position_base=None)
    return replace(fast(seed=seed, n_layers=6), task=task)


def hops(asked: tuple[int, ...] = (1, 2, 4), steps: int = 1_600, seed: int = 0) -> RunConfig:
    """The k-hop problem with as many layers as the largest k takes, ⌊log2 k⌋ + 2.

    Symbols are met so often that fresh sequences and Muon learn a hop in some hundred steps, one
    after the other (docs/experiments/khop.md).
    """
    return RunConfig(
        task=Hops(asked=asked, n_places=64),
        model=TransformerConfig(
            n_layers=math.floor(math.log2(asked[-1])) + 2,
            d_model=64,
            n_heads=4,
            d_mlp=128,
            init="fan_in",
        ),
        training=TrainingConfig(
            steps=steps,
            batch_size=16,
            train_examples=None,
            optimizer="muon",
            learning_rate=3e-3,
            weight_decay=0.01,
            warmup_steps=steps // 30,
            cooldown_steps=steps // 3,
            stop_below=0.01,
            eval_every=50,
            eval_examples=256,
            checkpoint_every=100,
        ),
        seed=seed,
    )


def own(task: Task, seed: int = 0, layers: int | None = None) -> RunConfig:
    """Any task, such as one of your own: a config to start from.

    It is meant for small problems of a few hops, in tokens or in vectors. The model has two layers
    more than hops, and four heads a layer: with one head some tasks stay on a plateau for long.
    Embeddings of tokens are scaled up to nearly the length of what blocks write. With embeddings of
    length 1, as they are drawn, chains of assignments stayed on their plateau. As soon as the loss
    is small the rates fall to zero, and then training ends: attention goes on sharpening until
    then, and a circuit's paths stand for sharp attention only. An attempt that learns nothing for
    long is given up (`TrainingConfig.patience`).

    Args:
        task: what is learned.
        seed: of weights and data.
        layers: of the model; by default two more than the task has hops, or depths if these are
            more.

    Raises:
        HeadwayError: if the task is one of yours and cannot be used (see `check_task`).
    """
    require_sound(task)
    hops = max(task.n_hops, task.n_depths)
    steps = 3_000 + 1_000 * hops
    return RunConfig(
        task=task,
        model=TransformerConfig(
            n_layers=hops + 2 if layers is None else layers,
            d_model=64,
            n_heads=4,
            d_mlp=128,
            act_fn="relu",
            causal=not task.looks_ahead,
            init="orthogonal",
            embed_scale=1.0 if task.vocabulary is None else 5.6,
        ),
        training=replace(
            QUICK,
            steps=steps,
            cooldown_steps=steps // 8,
            cooldown_below=0.1,
            patience=steps // 3,
            checkpoint_every=50,
        ),
        seed=seed,
    )


RECIPES: Offered[Callable[..., RunConfig]] = Offered(
    "headway.recipes", "recipe", {"fast": fast, "conditional": conditional, "hops": hops}, False
)
"""Headway's own recipes, and those that installed packages offer."""
