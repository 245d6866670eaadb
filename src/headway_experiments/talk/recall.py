"""Factual recall: how many facts attention and an MLP keep, and in which order they are
learnt (Nichani, Lee and Bietti 2024, arXiv 2412.06538).

One layer of attention without norms and positions. Embeddings and read-out stay as they
were drawn; W_Q, W_K, W_V, W_O, and W_in and W_out if there is an MLP, are trained. The
residual stream of EOS reaches the read-out as well: the same vector for all facts,
which makes little difference to a softmax over answers. (The source drops it.)
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile, takewhile

import numpy as np
import torch
from torch import Tensor

from headway.dynamics import crossing
from headway.models import TransformerConfig
from headway.tasks import Batch
from headway.training import Run, RunConfig, TrainingConfig, generator_for, predictions
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.figures import (
    Panel,
    Series,
    curves,
    dotted,
    draw_panels,
    numbered,
)
from headway_experiments.reading import Row, by_run, grouped, task_of
from headway_experiments.recipes import by_seed, moving
from headway_experiments.talk import capacity
from headway_experiments.talk.capacity import Kept
from headway_experiments.tasks import Recall
from headway_experiments.trained import Trained

Shape = tuple[int, int, int, int]
"""Width, heads, width of a head, hidden width."""

BARE = TransformerConfig(n_layers=1, norm="none", positions="none", init="fan_in")
"""One layer of attention without norms and positions."""

SHARES = [0.65 * 1.13**i for i in range(8)]
"""Facts against those that are expected to be kept: the series of runs that brackets a
capacity.
"""
SMOKE = [0.1, 1.5]
"""Likewise, so far apart that a few steps are enough."""
ATTENTION, MLP = 0.125, 0.22
"""Facts that a parameter is expected to keep, roughly; found on single runs."""

KNOWN = 0.1
"""The relation loss, in nats, below which the answers of the relation are known."""
NEAR = 0.15
"""The distance from ln |A_r|, as a share of it, that the loss may have in the stage in
between.
"""

ALONE = {
    "paper": [(32, heads, 8, 0) for heads in (4, 8, 16, 32)],
    "small": [(24, heads, 4, 0) for heads in (8, 16, 32)],
    "smoke": [(8, 2, 4, 0), (8, 4, 4, 0)],
}
"""Models without an MLP, by number of heads."""
HALF = {
    "paper": [(32, heads, 8, 16 * heads) for heads in (2, 4, 8, 16)],
    "small": [(24, heads, 4, 8 * heads) for heads in (6, 12, 24)],
    "smoke": [(8, 2, 4, 16), (8, 4, 4, 32)],
}
"""With as many parameters in the MLP as in attention, of growing size."""
TRADED = {
    "paper": [(32, 2, 8, 256), (32, 4, 8, 128), (32, 16, 8, 64), (32, 16, 8, 32)],
    "small": [(24, 6, 4, 96), (24, 12, 4, 24)],
    "smoke": [(8, 4, 4, 8)],
}
"""Of one width, with more in attention, or more in the MLP."""
SHAPES: dict[str, dict[str, list[Shape]]] = {
    "attention": ALONE,
    "mlp": HALF,
    "traded": TRADED,
}


def dynamics(scale: str) -> Configs:
    """Orthonormal embeddings, linear attention, all weights tiny at first; a checkpoint
    every few steps."""
    sizes = {"paper": (2_000, 10, range(8)), "small": (400, 5, range(5))}
    steps, every, seeds = sizes.get(scale, (200, 20, range(1)))
    task = Recall(n_subjects=16, n_relations=4, n_answers=8, n_noise=8, length=5)
    tiny = {"attention": "linear", "init": "orthogonal", "init_scale": 0.05}
    model = replace(BARE, d_model=64, d_mlp=0, **tiny)
    trained = Trained("W_Q W_K W_V W_O")
    rate = 0.001 if scale == "paper" else 0.003
    often = {"eval_every": every, "checkpoint_every": every, "save_every": steps}
    training = moving(trained, steps, rate, 256, **often)
    return by_seed(RunConfig(task, model, training), seeds)


def series(kind: str, scale: str) -> Configs:
    """Runs with as many subjects as relations, and facts that bracket what each shape
    keeps.
    """
    seeds = {"paper": 5, "small": 10}.get(scale, 1)
    steps = 150 if scale == "smoke" else 4_000
    shares = SMOKE if scale == "smoke" else SHARES
    configs: Configs = {}
    for d, heads, d_head, m in SHAPES[kind][scale]:
        of_attention = 4 * d * heads * d_head
        of_mlp = 2 * d * m
        expected = ATTENTION * of_attention + MLP * of_mlp
        model = replace(BARE, d_model=d, n_heads=heads, d_head=d_head, d_mlp=m)
        training = _training(steps, with_mlp=m > 0)
        sides = [round((share * expected) ** 0.5) for share in shares]
        for n in dict.fromkeys(sides):
            task = Recall(n_subjects=n, n_relations=n, n_answers=8, n_noise=4, length=4)
            facts = n * n
            for seed in range(seeds):
                name = f"{shape(model)},facts={facts},seed={seed}"
                configs[name] = RunConfig(task, model, training, seed)
    return configs


def _training(steps: int, with_mlp: bool) -> TrainingConfig:
    """Adam until almost nothing is left to learn, which takes fewer steps for fewer
    facts. At twice the rate, MLPs keep losing some facts again."""
    weights = "W_Q W_K W_V W_O"
    rate = 0.04
    if with_mlp:
        weights += " W_in W_out"
        rate = 0.02
    ends = {"eval_every": min(steps, 100), "checkpoint_every": 0, "save_every": steps}
    ends |= {"cooldown_steps": steps // 2, "stop_below": 0.005, "eval_examples": 1024}
    return moving(Trained(weights), steps, rate, 256, **ends)


def shape(model: TransformerConfig) -> str:
    """Width, heads, their width, and the hidden width."""
    return (
        f"d={model.d_model} H={model.n_heads} d_h={model.head_width} "
        f"m={model.mlp_width}"
    )


def every_fact(run: Run) -> Batch:
    """All facts, each at places of its own among noise of its own."""
    task = task_of(run.config, Recall)
    subjects = torch.arange(task.n_subjects)
    relations = torch.arange(task.n_relations)
    facts = torch.cartesian_prod(subjects, relations).to(run.device)
    generator = generator_for(run.device, run.config.seed, "all facts")
    _, places, noise = task.draw(len(facts), generator)
    return task.assemble((facts, places, noise))


kept = partial(capacity.capacities, shape=shape, everything=every_fact)
"""Facts at capacity."""


def rates(known: Iterable[Kept]) -> tuple[float, float]:
    """Facts that a parameter of attention keeps, and one of the MLP, by least squares
    of the relative error."""
    rows = [(model.attention, model.mlp, model.count) for model in known]
    numbers = np.array(rows)
    parameters_a_fact = numbers[:, :2] / numbers[:, 2:]
    one_fact = np.ones(len(rows))
    of_attention, of_mlp = np.linalg.lstsq(parameters_a_fact, one_fact, rcond=None)[0]
    return float(of_attention), float(of_mlp)


def foretold(
    known: Iterable[Kept], traded: Iterable[Kept]
) -> tuple[dict[str, float], dict[str, float]]:
    """Facts kept by shapes that trade attention for MLP, over those that the rates of
    the other shapes (all attention, and half of each) predict, by shape and seed; and
    these rates, by seed.

    On a straight frontier the ratios are 1; on one that bends out, more; on one that
    bends in, less. A shape of which it was not bracketed what it keeps is left out.
    """
    ratios = {}
    by_kind = {}
    seeds = grouped((model.seed, model) for model in known if model.is_bracketed)
    for seed, same in sorted(seeds.items()):
        if len({model.mlp > 0 for model in same}) < 2:
            continue  # without shapes of both kinds there are no two rates
        of_attention, of_mlp = rates(same)
        by_kind |= {f"attention,{seed}": of_attention, f"MLP,{seed}": of_mlp}
        for model in traded:
            if model.is_bracketed and model.seed == seed:
                ratios[model.name] = model.count / (
                    of_attention * model.attention + of_mlp * model.mlp
                )
    return ratios, by_kind


def facts_kept(attention: Runs, with_mlp: Runs, traded: Runs) -> Measures:
    """Facts kept by attention alone, and with an MLP, against parameters; and the
    frontier.
    """
    alone = kept(attention)
    half = kept(with_mlp)
    others = kept(traded)
    ratios, by_kind = foretold(alone + half, others)
    return {
        **capacity.measures(alone, "recall_attention", "facts"),
        **capacity.measures(half, "recall_with_mlp", "facts"),
        "recall_traded_not_bracketed": capacity.counted(others, is_bracketed=False),
        "recall_frontier": ratios,
        "recall_rates": by_kind,
    }


@dataclass(frozen=True)
class Losses:
    """The two parts of a model's loss at a checkpoint, in nats.

    Attributes:
        step: of the checkpoint.
        relation: the mean of -log p(A_r): that an answer of the relation comes.
        subject: the mean of -log p(a*(s, r) | A_r): which of them it is.
    """

    step: int
    relation: float
    subject: float

    @property
    def total(self) -> float:
        """The cross-entropy."""
        return self.relation + self.subject


def course(run: Run) -> list[Losses]:
    """The losses at every checkpoint, over all facts."""
    task = task_of(run.config, Recall)
    batch = every_fact(run)
    targets = batch.targets[:, 0]
    relations = (targets[:, 0] - task.first_answer) // task.n_answers
    own = task.answers(run.device)[relations]
    losses = []
    for step in run.checkpoint_steps():
        log_ps = _log_ps(run, step, batch)
        relation = _loss(log_ps.gather(1, own).logsumexp(-1))
        subject = _loss(log_ps.gather(1, targets)) - relation
        losses.append(Losses(step, relation, subject))
    return losses


def _log_ps(run: Run, step: int, batch: Batch) -> Tensor:
    """The logarithms of the probabilities of all tokens at a checkpoint."""
    logits = predictions(run.transformer(step), batch)[:, 0]
    return logits.double().log_softmax(-1)


def _loss(log_ps: Tensor) -> float:
    """The mean loss of what has some log probabilities."""
    return -log_ps.mean().item()


def stage(losses: Iterable[Losses], n_answers: int) -> list[Losses]:
    """The first uninterrupted stage in which an answer of the relation is certain and
    nothing is known of the subject.

    There the relation loss is below `KNOWN`, and the loss within `NEAR` of ln |A_r|.
    """
    level = math.log(n_answers)

    def is_between(each: Losses) -> bool:
        return each.relation < KNOWN and abs(each.total - level) < NEAR * level

    from_it_on = dropwhile(lambda each: not is_between(each), losses)
    return list(takewhile(is_between, from_it_on))


def learning(run: Run) -> Row:
    """The order in which one run learns the relation and the subject."""
    task = task_of(run.config, Recall)
    losses = course(run)
    between = stage(losses, task.n_answers)
    loss = None
    uniform = None
    if between:
        mean = sum(each.total for each in between) / len(between)
        loss = mean / entropy(task)
        uniform = statistics.fmean(indifference(run, each.step) for each in between)
    steps = [each.step for each in losses]
    relation = halved(steps, [each.relation for each in losses])
    subject = halved(steps, [each.subject for each in losses])
    order = subject / relation if relation and subject is not None else None
    return {
        "dynamics_stage": bool(between),
        "dynamics_loss_to_entropy": loss,
        "dynamics_uniform": uniform,
        "dynamics_start": losses[0].total / math.log(task.d_target),
        "dynamics_order": order,
        "dynamics_end": losses[-1].total,
    }


def halved(steps: Sequence[int], losses: Sequence[float]) -> float | None:
    """The step at which a loss first is half of what it was at the start, interpolated
    between checkpoints; None if it never is."""
    return crossing(steps, [-loss for loss in losses], -losses[0] / 2)


def entropy(task: Recall) -> float:
    """The mean entropy of a relation's answers over subjects, in nats: the least loss
    without the subject. It is below ln |A_r|, as answers are drawn independently."""
    answers = torch.nn.functional.one_hot(task.facts()).double()
    shares = answers.mean(0)
    entropies = torch.special.entr(shares).sum(-1)
    return entropies.mean().item()


def indifference(run: Run, step: int) -> float:
    """The mean divergence, in nats, of p(a | s, r) from its mean over subjects, at a
    checkpoint.
    """
    task = task_of(run.config, Recall)
    logits = predictions(run.transformer(step), every_fact(run))[:, 0]
    chances = logits.double().softmax(-1)
    told = chances.view(task.n_subjects, task.n_relations, -1)
    mean = told.mean(0, keepdim=True)
    terms = (told * (told / mean).log()).nan_to_num()
    return terms.sum(-1).mean().item()


def draw_kept(attention: Runs, mlp: Runs, traded: Runs) -> Drawn:
    """Facts kept against parameters, and what they cost in attention and in the MLP:
    parameters a fact lie on a straight line if those of attention and of the MLP are
    exchangeable."""
    drawn: Drawn = {}
    kinds = {"attention alone": kept(attention), "as much in an MLP": kept(mlp)}
    untraded = [model for models in kinds.values() for model in models]
    if any(model.is_bracketed for model in untraded):
        figure = draw_panels(
            [capacity.capacity_panel(kinds, "facts kept at 99 % accuracy")]
        )
        drawn["factual-recall"] = "Facts kept against trained parameters", figure
    every = [model for model in (*untraded, *kept(traded)) if model.is_bracketed]
    panel = _frontier(every)
    if panel is not None:
        title = "Parameters a fact: attention traded for MLP"
        drawn["factual-recall-frontier"] = title, draw_panels([panel])
    return drawn


def _frontier(models: Sequence[Kept]) -> Panel | None:
    """Parameters a fact by shape, and the line that fits them; None if none does."""
    shapes = grouped((model.shape, model) for model in models)
    if len(shapes) < 3:
        return None
    of_attention, of_mlp = rates(models)
    if min(of_attention, of_mlp) <= 0:
        return None
    series = []
    for i, (shape, seeds) in enumerate(shapes.items()):
        x = [model.attention / model.count for model in seeds]
        y = [model.mlp / model.count for model in seeds]
        look = numbered(i, marker=True, ls="none", ms=4.5, alpha=0.7)
        series.append(Series(x, y, look, shape))
    series.append(_line_of_one_fact(of_attention, of_mlp))
    return Panel(
        "", series, "parameters of attention a fact", "parameters of the MLP a fact"
    )


def _line_of_one_fact(of_attention: float, of_mlp: float) -> Series:
    """The line on which parameters of two kinds keep one fact together."""
    label = f"{of_attention:.2g} · attention + {of_mlp:.2g} · MLP = 1 fact"
    return Series([1 / of_attention, 0], [0, 1 / of_mlp], dotted(), label)


def draw_dynamics(runs: Runs) -> Drawn:
    """The losses of every run against the step, the stage in between shaded."""
    panels = [_course_panel(name, run) for name, run in runs.items()]
    title = "Factual recall: the relation is learnt before the subject"
    return {"factual-recall-dynamics": (title, draw_panels(panels, shared=True))}


def _course_panel(name: str, run: Run) -> Panel:
    """The losses of a run, with the stage between shaded."""
    n_answers = task_of(run.config, Recall).n_answers
    losses = course(run)
    steps = [each.step for each in losses]
    lines = {
        "loss": [(steps, [each.total for each in losses])],
        "relation": [(steps, [each.relation for each in losses])],
        "subject": [(steps, [each.subject for each in losses])],
    }
    between = stage(losses, n_answers)
    shade = (between[0].step, between[-1].step) if between else None
    levels = {"ln |A_r|": math.log(n_answers)}
    limits = {"ylim": (0, None)}
    return Panel(
        name, curves(lines), y="nats", levels=levels, shade=shade, limits=limits
    )


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
    Experiment(__file__, RECALL, KEPT, SERIES, facts_kept, draw_kept),
    Experiment(
        __file__, COURSE, ORDER, DYNAMICS, partial(by_run, row=learning), draw_dynamics
    ),
)
