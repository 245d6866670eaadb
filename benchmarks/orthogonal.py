"""Which maps must start orthogonal: four layers, two hops, and one thing changed.

    python benchmarks/orthogonal.py --out results/orthogonal.jsonl
    python benchmarks/orthogonal.py --read results/orthogonal.jsonl --figure FILE.png

All seeds of an arm are trained side by side, as one stack of models. A row of the
output is one run; an arm that is there already is not trained again.
"""

import json
import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from frame import options
from headway.intervals import wilson
from headway.models import Transformer, TransformerConfig, attention_patterns
from headway.recipes import changed
from headway.tasks import Batch, Retrieval
from headway.training import Curriculum, Implicit, RunConfig, Stream, TrainingConfig
from headway.training.data import held_out
from headway.training.optimisers import AdamW
from headway_experiments.figures import Panel, curves, draw_panels, share_panel
from headway_experiments.reading import SOLVED, grouped, task_of
from headway_experiments.recipes import paper
from headway_experiments.remade import Remade

GROUPS = {"QK": "W_Q W_K", "VO": "W_V W_O", "MLP": "W_in W_out", "outer": "W_E W_U"}
"""The groups of maps; `outer` are those into and out of the residual stream."""

ALL = " ".join(GROUPS.values())


def but(group: str) -> str:
    """The maps of all other groups."""
    return " ".join(maps for name, maps in GROUPS.items() if name != group)


ARMS: dict[str, Curriculum] = {
    "none": Implicit(),
    "all": Remade(ALL, gain=1.0),
    "all, Gaussian": Remade(ALL, flat=False, gain=1.0),
    "all, size kept": Remade(ALL),
    **{group: Remade(maps, gain=1.0) for group, maps in GROUPS.items()},
    **{f"all but {group}": Remade(but(group), gain=1.0) for group in GROUPS},
    "all, gain 0.5": Remade(ALL, gain=0.5),
    "all, gain 2": Remade(ALL, gain=2.0),
}
"""The maps that are made anew before the first step, and how."""

SEEDS = range(6_100, 6_110)
"""The seeds that are judged; the setting was chosen with seeds 6000 to 6009."""

GOALS = {"first hop": 0.25, "solved": SOLVED}
"""What a run gets to: a loss of x_1 below half of the plateau, or a loss of both hops
below that of a solved task.
"""

DRAWN = "none", "all", "all, Gaussian", "all, size kept"
"""The arms whose losses are drawn."""

SNAPSHOTS = 0, 50, 100, 200, 400, 800
"""The steps at which attention is looked at."""

Row = dict[str, Any]
Weights = dict[str, Tensor]


def config(seed: int, **changes: Any) -> RunConfig:
    """The recipe `paper`, made small."""
    training = TrainingConfig(
        steps=1_500,
        batch_size=32,
        learning_rate=2e-3,
        eval_every=50,
        eval_examples=256,
    )
    model = TransformerConfig(
        n_layers=4, d_model=32, n_heads=1, d_mlp=32, init="gpt2_blocks"
    )
    task = Retrieval(depth=2, n_chains=2)
    return RunConfig(task, model, replace(training, **changes), seed)


def drawn(config: RunConfig) -> Transformer:
    """The model of a run before its first step."""
    task = config.task
    model = Transformer(
        config.transformer,
        task.d_input,
        task.d_target,
        task.length,
        task.n_read,
        config.seed,
    )
    config.training.curriculum.learning(model)
    return model


class Data:
    """The batches of several runs, stacked; each is drawn once for all arms."""

    def __init__(self, configs: list[RunConfig]):
        self.task = task_of(configs[0], Retrieval)
        self._streams = [Stream(config) for config in configs]
        self._known: dict[int, tuple[Tensor, Tensor]] = {}
        count = configs[0].training.eval_examples
        self.held_out = [held_out(self.task, count, c.seed, "cpu") for c in configs]
        self.validation = stacked(self.held_out)

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        """The inputs and targets of a step, run by run."""
        if step not in self._known:
            batches = [stream.asked(step)[1] for stream in self._streams]
            self._known[step] = stacked(batches)
        return self._known[step]


def stacked(batches: list[Batch]) -> tuple[Tensor, Tensor]:
    """The inputs and targets of several runs."""
    inputs = torch.stack([batch.inputs for batch in batches])
    return inputs, torch.stack([batch.targets for batch in batches])


class Stack:
    """Models of one shape that are trained side by side, each as `headway train` would.

    Attributes:
        models: as they are drawn.
        weights: of all models, stacked.
    """

    def __init__(self, configs: list[RunConfig], data: Data):
        self.models = [drawn(config) for config in configs]
        self.weights: Weights = stack_module_state(self.models)[0]
        self._data = data
        training = configs[0].training
        matrices = [w for w in self.weights.values() if w.ndim > 2]
        rest = [w for w in self.weights.values() if w.ndim == 2]
        groups = [
            {"params": matrices, "weight_decay": training.weight_decay},
            {"params": rest, "weight_decay": 0.0},
        ]
        rate, betas = training.learning_rate, training.betas
        self._optimiser = AdamW(groups, lr=rate, betas=betas)
        self._losses = vmap(self._partial_losses)
        self._slopes = vmap(grad_and_value(self._loss))

    def _partial_losses(
        self, weights: Weights, inputs: Tensor, targets: Tensor
    ) -> Tensor:
        """The loss of every hop of one model."""
        predicted = functional_call(self.models[0], weights, (inputs,))
        errors = (predicted - targets.flatten(2)).unflatten(2, targets.shape[2:])
        return errors.square().mean((0, 1, 3))

    def _loss(self, weights: Weights, inputs: Tensor, targets: Tensor) -> Tensor:
        return self._partial_losses(weights, inputs, targets).mean()

    def step(self, number: int) -> None:
        """Makes a step of all models."""
        slopes, _ = self._slopes(self.weights, *self._data.at(number))
        for name, weight in self.weights.items():
            weight.grad = slopes[name]
        self._optimiser.step()

    @torch.no_grad()
    def evaluated(self) -> Tensor:
        """The validation loss of every model and hop."""
        return self._losses(self.weights, *self._data.validation)

    @torch.no_grad()
    def model(self, number: int) -> Transformer:
        """One of the models as it is now."""
        model = self.models[number]
        model.load_state_dict({n: w[number] for n, w in self.weights.items()})
        return model


def trained(arm: str, seeds: list[int], data: Data) -> list[Row]:
    """A row for every run of an arm."""
    configs = [config(seed, curriculum=ARMS[arm]) for seed in seeds]
    training = configs[0].training
    stack = Stack(configs, data)
    rows: list[Row] = []
    for number, seed in enumerate(seeds):
        batch = data.held_out[number]
        about = start(stack.models[number], data.task, batch)
        rows.append({"arm": arm, "seed": seed, "start": about, "attention": {}})
    for row in rows:
        row |= {**dict.fromkeys(GOALS), "losses": []}
    for step in range(training.steps + 1):
        if step > 0:
            stack.step(step)
        if step in SNAPSHOTS:
            for number, row in enumerate(rows):
                looks = looked(stack.model(number), data.task, data.held_out[number])
                row["attention"][step] = looks
        if step % training.eval_every == 0:
            noted(rows, step, stack.evaluated())
        if all(row["solved"] is not None for row in rows):
            break
    return rows


def noted(rows: list[Row], step: int, losses: Tensor) -> None:
    """Adds an evaluation to the rows."""
    for row, by_hop in zip(rows, losses, strict=True):
        row["losses"].append([step, *(round(loss, 5) for loss in by_hop.tolist())])
        told_by = {"first hop": by_hop[0], "solved": by_hop.mean()}
        for goal, loss in told_by.items():
            if row[goal] is None and loss < GOALS[goal]:
                row[goal] = step


@torch.no_grad()
def start(model: Transformer, task: Retrieval, batch: Batch) -> Row:
    """What can be said of a model before its first step (see `spectrum`, `signal`)."""
    both: dict[str, list[Row]] = {"QK": [], "VO": []}
    for block in model.layers:
        query, key, value = block.attn.qkv.weight.chunk(3)
        both["QK"].append(spectrum(query.T @ key))
        both["VO"].append(spectrum(block.attn.out.weight @ value))
    about: Row = {}
    for name, spectra in both.items():
        for what in spectra[0]:
            values = [each[what] for each in spectra]
            about[f"{name} {what}"] = sum(values) / len(values)
    return about | signal(model, task, batch)


def spectrum(product: Tensor) -> Row:
    """The size of a product, the root mean square of its singular values; its effective
    rank, the exponential of the entropy of their squares; and the logarithm of the
    largest over the smallest.
    """
    values = torch.linalg.svdvals(product.double())
    shares = values.square() / values.square().sum()
    entropy = -(shares * shares.clamp(min=1e-300).log()).sum()
    return {
        "size": values.square().mean().sqrt().item(),
        "rank": entropy.exp().item(),
        "condition": (values[0] / values[-1]).log10().item(),
    }


def signal(model: Transformer, task: Retrieval, batch: Batch) -> Row:
    """How much the final stream at a query depends on the symbol that it is to find.

    The symbol at s2, which is x_1, is exchanged for another: the change of the stream,
    as a share of its length; beside it the same for a symbol of another chain.
    """
    before = list(model.streams(batch.inputs))[-1]
    places = placed(task, batch)
    rows = torch.arange(len(batch.inputs))
    shares = {}
    for name, chain in (("signal", 0), ("noise", 1)):
        other = batch.inputs.clone()
        at = places["s2"][:, chain]
        symbols = other[rows, at, : task.d_token]
        other[rows, at, : task.d_token] = symbols.roll(1, 0)
        after = list(model.streams(other))[-1]
        query = places["s0"][:, 0] - batch.inputs.shape[1]
        change = (after - before)[rows, query].norm(dim=-1)
        shares[name] = (change / before[rows, query].norm(dim=-1)).mean().item()
    return shares


def placed(task: Retrieval, batch: Batch) -> Mapping[str, Tensor]:
    """The positions [sequence, chain] of every role."""
    assert batch.roles is not None
    return dict(zip(task.roles, batch.roles.unbind(1), strict=True))


@torch.no_grad()
def looked(model: Transformer, task: Retrieval, batch: Batch) -> Row:
    """The mean attention along two paths, in the layer where it is largest; and how far
    rows of the query are from uniform: 1 less their entropy, as a share.
    """
    patterns = attention_patterns(model, batch.inputs)[:, :, 0]
    places = placed(task, batch)
    rows = torch.arange(len(patterns))[:, None]
    looks = {}
    for query, key in (("s2", "s1"), ("s0", "s2")):
        along = patterns[rows, :, places[query], places[key]]
        looks[f"{query}←{key}"] = along.mean((0, 1)).max().item()
    last = patterns[rows, :, places["s0"]]
    entropy = -(last * last.clamp(min=1e-30).log()).sum(-1)
    most = (places["s0"] + 1).log()[..., None]
    looks["sharp"] = 1 - (entropy / most).mean().item()
    return looks


def starts(seeds: list[int]) -> Iterator[Row]:
    """A row for every start at the paper's own size, which is not trained."""
    for seed in seeds:
        plain = changed(paper(2, seed), {"model.n_layers": 4})
        batch = held_out(plain.task, 64, seed, "cpu")
        task = task_of(plain, Retrieval)
        for arm, curriculum in ARMS.items():
            model = drawn(changed(plain, {"training.curriculum": curriculum}))
            looks = {0: looked(model, task, batch)}
            about = start(model, task, batch)
            yield {"arm": arm, "seed": seed, "start": about, "attention": looks}


def rows_in(path: Path) -> list[Row]:
    """The rows that a file has so far."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def by_arm(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of every arm that has some, in the order of the arms."""
    those = grouped((row["arm"], row) for row in rows)
    return {arm: those[arm] for arm in ARMS if arm in those}


def told(rows: list[Row]) -> str:
    """A table: for every arm the share of runs that get there, and when; and means over
    what was measured before the first step.
    """
    starts = sorted(rows[0]["start"])
    trained = [*GOALS, "last loss"] if "losses" in rows[0] else []
    heads = ["arm", *trained, *starts, "sharp at 0"]
    lines = [" | ".join(heads), "|".join("---" for _ in heads)]
    for arm, runs in by_arm(rows).items():
        cells = [arm]
        if "losses" in runs[0]:
            cells += [reached([row[goal] for row in runs]) for goal in GOALS]
            last = [statistics.mean(row["losses"][-1][1:]) for row in runs]
            cells.append(f"{min(last):.3f} to {max(last):.3f}")
        for what in starts:
            mean = statistics.mean(row["start"][what] for row in runs)
            cells.append(f"{mean:.3g}")
        sharp = statistics.mean(row["attention"]["0"]["sharp"] for row in runs)
        lines.append(" | ".join([*cells, f"{sharp:.2g}"]))
    return "\n".join(f"| {line} |" for line in lines)


def reached(steps: list[int | None]) -> str:
    """How many of some runs get to a goal, with the interval of the share; and the
    median of their steps.
    """
    those = [step for step in steps if step is not None]
    low, high = wilson(len(those), len(steps))
    median = f", {statistics.median(those):.0f}" if those else ""
    return f"{len(those)} of {len(steps)} ({low:.2f} to {high:.2f}){median}"


def draw(rows: list[Row], file: Path) -> None:
    """The share of runs that get to each goal, by arm; and the losses of some arms."""
    from headway.report.figures.style import save_all

    arms = by_arm(rows)
    shares: dict[str, dict[str, tuple[int, int]]] = {}
    for goal in GOALS:
        counts = shares.setdefault(goal, {})
        for arm, runs in arms.items():
            counts[arm] = (sum(row[goal] is not None for row in runs), len(runs))
    some = {arm: curves_of(runs) for arm, runs in arms.items() if arm in DRAWN}
    panels = [
        share_panel("By what is made anew", "share of runs", shares, list(arms)),
        Panel("Single runs", curves(some), y="validation loss", log="y"),
    ]
    save_all(draw_panels(panels, columns=2), file.with_suffix(""), "Orthogonal starts")


def curves_of(runs: list[Row]) -> list[tuple[list[int], list[float]]]:
    """The loss of every run against the step."""
    curves = []
    for row in runs:
        steps = [line[0] for line in row["losses"]]
        curves.append((steps, [statistics.mean(line[1:]) for line in row["losses"]]))
    return curves


def main() -> None:
    given = options(
        __doc__,
        arms=(),
        seeds=(SEEDS[0], SEEDS[-1]),
        starts=False,
        read=Path,
        figure=Path,
    )
    if given.read:
        rows = rows_in(given.read)
        print(told(rows))
        if given.figure:
            draw(rows, given.figure)
        return
    seeds = list(range(given.seeds[0], given.seeds[-1] + 1))
    if given.starts:
        with given.out.open("w", encoding="utf-8") as file:
            for row in starts(seeds):
                file.write(json.dumps(row) + "\n")
        return
    done = {row["arm"] for row in rows_in(given.out)}
    data = Data([config(seed) for seed in seeds])
    for arm in given.arms or ARMS:
        if arm in done:
            continue
        rows = trained(arm, seeds, data)
        with given.out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        steps = [row["solved"] or math.inf for row in rows]
        print(arm, sorted(steps), flush=True)


if __name__ == "__main__":
    main()
