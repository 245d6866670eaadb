"""Which maps must start orthogonal: four layers, two hops, and one thing changed.

    python benchmarks/orthogonal.py --out results/orthogonal.jsonl
    python benchmarks/orthogonal.py --read results/orthogonal.jsonl --figure FILE.png

Runs are kept in `--folder`; a run that is done there is not trained again. A row of the
output is one run. With `--starts` models have the paper's own size, and are not
trained.
"""

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from frame import options
from headway.intervals import wilson
from headway.models import Transformer, TransformerConfig, attention_patterns
from headway.models.transformer import Block
from headway.recipes import changed
from headway.tasks import Batch, Retrieval
from headway.training import (
    Curriculum,
    Implicit,
    Run,
    RunConfig,
    TrainingConfig,
    resume,
    train,
)
from headway.training.data import held_out
from headway_experiments.figures import (
    Panel,
    Series,
    curves,
    draw_panels,
    numbered,
    share_panel,
)
from headway_experiments.reading import grouped, task_of
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

LEFT = 0.375
"""The validation loss below which the plateau is left: half of x_1 is learnt. The mean
of two candidates has 0.5.
"""

STEPS = 1_200
"""The steps within which the plateau is to be left."""

SEQUENCES = 128
"""The sequences that attention and signal are averaged over."""

FIRST = "none", "all", "all, Gaussian", "all, size kept"
"""The arms that come first, and whose losses are drawn."""

Row = dict[str, Any]


def config(seed: int, **changes: Any) -> RunConfig:
    """The recipe `paper`, made small."""
    training = TrainingConfig(
        steps=STEPS,
        batch_size=64,
        learning_rate=2e-3,
        stop_below=LEFT,
        eval_every=25,
        eval_examples=256,
        checkpoints="log",
        save_every=1_000,
    )
    model = TransformerConfig(n_layers=4, d_model=32, n_heads=1, init="gpt2_blocks")
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


def planned(seeds: Iterable[int], arms: Iterable[str]) -> list[tuple[int, str]]:
    """Seeds and arms, seed by seed; those of `FIRST` before all others."""
    return sorted(product(seeds, arms), key=lambda pair: pair[1] not in FIRST)


def trained(arm: str, seed: int, steps: int, folder: Path) -> Run:
    """A run, which is trained to its end from where it is."""
    place = folder / f"{arm},seed={seed}"
    if (place / "config.json").is_file():
        return resume(place)
    return train(config(seed, curriculum=ARMS[arm], steps=steps), place)


def row_of(arm: str, run: Run) -> Row:
    """What a run did, and what can be said of its model before its first step."""
    task = task_of(run.config, Retrieval)
    batch = held_out(task, SEQUENCES, run.config.seed, "cpu", "orthogonal")
    losses = []
    for line in run.metrics():
        partial = [round(loss, 5) for loss in line["partial"].values()]
        losses.append([line["step"], *partial])
    looks = {}
    for step in run.checkpoint_steps():
        looks[step] = looked(run.transformer(step), task, batch)
    last = run.metrics()[-1]
    has_left = last["val_loss"] < LEFT
    return {
        "arm": arm,
        "seed": run.config.seed,
        "left": last["step"] if has_left else None,
        "losses": losses,
        "start": start(run.transformer(0), task, batch),
        "attention": looks,
    }


@torch.no_grad()
def start(model: Transformer, task: Retrieval, batch: Batch) -> Row:
    """What can be said of a model before its first step (see `spectrum`, `signal`)."""
    about: dict[str, list[float]] = {}
    for block in model.layers:
        for name, combined in products(block).items():
            for what, number in spectrum(combined).items():
                about.setdefault(f"{name} {what}", []).append(number)
    means = {what: statistics.mean(numbers) for what, numbers in about.items()}
    return means | signal(model, task, batch)


def products(block: Block) -> dict[str, Tensor]:
    """The products of a head's maps that act on the stream."""
    query, key, value = block.attn.qkv.weight.chunk(3)
    output = block.attn.out.weight
    return {"QK": query.T @ key, "VO": output @ value}


def spectrum(product: Tensor) -> Row:
    """The size of a product, the root mean square of its singular values; its effective
    rank, the exponential of the entropy of their squares; and the logarithm of the
    largest over the smallest.
    """
    values = torch.linalg.svdvals(product.double())
    squares = values.square()
    shares = squares / squares.sum()
    size = squares.mean().sqrt()
    rank = torch.special.entr(shares).sum().exp()
    ratio = values[0] / values[-1]
    condition = ratio.log10()
    return {
        "size": size.item(),
        "rank": rank.item(),
        "condition": condition.item(),
    }


def signal(model: Transformer, task: Retrieval, batch: Batch) -> Row:
    """How much the final stream at a query depends on the symbol that it is to find.

    The symbol at s2, which is x_1, is exchanged for another: the change of the stream,
    as a share of its length; beside it the same for a symbol of another chain.
    """
    before = at_query(model, task, batch, batch.inputs)
    length = before.norm(dim=-1)
    shares = {}
    for name, chain in (("signal", 0), ("noise", 1)):
        inputs = exchanged(task, batch, chain)
        after = at_query(model, task, batch, inputs)
        change = (after - before).norm(dim=-1)
        share = change / length
        shares[name] = share.mean().item()
    return shares


def exchanged(task: Retrieval, batch: Batch, chain: int) -> Tensor:
    """The inputs of sequences, with the symbol at s2 of a chain from other ones."""
    rows = torch.arange(len(batch.inputs))
    place = placed(task, batch)["s2"][:, chain]
    symbol = slice(task.d_token)
    inputs = batch.inputs.clone()
    symbols = inputs[rows, place, symbol]
    inputs[rows, place, symbol] = symbols.roll(1, 0)
    return inputs


def at_query(
    model: Transformer, task: Retrieval, batch: Batch, inputs: Tensor
) -> Tensor:
    """The stream after all layers, at the query of the first chain."""
    *_, stream = model.streams(inputs)
    first = placed(task, batch)["s0"][:, 0]
    place = first - inputs.shape[1]
    rows = torch.arange(len(inputs))
    return stream[rows, place]


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
    seen = places["s0"] + 1
    return looks | {"sharp": sharpness_of(last, seen)}


def sharpness_of(patterns: Tensor, seen: Tensor) -> float:
    """1 less the mean entropy of rows, as a share of that of uniform ones."""
    entropy = torch.special.entr(patterns).sum(-1)
    most = seen.log()[..., None]
    share = entropy / most
    return 1 - share.mean().item()


def starts(seeds: list[int]) -> Iterator[Row]:
    """A row for every start at the paper's own size, which is not trained."""
    for seed in seeds:
        plain = changed(paper(2, seed), {"model.n_layers": 4})
        batch = held_out(plain.task, SEQUENCES, seed, "cpu")
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
    """A table: for every arm the share of runs that leave the plateau, and when; and
    means over what was measured before the first step.
    """
    first = rows[0]
    heads = ["arm", *first["start"], "sharp"]
    if "left" in first:
        heads.append("left")
    lines = [" | ".join(heads), "|".join("---" for _ in heads)]
    for arm, runs in by_arm(rows).items():
        cells = cells_of(runs)
        lines.append(" | ".join([arm, *cells]))
    return "\n".join(f"| {line} |" for line in lines)


def cells_of(runs: list[Row]) -> Iterator[str]:
    """An arm's cells of the table."""
    for what in runs[0]["start"]:
        values = [row["start"][what] for row in runs]
        yield f"{statistics.mean(values):.3g}"
    sharp = [row["attention"]["0"]["sharp"] for row in runs]
    yield f"{statistics.mean(sharp):.2g}"
    if "left" in runs[0]:
        steps = [row["left"] for row in runs]
        yield reached(steps)


def reached(steps: list[int | None]) -> str:
    """How many of some runs get to a goal, with the interval of the share; and the
    median of their steps.
    """
    those = [step for step in steps if step is not None]
    low, high = wilson(len(those), len(steps))
    median = f", {statistics.median(those):.0f}" if those else ""
    return f"{len(those)} of {len(steps)} ({low:.2f} to {high:.2f}){median}"


def draw(rows: list[Row], file: Path) -> None:
    """The share of runs that leave the plateau, by arm, and the losses of some arms; of
    models that are not trained, signal and sharpness.
    """
    from headway.report.figures.style import save_all

    arms = by_arm(rows)
    panels = _of_runs(arms) if "left" in rows[0] else _of_starts(arms)
    save_all(draw_panels(panels, columns=2), file.with_suffix(""), "Orthogonal starts")


def _of_runs(arms: dict[str, list[Row]]) -> list[Panel]:
    counts = {}
    for arm, runs in arms.items():
        counts[arm] = (sum(row["left"] is not None for row in runs), len(runs))
    some = {arm: curves_of(runs) for arm, runs in arms.items() if arm in FIRST}
    return [
        share_panel("The plateau is left", "share of runs", {"": counts}, list(arms)),
        Panel("Single runs", curves(some), y="validation loss", log="y"),
    ]


def _of_starts(arms: dict[str, list[Row]]) -> list[Panel]:
    signals = []
    sharpness = []
    for place, rows in enumerate(arms.values()):
        for row in rows:
            signals.append((place, row["start"]["signal"]))
            sharpness.append((place, row["attention"]["0"]["sharp"]))
    names = list(arms)
    change = "change of the stream, relative"
    return [
        dots("What arrives of the right symbol", change, signals, names),
        dots("Attention", "1 less relative entropy", sharpness, names),
    ]


def dots(
    title: str, y: str, points: list[tuple[int, float]], names: list[str]
) -> Panel:
    """A panel of a point for every model, by arm."""
    places, values = zip(*points, strict=True)
    look = numbered(0, marker=True, ls="none", ms=4)
    series = [Series(places, values, look)]
    limits = {"xlim": (-0.6, len(names) - 0.4)}
    return Panel(title, series, "", y, log="y", limits=limits, names=names)


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
        folder=Path("runs/orthogonal"),
        steps=STEPS,
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
                file.flush()
        return
    with given.out.open("w", encoding="utf-8") as file:
        for seed, arm in planned(seeds, given.arms or ARMS):
            run = trained(arm, seed, given.steps, given.folder)
            row = row_of(arm, run)
            print(arm, seed, row["left"], row["losses"][-1], flush=True)
            file.write(json.dumps(row) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
