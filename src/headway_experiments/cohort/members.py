"""The models of the cohorts, as `members.toml` lists them."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.tasks import Task
from headway_experiments.cohort import at_end, everywhere, languages
from headway_experiments.cohort.modules import Shape

LIST = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Member:
    """A model of a cohort.

    Attributes:
        task: that it is trained on.
        shape: of the model.
        seed: of its weights and its batches.
        steps: of training at most.
        settle: steps in which the rate falls to zero at the end.
        rate: of AdamW.
        batch: sequences in a step.
    """

    task: Task
    shape: Shape
    seed: int
    steps: int = 3000
    settle: int = 500
    rate: float = 5e-3
    batch: int = 32


def member_of(entry: Mapping[str, Any]) -> Member:
    """A member, from its entry in the list."""
    task = task_of(**entry["task"])
    shape = Shape(**entry["shape"])
    return Member(**{**entry, "task": task, "shape": shape})


def task_of(kind: str, **parameters: Any) -> Task:
    """A task of the cohorts, by the name of its class."""
    classes = vars(languages) | vars(everywhere) | vars(at_end)
    return classes[kind](**parameters)


def listed(cohort: str) -> dict[str, Member]:
    """The members of a cohort by name, which begins with that of the cohort."""
    entries = tomllib.loads(LIST.read_text("utf-8"))[cohort]
    return {f"{cohort} {name}": member_of(entry) for name, entry in entries.items()}


COHORTS = {cohort: listed(cohort) for cohort in ("choosing", "seen", "judging")}
"""Members by name, by cohort."""

MODELS = {name: each for cohort in COHORTS.values() for name, each in cohort.items()}
"""Members of all cohorts, by name."""
