"""Training: one readable loop, exact resume, and the run as a folder."""

from typing import TYPE_CHECKING

from headway.late import late
from headway.training.config import RunConfig, TrainingConfig, from_dict, to_dict
from headway.training.curriculum import (
    Curriculum,
    Deepening,
    FinalHop,
    Growing,
    Implicit,
    Mixture,
    PerLayer,
    Scheduled,
)
from headway.training.data import Stream, generator_for, held_out
from headway.training.environment import describe_environment
from headway.training.folder import RunBusyError
from headway.training.loop import resume, train
from headway.training.losses import TapOf, evaluate, predictions
from headway.training.recipes import RECIPES, fast, own, paper
from headway.training.run import Run
from headway.training.seeds import seed_of

if TYPE_CHECKING:
    from headway.training.finding import find_runs
    from headway.training.recorder import Recorder
    from headway.training.stacked import resume_stacked, train_stacked

__all__ = [
    "RECIPES",
    "Curriculum",
    "Deepening",
    "FinalHop",
    "Growing",
    "Implicit",
    "Mixture",
    "PerLayer",
    "Recorder",
    "Run",
    "RunBusyError",
    "RunConfig",
    "Scheduled",
    "Stream",
    "TapOf",
    "TrainingConfig",
    "describe_environment",
    "evaluate",
    "fast",
    "find_runs",
    "from_dict",
    "generator_for",
    "held_out",
    "own",
    "paper",
    "predictions",
    "resume",
    "resume_stacked",
    "seed_of",
    "to_dict",
    "train",
    "train_stacked",
]

__getattr__, __dir__ = late(__name__)
