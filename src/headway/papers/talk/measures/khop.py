"""What is measured for the k-hop problem, from the run folders alone."""

import math
from dataclasses import replace

import torch

from headway.circuits.emergence import hop_steps, learnt_in_order
from headway.circuits.patterns import attention_along
from headway.models import attention_patterns
from headway.papers.claims import Measures
from headway.papers.experiment import Runs
from headway.papers.reading import accuracies, task_of
from headway.tasks import IGNORE_INDEX, Batch, Hops
from headway.training import Run
from headway.training.data import held_out

SOLVED = 0.98
"""The accuracy at which k hops count as solved."""

SEQUENCES = 512


def by_layers(runs: Runs) -> Measures:
    """Accuracies by k and layers, against the layers that k takes; attention along find^j."""
    found: Measures = {
        name: {}
        for name in (
            *("khop_accuracy", "khop_enough", "khop_too_few", "khop_as_expected"),
            *("khop_attention", "khop_in_order"),
        )
    }
    for name, run in runs.items():
        layers = run.config.transformer.n_layers
        solved = {}
        for k, accuracy in hop_accuracies(run).items():
            one = f"k={k},{name}"
            solved[k] = accuracy >= SOLVED
            found["khop_accuracy"][one] = accuracy
            found["khop_enough" if layers >= needed(k) else "khop_too_few"][one] = accuracy
            found["khop_as_expected"][one] = float(solved[k] == (layers >= needed(k)))
        for k in (k for k, is_solved in solved.items() if is_solved and layers == needed(k)):
            found["khop_attention"][f"k={k},{name}"] = weakest_layer(run, k)
        order = learnt_in_order(hop_steps(run.metrics(), run.task.hops), run.task.hop_order)
        if order is not None:
            found["khop_in_order"][name] = float(order)
    return found


def needed(hops: int) -> int:
    """The layers that k hops take: ⌊log2 k⌋ + 2 (Sanford et al. 2024, section 4)."""
    return math.floor(math.log2(hops)) + 2


def hop_accuracies(run: Run) -> dict[int, float]:
    """The share of places with an answer at which the model has it, by k."""
    task = task_of(run.config, Hops)
    batch = held_out(task, SEQUENCES, run.config.seed, run.device, "accuracy")
    answers = batch.targets.masked_fill(batch.targets == task.none, IGNORE_INDEX)
    right = accuracies(run, replace(batch, targets=answers))
    return dict(zip(task.asked, right.values(), strict=True))


def weakest_layer(run: Run, hops: int) -> float:
    """How much of its attention the best head of a layer sends along one find^j, whichever suits
    it best, in sequences that ask for so many hops: the least over the layers but the first."""
    by_find = torch.tensor(list(find_attention(run, hops).values()))  # [j, layer, head]
    return by_find.amax((0, 2))[1:].min().item()


@torch.no_grad()
def find_attention(run: Run, hops: int) -> dict[int, list[list[float]]]:
    """Mean attention along find^j, [layer, head], by j, in sequences that ask for so many hops."""
    task = task_of(run.config, Hops)
    several = held_out(task, 64 * task.n_depths, run.config.seed, run.device, "attention")
    asked = several.inputs[:, 0] - task.n_symbols == task.asked.index(hops)
    batch = Batch(several.inputs[asked], several.targets[asked], several.roles[asked])
    patterns = attention_patterns(run.transformer(), batch.inputs)
    relations = task.relations(batch)
    return {
        j: attention_along(patterns, relations[f"find^{j}"]).tolist()
        for j in range(1, max(task.asked) + 1)
    }
