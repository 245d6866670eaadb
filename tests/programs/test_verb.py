"""`headway circuit RUN --program FILE` writes a program, and prints it."""

import runpy
import shutil

import numpy as np
import pytest
import torch

from headway import discover
from headway.errors import HeadwayError
from headway.programs import program
from headway.verbs.circuits import circuit


def test_the_program_of_a_run_is_printed_and_written(solved, tmp_path, capsys):
    folder = shutil.copytree(solved.folder, tmp_path / "run")
    file = tmp_path / "program.py"
    circuit((folder,), program=file)
    printed = capsys.readouterr().out
    assert f"written to {file}" in printed
    assert "L1H0 = match(seen, v0, t)  # L1.H0 s0←s2" in printed
    answers = runpy.run_path(str(file))["program"]
    batch = solved.task.sample(50, torch.Generator().manual_seed(1))
    told = answers(batch.inputs.numpy())[:, -solved.task.n_read :]
    right = np.isclose(told, batch.targets.numpy()).all(-1)
    assert right.mean() >= 0.99


def test_a_program_is_of_one_run(solved, tmp_path):
    with pytest.raises(HeadwayError, match=r"program = .* of one run alone"):
        circuit((solved.folder, solved.folder), program=tmp_path / "p.py")


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("no-folder/p.py", "in a folder that exists"),
        ("p.txt", r"one that ends in \.py"),
        ("p", r"one that ends in \.py"),
    ],
)
def test_a_program_goes_to_a_python_file_in_a_folder(name, allowed, solved, tmp_path):
    with pytest.raises(HeadwayError, match=f"file = .* must be {allowed}"):
        circuit((solved.folder,), program=tmp_path / name)


def test_a_program_that_cannot_be_written_is_told_in_one_line(solved, tmp_path):
    folder = shutil.copytree(solved.folder, tmp_path / "run")
    judged = program(folder, circuit=discover(folder, trials=False))
    (tmp_path / "p.py").mkdir()
    with pytest.raises(HeadwayError, match=r"cannot write .*p\.py"):
        judged.save(tmp_path / "p.py")
