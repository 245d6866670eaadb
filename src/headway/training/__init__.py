"""Training: one readable loop, exact resume, and the run as a folder."""

from headway.training.config import RunConfig, TrainingConfig, from_dict, to_dict
from headway.training.curriculum import Ask, Curriculum, Implicit, Mixture
from headway.training.data import Stream, generator_for, held_out
from headway.training.deepening import Deepening
from headway.training.finding import find_runs
from headway.training.folder import RunBusyError
from headway.training.loop import resume, train
from headway.training.losses import evaluate
from headway.training.recipes import RECIPES, fast, own
from headway.training.recorder import Recorder
from headway.training.run import Run
from headway.training.stacked import resume_stacked, train_stacked

__all__ = [
    "RECIPES",
    "Ask",
    "Curriculum",
    "Deepening",
    "Implicit",
    "Mixture",
    "Recorder",
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
    "own",
    "resume",
    "resume_stacked",
    "to_dict",
    "train",
    "train_stacked",
]
