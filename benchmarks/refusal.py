"""How soon a size is refused that the machine does not have, and what memory is touched until then.

    python benchmarks/refusal.py

Every command line is called twice: in a process that has loaded headway and PyTorch already, which
counts from the words to the refusal, and as a program of its own, from its start to its end, beside
one that only loads them. Memory is the growth of the most that the process held.
"""

import argparse
import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway import cli
from headway.training.environment import describe_environment

LINES = (
    "train fast training.batch_size=1000000000",
    "train fast model.d_head=100000",
    "train fast model.d_head=100000000",
    "train fast model.n_layers=1000000",
    "train fast model.d_model=100000000",
    "train fast depth=1000000000",
    "train fast task.n_chains=1000000000",
    "train fast training.train_examples=2147483648",
    "train fast training.eval_examples=2147483648",
    "train fast training.learning_rate=1e308",
    "train fast threads=100000",
    "truth --planted 18446744073709551616",
    "sweep fast seed=0..1000000000",
    "sweep fast seed=0..99999 model.n_layers=1..99999",
    "theory --depth 1000000000",
)
LOAD = "import torch, headway.cli, headway.arguments, headway.training, headway.sweeps"


def inside(words: Sequence[str]) -> dict[str, Any]:
    """Seconds, MB and the answer of a command line, in a child of this process."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        said, code = io.StringIO(), 0
        before, start, begun = peak(), time.perf_counter(), time.process_time()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            try:
                cli.main(list(words))
            except SystemExit as stop:
                code = stop.code
        took, busy = time.perf_counter() - start, time.process_time() - begun
        told = {"seconds": took, "busy": busy, "MB": (peak() - before) / 1000, "code": code}
        os.write(theirs, json.dumps({**told, "said": said.getvalue()[:200]}).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        told = answer.read()
    os.waitpid(child, 0)
    return json.loads(told)


def peak() -> int:
    """Kilobytes that this process held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def seconds_of(command: list[str]) -> float:
    """How long a program takes."""
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description="How soon what is too large is refused.")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--lines", nargs="+", default=LINES, help="command lines to refuse")
    parser.add_argument("--programs", action="store_true", help="also as programs of their own")
    options = parser.parse_args()
    out = options.out.absolute() if options.out is not None else None
    os.chdir(tempfile.mkdtemp())
    inside(["train", "fast", "depth=-1"])
    exec(LOAD, {})
    found = []
    for line in options.lines:
        told = {"line": line, **inside(line.split())}
        if options.programs:
            told["program"] = seconds_of([sys.executable, "-m", "headway", *line.split()])
            told["loading alone"] = seconds_of([sys.executable, "-c", LOAD])
        found.append(told)
        took = f"{told['seconds']:7.3f} s ({told['busy']:.3f} busy) {told['MB']:7.1f} MB"
        print(f"{took}  {line}  ({told['code']})")
        if options.programs:
            print(
                f"          program {told['program']:.2f} s, of which {told['loading alone']:.2f}"
            )
    worst = max(found, key=lambda told: told["busy"])
    most = max(told["MB"] for told in found)
    took = f"{worst['seconds']:.3f} s, {worst['busy']:.3f} s busy"
    print(f"slowest {took} ({worst['line']}), most memory {most:.0f} MB")
    if out is not None:
        about = describe_environment("cpu", 1)
        out.write_text(json.dumps({"environment": about, "refused": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
