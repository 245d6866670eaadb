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
from headway.circuits import saved_discovery, saved_timeline
from headway.circuits.exhaustive import MinimalCircuits
from headway.sweeps import LocalEngine, Plan, sweep
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
    """The result of one seed, and its circuit."""
    metrics, outcome = run.metrics(), run.read("outcome.json") or {}
    reached = next((line for line in metrics if line["val_loss"] < SOLVED), None)
    result = {
        "seed": run.config.seed,
        "val_loss": outcome["val_loss"],
        "partial": outcome["partial"],
        "steps": outcome["step"],
        "seconds": outcome["seconds"],
        "solved": outcome["val_loss"] < SOLVED,
        "steps_to_solved": reached and reached["step"],
        "seconds_to_solved": reached and reached["seconds"],
        "test_loss": outcome.get("test_loss"),
        "given_up": outcome.get("given_up", []),
    }
    return result | circuit_of(run)


def circuit_of(run: Run) -> dict[str, Any]:
    """The run's circuit, kept or found now, in a few fields, or why there is none."""
    try:
        found = saved_discovery(run) if run.read("circuit.json") else discover(run)
    except HeadwayError as error:
        return {"circuit": None, "why": str(error)}
    timeline = saved_timeline(run) if run.read("emergence.json") else emergence(run, found)
    every = run.load(MinimalCircuits) or every_circuit(run, most=1_000_000)
    first = found.circuit.useful_heads[0]
    joins = sorted(path.relation for path in found.circuit.paths if path.at == first)
    return {
        "circuit": found.circuit.to_json(),
        "replaced_loss": found.replaced_loss,
        "useful_heads": len(found.circuit.useful_heads),
        "useful_layers": len(found.circuit.useful_layers),
        "first_head_joins": joins,
        "rises": {
            str(n.path): {
                "rise": n.loss - found.replaced_loss,
                "rise_free_above": n.free - found.replaced_loss,
            }
            for n in found.evidence.necessity
        },
        "verdicts": found.to_json()["verdicts"],
        "minimal_circuits": len(every.circuits) if every.complete else None,
        "is_the_only_one": every.complete
        and every.circuits == (tuple(sorted(found.circuit.paths)),),
        "hops": timeline.hops,
        "emerged": {str(history.path): history.emerged for history in timeline.paths},
        "in_chain_order": timeline.in_chain_order,
        "discovery_seconds": found.seconds,
    }


def line(result: dict[str, Any]) -> str:
    """One seed in one line."""
    took = f"{result['seconds']:5.0f} s {result['steps']:5d} steps"
    took += f" +{len(result['given_up'])}" if result["given_up"] else "   "
    text = f"seed {result['seed']:4d}  MSE {result['val_loss']:.4f}  {took}"
    if result["circuit"] is None:
        return f"{text}  no circuit"
    order = "NOT in" if result["in_chain_order"] is False else "in"
    return (
        f"{text}  replaced {result['replaced_loss']:.4f}  heads {result['useful_heads']}"
        f"  least rise {least_rise(result):.3f}  {order} order"
    )


def least_rise(result: dict[str, Any]) -> float:
    """The least rise of the loss when a path that joins no pair is cut, heads above replaced."""
    rises = [r["rise"] for name, r in result["rises"].items() if not is_pair_path(name)]
    return min(rises, default=0.0)


def worst_rise(result: dict[str, Any]) -> float:
    """The least that cutting a path costs, heads above replaced or free, whichever is more."""
    return min(max(x["rise"], x["rise_free_above"]) for x in result["rises"].values())


def is_pair_path(name: str) -> bool:
    """Whether a path joins the two tokens of one pair (s2←s1, s4←s3, …)."""
    query, key = name.split()[1].replace("s", "").split("←")
    return int(query) % 2 == 0 and int(key) == int(query) - 1


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
    sweep(Plan("fast-recipe", configs), given.folder, LocalEngine(given.workers))
    results = []
    for name in configs:
        results.append(examine(Run.open(given.folder / name)))
        print(line(results[-1]), flush=True)
    solved = [r for r in results if r["solved"]]
    print(f"MSE < {SOLVED}: {len(solved)} of {len(results)} seeds")
    at_once = sum(not r["given_up"] for r in solved)
    print(f"of these at the first attempt: {at_once} (+n: attempts given up before)")
    print("final MSE:", spread([r["val_loss"] for r in results]))
    print("seconds to the end, solved seeds:", spread([r["seconds"] for r in solved]))
    print("seconds until first below:", spread([r["seconds_to_solved"] for r in solved]))
    print("steps to the end, solved seeds:", spread([float(r["steps"]) for r in solved]))
    found = [r for r in solved if r["circuit"] is not None]
    facts = {
        "all heads replaced, MSE < 0.05": [r["replaced_loss"] < 0.05 for r in found],
        "first useful head only joins pairs": [
            all(is_pair_path(f"- {name}") for name in r["first_head_joins"]) for r in found
        ],
        "hops learnt in chain order": [r["in_chain_order"] is not False for r in found],
        "every other path: loss rises by > 0.05": [least_rise(r) > 0.05 for r in found],
        "every path: rises by > 0.05, free above or not": [worst_rise(r) > 0.05 for r in found],
    }
    for name, holds in facts.items():
        print(f"{name}: {sum(holds)} of {len(found)} circuits")
    only = sum(r["is_the_only_one"] for r in found)
    print(f"no other minimal circuit among the candidate paths: {only} of {len(found)}")
    kinds = Counter(" ".join(sorted(r["rises"])) for r in found)
    for paths, count in kinds.most_common():
        print(f"the same paths in {count} of {len(found)}: {paths}")
    print("least rise by cutting a path:", spread([worst_rise(r) for r in found]))
    write(given, results, workers=given.workers)


if __name__ == "__main__":
    main()
