"""The recipe `fast` and variants of it over many seeds: is it solved, how soon, by what
circuit?

    python benchmarks/fast_recipe.py --workers 2 --out results/time_to_solved.json
    python benchmarks/fast_recipe.py --depths 3 --seeds 1000 1009 --circuits
    headway sweep benchmarks/fast_recipe.py     # the runs of the first, without tables

One head per layer. Beside `fast`, `fast` with a mixture of depths and `fast` asked for
the last symbol alone, every variant is `fast` with D + 3 layers and one thing changed;
each is trained with the same seeds, to its end or its last step. Printed are the
seconds and the floating-point operations until the validation MSE is first below
`--below`, of the runs that end there: mean, spread and count, never the best. With
`--circuits`, runs are taken apart and dated as well. Runs are kept in `--folder`; a run
that is done there is not trained again.
"""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from frame import options, spread, write
from headway import HeadwayError, discover, emergence, every_circuit, fast
from headway.dynamics.emergence import learnt_in_order, saved_timeline
from headway.find import MinimalCircuits
from headway.judge import saved_discovery, verdicts
from headway.recipes import changed
from headway.relations import AttentionPath
from headway.sweeps import Engine, Plan, sweep
from headway.training import Run, RunConfig
from training_step import run_operations

VARIANTS: dict[str, dict[str, Any]] = {
    "fast": {},
    "mixture": {"training.curriculum": "mixture"},
    "non-ic": {"training.curriculum": "final_hop"},
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
    "token-code-base-1e4": {
        "task.position_code": "token",
        "task.position_base": 10000.0,
    },
    "gpt2-init": {"model.init": "gpt2"},
    "ic+mixture": {"training.curriculum": "mixture"},
    "ic+rising": {"training.curriculum": "growing"},
    "no-ic": {"training.curriculum": "final_hop"},
    "no-ic+mixture": {"training.curriculum": "final_mixture"},
    "no-ic+rising": {
        "training.curriculum": "growing",
        "training.curriculum.final": True,
    },
}
ARGUMENTS = {"fast": {}, "mixture": {"n_layers": 5}, "non-ic": {}}
"""Arguments of `fast` for variants without D + 3 layers."""


def plan(
    depths: tuple[int, ...] = (2,),
    seeds: tuple[int, int] = (600, 604),
    variants: tuple[str, ...] = tuple(VARIANTS),
) -> dict[str, RunConfig]:
    """Every variant at every depth with every seed from the first to the last, by
    name.
    """
    return {
        f"{variant},depth={depth},seed={seed}": changed(
            fast(depth, seed, **ARGUMENTS.get(variant, {"n_layers": depth + 3})),
            VARIANTS[variant],
        )
        for depth in depths
        for variant in variants
        for seed in range(seeds[0], seeds[1] + 1)
    }


def result(run: Run, below: float) -> dict[str, Any]:
    """The outcome of a run, and the step at which it was first solved."""
    outcome, config = run.outcome() or {}, run.config
    given_up = [attempt["step"] for attempt in outcome.get("given_up", [])]
    first = next((line for line in run.metrics() if line["val_loss"] < below), {})
    solved = bool(first) and outcome.get("val_loss", math.inf) < below
    attempts = [*given_up, first["step"]] if solved else []
    figures = ("status", "val_loss", "test_loss", "partial", "seconds")
    return {
        **{name: outcome.get(name) for name in figures},
        "run": run.folder.name,
        "depth": getattr(config.task, "depth", None),
        "seed": config.seed,
        "steps": outcome.get("step"),
        "given_up": given_up,
        "solved": solved,
        "steps_to_solved": sum(attempts) if solved else None,
        "seconds_to_solved": first["seconds"] if solved else None,
        "flop_to_solved": run_operations(config, attempts) if solved else None,
    }


def circuit(run: Run) -> dict[str, Any]:
    """The circuit of a run, kept or found now, in a few fields; or why there is
    none.
    """
    try:
        found = saved_discovery(run) if run.read("circuit.json") else discover(run)
    except HeadwayError as error:
        return {"circuit": None, "why": str(error)}
    timeline = (
        saved_timeline(run) if run.read("emergence.json") else emergence(run, found)
    )
    every = run.load(MinimalCircuits) or every_circuit(run, most=1_000_000)
    rises = {
        str(n.path): n.loss - found.replaced_loss for n in found.evidence.necessity
    }
    judgement = found.evidence.judgement
    assert judgement is not None
    costs = {str(path): cost.most for path, cost in judgement.paths.items()}
    first = [
        path for path in found.circuit.paths if path.at == found.circuit.useful_heads[0]
    ]
    in_order = learnt_in_order(timeline.hops, run.task.hop_order)
    only = every.complete and every.circuits == (tuple(sorted(found.circuit.paths)),)
    holds = {
        "all heads replaced, MSE < 0.05": found.replaced_loss < 0.05,
        "first useful head only joins pairs": all(map(joins_a_pair, first)),
        "hops learnt in chain order": in_order is not False,
        "every other path: loss rises by > 0.05": all(
            rises[str(path)] > 0.05
            for path in found.circuit.paths
            if not joins_a_pair(path)
        ),
        **{f"{one.name}, by exchange": bool(one.holds) for one in verdicts(found)},
        "no other minimal circuit among the candidate paths": only,
    }
    return {
        "circuit": found.circuit.to_json(),
        "replaced_loss": found.replaced_loss,
        "rises": rises,
        "costs": costs,
        "emerged": {str(history.path): history.emerged for history in timeline.paths},
        "holds": holds,
    }


def joins_a_pair(path: AttentionPath) -> bool:
    """True if a path joins the two tokens of one pair (s2←s1, s4←s3, …)."""
    query, key = (int(role[1:]) for role in path.relation.ends or ("s0", "s0"))
    return query % 2 == 0 and key == query - 1


def print_table(results: list[dict[str, Any]]) -> None:
    """One line a variant and depth, in Markdown."""
    print(
        "| recipe | D | solved | at once | s to solved | TFLOP to solved | MSE at "
        "the end |"
    )
    print("|---|---|---|---|---|---|---|")
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for one in results:
        groups.setdefault((one["run"].split(",depth=")[0], one["depth"]), []).append(
            one
        )
    for (variant, depth), same in groups.items():
        solved = [one for one in same if one["solved"]]
        took = [one["seconds_to_solved"] for one in solved]
        work = [one["flop_to_solved"] / 1e12 for one in solved]
        ends = [one["val_loss"] for one in same if one["val_loss"] is not None]
        print(
            f"| {variant} | {depth} | {len(solved)} of {len(same)}"
            f" | {sum(not one['given_up'] for one in solved)} | {spread(took)} | "
            f"{spread(work)}"
            f" | {spread(ends)} |"
        )


def print_circuits(found: list[dict[str, Any]]) -> None:
    """The numbers of circuits with each property, and of those with the same paths."""
    for name in found[0]["holds"] if found else ():
        print(
            f"{name}: {sum(one['holds'][name] for one in found)} of {len(found)} "
            "circuits"
        )
    kinds = Counter(" ".join(sorted(one["rises"])) for one in found)
    for paths, count in kinds.most_common():
        print(f"the same paths in {count} of {len(found)}: {paths}")
    least = [min(one["costs"].values()) for one in found]
    print("least cost of exchanging or cutting a path:", spread(least))


def main() -> None:
    given = options(
        __doc__,
        variants=tuple(VARIANTS),
        depths=(2,),
        seeds=(600, 604),
        below=0.01,
        circuits=False,
        workers=2,
        folder=Path("runs/fast-recipe"),
    )
    configs = plan(tuple(given.depths), tuple(given.seeds), tuple(given.variants))
    configs = {
        name: replace(config, threads=given.threads) for name, config in configs.items()
    }
    sweep(Plan("fast-recipe", configs), given.folder, Engine(given.workers))
    results = []
    for run in (Run.open(given.folder / name) for name in configs):
        results.append(
            result(run, given.below) | (circuit(run) if given.circuits else {})
        )
        shown = ("run", "val_loss", "seconds", "steps", "replaced_loss", "why")
        print(
            *(f"{k} {results[-1][k]}" for k in shown if k in results[-1]),
            sep="  ",
            flush=True,
        )
    print_table(results)
    if given.circuits:
        print_circuits(
            [one for one in results if one["solved"] and one["circuit"] is not None]
        )
    write(given, results, workers=given.workers)


if __name__ == "__main__":
    main()
