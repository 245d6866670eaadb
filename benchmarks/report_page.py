"""The page of a large run: how long it takes to write, how big it is, how smoothly it
is used.

    python benchmarks/report_page.py [--out FILE]

The run has the shape of the paper's deepest model, 24 layers of one head on sequences
of 88 positions, and 80 checkpoints of weights that nobody trained. Its page is opened
five times in a browser, and its slider then moved through all checkpoints, one a frame,
five times for each of some places on the page. Times are medians; the worst frame is
that of all.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from frame import options, write
from headway.dynamics import emergence
from headway.find import discover
from headway.models import TransformerConfig
from headway.relations import Relation
from headway.replace import Circuit, Head, Mechanism, Paths, Uniform
from headway.report import write_report
from headway.tasks import Retrieval
from headway.training import Run, RunConfig, TrainingConfig

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "report"))

PATHS = {
    0: {"s2←s1", "s4←s3"},
    4: {"s6←s5", "s8←s7"},
    8: {"s0←s2", "s2←s4"},
    12: {"s4←s6", "s6←s8"},
    16: {"s0←s4", "s10←s9"},
    20: {"s0←s8", "s0←s6"},
}
"""The run's circuit, by layer."""

BARS = {"megabytes": 2.0, "first_paint_s": 0.5, "frames_per_second": 55.0}
"""At most, at most, and at least."""

CHECKPOINTS, EVERY = 80, 50
LOADS, SCRUBS = 5, 5

SCRUB = """async (count) => {
  const slider = document.querySelector('#when');
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  const times = [performance.now()];
  for (let at = 0; at < count; at++) {
    slider.value = at / Math.max(1, count - 1);
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    await frame();
    times.push(performance.now());
  }
  await frame(); // by now the last one is drawn
  times.push(performance.now());
  return times.slice(1).map((time, i) => time - times[i]);
}"""

PAINT = """() => performance.getEntriesByType('paint')
  .find((entry) => entry.name === 'first-contentful-paint').startTime"""

PLACES = {
    "circuit": ".hero",
    "curves": "section[aria-labelledby=emergence]",
    "maps": "section[aria-labelledby=inside]",
}
"""The part in sight, and the places to scroll to."""


def large_run(folder: Path) -> Run:
    """Makes a run with many layers and checkpoints, a circuit and its dates."""
    config = RunConfig(
        task=Retrieval(depth=5, n_chains=8),
        model=TransformerConfig(n_layers=24, d_model=64, d_mlp=64),
        training=TrainingConfig(
            steps=EVERY * (CHECKPOINTS - 1), checkpoint_every=EVERY
        ),
    )
    run = Run.create(folder, config)
    first, last = (run.new_model(attempt=attempt).state_dict() for attempt in (0, 1))
    generator = torch.Generator().manual_seed(0)
    for number in range(CHECKPOINTS):
        share, step = number / (CHECKPOINTS - 1), EVERY * number
        weights = {
            name: weight.lerp(last[name], share) for name, weight in first.items()
        }
        for name in weights:
            if name.endswith(
                "qkv.weight"
            ):  # so that attention sharpens, and differs by position
                noise = torch.randn(weights[name].shape, generator=generator)
                weights[name] = (1 + 3 * share) * weights[name] + 0.05 * noise
        run.save_checkpoint(step, weights)
        run.append_metrics(evaluation(run, step, share))
    run.end()
    layers = range(config.transformer.n_layers)
    heads: dict[Head, Mechanism] = {(at, 0): Uniform() for at in layers}
    heads |= {
        (at, 0): Paths(frozenset(map(Relation, relations)))
        for at, relations in PATHS.items()
    }
    found = discover(run, circuit=Circuit(heads), threshold=100.0, sequences=8)
    run.write("circuit.json", found.to_json())
    emergence(run, found, sequences=4)
    return run


def evaluation(run: Run, step: int, share: float) -> dict[str, Any]:
    """A line of metrics, with losses that fall."""
    hops = run.task.hops
    partial = {hop: 1 / (1 + (10 * share) ** (2 + i)) for i, hop in enumerate(hops)}
    loss = statistics.mean(partial.values())
    told = {"rate_scale": 1.0, "seconds": float(step), "examples_per_second": 1.0}
    return {
        "step": step,
        "train_loss": loss,
        "val_loss": loss,
        "partial": partial,
        **told,
    }


def in_browser(page: Path) -> dict[str, Any]:
    """First paints, and the frames of scrubbing; nothing if there is no browser."""
    from browser import Visit, browsing

    with browsing() as browser:
        if browser is None:
            return {}
        paints, rows = [], []
        for _ in range(LOADS):
            seen = Visit(browser, page)
            paints.append(seen.page.evaluate(PAINT) / 1000)
            seen.context.close()
        seen = Visit(browser, page)
        for sight, target in PLACES.items():
            seen.page.evaluate(
                "(it) => document.querySelector(it).scrollIntoView({behavior: "
                "'instant'})",
                target,
            )
            seen.page.evaluate(SCRUB, 2)  # what is made when first needed is made now
            scrubs = [seen.page.evaluate(SCRUB, CHECKPOINTS) for _ in range(SCRUBS)]
            per_second = statistics.median(
                1000 * len(each) / sum(each) for each in scrubs
            )
            rows.append(
                {
                    "in_sight": sight,
                    "frames_per_second": round(per_second, 1),
                    "worst_frame_ms": round(max(map(max, scrubs)), 1),
                }
            )
        version = browser.version
        assert not seen.complaints, seen.complaints
    first = statistics.median(paints)
    return {
        "browser": f"Chromium {version}",
        "first_paint_s": round(first, 3),
        "scrubbing": rows,
    }


def measured(folder: Path) -> dict[str, Any]:
    """Makes the run and its page, and measures both."""
    run = large_run(folder)
    started = time.perf_counter()
    page = write_report(run)
    seconds, size = time.perf_counter() - started, page.stat().st_size / 1e6
    return {
        "write_s": round(seconds, 2),
        "megabytes": round(size, 2),
        **in_browser(page),
    }


def print_table(result: dict[str, Any]) -> None:
    print("| measure | value | bar |\n|---|---|---|")
    print(f"| writing the page | {result['write_s']} s | |")
    print(f"| size | {result['megabytes']} MB | ≤ {BARS['megabytes']:g} MB |")
    if "scrubbing" not in result:
        print("There is no browser here to open it in.")
        return
    print(
        f"| first contentful paint | {result['first_paint_s']} s | < "
        f"{BARS['first_paint_s']:g} s |"
    )
    for row in result["scrubbing"]:
        told = (
            f"{row['frames_per_second']} frames a second, worst "
            f"{row['worst_frame_ms']} ms"
        )
        name = f"scrubbing, {row['in_sight']} in sight"
        print(f"| {name} | {told} | ≥ {BARS['frames_per_second']:g} |")


def main() -> None:
    given = options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        result = measured(Path(folder) / "run")
    print_table(result)
    write(given, {"bars": BARS, "result": result})


if __name__ == "__main__":
    main()
