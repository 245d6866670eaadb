"""One GPU: is headway right there, how fast is it, and what the paper does at its own
scale.

    python benchmarks/gpu.py [--parts right cpu speed figure4 first-steps abc]
        [--out results/gpu] [--minutes 9] [--workers 8] [--device cuda] [--smoke]

Every part leaves `PART.json` in the folder as soon as it is done, and what it trains in
`runs/PART/`. A part that has spent its share of the minutes stops its runs where they
are, and tells how far they are. `--smoke` makes everything tiny, for the tests. Let
processes share the GPU (`nvidia-cuda-mps-control -d`), and install the package: its
curricula are found by their entry points.
"""

import argparse
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from frame import options, write
from headway import discover
from headway.errors import HeadwayError
from headway.recipes import changed
from headway.sweeps import Engine, Plan, sweep
from headway.training import Run, RunConfig, fast, resume, train
from headway_experiments.paper import layers, transformers_abc
from headway_experiments.recipes import paper
from training_step import Contenders, compare

Found = dict[str, Any]


class Bench:
    """The machine, and how much of everything is done.

    Args:
        given: options of the command line.
        part: whose runs are trained.
    """

    def __init__(self, given: argparse.Namespace, part: str):
        self.device, self.workers, self.smoke = given.device, given.workers, given.smoke
        self.folder = given.out / "runs" / part
        share = PARTS[part][0] / sum(PARTS[name][0] for name in given.parts)
        self.ends = time.monotonic() + 60 * given.minutes * share

    @property
    def left(self) -> float:
        """Seconds left of the part's share."""
        return self.ends - time.monotonic()

    def short(self, config: RunConfig) -> RunConfig:
        """A config on the device; at smoke size a few steps of a small model."""
        tiny = {
            "training.steps": 4,
            "training.cooldown_steps": 0,
            "training.warmup_steps": 0,
            "training.batch_size": 4,
            "training.train_examples": 16,
            "training.eval_every": 2,
            "training.eval_examples": 8,
            "training.checkpoint_every": 2,
            "model.d_model": 16,
        }
        return changed(replace(config, device=self.device), tiny if self.smoke else {})

    def trained(
        self, configs: dict[str, RunConfig], circuits_on: Sequence[str] = ()
    ) -> Found:
        """The course of runs trained side by side on the device, to their ends or as
        far as the time goes; and the circuits of a dozen of them, found on some
        devices."""
        some, began = [*configs.items()][: 2 if self.smoke else None], time.monotonic()
        for_circuits = 0.1 * self.left if circuits_on else 0.0
        plan = Plan(self.folder.name, {name: self.short(one) for name, one in some})

        def watch(*_: object) -> None:
            if self.left < for_circuits:
                raise TimeoutError

        with suppress(TimeoutError):
            sweep(plan, self.folder, Engine(self.workers), watch=watch)
        folders = {name: self.folder / name for name in plan.runs}
        there = {
            name: Run.open(f)
            for name, f in folders.items()
            if (f / "config.json").exists()
        }
        found: Found = {"seconds": time.monotonic() - began}
        found["runs"] = {name: told(run) for name, run in there.items()}
        done = [run.folder for run in there.values() if run.status == "done"][:12]
        return found | {
            f"circuits on {place}": self.circuits(done, place) for place in circuits_on
        }

    def circuits(self, folders: Sequence[Path], device: str) -> Found:
        """The circuits of runs, found in processes side by side; or why one is not."""
        found: Found = {}
        pool = ProcessPoolExecutor(self.workers, get_context("spawn"))
        futures = {
            folder.name: pool.submit(circuit_of, folder, device) for folder in folders
        }
        for name, future in futures.items():
            try:
                found[name] = future.result(max(1.0, self.left))
            except (HeadwayError, TimeoutError) as error:
                found[name] = f"{type(error).__name__}: {error}"
        for process in [*pool._processes.values()]:
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        return found


def told(run: Run) -> Found:
    """The course of a run: its end, if it has ended, and every evaluation's step and
    losses by hop; or why it cannot be read."""
    try:
        losses = [
            [m["step"], *(round(x, 4) for x in m["partial"].values())]
            for m in run.metrics()
        ]
        return {"status": run.status, **(run.outcome() or {}), "losses": losses}
    except HeadwayError as error:
        return {"status": str(error)}


def circuit_of(folder: Path, device: str) -> list[str]:
    """The paths of the circuit that a run has learnt, found on a device."""
    torch.set_num_threads(1)
    run = Run.open(folder)
    on_device = Run(folder, replace(run.config, device=device))
    model, seed = on_device.model(), run.config.seed
    found = discover(model, run.task, seed=seed, trials=False, workers=1)
    return sorted(map(str, found.circuit.paths))


def right(bench: Bench) -> Found:
    """Seeds of `fast`, their circuits by the GPU and by the CPU, and resuming to the
    same bits.
    """
    seeds = {f"seed={seed}": fast(3, seed) for seed in range(64)}
    found = bench.trained(seeds, (bench.device, "cpu"))
    solved = sum((run.get("test_loss") or 1.0) < 0.02 for run in found["runs"].values())
    return {**found, "solved": solved, "same_bits": same_bits(bench)}


def cpu(bench: Bench) -> Found:
    """Ten of the seeds on the machine's CPU, one core each, and their circuits."""
    bench.device = "cpu"
    return bench.trained(
        {f"seed={seed}": fast(3, seed) for seed in range(10)}, ("cpu",)
    )


def same_bits(bench: Bench) -> Found:
    """True if a run that was killed and resumed ends with the weights of one that was
    not.
    """
    whole = bench.short(fast(3, 7))
    steps = min(600, whole.training.steps)
    config = changed(whole, {"training.steps": steps, "training.cooldown_steps": 0})
    spawn = get_context("spawn")
    undisturbed, killed = bench.folder / "undisturbed", bench.folder / "killed"
    processes = [
        spawn.Process(target=train, args=(config, f)) for f in (undisturbed, killed)
    ]
    for process in processes:
        process.start()
    while processes[1].is_alive() and not (killed / "state.safetensors").exists():
        time.sleep(0.02)
    processes[1].kill()
    for process in processes:
        process.join()
    at = Run.open(killed).status
    resume(killed)
    one, other = (Run.open(f).transformer().state_dict() for f in (undisturbed, killed))
    same = all(torch.equal(one[name], other[name]) for name in one)
    return {"same": same, "killed_while": at, "steps": steps}


def speed(bench: Bench) -> Found:
    """The time of a step with fresh data: headway's, its kernels launched one by one, a
    plain loop's and others', beside the device's peak."""
    found: Found = {}
    for name, config in {"fast": fast(3, deepening=False), "paper": paper()}.items():
        config = bench.short(changed(config, {"training.train_examples": None}))
        found[name] = compare(Contenders(config), *((2, 1) if bench.smoke else (3, 30)))
    return found


def figure4(bench: Bench) -> Found:
    """Figure 4 as printed, one seed: 8 and 4 layers with the curriculum (D = 5) and
    without it (D = 3), then the other numbers of layers as far as the time goes."""
    each = {way: layers.runs_of(way == "with", "paper") for way in ("with", "without")}
    names = [
        (way, f"layers={n},seed=0")
        for n, way in product((8, 4, 5, 7, 2, 1, 3, 6), each)
    ]
    return bench.trained({f"{way},{name}": each[way][name] for way, name in names})[
        "runs"
    ]


def abc(bench: Bench) -> Found:
    """Transformers A, B, C and further draws as printed, sixteen in all, and their
    circuits.
    """
    draws = {f"seed={seed}": paper(3, seed) for seed in range(3, 16)}
    return bench.trained(transformers_abc.transformers_abc("paper") | draws, ("cpu",))


def first_steps(bench: Bench) -> Found:
    """Four layers and two hops: half of the steps as printed, and one change at a
    time.
    """
    ways: dict[str, dict[str, Any]] = {
        "printed": {},
        "betas": {"training.betas": (0.9, 0.95)},
        "warm-up": {"training.warmup_steps": 1000},
        "betas+warm-up": {"training.betas": (0.9, 0.95), "training.warmup_steps": 1000},
        "rate=3e-4": {"training.learning_rate": 3e-4},
        "no-decay": {"training.weight_decay": 0.0},
        "fresh-data": {"training.train_examples": None},
        "pair-code": {"task.position_code": "pair"},
        "fan-in": {"model.init": "fan_in"},
        "orthogonal": {"model.init": "orthogonal"},
        "layers=8": {"model.n_layers": 8},
        "Muon": {"training.optimizer": "muon"},
    }
    base = {"model.n_layers": 4, "training.steps": 12_000, "training.stop_below": 0.005}
    configs = {
        f"{way},seed={seed}": changed(
            paper(2, seed), base | fields | {"training.checkpoint_every": 0}
        )
        for seed in range(5)
        for way, fields in ways.items()
    }
    return bench.trained(configs)["runs"]


PARTS: dict[str, tuple[int, Callable[[Bench], Found]]] = {
    "speed": (1, speed),
    "right": (2, right),
    "cpu": (2, cpu),
    "figure4": (5, figure4),
    "first-steps": (5, first_steps),
    "abc": (3, abc),
}
"""Every part, and how much of the minutes it has."""


def main() -> None:
    given = options(
        __doc__,
        parts=tuple(PARTS),
        out=Path("results/gpu"),
        minutes=9.0,
        workers=8,
        device="cuda",
        smoke=False,
    )
    failed = False
    for part in given.parts:
        bench, began = Bench(given, part), time.monotonic()
        try:
            found = PARTS[part][1](bench)
        except Exception:  # the other parts are done all the same
            found = {"failed": traceback.format_exc()}
        seconds, failed = time.monotonic() - began, failed or "failed" in found
        write(given, found, f"{part}.json", workers=given.workers, seconds=seconds)
        print(f"{part}: {seconds:.0f} s", found.get("failed", ""), flush=True)
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
