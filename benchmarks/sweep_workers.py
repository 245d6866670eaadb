"""What side by side is worth: the same sweep with one worker, with two, and on two Ray nodes.

    python benchmarks/sweep_workers.py --runs 8 --steps 300 --rounds 3

Every run is one of `fast` with its steps cut down, one thread each. Printed are the seconds of
every round and the ratios of their medians. Engines take turns, so that whatever else the machine
does strikes all alike.
The Ray cluster has two nodes of one CPU on this machine; its start is told apart from the sweep.
"""

import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from frame import options
from headway.sweeps import Engine, LocalEngine, Plan, RayEngine, grid, sweep
from headway.training import fast

ENGINES = {"one": "one worker", "two": "two workers", "ray": "two Ray nodes"}


def planned(runs: int, steps: int) -> Plan:
    """So many equal runs that neither stop early nor start again."""
    base = fast()
    training = replace(
        base.training, steps=steps, cooldown_steps=0, cooldown_below=0.0, stop_below=0.0, patience=0
    )
    return grid(replace(base, training=training), {"seed": range(runs)})


def timed(plan: Plan, engine: Engine) -> float:
    """Seconds of a whole sweep by the clock."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        board = sweep(plan, Path(folder) / "s", engine)
    if board.count("done") != len(plan.runs):
        raise SystemExit("a run failed: there is nothing to compare")
    return time.perf_counter() - begun


def main() -> None:
    given = options(__doc__, runs=8, steps=300, rounds=3, engines=tuple(ENGINES))
    plan, cluster = planned(given.runs, given.steps), None
    every: dict[str, Any] = {"one": lambda: LocalEngine(1), "two": lambda: LocalEngine(2)}
    if "ray" in given.engines:
        from ray.cluster_utils import Cluster

        begun = time.perf_counter()
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        cluster.add_node(num_cpus=1)
        print(f"two Ray nodes started in {time.perf_counter() - begun:.1f} s")
        address = cluster.address
        every["ray"] = lambda: RayEngine(address)
    engines = {ENGINES[name]: make for name, make in every.items() if name in given.engines}

    whole: dict[str, list[float]] = {name: [] for name in engines}
    for number in range(1, given.rounds + 1):
        for name, make in engines.items():
            whole[name].append(timed(plan, make()))
            print(f"round {number}  {name:14} {whole[name][-1]:7.1f} s", flush=True)
    if cluster is not None:
        cluster.shutdown()

    middle = {name: statistics.median(seconds) for name, seconds in whole.items()}
    print(f"{given.runs} runs of {given.steps} steps, medians of {given.rounds} rounds")
    for one, other in (("two workers", "one worker"), ("two Ray nodes", "two workers")):
        if one in middle and other in middle:
            print(f"{one} / {other}: {middle[one] / middle[other]:.3f}")


if __name__ == "__main__":
    main()
