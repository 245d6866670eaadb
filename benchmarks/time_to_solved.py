"""How long until a model has learnt to follow a chain: what makes emergence quick, side by side.

    python benchmarks/time_to_solved.py --workers 2 --out results/time_to_solved.json
    headway sweep benchmarks/time_to_solved.py          # the same runs, without the table

Solved means a validation MSE below 0.01, one head per layer. Beside the recipe `fast`, and `fast`
with a mixture of depths, every variant is `fast` with D + 3 layers and one thing changed; each is
trained with the same seeds, to its end or its last step. Told are the seconds and the
floating-point operations until first below 0.01, of the runs that got there: mean ± standard
deviation and count, and how many failed. Runs are kept in `--folder`; a run that is done there is
not trained again.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from counting import run_operations

from frame import options, spread, write
from headway.changes import changed
from headway.sweeps import Engine, Plan, sweep
from headway.training import Run, RunConfig, fast

SOLVED = 0.01

VARIANTS: dict[str, dict[str, Any]] = {
    "fast": {},
    "mixture": {},
    "full-depth": {},
    "float32": {"training.precision": "float32"},
    "adam-3e-3": {"training.optimizer": "adam", "training.learning_rate": 0.003},
    "adam-1e-3": {"training.optimizer": "adam", "training.learning_rate": 0.001},
    "muon-0.01": {"training.matrix_learning_rate": 0.01},
    "muon-0.04": {"training.matrix_learning_rate": 0.04},
    "batch-64": {"training.batch_size": 64},
    "batch-256": {"training.batch_size": 256},
    "width-32": {"model.d_model": 32},
    "width-128": {"model.d_model": 128},
    "mlps-4x": {"model.d_mlp": None},
    "no-mlps": {"model.d_mlp": 0},
    "token-code": {"task.position_code": "token"},
    "token-code-base-1e4": {"task.position_code": "token", "task.position_base": 10000.0},
    "gpt2-init": {"model.init": "gpt2"},
    "ic+mixture": {"training.curriculum": "mixture"},
    "ic+rising": {"training.curriculum": "growing"},
    "no-ic": {"training.curriculum": "final_hop"},
    "no-ic+mixture": {"training.curriculum": "final_mixture"},
    "no-ic+rising": {"training.curriculum": "growing", "training.curriculum.final": True},
}


def plan(
    depths: tuple[int, ...] = (2,),
    seeds: range = range(600, 605),
    variants: tuple[str, ...] = tuple(VARIANTS),
) -> dict[str, RunConfig]:
    """Every variant at every depth with every seed, by name."""
    return {
        f"{variant},depth={depth},seed={seed}": changed(
            fast(depth, seed, **shape_of(variant, depth)), VARIANTS[variant]
        )
        for depth in depths
        for variant in variants
        for seed in seeds
    }


def shape_of(variant: str, depth: int) -> dict[str, Any]:
    """The arguments of `fast` for a variant."""
    return {"fast": {}, "mixture": {"mixture": True}}.get(variant, {"n_layers": depth + 3})


def result(run: Run) -> dict[str, Any]:
    """What came of a run, and when it was first solved."""
    outcome, config = run.outcome() or {}, run.config
    given_up = [attempt["step"] for attempt in outcome.get("given_up", [])]
    reached = next((line for line in run.metrics() if line["val_loss"] < SOLVED), None)
    attempts = [*given_up, reached["step"]] if reached else []
    return {
        **{name: outcome.get(name) for name in ("status", "val_loss", "test_loss", "seconds")},
        "run": run.folder.name,
        "depth": getattr(config.task, "depth", None),
        "seed": config.seed,
        "steps": outcome.get("step"),
        "given_up": given_up,
        "steps_to_solved": sum(attempts) if reached else None,
        "seconds_to_solved": reached and reached["seconds"],
        "flop_to_solved": run_operations(config, attempts) if reached else None,
    }


def print_table(results: list[dict[str, Any]]) -> None:
    """One line a variant and depth, in Markdown."""
    print("| recipe | D | solved | s to solved | TFLOP to solved | MSE at the end |")
    print("|---|---|---|---|---|---|")
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for one in results:
        groups.setdefault((one["run"].split(",depth=")[0], one["depth"]), []).append(one)
    for (variant, depth), same in groups.items():
        solved = [one for one in same if one["steps_to_solved"] is not None]
        took = [one["seconds_to_solved"] for one in solved]
        work = [one["flop_to_solved"] / 1e12 for one in solved]
        ends = [one["val_loss"] for one in same if one["val_loss"] is not None]
        print(
            f"| {variant} | {depth} | {len(solved)} of {len(same)} | {spread(took)}"
            f" | {spread(work)} | {spread(ends)} |"
        )


def main() -> None:
    given = options(
        __doc__,
        depths=(2,),
        seeds=(600, 604),
        variants=tuple(VARIANTS),
        workers=int,
        folder=Path("runs/time-to-solved"),
    )
    first, last = given.seeds
    configs = plan(tuple(given.depths), range(first, last + 1), tuple(given.variants))
    configs = {name: replace(config, threads=given.threads) for name, config in configs.items()}
    sweep(Plan("time-to-solved", configs), given.folder, Engine(given.workers))
    results = [result(Run.open(given.folder / name)) for name in configs]
    print_table(results)
    write(given, results, workers=given.workers)


if __name__ == "__main__":
    main()
