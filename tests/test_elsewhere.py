"""Computations on another device, in a process of their own (see `on_a_device`).

PyTorch counts its devices once, before its first backward pass.
"""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent / "on_a_device.py"


def test_all_of_it_is_right_on_another_device(solved):
    # No check of every call's shapes.
    plain = (
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
    )
    words = [sys.executable, "-m", "pytest", *plain, str(TESTS)]
    done = subprocess.run(
        words, cwd=TESTS.parents[1], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
