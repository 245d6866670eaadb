"""Two hops in context among distractor chains (Guo et al. 2025, arXiv 2502.13913).

The source trains attention of three layers on the end alone. It reports a plateau, on which the
model guesses among the ends, then a sudden change to a *sequential query*: tokens copy the one
before, the query finds the bridge, and then the end. Here the bridge may be asked for as well.
"""

from dataclasses import fields, replace
from typing import cast

from torch import Tensor

from headway.circuits import AttentionPath, discover, saved_discovery
from headway.models import TransformerConfig
from headway.tasks import Batch
from headway.training import Run, RunConfig, TrainingConfig, held_out, predictions
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Measures, Runs
from headway_experiments.figures import Panel, curves, draw_panels
from headway_experiments.reading import Row, accuracies, by_run, taken_apart
from headway_experiments.tasks import TwoHops

SEEDS = range(3210, 3220)
"""The seeds that are judged; settings were chosen with seeds 2000 to 2008, and 3200 to 3202 in a
setting of five chains at constant rates, which one of two learnt."""

SEQUENCES = 1024
"""Sequences on which guesses are measured, none of them seen in training."""

PLATEAU, LEARNT = 0.9, 0.1
"""The shares of log(chains) between which a loss counts as falling."""

NAMES = {0: "previous token", 1: "after same token"}
"""The right names of the first two heads of a sequential query when nothing is told. The third
follows what the second has found, which no relation between tokens says."""

SMOKE = {"steps": 40, "cooldown_steps": 0, "patience": 0, "warmup_steps": 10}
"""Far too short to learn anything."""

ALONE = {"steps": 3_000, "patience": 0}
"""One attempt, as nothing shows that another would do better."""

FILE = "blind.json"
"""The file of a run's folder that keeps what is read when nothing is told."""


class Untold(TwoHops, registered=False):
    """The same sequences, without roles."""

    @property
    def roles(self) -> tuple[str, ...]:
        """None is told."""
        return ()

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """The sequences and answers alone."""
        return replace(super().assemble(draws), roles=None)


def config(task: TwoHops, layers: int, seed: int, **changes: int) -> RunConfig:
    """Layers of one head, with MLPs only where the end alone is asked, and Muon."""
    d_mlp = 64 if task.asked == "end" else 0
    shape = {"d_model": 64, "n_heads": 1, "d_mlp": d_mlp, "act_fn": "relu", "init": "orthogonal"}
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
    return RunConfig(
        task, TransformerConfig(n_layers=layers, **shape), replace(training, **changes), seed
    )


def both(layers: int, scale: str) -> Configs:
    """The bridge and the end are asked for, among three chains."""
    if scale == "smoke":
        return {"seed=1": config(TwoHops(2, 6, "both"), layers, 1, **SMOKE)}
    count = 10 if layers == 3 else 5
    return {f"seed={s}": config(TwoHops(3, 15, "both"), layers, s) for s in SEEDS[:count]}


def end(scale: str) -> Configs:
    """The end alone is asked for, of two chains, the fewest that there can be."""
    if scale == "smoke":
        return {"seed=1": config(TwoHops(2, 6), 3, 1, **SMOKE)}
    return {f"seed={s}": config(TwoHops(2, 12), 3, s, **ALONE) for s in SEEDS}


def guesses(run: Run) -> Row:
    """The probability of the ends of all chains, and the share of right answers, at last."""
    task = cast(TwoHops, run.task)
    batch = held_out(task, SEQUENCES, run.config.seed, run.device, "talk")
    chances = predictions(run.transformer(), batch).softmax(-1)[:, 0]
    among = chances.gather(-1, task.ends(batch)).sum(-1)
    return {"ends": among.mean().item(), "end_alone": accuracies(run, batch)["end"]}


def fall(run: Run) -> float | None:
    """The share of the steps until the end is learnt in which its loss falls; None if never."""
    task = cast(TwoHops, run.task)
    guess = task.reference_losses()["any chain"]["end"]
    losses = [(line["step"], line["partial"]["end"]) for line in run.metrics()]
    below = [[step for step, loss in losses if loss < s * guess] for s in (PLATEAU, LEARNT)]
    return 1 - below[0][0] / below[1][0] if all(below) else None


def is_sequential(run: Run) -> bool:
    """True if its circuit copies the token before, then finds the bridge, and then the end."""
    if not taken_apart(run):
        return False
    paths = saved_discovery(run).circuit.paths

    def layers(name: str) -> set[int]:
        wanted = AttentionPath.parse(f"L0.H0 {name}").relation
        return {path.layer for path in paths if path.relation == wanted}

    copies = layers("bridge←source") & layers("end←bridge again")
    found, ended = layers("query←bridge"), layers("query←end")
    return any(a < b < c for a in copies for b in found for c in ended)


def blind(run: Run) -> dict[str, str]:
    """The name of every head's mechanism when neither roles nor relations are told."""
    known = run.read(FILE)
    if known is None:
        task = Untold(**{field.name: getattr(run.task, field.name) for field in fields(TwoHops)})
        circuit = discover(run.transformer(), task, seed=0, trials=False, workers=1).circuit
        known = {f"L{at[0]}.H{at[1]}": str(what) for at, what in circuit.mechanisms.items()}
        with run.writing():
            run.write(FILE, known)
    return known


def measured(three: Runs, two: Runs, alone: Runs) -> Measures:
    """What is learnt when the bridge is asked for, how, and what is read; and guesses."""

    def learnt(run: Run) -> float:
        return accuracies(run, held_out(run.task, SEQUENCES, run.config.seed, run.device, "talk"))[
            "end"
        ]

    guessed = by_run(alone, guesses)
    solved = {name: run for name, run in three.items() if learnt(run) > PLATEAU}
    named = {name: blind(run) for name, run in solved.items()}
    return {
        "two_hops_ends": guessed.get("ends", {}),
        "two_hops_end_alone": guessed.get("end_alone", {}),
        "two_hops_three_layers": {name: learnt(run) for name, run in three.items()},
        "two_hops_two_layers": {name: learnt(run) for name, run in two.items()},
        "two_hops_sequential": {name: float(is_sequential(run)) for name, run in three.items()},
        "two_hops_fall": {
            n: share for n, run in solved.items() if (share := fall(run)) is not None
        },
        "two_hops_blind": {
            f"{name} L{layer}.H0": float(heads.get(f"L{layer}.H0") == right)
            for name, heads in named.items()
            for layer, right in NAMES.items()
        },
    }


def drawn(three: Runs, two: Runs, alone: Runs) -> Drawn:
    """Losses of the end against the step."""

    def curve(run: Run) -> tuple[list[int], list[float]]:
        lines = run.metrics()
        return [m["step"] for m in lines], [m["partial"]["end"] for m in lines]

    groups = {"three layers": three, "two layers": two}
    known = {
        "The bridge is asked for, too": {
            n: map(curve, runs.values()) for n, runs in groups.items()
        },
        "The end alone, of two chains": {"three layers": map(curve, alone.values())},
    }
    panels = [
        Panel(title, curves(some), y="loss of the end, nats") for title, some in known.items()
    ]
    return {"two-hops": ("Two hops in context", draw_panels(panels, columns=2))}


TITLE = "two hops in context among distractors (Guo et al. 2025, arXiv 2502.13913)"
GROUPS = (
    Group("two-hops", "three layers, bridge and end", lambda s: both(3, s), taken_apart=True),
    Group("two-hops-two-layers", "two layers, bridge and end", lambda s: both(2, s)),
    Group("two-hops-end", "three layers, the end alone", end),
)
EXPERIMENTS = (Experiment(__file__, "two-hops", TITLE, GROUPS, measured, drawn),)
