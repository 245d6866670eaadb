"""Two hops in context among distractor chains (Guo et al. 2025, arXiv 2502.13913).

The source trains attention of three layers on the end alone. It reports a plateau, on
which the model guesses among the ends, then a sudden change to a *sequential query*:
tokens copy the one before, the query finds the bridge, and then the end. Here the
bridge may be asked for as well.
"""

from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from headway.find import discover
from headway.judge import saved_discovery, verdicts
from headway.models import TransformerConfig, attention_patterns
from headway.relations import AttentionPath
from headway.tasks import Batch, Task
from headway.training import Run, RunConfig, TrainingConfig, predictions
from headway_experiments.asked import altered
from headway_experiments.experiment import (
    Configs,
    Drawn,
    Experiment,
    Group,
    Measures,
    Runs,
)
from headway_experiments.figures import Panel, curves, draw_panels, losses
from headway_experiments.reading import Row, accuracies, by_run, taken_apart
from headway_experiments.recipes import by_seed
from headway_experiments.talk.induction import unseen
from headway_experiments.tasks import TwoHops

SEEDS = range(3210, 3220)
"""The seeds that are judged; settings were chosen with seeds 2000 to 2008, and 3200 to
3202 in a setting of five chains at constant rates, which one of two learnt."""

SOLVED = 0.9
"""The share of right ends above which a model has learnt both hops."""

PLATEAU, LEARNT = 0.9, 0.1
"""The shares of log(chains) between which a loss counts as falling."""

NAMES = {0: "previous token", 1: "after same token"}
"""The right names of the first two heads of a sequential query when nothing is told.
The third follows what the second has found, which no relation between tokens says."""

SMOKE = {"steps": 40, "cooldown_steps": 0, "patience": 0, "warmup_steps": 10}
"""Far too short to learn anything."""

ALONE = {"steps": 3_000, "patience": 0}
"""One attempt, as nothing shows that another would do better."""

FILE = "blind.json"
"""The file of a run's folder that keeps what is read when nothing is told."""


def config(task: TwoHops, layers: int, **changes: int) -> RunConfig:
    """Layers of one head, with MLPs only where the end alone is asked, and Muon."""
    training = TrainingConfig(
        steps=4_000,
        train_examples=None,
        optimizer="muon",
        learning_rate=3e-3,
        weight_decay=0.01,
        warmup_steps=50,
        cooldown_steps=600,
        cooldown_below=0.3,
        patience=700,
        eval_every=25,
        eval_examples=512,
        checkpoint_every=50,
        save_every=500,
    )
    model = TransformerConfig(
        n_layers=layers,
        d_model=64,
        n_heads=1,
        d_mlp=64 if task.asked == "end" else 0,
        act_fn="relu",
        init="orthogonal",
    )
    return RunConfig(task, model, replace(training, **changes))


def both(layers: int, scale: str) -> Configs:
    """The bridge and the end are asked for, among three chains."""
    if scale == "smoke":
        small = TwoHops(2, 6, "both")
        return by_seed(config(small, layers, **SMOKE), [1])
    count = 10 if layers == 3 else 5
    task = TwoHops(3, 15, "both")
    return by_seed(config(task, layers), SEEDS[:count])


def end(scale: str) -> Configs:
    """The end alone is asked for, of two chains, the fewest that there can be."""
    if scale == "smoke":
        return by_seed(config(TwoHops(2, 6), 3, **SMOKE), [1])
    return by_seed(config(TwoHops(2, 12), 3, **ALONE), SEEDS)


def guesses(run: Run) -> Row:
    """The probability of the ends of all chains, and the share of right answers, at
    last.
    """
    task = cast(TwoHops, run.task)
    batch = unseen(run)
    logits = predictions(run.transformer(), batch)
    chances = logits.softmax(-1)[:, 0]
    ends = task.ends(batch)
    of_ends = chances.gather(-1, ends).sum(-1)
    is_right = chances.argmax(-1) == batch.targets[:, 0, 0]
    return {
        "two_hops_ends": of_ends.mean().item(),
        "two_hops_end_alone": is_right.float().mean().item(),
    }


def end_accuracy(run: Run) -> float:
    """The share of right ends, at last."""
    return accuracies(run, unseen(run))["end"]


def looks(run: Run) -> dict[str, float]:
    """The query's mean attention to the bridge in layer 1, and to the end in layer
    2.
    """
    batch = unseen(run)
    patterns = attention_patterns(run.transformer(), batch.inputs)
    assert batch.roles is not None
    places = dict(zip(run.task.roles, batch.roles[..., 0].T, strict=True))
    rows = torch.arange(len(patterns))
    query = places["query"]
    looks = {}
    for layer, role in ((1, "bridge"), (2, "end")):
        attention = patterns[rows, layer, 0, query, places[role]]
        looks[f"L{layer} {role}"] = attention.mean().item()
    return looks


def fall(run: Run) -> float | None:
    """The share of the last attempt's steps until the end is learnt in which its loss
    falls.

    None if it never is.
    """
    task = cast(TwoHops, run.task)
    guess = task.reference_losses()["any chain"]["end"]
    left = _first_below(run, PLATEAU * guess)
    learnt = _first_below(run, LEARNT * guess)
    if left is None or learnt is None:
        return None
    return 1 - left / learnt


def _first_below(run: Run, level: float) -> float | None:
    """The first step at which the loss of the end is below a level."""
    steps = (line["step"] for line in run.metrics() if line["partial"]["end"] < level)
    return next(steps, None)


def is_sequential(run: Run) -> bool:
    """True if its circuit copies the token before, then finds the bridge, and then the
    end.
    """
    if not taken_apart(run):
        return False
    paths = saved_discovery(run).circuit.paths

    def layers(name: str) -> set[int]:
        wanted = AttentionPath.parse(f"L0.H0 {name}").relation
        return {path.layer for path in paths if path.relation == wanted}

    copies = layers("bridge←source") & layers("end←bridge again")
    bridged = layers("query←bridge")
    ended = layers("query←end")
    return any(a < b < c for a in copies for b in bridged for c in ended)


def untold(task: Task) -> Task:
    """A task without roles: the sequences and answers alone."""

    def assemble(_: Task, draws: tuple[Tensor, ...]) -> Batch:
        return replace(task.assemble(draws), roles=None)

    return altered(task, roles=(), assemble=assemble)


def blind(run: Run) -> dict[str, str]:
    """The name of every head's mechanism when neither roles nor relations are told."""
    known = run.read(FILE)
    if known is None:
        discovery = discover(
            run.transformer(), untold(run.task), seed=0, trials=False, workers=1
        )
        heads = discovery.circuit.mechanisms.items()
        known = {f"L{layer}.H{head}": str(what) for (layer, head), what in heads}
        with run.writing():
            run.write(FILE, known)
    return known


def with_bridge(run: Run) -> Row:
    """One run of three layers that is asked for the bridge, too: what it learns, how,
    and how its heads are read."""
    accuracy = end_accuracy(run)
    has_learnt = accuracy > SOLVED
    judged = verdicts(saved_discovery(run)) if taken_apart(run) else []
    holds = {verdict.name: bool(verdict.holds) for verdict in judged}
    return {
        "two_hops_three_layers": accuracy,
        "two_hops_looks": looks(run),
        "two_hops_enough": holds.get("enough"),
        "two_hops_complete": holds.get("complete"),
        "two_hops_sequential": is_sequential(run),
        "two_hops_fall": fall(run) if has_learnt else None,
        "two_hops_blind": _named_blindly(run) if has_learnt else {},
    }


def _named_blindly(run: Run) -> dict[str, float]:
    """Tell if blind reading gives the heads of a model their names."""
    given = blind(run)
    named = {}
    for layer, name in NAMES.items():
        head = f"L{layer}.H0"
        named[head] = given.get(head) == name
    return named


def measured(three: Runs, two: Runs, alone: Runs) -> Measures:
    """Accuracies, mechanisms and readings with the bridge asked for; guesses
    without.
    """
    in_two = {
        "two_hops_two_layers": {name: end_accuracy(run) for name, run in two.items()}
    }
    return by_run(three, with_bridge) | in_two | by_run(alone, guesses)


def drawn(three: Runs, two: Runs, alone: Runs) -> Drawn:
    """Losses of the end against the step."""
    with_bridge = {
        "three layers": losses(three, "end"),
        "two layers": losses(two, "end"),
    }
    without = {"three layers": losses(alone, "end")}
    y = "loss of the end, nats"
    panels = [
        Panel("The bridge is asked for, too", curves(with_bridge), y=y),
        Panel("The end alone, of two chains", curves(without), y=y),
    ]
    return {"two-hops": ("Two hops in context", draw_panels(panels, columns=2))}


TITLE = "two hops in context among distractors (Guo et al. 2025, arXiv 2502.13913)"
GROUPS = (
    Group(
        "two-hops",
        "three layers, bridge and end",
        lambda s: both(3, s),
        taken_apart=True,
    ),
    Group("two-hops-two-layers", "two layers, bridge and end", lambda s: both(2, s)),
    Group("two-hops-end", "three layers, the end alone", end),
)
EXPERIMENTS = (Experiment(__file__, "two-hops", TITLE, GROUPS, measured, drawn),)
