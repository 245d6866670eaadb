"""Training: one readable loop, exact resume, and the run as a folder."""

from headway.training.config import RunConfig, TrainingConfig, from_dict, to_dict
from headway.training.data import Stream, generator_for, held_out
from headway.training.folder import RunBusyError
from headway.training.loop import resume, resume_stacked, train, train_stacked
from headway.training.losses import evaluate, partial_losses
from headway.training.recipes import RECIPES, fast, paper
from headway.training.run import Run, find_runs

__all__ = [
    "RECIPES",
    "Run",
    "RunBusyError",
    "RunConfig",
    "Stream",
    "TrainingConfig",
    "evaluate",
    "fast",
    "find_runs",
    "from_dict",
    "generator_for",
    "held_out",
    "paper",
    "partial_losses",
    "resume",
    "resume_stacked",
    "to_dict",
    "train",
    "train_stacked",
]
