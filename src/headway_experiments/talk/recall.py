"""Factual recall: how many facts attention and an MLP keep, and in which order they are learnt
(Nichani, Lee and Bietti 2024, arXiv 2412.06538).

One layer of attention without norms and positions. Embeddings and read-out stay as they were drawn;
W_Q, W_K, W_V, W_O, and W_in and W_out if there is an MLP, are trained. The residual stream of EOS
reaches the read-out as well: the same vector for all facts, which makes little difference to a
softmax over answers. (The source drops it.)
"""

import math
from dataclasses import replace
from functools import partial

from headway.models import TransformerConfig
from headway.training import RunConfig, TrainingConfig
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Runs
from headway_experiments.reading import by_run, task_of
from headway_experiments.talk.measures import recall as measures
from headway_experiments.talk.measures.capacity import draw_capacity
from headway_experiments.tasks import Recall
from headway_experiments.trained import Trained

Shape = tuple[int, int, int, int]
"""Width, heads, width of a head, hidden width."""

BARE = TransformerConfig(n_layers=1, norm="none", positions="none", init="fan_in")
"""One layer of attention without norms and positions."""

SHARES = [0.65 * 1.13**i for i in range(8)]
"""Facts against those that are expected to be kept: the series of runs that brackets a capacity."""
SMOKE = [0.1, 1.5]
"""Likewise, so far apart that a few steps are enough."""
ATTENTION, MLP = 0.125, 0.22
"""Facts that a parameter is expected to keep, roughly; found on single runs."""


SHAPES: dict[str, dict[str, list[Shape]]] = {
    "attention": {
        "paper": [(32, heads, 8, 0) for heads in (4, 8, 16, 32)],
        "small": [(24, heads, 4, 0) for heads in (8, 16, 32)],
        "smoke": [(8, 2, 4, 0), (8, 4, 4, 0)],
    },
    "mlp": {
        "paper": [(32, heads, 8, 16 * heads) for heads in (2, 4, 8, 16)],
        "small": [(24, heads, 4, 8 * heads) for heads in (6, 12, 24)],
        "smoke": [(8, 2, 4, 16), (8, 4, 4, 32)],
    },
    "traded": {
        "paper": [(32, 2, 8, 256), (32, 4, 8, 128), (32, 16, 8, 64), (32, 16, 8, 32)],
        "small": [(24, 6, 4, 96), (24, 12, 4, 24)],
        "smoke": [(8, 4, 4, 8)],
    },
}
"""Models without an MLP, by number of heads; with as many parameters in the MLP as in attention, of
growing size; and of one width, with more in attention, or more in the MLP."""


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
            model=replace(
                BARE, d_model=64, d_mlp=0, attention="linear", init="orthogonal", init_scale=0.05
            ),
            training=TrainingConfig(
                steps=steps,
                batch_size=256,
                train_examples=None,
                curriculum=Trained("W_Q W_K W_V W_O"),
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


def series(kind: str, scale: str) -> Configs:
    """As many subjects as relations, so many that their facts bracket what each shape keeps."""
    seeds, steps = {"paper": (5, 4_000), "small": (3, 4_000)}.get(scale, (1, 150))
    configs: Configs = {}
    for d, heads, d_head, m in SHAPES[kind][scale]:
        expected = ATTENTION * 4 * d * heads * d_head + MLP * 2 * d * m
        shares = SMOKE if scale == "smoke" else SHARES
        for n in dict.fromkeys(round((share * expected) ** 0.5) for share in shares):
            for seed in range(seeds):
                name = f"d={d} H={heads} d_h={d_head} m={m},facts={n * n},seed={seed}"
                configs[name] = RunConfig(
                    task=Recall(n_subjects=n, n_relations=n, n_answers=8, n_noise=4, length=4),
                    model=replace(BARE, d_model=d, n_heads=heads, d_head=d_head, d_mlp=m),
                    training=_training(steps, with_mlp=m > 0),
                    seed=seed,
                )
    return configs


def _training(steps: int, with_mlp: bool) -> TrainingConfig:
    """Adam until almost nothing is left to learn, which takes fewer steps for fewer facts. At twice
    the rate, MLPs keep losing some facts again."""
    return TrainingConfig(
        steps=steps,
        batch_size=256,
        train_examples=None,
        curriculum=Trained("W_Q W_K W_V W_O" + (" W_in W_out" if with_mlp else "")),
        learning_rate=0.02 if with_mlp else 0.04,
        weight_decay=0.0,
        cooldown_steps=steps // 2,
        stop_below=0.005,
        eval_every=min(steps, 100),
        eval_examples=1024,
        checkpoint_every=0,
        save_every=steps,
    )


def draw_kept(attention: Runs, mlp: Runs, traded: Runs) -> Drawn:
    """Facts kept against parameters, and what they cost in attention and in the MLP: parameters a
    fact lie on a straight line if those of attention and of the MLP are exchangeable."""
    from headway_experiments.figures import DOTTED, Panel, Series, draw_panels, numbered

    drawn: Drawn = {}
    labelled = {"attention alone": attention, "as much in an MLP": mlp}
    kept = {label: measures.kept(runs).points for label, runs in labelled.items()}
    if any(kept.values()):
        figure = draw_capacity(kept, "facts kept at 99 % accuracy")
        drawn["factual-recall"] = "Facts kept against trained parameters", figure
    each = measures.points(attention, mlp, traded)
    rates = measures.rates(each) if len(each) > 2 else (0, 0)
    if min(rates) > 0:
        series = []
        for i, (shape, seeds) in enumerate(each.items()):
            x, y = ([one[part] / one[2] for one in seeds] for part in (0, 1))
            look = numbered(i, marker=True, ls="none", ms=4.5, alpha=0.7)
            series.append(Series(x, y, look, shape))
        label = f"{rates[0]:.2g} · attention + {rates[1]:.2g} · MLP = 1 fact"
        series.append(Series([1 / rates[0], 0], [0, 1 / rates[1]], DOTTED, label))
        x, y = "parameters of attention a fact", "parameters of the MLP a fact"
        title = "Parameters a fact: attention traded for MLP"
        drawn["factual-recall-frontier"] = title, draw_panels([Panel("", series, x, y)])
    return drawn


def draw_dynamics(runs: Runs) -> Drawn:
    """The losses of every run against the step, the stage in between shaded."""
    from headway_experiments.figures import Panel, curves, draw_panels

    panels = []
    for name, run in runs.items():
        n_answers, losses = task_of(run.config, Recall).n_answers, measures.course(run)
        found, steps = measures.stage(losses, n_answers), [each.step for each in losses]
        parts = {"loss": "total", "relation": "relation", "subject": "subject"}
        lines = {
            part: [(steps, [getattr(each, field) for each in losses])]
            for part, field in parts.items()
        }
        look = {
            "levels": {"ln |A_r|": math.log(n_answers)},
            "shade": None if found is None else (found.first, found.last),
            "limits": {"ylim": (0, None)},
        }
        panels.append(Panel(name, curves(lines), y="nats", **look))
    if not panels:
        return {}
    title = "Factual recall: the relation is learnt before the subject"
    return {"factual-recall-dynamics": (title, draw_panels(panels, shared=True))}


KINDS = {
    "attention": "factual recall by attention alone",
    "mlp": "factual recall with an MLP",
    "traded": "attention traded for MLP",
}
SERIES = tuple(
    Group(f"recall-{kind}", f"{about}, by shape and facts", partial(series, kind))
    for kind, about in KINDS.items()
)
DYNAMICS = (Group("recall-dynamics", "the order in which facts are learnt", dynamics),)
KEPT = "how many facts attention and an MLP keep (arXiv 2412.06538)"
ORDER = "the relation is learnt before the subject (arXiv 2412.06538)"
RECALL, COURSE = "factual-recall", "factual-recall-dynamics"
EXPERIMENTS = (
    Experiment(__file__, RECALL, KEPT, SERIES, measures.capacity, draw_kept),
    Experiment(
        __file__, COURSE, ORDER, DYNAMICS, partial(by_run, row=measures.learning), draw_dynamics
    ),
)
