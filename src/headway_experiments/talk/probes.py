"""Memory-recall probes: how many of the associations that an induction head needs are in a weight
(Bietti et al. 2023, arXiv 2306.00802, section 4).

For associations i → i' that a matrix is to hold, the share of the i for which i' has the largest
score. They are read off the weights of a model of two layers of one head, without norms and MLPs,
alone: no sequence is needed.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.models import Transformer
from headway.training import Run
from headway_experiments.experiment import Runs
from headway_experiments.figures import Panel, curves
from headway_experiments.reading import task_of
from headway_experiments.tasks import Bigrams

OUTPUT, TRIGGER, PREVIOUS = "W_OV.1", "W_KQ.1", "W_KQ.0"
"""W_OV of the second layer, and W_KQ of the second and of the first."""


def recalled(scores: Float[Tensor, "item candidate"], answers: Int[Tensor, " item"]) -> float:
    """The share of the items of which the answer has the largest score."""
    return scores.argmax(1).eq(answers).double().mean().item()


def moves(model: Transformer, layer: int) -> Float[Tensor, "d_model d_model"]:
    """The map from what a layer's heads read to what they write, W_O W_V, without the biases."""
    attention = model.layers[layer].attn
    return attention.out.weight @ attention.qkv.weight.chunk(3)[2]


@torch.no_grad()
def output_recall(model: Transformer, task: Bigrams) -> float:
    """The share of possible outputs that the second layer reads out when it sees them."""
    tokens = _outputs(task)
    moved = moves(model, 1)
    scores = model.embed.weight[tokens] @ moved.T @ model.unembed.weight.T
    return recalled(scores, tokens)


@torch.no_grad()
def trigger_recall(model: Transformer, task: Bigrams) -> float:
    """The share of triggers that look, in the second layer, for positions to which the first layer
    brought the same trigger.

    The first layer brings W_O W_V e of a token e, the remapped token.
    """
    tokens = task.frequent()
    triggers = model.embed.weight[tokens]
    told = triggers @ moves(model, 0).T
    return recalled(_scores(model, 1, triggers, told), torch.arange(len(tokens)))


@torch.no_grad()
def previous_recall(model: Transformer, task: Bigrams) -> float:
    """The share of places that look, in the first layer, for the place before them, among the
    places that they can see. The first place is left out; so is the last if sequences are pairs, as
    no output stands there."""
    assert model.pos_embed is not None  # models of these experiments learn places
    places = model.pos_embed.weight
    scores = _scores(model, 0, places, places)
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(hidden, -torch.inf)
    return recalled(scores[1 : _after_outputs(task)], torch.arange(_after_outputs(task) - 1))


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
    return {
        OUTPUT: 1 / task.vocabulary,
        TRIGGER: 1 / task.n_triggers,
        PREVIOUS: (1 / seen).mean().item(),
    }


def histories(run: Run) -> tuple[list[int], dict[str, list[float]]]:
    """The steps of a run's checkpoints, and every probe at each."""
    task, steps = task_of(run.config, Bigrams), run.checkpoint_steps()
    found: dict[str, list[float]] = {name: [] for name in PROBES}
    for step in steps:
        model = run.transformer(step)
        for name, probe in PROBES.items():
            found[name].append(probe(model, task))
    return steps, found


def probes_panel(runs: Runs, log: str = "") -> Panel:
    """Every probe at every checkpoint of every run."""
    probes = {name: [] for name in PROBES}
    for run in runs.values():
        steps, found = histories(run)
        for name, values in found.items():
            probes[name].append((steps, values))
    limits = {"ylim": (0, 1.05)}
    return Panel("Memory recall", curves(probes), y="share recalled", log=log, limits=limits)


def _outputs(task: Bigrams) -> Int[Tensor, " token"]:
    """The tokens that can be a trigger's output."""
    tokens = torch.arange(task.n_tokens)
    return tokens[~torch.isin(tokens, task.frequent())]


def _scores(model: Transformer, layer: int, asking: Tensor, asked: Tensor) -> Tensor:
    """The scores [query, key] of vectors [query, d_model] with others [key, d_model]."""
    queries, keys, _ = model.layers[layer].attn.qkv.weight.chunk(3)
    return (asking @ queries.T) @ (asked @ keys.T).T
