"""`headway circuit RUN --program FILE` writes a program, and prints it."""

import runpy
import shutil

import numpy as np
import pytest
import torch

from headway.errors import HeadwayError
from headway.verbs.circuits import circuit


def test_the_program_of_a_run_is_printed_and_written(solved, tmp_path, capsys):
    folder = shutil.copytree(solved.folder, tmp_path / "run")
    file = tmp_path / "program.py"
    circuit((folder,), program=file)
    printed = capsys.readouterr().out
    assert f"written to {file}" in printed
    assert "L1H0 = match(seen, v0, t)  # L1.H0 s0←s2" in printed
    program = runpy.run_path(str(file))["program"]
    batch = solved.task.sample(50, torch.Generator().manual_seed(1))
    told = program(batch.inputs.numpy())[:, -solved.task.n_read :]
    right = np.isclose(told, batch.targets.numpy()).all(-1)
    assert right.mean() >= 0.99


def test_a_program_is_of_one_run(solved, tmp_path):
    with pytest.raises(HeadwayError, match=r"program = .* of one run alone"):
        circuit((solved.folder, solved.folder), program=tmp_path / "p.py")
