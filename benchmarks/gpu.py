"""One GPU: is headway right there, how fast is it, and what the paper does at its own scale.

    python benchmarks/gpu.py [--parts right cpu speed figure4 first-steps abc] [--out results/gpu]
        [--minutes 9] [--workers 8] [--device cuda] [--smoke]

Every part leaves `PART.json` in the folder as soon as it is done, and what it trains in
`runs/PART/`. A part that has spent its share of the minutes stops its runs where they are, and
tells how far they are. `--smoke` makes everything tiny, for the tests. Let
processes share the GPU (`nvidia-cuda-mps-control -d`), and install the package: its curricula are
found by their entry points.
"""

import argparse
import json
import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from counting import step_operations, trainer_of
from frame import in_turn, seconds
from headway import discover
from headway.errors import HeadwayError
from headway.recipes import changed
from headway.sweeps import Engine, Plan, sweep
from headway.training import Run, RunConfig, describe_environment, fast, resume, train
from headway.training.optimisers import Gradients
from headway_experiments.paper import layers, transformers_abc
from headway_experiments.recipes import paper
from training_step import Contenders

Configs = dict[str, RunConfig]
LEARNT = 0.5
SHARES = {"speed": 1, "right": 2, "cpu": 2, "figure4": 5, "first-steps": 5, "abc": 3}
"""How the minutes are shared among the parts."""


class OutOfTimeError(Exception):
    """A part has spent its share."""


class Bench:
    """The machine, and how much of everything is done.

    Args:
        given: options of the command line.
        part: whose runs are trained.
    """

    def __init__(self, given: argparse.Namespace, part: str):
        self.device, self.workers, self.smoke = given.device, given.workers, given.smoke
        self.folder = given.out / "runs" / part
        self.ends = time.monotonic() + 60 * given.minutes * SHARES[part] / sum(
            SHARES[name] for name in given.parts
        )

    @property
    def left(self) -> float:
        """Seconds left of the part's share."""
        return self.ends - time.monotonic()

    def short(self, config: RunConfig) -> RunConfig:
        """A config on the device; at smoke size a few steps of a small model."""
        config = replace(config, device=self.device)
        if not self.smoke:
            return config
        fields = {
            "training.steps": 4,
            "training.cooldown_steps": 0,
            "training.warmup_steps": 0,
            "training.batch_size": 4,
            "training.eval_every": 2,
            "training.eval_examples": 8,
            "training.checkpoint_every": 2,
            "model.d_model": 16,
        }
        if config.training.train_examples is not None:
            fields["training.train_examples"] = 16
        return changed(config, fields)

    def trained(self, configs: Configs) -> dict[str, Run]:
        """Runs side by side on the device, to their ends or as far as the time goes."""
        some = [*configs.items()][: 2 if self.smoke else None]
        plan = Plan(self.folder.name, {name: self.short(one) for name, one in some})

        def watch(*_: object) -> None:
            if self.left < 0:
                raise OutOfTimeError

        with suppress(OutOfTimeError):
            sweep(plan, self.folder, Engine(self.workers), watch=watch)
        there = [name for name in plan.runs if (self.folder / name / "config.json").exists()]
        return {name: Run.open(self.folder / name) for name in there}

    def everywhere(self, work: Callable[..., Any], *each: Any) -> dict[str, Any]:
        """What a function gives for every run folder, in processes side by side."""
        found: dict[str, Any] = {}
        pool = ProcessPoolExecutor(self.workers, get_context("spawn"))
        futures = {str(one[0]): pool.submit(work, *one) for one in zip(*each, strict=False)}
        for name, future in futures.items():
            try:
                found[name] = future.result(max(1.0, self.left))
            except (HeadwayError, TimeoutError) as error:
                found[name] = f"{type(error).__name__}: {error}"
        for process in [*pool._processes.values()]:
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        return found


def told(run: Run) -> dict[str, Any]:
    """How a run went: its losses at every evaluation, and the step at which each hop was learnt."""
    with suppress(HeadwayError):
        metrics, outcome = run.metrics(), run.outcome() or {}
        learnt = {
            hop: next((m["step"] for m in metrics if m["partial"][hop] < LEARNT), None)
            for hop in (metrics[-1]["partial"] if metrics else ())
        }
        return {
            "status": outcome.get("status", "stopped"),
            "step": metrics[-1]["step"] if metrics else 0,
            "seconds": metrics[-1]["seconds"] if metrics else 0.0,
            "test_loss": outcome.get("test_loss"),
            "lowest": min((m["val_loss"] for m in metrics), default=None),
            "learnt": learnt,
            "given_up": len(outcome.get("given_up", ())),
            "losses": [[m["step"], round(m["val_loss"], 4)] for m in metrics],
            "last": metrics[-1]["partial"] if metrics else {},
        }
    return {"status": "not begun"}


def all_told(runs: dict[str, Run]) -> dict[str, Any]:
    """How every run went, by name."""
    return {name: told(run) for name, run in runs.items()}


def circuit_of(folder: Path, device: str) -> list[str]:
    """The paths of the circuit that a run has learnt, found on a device."""
    torch.set_num_threads(1)
    run = Run.open(folder)
    on_device = Run(folder, replace(run.config, device=device))
    model, seed = on_device.model(), run.config.seed
    found = discover(model, run.task, seed=seed, trials=False, workers=1)
    return sorted(map(str, found.circuit.paths))


def right(bench: Bench) -> dict[str, Any]:
    """Seeds of `fast`, their circuits by the GPU and by the CPU, and resuming to the same bits."""
    count = 2 if bench.smoke else 64
    began = time.monotonic()
    configs = {f"seed={seed}": fast(3, seed) for seed in range(count)}
    runs = bench.trained(configs)
    took = time.monotonic() - began
    solved = sum((run.outcome() or {}).get("test_loss", 1.0) < 0.02 for run in runs.values())
    found: dict[str, Any] = {"seconds": took, "solved": solved, "runs": all_told(runs)}
    found["same_bits"] = same_bits(bench)
    places = [run.folder for run in [*runs.values()][:10]]
    for device in (bench.device, "cpu"):
        found[f"circuits on {device}"] = bench.everywhere(circuit_of, places, [device] * 10)
    return found


def cpu(bench: Bench) -> dict[str, Any]:
    """Ten of the seeds on the machine's CPU, one core each, and their circuits."""
    bench.device = "cpu"
    runs = bench.trained(
        {f"seed={seed}": fast(3, seed) for seed in range(2 if bench.smoke else 10)}
    )
    done = [run.folder for run in runs.values() if run.status == "done"]
    circuits = bench.everywhere(circuit_of, done, ["cpu"] * len(done))
    return {"runs": all_told(runs), "circuits": circuits}


def same_bits(bench: Bench) -> dict[str, Any]:
    """Whether a run that was killed and resumed ends with the weights of one that was not."""
    whole = bench.short(replace(fast(3, 7)))
    steps = min(600, whole.training.steps)
    config = changed(whole, {"training.steps": steps, "training.cooldown_steps": 0})
    spawn = get_context("spawn")
    undisturbed, killed = bench.folder / "undisturbed", bench.folder / "killed"
    processes = [spawn.Process(target=train, args=(config, f)) for f in (undisturbed, killed)]
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


def step_of(config: RunConfig, recorded: bool) -> Callable[[], object]:
    """A step of the loop with its batch; its passes recorded, or launched one by one."""
    trainer = trainer_of(config)
    trainer._gradients = Gradients(trainer.model, trainer._loss, trainer.precision, recorded)
    return lambda: trainer.step(*trainer.batches.asked(trainer.state.step + 1))


def speed(bench: Bench) -> dict[str, Any]:
    """Milliseconds of a step, beside a plain loop and the machine's peak."""
    shapes = {"fast": fast(3, deepening=False), "paper": paper()}
    found: dict[str, Any] = {"peak_teraflops": peak(bench.device, 64 if bench.smoke else 8192)}
    for name, config in shapes.items():
        found[name] = timed(bench, changed(config, {"training.train_examples": None}))
    return found


def timed(bench: Bench, config: RunConfig) -> dict[str, Any]:
    """What a config's step takes, in several ways, each with fresh data but for the plain loop."""
    config = bench.short(config)
    rounds, repeats = (2, 1) if bench.smoke else (3, 30)
    halved = changed(config, {"training.precision": "tf32"})
    plain = Contenders(config)
    ways: dict[str, Callable[[], Callable[[], object]]] = {
        "one by one": lambda: step_of(config, recorded=False),
        "recorded": lambda: step_of(config, recorded=True),
        "recorded, tf32": lambda: step_of(halved, recorded=True),
        "plain loop, bfloat16": lambda: plain.plain("bfloat16"),
        "data": plain.data,
    }
    milliseconds: dict[str, float] = {}
    failed: dict[str, str] = {}
    for name, made in ways.items():
        try:
            series = in_turn({name: made()}, rounds, repeats, timer, warm=3)[name]
            milliseconds[name] = 1000 * statistics.median(series)
        except Exception as error:  # what a device may refuse is told, and the rest is timed
            failed[name] = f"{type(error).__name__}: {error}"[:500]
    work = step_operations(config)
    return {
        "precision": trainer_of(config).precision,
        "milliseconds": milliseconds,
        "operations": work,
        "teraflops": {name: work / each / 1e9 for name, each in milliseconds.items()},
        "failed": failed,
    }


timer = time.perf_counter


def peak(device: str, size: int) -> float:
    """Teraflops of a bfloat16 product of two square matrices."""
    a = torch.randn(size, size, device=device, dtype=torch.bfloat16)
    out = torch.empty_like(a)
    torch.mm(a, a, out=out)
    return 2 * size**3 / seconds(lambda: torch.mm(a, a, out=out), 10, timer) / 1e12


def figure4(bench: Bench) -> dict[str, Any]:
    """Figure 4 as printed: one seed of 8, 4, 6, 2 layers with the curriculum (D = 5), then without
    it (D = 3), then further numbers of layers and seeds as far as the time goes."""
    each = {way: layers.runs_of(way == "with", "paper") for way in ("with", "without")}
    order = [*product((0,), (8, 4, 6, 2, 1, 3, 5, 7)), *product((1,), (4, 8, 2))]
    configs = {
        f"{way},layers={n},seed={seed}": each[way][f"layers={n},seed={seed}"]
        for way in each
        for seed, n in order
    }
    first = [f"with,layers={n},seed=0" for n in (8, 4)] + ["without,layers=4,seed=0"]
    names = sorted(configs, key=lambda name: name not in first)
    return all_told(bench.trained({name: configs[name] for name in names}))


def abc(bench: Bench) -> dict[str, Any]:
    """Transformers A, B, C and further draws as printed, and their circuits."""
    printed = transformers_abc.transformers_abc("paper")
    more = {f"seed={seed}": paper(3, seed) for seed in range(3, 5 if bench.smoke else 11)}
    runs = bench.trained(printed | more)
    done = [run.folder for run in runs.values() if run.status == "done"]
    found = bench.everywhere(circuit_of, done, ["cpu"] * len(done))
    return {"runs": all_told(runs), "circuits": found}


def first_steps(bench: Bench) -> dict[str, Any]:
    """Four layers and two hops: half of the steps as printed, and one change at a time."""
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
        for seed in range(1 if bench.smoke else 5)
        for way, fields in ways.items()
    }
    return all_told(bench.trained(configs))


PARTS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "speed": speed,
    "right": right,
    "cpu": cpu,
    "figure4": figure4,
    "first-steps": first_steps,
    "abc": abc,
}


def parts(given: argparse.Namespace) -> Iterator[bool]:
    """Does every part, and tells whether it went through."""
    for part in given.parts:
        bench, began = Bench(given, part), time.monotonic()
        try:
            found = PARTS[part](bench)
        except Exception:
            found = {"failed": traceback.format_exc()}
        about = {
            "environment": describe_environment(given.device, 1),
            "workers": given.workers,
            "seconds": time.monotonic() - began,
        }
        text = json.dumps(about | {"found": found}, indent=1, ensure_ascii=False, default=str)
        (given.out / f"{part}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{part}: {about['seconds']:.0f} s", found.get("failed", ""), flush=True)
        yield "failed" not in found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--out", type=Path, default=Path("results/gpu"))
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--smoke", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if not all([*parts(given)]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
