"""Plans of tiny runs, and sweeps as processes of their own."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headway.sweeps import Plan


@pytest.fixture
def plan(tiny, with_training):
    """A plan of so many runs of so many steps, called r0, r1 and so on."""

    def make(count: int, steps: int = 12, **training) -> Plan:
        fields = {"steps": steps, "cooldown_steps": 0, "eval_every": 10, "checkpoint_every": 50}
        config = with_training(tiny, **{**fields, **training})
        return Plan("p", {f"r{i}": replace(config, seed=i) for i in range(count)})

    return make


@pytest.fixture
def sweeping():
    """Starts `headway sweep` on what is in a folder, as a process of its own; ended after."""
    started = []

    def start(folder: Path, *options: str, workers: int = 1, **more) -> subprocess.Popen:
        command = [sys.executable, "-m", "headway", "sweep", folder.name, *options]
        process = subprocess.Popen(
            [*command, "--workers", str(workers)],
            cwd=folder.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
