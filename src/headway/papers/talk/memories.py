"""Weights as associative memories: how much they hold, and what one gradient step stores (Cabannes
et al. 2024, arXiv 2310.02984; Bietti et al. 2023, arXiv 2306.00802; Nichani et al. 2024, arXiv
2412.06538).

A sequence is one item, so attention has nothing to choose from, and a model of one layer without
norms and positions is x + W_O W_V x with x = e_z: a linear memory, W_V being a frozen rotation.
With attention that says nothing and an MLP it is x + W_out act(W_in x). Embeddings and read-out
are random and stay.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headway.models import TransformerConfig
from headway.papers.claims import claims_beside
from headway.papers.experiment import Configs, Experiment, Group
from headway.papers.talk import memory_drawings as drawings
from headway.papers.talk.measures import memories as measures
from headway.papers.talk.measures.capacity import items_for
from headway.tasks import Associations
from headway.training import RunConfig, TrainingConfig

LINEAR = [0.35 * 1.1**i for i in range(20)]
"""N log N against the parameters of a linear memory: the series of runs that brackets its capacity.
It is so wide that a capacity in proportion to another power of them would lie within, too."""
MLP = [0.4 * 1.2**i for i in range(9)]
"""The same with an MLP."""


def linear(scale: str) -> Configs:
    """Linear memories of the identity, trained on all items at once."""
    match scale:
        case "paper":
            return _linear((8, 16, 32, 64, 128, 256), range(5))
        case "small":
            return _linear((8, 12, 16, 24, 32, 48), range(3))
        case _:
            return _linear((6, 12), range(1), LINEAR[7::6])


def with_mlp(scale: str) -> Configs:
    """Memories in the MLP, the same task; widths and hidden widths vary."""
    match scale:
        case "paper":
            shapes = [(d, m) for d in (32, 64, 128) for m in (32, 128, 512)]
            return _mlp(shapes, range(5))
        case "small":
            shapes = [(d, m) for d in (16, 24, 32) for m in (8, 32, 128)]
            return _mlp(shapes, range(3))
        case _:
            return _mlp([(12, 12)], range(1), MLP[3::3])


def longer(scale: str) -> Configs:
    """Some of both with three times the steps: is it time or room that is lacking?"""
    match scale:
        case "paper":
            chosen = _linear((128,), range(1)) | _mlp([(64, 128)], range(1))
        case "small":
            chosen = _linear((32,), range(1)) | _mlp([(24, 32)], range(1))
        case _:
            chosen = _linear((6,), range(1), LINEAR[7::6])
    return {name: _extended(config, 3) for name, config in chosen.items()}


def one_step(scale: str) -> Configs:
    """One step of gradient descent from zero, on all items at once, by width."""
    match scale:
        case "paper":
            widths, items, seeds = (8, 16, 32, 64, 128, 256, 512, 1024), 256, range(10)
        case "small":
            widths, items, seeds = (8, 16, 32, 64, 128, 256), 64, range(5)
        case _:
            widths, items, seeds = (8, 64), 16, range(1)
    return {
        f"d={d},items={items},seed={seed}": RunConfig(
            task=Associations(n_items=items, n_classes=items, sampling="all"),
            model=_model(d, 0),
            training=replace(
                _training(1, items, 1.0, "W_O.0"),
                optimizer="sgd",
                learning_rate=10.0 * items,
                momentum=0.0,
                cooldown_steps=0,
            ),
            seed=seed,
        )
        for d in widths
        for seed in seeds
    }


def _linear(
    widths: Iterable[int], seeds: Iterable[int], shares: Sequence[float] = LINEAR
) -> Configs:
    seeds = tuple(seeds)
    configs: Configs = {}
    for d in widths:
        for n in dict.fromkeys(items_for(share * d * d) for share in shares):
            for seed in seeds:
                task = Associations(n_items=n, sampling="all")
                training = _training(300, n, 1.0, "W_O.0")
                name = f"linear d={d},items={n},seed={seed}"
                configs[name] = RunConfig(task, _model(d, 0), training, seed)
    return configs


def _mlp(
    shapes: Iterable[tuple[int, int]], seeds: Iterable[int], shares: Sequence[float] = MLP
) -> Configs:
    seeds = tuple(seeds)
    configs: Configs = {}
    for d, m in shapes:
        for n in dict.fromkeys(items_for(share * 2 * d * m) for share in shares):
            for seed in seeds:
                task = Associations(n_items=n, sampling="all")
                training = _training(300, n, 0.2, "W_in.0 W_out.0")
                name = f"MLP d={d} m={m},items={n},seed={seed}"
                configs[name] = RunConfig(task, _model(d, m), training, seed)
    return configs


def _model(d_model: int, d_mlp: int) -> TransformerConfig:
    return TransformerConfig(
        n_layers=1,
        d_model=d_model,
        d_mlp=d_mlp,
        norm="none",
        positions="none",
        init="associative",
    )


def _training(steps: int, items: int, rate: float, trained: str) -> TrainingConfig:
    """Adam, on all items at every step; the second half cools down."""
    return TrainingConfig(
        steps=steps,
        batch_size=items,
        train_examples=None,
        trained=trained,
        learning_rate=rate,
        weight_decay=0.0,
        cooldown_steps=steps // 2,
        eval_every=steps,
        eval_examples=items,
        checkpoint_every=0,
        save_every=steps,
    )


def _extended(config: RunConfig, factor: int) -> RunConfig:
    steps = factor * config.training.steps
    training = replace(
        config.training, steps=steps, cooldown_steps=steps // 2, eval_every=steps, save_every=steps
    )
    return replace(config, training=training)


EXPERIMENTS = (
    Experiment(
        "associative-memory",
        "how many associations a linear map and an MLP keep (arXiv 2310.02984, 2412.06538)",
        (
            Group("memories-linear", "linear memories, by width and items", linear),
            Group("memories-mlp", "memories in an MLP, by width, hidden width and items", with_mlp),
            Group("memories-longer", "some of both, trained for longer", longer),
        ),
        measures.associative,
        drawings.associative,
        claims_beside(__file__, "associative-memory"),
    ),
    Experiment(
        "gradient-memory",
        "what one gradient step from zero stores (arXiv 2306.00802, 2310.02984)",
        (Group("memories-one-step", "one gradient step from zero, by width", one_step),),
        measures.gradient,
        drawings.gradient,
        claims_beside(__file__, "gradient-memory"),
    ),
)
