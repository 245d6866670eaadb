"""How stacked attention heads learn to follow a chain of facts, and when.

from headway import discover, emergence, fast, train

run = train(fast(depth=3))
circuit = discover(run)
timeline = emergence(run, circuit)

What is here is imported when it is asked for, so that the command line's help does not wait for
torch. More is offered one level down: `headway.tasks.Hops`, `headway.recipes.fast`.
"""

from typing import TYPE_CHECKING

from headway.late import late
from headway.notebook import show_in_notebooks

if TYPE_CHECKING:
    from headway.circuits import (
        Circuit,
        certify,
        discover,
        emergence,
        every_circuit,
        patch,
        patch_all,
    )
    from headway.errors import HeadwayError
    from headway.models import Transformer, TransformerConfig, tapped
    from headway.notebook import widget
    from headway.report import write_report
    from headway.sweeps import depend, sweep
    from headway.tasks import IGNORE_INDEX, Batch, Edges, Task, Tokens, Vectors, check_task
    from headway.theory import minimum_layers
    from headway.training import (
        Recorder,
        Run,
        RunConfig,
        TrainingConfig,
        fast,
        own,
        resume,
        train,
    )

__all__ = [
    "IGNORE_INDEX",
    "Batch",
    "Circuit",
    "Edges",
    "HeadwayError",
    "Recorder",
    "Run",
    "RunConfig",
    "Task",
    "Tokens",
    "TrainingConfig",
    "Transformer",
    "TransformerConfig",
    "Vectors",
    "certify",
    "check_task",
    "depend",
    "discover",
    "emergence",
    "every_circuit",
    "fast",
    "minimum_layers",
    "own",
    "patch",
    "patch_all",
    "resume",
    "sweep",
    "tapped",
    "train",
    "widget",
    "write_report",
]

__getattr__, __dir__ = late(__name__)

show_in_notebooks()
