"""Plans of tiny runs, a user's task, and sweeps as processes of their own."""

import subprocess
import sys
import textwrap
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from headway.sweeps import Plan, grid
from headway.tasks import task_in

NUMBERS = count()
TASK = """
    from dataclasses import dataclass

    import torch

    import headway


    @dataclass(frozen=True)
    class Doubles{number}(headway.Task):
        '''Vectors; asks at the last place for the double of one before it.'''

        back: int = 1

        def draw(self, count, generator):
            return (torch.randn(count, 4, 2, generator=generator),)

        def assemble(self, draws):
            (vectors,) = draws
            return headway.Batch(vectors, 2 * vectors[:, [-1 - self.back], None])

        def relations(self, batch):
            queries = torch.full((len(batch.inputs), 1), 3)
            return {{"back": headway.Edges(queries, queries[..., None] - self.back)}}
"""


@pytest.fixture
def plan(tiny, with_training):
    """A plan of so many runs of so many steps, called r0, r1 and so on."""

    def make(count: int, steps: int = 12, **training) -> Plan:
        fields = {
            "steps": steps,
            "cooldown_steps": 0,
            "eval_every": 10,
            "checkpoint_every": 50,
        }
        config = with_training(tiny, **{**fields, **training})
        return Plan("p", {f"r{i}": replace(config, seed=i) for i in range(count)})

    return make


@pytest.fixture
def sweeping():
    """Start `headway sweep` on what is in a folder, as a process of its own; ended
    after.
    """
    started = []

    def start(
        folder: Path, *options: str, workers: int = 1, **more
    ) -> subprocess.Popen:
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


@pytest.fixture
def own_file(tmp_path):
    """A file with a task that no other test knows."""
    path = tmp_path / "doubles.py"
    path.write_text(textwrap.dedent(TASK.format(number=next(NUMBERS))))
    return path


@pytest.fixture
def own_runs(own_file, tiny):
    """Two runs of the task, a step deep."""
    task = task_in(str(own_file))
    return grid(replace(tiny, task=task()), {"task.back": [1, 2]})
