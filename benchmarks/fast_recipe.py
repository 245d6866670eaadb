"""The `fast` recipe over many seeds: is it solved, how soon, and what is its circuit?

    python benchmarks/fast_recipe.py --seeds 1000 1009 --threads 2 --workers 1

The seeds are trained as a sweep, then taken apart and dated one by one. Printed is one line a seed
and the totals: mean, spread and count, never the best. Runs are kept in `--folder`; a seed whose
run is done there is not trained again.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from frame import options, spread, write
from headway import HeadwayError, discover, emergence, every_circuit, fast
from headway.changes import changed
from headway.circuits import AttentionPath, saved_discovery, saved_timeline
from headway.circuits.exhaustive import MinimalCircuits
from headway.sweeps import Engine, Plan, sweep
from headway.training import Run, RunConfig

SOLVED = 0.02
"""The validation MSE below which a run counts as solved."""


FOLDER = Path("runs/fast-recipe")
KINDS = ("fast", "mixture", "non-ic")
"""The recipe; with a mixture of depths and layers to spare; and asked for the last symbol alone."""


def config_of(seed: int, depth: int, kind: str, threads: int) -> RunConfig:
    """The config of one seed."""
    config = replace(fast(depth, seed, mixture=kind == "mixture"), threads=threads)
    final = {"training.curriculum": "final_hop"} if kind == "non-ic" else {}
    return changed(config, final)


def examine(run: Run) -> dict[str, Any]:
    """The result of one seed, and its circuit, kept or found now, in a few fields."""
    outcome = run.outcome() or {}
    reached = next((line for line in run.metrics() if line["val_loss"] < SOLVED), None)
    result = {name: outcome[name] for name in ("val_loss", "test_loss", "partial", "seconds")}
    result |= {
        "seed": run.config.seed,
        "steps": outcome["step"],
        "given_up": len(outcome["given_up"]),
        "solved": outcome["val_loss"] < SOLVED,
        "seconds_to_solved": reached and reached["seconds"],
    }
    try:
        found = saved_discovery(run) if run.read("circuit.json") else discover(run)
    except HeadwayError as error:
        return {**result, "circuit": None, "why": str(error)}
    timeline = saved_timeline(run) if run.read("emergence.json") else emergence(run, found)
    every = run.load(MinimalCircuits) or every_circuit(run, most=1_000_000)
    rises = {
        str(n.path): [n.loss - found.replaced_loss, n.free - found.replaced_loss]
        for n in found.evidence.necessity
    }
    first = [path for path in found.circuit.paths if path.at == found.circuit.useful_heads[0]]
    only = every.complete and every.circuits == (tuple(sorted(found.circuit.paths)),)
    return {
        **result,
        "circuit": found.circuit.to_json(),
        "replaced_loss": found.replaced_loss,
        "rises": rises,
        "verdicts": found.to_json()["verdicts"],
        "emerged": {str(history.path): history.emerged for history in timeline.paths},
        "all heads replaced, MSE < 0.05": found.replaced_loss < 0.05,
        "first useful head only joins pairs": all(map(joins_a_pair, first)),
        "hops learnt in chain order": timeline.in_chain_order is not False,
        "every other path: loss rises by > 0.05": all(
            rises[str(path)][0] > 0.05 for path in found.circuit.paths if not joins_a_pair(path)
        ),
        "every path: rises by > 0.05, free above or not": least_rise(rises) > 0.05,
        "no other minimal circuit among the candidate paths": only,
    }


def least_rise(rises: dict[str, list[float]]) -> float:
    """The least that cutting a path costs, heads above replaced or free, whichever is more."""
    return min(map(max, rises.values()))


def joins_a_pair(path: AttentionPath) -> bool:
    """Whether a path joins the two tokens of one pair (s2←s1, s4←s3, …)."""
    query, key = (int(role[1:]) for role in path.relation.ends or ("s0", "s0"))
    return query % 2 == 0 and key == query - 1


def main() -> None:
    given = options(__doc__, seeds=(100, 109), depth=3, kind="fast", workers=2, folder=FOLDER)
    if given.kind not in KINDS:
        raise SystemExit(f"--kind must be one of {', '.join(KINDS)}")
    first, last = given.seeds
    configs = {
        f"D{given.depth}-{given.kind}-s{seed}": config_of(
            seed, given.depth, given.kind, given.threads
        )
        for seed in range(first, last + 1)
    }
    sweep(Plan("fast-recipe", configs), given.folder, Engine(given.workers))
    results = []
    for name in configs:
        results.append(examine(Run.open(given.folder / name)))
        shown = ("seed", "val_loss", "seconds", "steps", "given_up", "replaced_loss", "why")
        print(*(f"{k} {results[-1][k]}" for k in shown if k in results[-1]), sep="  ", flush=True)
    solved = [r for r in results if r["solved"]]
    print(f"MSE < {SOLVED}: {len(solved)} of {len(results)} seeds")
    print(f"of these at the first attempt: {sum(not r['given_up'] for r in solved)}")
    print("final MSE:", spread([r["val_loss"] for r in results]))
    for name in ("seconds", "seconds_to_solved", "steps"):
        print(f"{name}, solved seeds:", spread([float(r[name]) for r in solved]))
    found = [r for r in solved if r["circuit"] is not None]
    for name, value in found[0].items() if found else ():
        if isinstance(value, bool) and name != "solved":
            print(f"{name}: {sum(r[name] for r in found)} of {len(found)} circuits")
    kinds = Counter(" ".join(sorted(r["rises"])) for r in found)
    for paths, count in kinds.most_common():
        print(f"the same paths in {count} of {len(found)}: {paths}")
    print("least rise by cutting a path:", spread([least_rise(r["rises"]) for r in found]))
    write(given, results, workers=given.workers)


if __name__ == "__main__":
    main()
