"""Measures of factual recall: how many facts are kept, where, and in which order they are
learnt."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headway.circuits import crossing
from headway.tasks import Batch
from headway.training import Run, generator_for, predictions
from headway_experiments.claims import Measures
from headway_experiments.experiment import Runs
from headway_experiments.reading import Row, task_of
from headway_experiments.talk.measures.capacity import (
    Kept,
    attention_parameters,
    capacities,
    mlp_parameters,
    seed_of,
)
from headway_experiments.tasks import Recall

KNOWN = 0.1
"""The relation loss, in nats, below which the answers of the relation are known."""
NEAR = 0.15
"""The distance from ln |A_r|, as a share of it, that the loss may have in the stage in between."""
BETWEEN = tuple(
    f"dynamics_{name}" for name in ("from", "to", "loss_to_level", "loss_to_entropy", "uniform")
)
"""Measures of the stage in between."""
RECALLED = 0.1
"""The loss, in nats, below which facts are recalled."""


def shape(run: Run) -> str:
    """Width, heads, their width, and the hidden width."""
    model = run.config.transformer
    return f"d={model.d_model} H={model.n_heads} d_h={model.head_width} m={model.mlp_width}"


def every_fact(run: Run) -> Batch:
    """All facts, each at places of its own among noise of its own."""
    task = task_of(run.config, Recall)
    subjects, relations = torch.arange(task.n_subjects), torch.arange(task.n_relations)
    facts = torch.cartesian_prod(subjects, relations).to(run.device)
    generator = generator_for(run.device, run.config.seed, "all facts")
    _, places, noise = task.draw(len(facts), generator)
    return task.assemble((facts, places, noise))


def kept(runs: Runs) -> Kept:
    """Facts at capacity."""
    return capacities(runs, shape, size, every_fact)


def size(run: Run) -> tuple[int, int]:
    """The number of trained parameters of attention, and of the MLP."""
    model = run.config.transformer
    return attention_parameters(model), mlp_parameters(model)


def points(*series: Runs) -> dict[str, list[tuple[float, float, float]]]:
    """By shape, for every seed: parameters of attention and of the MLP, and facts kept."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for here in map(kept, series):
        for name, count in here.found.items():
            found.setdefault(name.rpartition(",")[0], []).append((*here.sizes[name], count))
    return found


def rates(each: Mapping[str, Sequence[tuple[float, float, float]]]) -> tuple[float, float]:
    """Facts that a parameter of attention keeps, and one of the MLP, by least squares of the
    relative error."""
    every = np.array([point for some in each.values() for point in some])
    found = np.linalg.lstsq(every[:, :2] / every[:, 2:], np.ones(len(every)), rcond=None)[0]
    return float(found[0]), float(found[1])


def foretold(
    attention: Runs, with_mlp: Runs, traded: Runs
) -> tuple[dict[str, float], dict[str, float]]:
    """Facts kept by shapes that trade attention for MLP, over those that the rates of the other
    shapes (all attention, and half of each) predict, by shape and seed; and these rates, by seed.

    On a straight frontier the ratios are 1; on one that bends out, more; on one that bends in,
    less. A shape of which it was not bracketed what it keeps is left out.
    """
    ratios, by_kind = {}, {}
    known, others = [kept(runs) for runs in (attention, with_mlp)], kept(traded)
    seeds = {seed_of(name) for here in known for name in here.found}
    for seed in sorted(seeds):
        same = {
            name: [(*here.sizes[name], count)]
            for here in known
            for name, count in here.found.items()
            if seed_of(name) == seed
        }
        if len({bool(points[0][1]) for points in same.values()}) < 2:
            continue  # without shapes of both kinds there are no two rates
        of_attention, of_mlp = rates(same)
        by_kind |= {f"attention,{seed}": of_attention, f"MLP,{seed}": of_mlp}
        for name, count in others.found.items():
            if seed_of(name) == seed:
                a, m = others.sizes[name]
                ratios[name] = count / (of_attention * a + of_mlp * m)
    return ratios, by_kind


def capacity(attention: Runs, with_mlp: Runs, traded: Runs) -> Measures:
    """Facts kept by attention alone, and with an MLP, against parameters; and the frontier."""
    measured: Measures = {}
    for kind, runs in (("attention", attention), ("with_mlp", with_mlp)):
        here = kept(runs)
        measured[f"recall_{kind}_facts"] = here.found
        measured[f"recall_{kind}_not_bracketed"] = here.missing
        measured[f"recall_{kind}_slope"] = here.slopes()
    ratios, by_kind = foretold(attention, with_mlp, traded)
    bounds = {"recall_traded_not_bracketed": kept(traded).missing}
    return {**measured, **bounds, "recall_frontier": ratios, "recall_rates": by_kind}


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


@dataclass(frozen=True)
class Stage:
    """The checkpoints at which the relation is known and the subject is not.

    Attributes:
        first: step of the first of them.
        last: step of the last of them.
        loss: the mean cross-entropy over them.
    """

    first: int
    last: int
    loss: float


def course(run: Run) -> list[Losses]:
    """The losses at every checkpoint, over all facts."""
    task, batch = task_of(run.config, Recall), every_fact(run)
    targets = batch.targets[:, 0]
    answers = task.answers(run.device)
    own = answers[(targets[:, 0] - task.first_answer) // task.n_answers]
    found = []
    for step in run.checkpoint_steps():
        told = predictions(run.transformer(step), batch)[:, 0].double().log_softmax(-1)
        relation = -told.gather(1, own).logsumexp(-1)
        total = -told.gather(1, targets)[:, 0]
        mean = relation.mean().item()
        found.append(Losses(step, mean, total.mean().item() - mean))
    return found


def stage(losses: list[Losses], n_answers: int) -> Stage | None:
    """The first uninterrupted stage in which an answer of the relation is certain and nothing is
    known of the subject: relation loss below `KNOWN`, loss within `NEAR` of ln |A_r|; or None."""
    level, within = math.log(n_answers), []
    for each in losses:
        fits = each.relation < KNOWN and abs(each.total - level) < NEAR * level
        if fits:
            within.append(each)
        elif within:
            break
    if not within:
        return None
    mean = sum(each.total for each in within) / len(within)
    return Stage(within[0].step, within[-1].step, mean)


def learning(run: Run) -> Row:
    """The order in which one run learns the relation and the subject."""
    task, losses = task_of(run.config, Recall), course(run)
    found, level = stage(losses, task.n_answers), math.log(task.n_answers)
    between: dict[str, float | None] = dict.fromkeys(BETWEEN)
    if found is not None:
        steps = [each.step for each in losses if found.first <= each.step <= found.last]
        between = {
            "dynamics_from": found.first,
            "dynamics_to": found.last,
            "dynamics_loss_to_level": found.loss / level,
            "dynamics_loss_to_entropy": found.loss / entropy(task),
            "dynamics_uniform": statistics.fmean(indifference(run, step) for step in steps),
        }
    steps = [each.step for each in losses]
    relation = halved(steps, [each.relation for each in losses])
    subject = halved(steps, [each.subject for each in losses])
    return {
        "dynamics_stage": found is not None,
        **between,
        "dynamics_start": losses[0].total / math.log(task.d_target),
        "dynamics_recalled": next((each.step for each in losses if each.total < RECALLED), None),
        "dynamics_order": subject / relation if relation and subject is not None else None,
        "dynamics_end": losses[-1].total,
    }


def halved(steps: Sequence[int], losses: Sequence[float]) -> float | None:
    """The step at which a loss first is half of what it was at the start, interpolated between
    checkpoints; None if it never is."""
    return crossing(steps, [-loss for loss in losses], -losses[0] / 2)


def entropy(task: Recall) -> float:
    """The mean entropy of a relation's answers over subjects, in nats: the least loss without the
    subject. It is below ln |A_r|, as answers are drawn independently."""
    shares = torch.nn.functional.one_hot(task.facts()).double().mean(0)
    return torch.special.entr(shares).sum(-1).mean().item()


def indifference(run: Run, step: int) -> float:
    """The mean divergence, in nats, of p(a | s, r) from its mean over subjects, at a checkpoint."""
    task, batch = task_of(run.config, Recall), every_fact(run)
    told = predictions(run.transformer(step), batch)[:, 0].double().softmax(-1)
    told = told.view(task.n_subjects, task.n_relations, -1)
    mean = told.mean(0, keepdim=True)
    return (told * (told / mean).log()).nan_to_num().sum(-1).mean().item()
