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
    """A table: for every arm the share of runs that get there, and when; and means over
    what was measured before the first step.
    """
    starts = sorted(rows[0]["start"])
    trained = ["left"] if "left" in rows[0] else []
    heads = ["arm", *trained, *starts, "sharp at 0"]
    lines = [" | ".join(heads), "|".join("---" for _ in heads)]
    for arm, runs in by_arm(rows).items():
        cells = [arm]
        if "left" in runs[0]:
            cells.append(reached([row["left"] for row in runs]))
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
    places: list[float] = []
    signals: list[float] = []
    sharpness: list[float] = []
    for place, rows in enumerate(arms.values()):
        for row in rows:
            places.append(place)
            signals.append(row["start"]["signal"])
            sharpness.append(row["attention"]["0"]["sharp"])
    look = numbered(0, marker=True, ls="none", ms=4)
    shown = {"log": "y", "x": "", "names": list(arms)}
    shown |= {"limits": {"xlim": (-0.6, len(arms) - 0.4)}}
    signal = [Series(places, signals, look)]
    sharp = [Series(places, sharpness, look)]
    change = "change of the stream, relative"
    return [
        Panel("What arrives of the right symbol", signal, y=change, **shown),
        Panel("Attention", sharp, y="1 less relative entropy", **shown),
    ]


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
