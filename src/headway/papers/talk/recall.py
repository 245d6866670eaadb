"""Factual recall: how many facts attention and an MLP keep, and in which order they are learnt
(Nichani, Lee and Bietti 2024, arXiv 2412.06538).

One layer of attention without norms and positions. Embeddings and read-out stay as they were drawn;
W_Q, W_K, W_V, W_O, and W_in and W_out if there is an MLP, are trained. The residual stream of EOS
reaches the read-out as well: one and the same vector for all facts, which a softmax over answers
can live with. (The source drops it.)
"""

from collections.abc import Iterable, Sequence

from headway.models import TransformerConfig
from headway.papers.claims import claims_beside
from headway.papers.experiment import Configs, Experiment, Group
from headway.papers.talk import recall_drawings as drawings
from headway.papers.talk.measures import recall as measures
from headway.tasks import Recall
from headway.training import RunConfig, TrainingConfig

Shape = tuple[int, int, int, int]
"""Width, heads, width of a head, hidden width."""

SHARES = [0.65 * 1.13**i for i in range(8)]
"""Facts against those that are expected to be kept: the series of runs that brackets a capacity."""
SMOKE = [0.1, 1.5]
"""Likewise, so far apart that a few steps tell."""
ATTENTION, MLP = 0.125, 0.22
"""Facts that a parameter is expected to keep, roughly; found on single runs."""


def attention_only(scale: str) -> Configs:
    """Models without an MLP, by number of heads."""
    match scale:
        case "paper":
            shapes = [(32, heads, 8, 0) for heads in (4, 8, 16, 32)]
            return _series(shapes, range(5), 4_000)
        case "small":
            shapes = [(24, heads, 4, 0) for heads in (8, 16, 32)]
            return _series(shapes, range(3), 4_000)
        case _:
            return _series([(8, 2, 4, 0), (8, 4, 4, 0)], range(1), 150, SMOKE)


def with_mlp(scale: str) -> Configs:
    """Models with as many parameters in the MLP as in attention, of growing size."""
    match scale:
        case "paper":
            shapes = [(32, h, 8, 16 * h) for h in (2, 4, 8, 16)]
            return _series(shapes, range(5), 4_000)
        case "small":
            shapes = [(24, heads, 4, 8 * heads) for heads in (6, 12, 24)]
            return _series(shapes, range(3), 4_000)
        case _:
            return _series([(8, 2, 4, 16), (8, 4, 4, 32)], range(1), 150, SMOKE)


def traded(scale: str) -> Configs:
    """One width, with more in attention, or more in the MLP."""
    match scale:
        case "paper":
            shapes = [(32, 2, 8, 256), (32, 4, 8, 128), (32, 16, 8, 64), (32, 16, 8, 32)]
            return _series(shapes, range(5), 4_000)
        case "small":
            shapes = [(24, 6, 4, 96), (24, 12, 4, 24)]
            return _series(shapes, range(3), 4_000)
        case _:
            return _series([(8, 4, 4, 8)], range(1), 150, SMOKE)


def dynamics(scale: str) -> Configs:
    """Orthonormal embeddings, linear attention, all weights tiny at first; a checkpoint every few
    steps."""
    match scale:
        case "paper":
            steps, every, seeds = 2_000, 10, range(8)
        case "small":
            steps, every, seeds = 400, 5, range(5)
        case _:
            steps, every, seeds = 200, 20, range(1)
    return {
        f"seed={seed}": RunConfig(
            task=Recall(n_subjects=16, n_relations=4, n_answers=8, n_noise=8, length=5),
            model=TransformerConfig(
                n_layers=1,
                d_model=64,
                d_mlp=0,
                norm="none",
                positions="none",
                attention="linear",
                init="orthogonal",
                init_scale=0.05,
            ),
            training=TrainingConfig(
                steps=steps,
                batch_size=256,
                train_examples=None,
                trained="W_Q W_K W_V W_O",
                learning_rate=0.001 if scale == "paper" else 0.003,
                weight_decay=0.0,
                eval_every=every,
                eval_examples=256,
                checkpoint_every=every,
                save_every=steps,
            ),
            seed=seed,
        )
        for seed in seeds
    }


def _series(
    shapes: Iterable[Shape],
    seeds: Iterable[int],
    steps: int,
    shares: Sequence[float] = SHARES,
) -> Configs:
    """As many subjects as relations, so many that their facts bracket what each shape keeps."""
    seeds = tuple(seeds)
    configs: Configs = {}
    for d, heads, d_head, m in shapes:
        expected = ATTENTION * 4 * d * heads * d_head + MLP * 2 * d * m
        for n in dict.fromkeys(round((share * expected) ** 0.5) for share in shares):
            for seed in seeds:
                name = f"d={d} H={heads} d_h={d_head} m={m},facts={n * n},seed={seed}"
                configs[name] = RunConfig(
                    task=Recall(n_subjects=n, n_relations=n, n_answers=8, n_noise=4, length=4),
                    model=_model(d, heads, d_head, m),
                    training=_training(steps, with_mlp=m > 0),
                    seed=seed,
                )
    return configs


def _model(d_model: int, heads: int, d_head: int, d_mlp: int) -> TransformerConfig:
    return TransformerConfig(
        n_layers=1,
        d_model=d_model,
        n_heads=heads,
        d_head=d_head,
        d_mlp=d_mlp,
        norm="none",
        positions="none",
        init="fan_in",
    )


def _training(steps: int, with_mlp: bool) -> TrainingConfig:
    """Adam until next to nothing is left to learn, which fewer facts take fewer steps to. At twice
    the rate, MLPs keep losing some facts again."""
    return TrainingConfig(
        steps=steps,
        batch_size=256,
        train_examples=None,
        trained="W_Q W_K W_V W_O" + (" W_in W_out" if with_mlp else ""),
        learning_rate=0.02 if with_mlp else 0.04,
        weight_decay=0.0,
        cooldown_steps=steps // 2,
        stop_below=0.005,
        eval_every=min(steps, 100),
        eval_examples=1024,
        checkpoint_every=0,
        save_every=steps,
    )


EXPERIMENTS = (
    Experiment(
        "factual-recall",
        "how many facts attention and an MLP keep (arXiv 2412.06538)",
        (
            Group(
                "recall-attention",
                "factual recall by attention alone, by shape and facts",
                attention_only,
            ),
            Group("recall-mlp", "factual recall with an MLP, by shape and facts", with_mlp),
            Group("recall-traded", "attention traded for MLP, by shape and facts", traded),
        ),
        measures.capacity,
        drawings.capacity,
        claims_beside(__file__, "factual-recall"),
    ),
    Experiment(
        "factual-recall-dynamics",
        "the relation is learnt before the subject (arXiv 2412.06538)",
        (Group("recall-dynamics", "the order in which facts are learnt", dynamics),),
        measures.dynamics,
        drawings.dynamics,
        claims_beside(__file__, "factual-recall-dynamics"),
    ),
)
