"""How quickly `headway serve` answers: the list of many runs, a run's page, and what changed.

    python benchmarks/serve.py --runs 50 --evaluations 200 --rounds 20

The runs are never trained: their evaluations are written as training writes them, and most lie in
a sweep. Printed are milliseconds from the request to the last byte, over HTTP on this machine: of
the list when nothing was read yet, again, and after one run was written to; of both versions; and
of a trained run's page, after an evaluation and again (`--page RUN`; a small one is trained if
none is named).
"""

import http.client
import math
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from frame import options
from headway.report.server import Server
from headway.training import Run, fast, train


def made(folder: Path, runs: int, evaluations: int) -> list[Run]:
    """So many runs that look as if they were being trained, all but three of them in a sweep."""
    found = []
    for seed in range(runs):
        place = folder / f"seed={seed}" if seed < 3 else folder / "sweep" / f"seed={seed}"
        found.append(Run.create(place, fast(depth=3, seed=seed)))
        for i in range(1, evaluations + 1):
            evaluated(found[-1], 10 * i, math.exp(-5 * i / evaluations))
    return found


def evaluated(run: Run, step: int, loss: float) -> None:
    """Adds a line to a run's metrics."""
    told = {"step": step, "train_loss": loss, "val_loss": loss}
    partial = dict.fromkeys(run.task.hops, loss)
    speed = {"seconds": step / 20, "examples_per_second": 2560.0}
    run.append_metrics({**told, "partial": partial, "rate_scale": 1.0, **speed})


def trained(folder: Path) -> Run:
    """A run of a few seconds with twenty checkpoints."""
    config = fast(depth=3)
    short = replace(config.training, steps=60, cooldown_steps=0, eval_every=3, checkpoint_every=3)
    return train(replace(config, training=short), folder)


def timed(server: Server, path: str) -> float:
    """Milliseconds until a page is there."""
    begun = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200:
        raise SystemExit(f"{path}: {answer.status}")
    return 1000 * (time.perf_counter() - begun)


def told(what: str, rounds: int, measure: Callable[[int], float]) -> None:
    """Prints the median and the worst of several measurements."""
    times = [measure(i) for i in range(rounds)]
    print(f"{what:42} {statistics.median(times):8.1f} ms   at most {max(times):8.1f} ms")


def main() -> None:
    asked = options(__doc__, runs=50, evaluations=200, rounds=20, page=Path)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "runs"
        runs = made(folder, asked.runs, asked.evaluations)
        if asked.page is None:
            shown = trained(folder / "page")
        else:
            shown = Run.open(shutil.copytree(asked.page, folder / "page"))
        last = shown.metrics()[-1]["step"]
        server = Server(folder, 0)
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def after_an_evaluation(run: Run, path: str, step: int) -> Callable[[int], float]:
            def measure(i: int) -> float:
                evaluated(run, step + i + 1, 0.01)
                return timed(server, path)

            return measure

        told(f"list of {asked.runs + 1} runs, nothing read yet", 1, lambda _: timed(server, "/"))
        told("list again", asked.rounds, lambda _: timed(server, "/"))
        changed = after_an_evaluation(runs[0], "/", 10 * asked.evaluations)
        told("list after an evaluation", asked.rounds, changed)
        told("version of the list", asked.rounds, lambda _: timed(server, "/version"))
        told("version of a run", asked.rounds, lambda _: timed(server, "/run/page/version"))
        told("page of a run, the first", 1, lambda _: timed(server, "/run/page/"))
        told("page again", asked.rounds, lambda _: timed(server, "/run/page/"))
        changed = after_an_evaluation(shown, "/run/page/", last)
        told("page after an evaluation", asked.rounds, changed)


if __name__ == "__main__":
    main()
