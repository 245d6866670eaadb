"""Trains the models of a cohort that are not in its folder yet.

python -m headway_experiments.cohort choosing --folder runs/cohort
"""

import argparse
from pathlib import Path

import torch

from headway_experiments.cohort.members import COHORTS
from headway_experiments.cohort.training import path_of, train


def main() -> None:
    """Train the models that are asked for, one after the other."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("cohort", choices=COHORTS)
    parser.add_argument("--folder", type=Path, default=Path("runs/cohort"))
    parser.add_argument("--only", nargs="*", default=[], help="names of models")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name in asked.only or COHORTS[asked.cohort]:
        if not path_of(name, asked.folder).exists():
            print(name, train(name, asked.folder), flush=True)


if __name__ == "__main__":
    main()
