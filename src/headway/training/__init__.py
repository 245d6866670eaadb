"""Training: one readable loop, exact resume, and the run as a folder."""

from typing import TYPE_CHECKING

from headway.late import late
from headway.training.config import RunConfig as RunConfig
from headway.training.config import TrainingConfig as TrainingConfig
from headway.training.config import from_dict as from_dict
from headway.training.curriculum import Ask as Ask
from headway.training.curriculum import Curriculum as Curriculum
from headway.training.curriculum import Deepening as Deepening
from headway.training.curriculum import Implicit as Implicit
from headway.training.curriculum import Mixture as Mixture
from headway.training.data import Stream as Stream
from headway.training.data import generator_for as generator_for
from headway.training.data import held_out as held_out
from headway.training.environment import describe_environment as describe_environment
from headway.training.environment import seed_of as seed_of
from headway.training.files import RunBusyError as RunBusyError
from headway.training.loop import resume as resume
from headway.training.loop import train as train
from headway.training.losses import TapOf as TapOf
from headway.training.losses import evaluate as evaluate
from headway.training.losses import predictions as predictions
from headway.training.recipes import RECIPES as RECIPES
from headway.training.recipes import fast as fast
from headway.training.recipes import own as own
from headway.training.run import Run as Run
from headway.training.run import require_device as require_device

if TYPE_CHECKING:
    from headway.training.recorder import Recorder as Recorder

HOMES = {
    "config": "RunConfig TrainingConfig from_dict",
    "curriculum": "Ask Curriculum Deepening Implicit Mixture",
    "data": "Stream generator_for held_out",
    "environment": "describe_environment seed_of",
    "files": "RunBusyError",
    "loop": "resume train",
    "losses": "TapOf evaluate predictions",
    "recipes": "RECIPES fast own",
    "recorder": "Recorder",
    "run": "Run require_device",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
