"""The attention heads of a small transformer: circuit, evidence and dates.

from headway import discover, emergence, fast, train

run = train(fast(depth=3))
circuit = discover(run)
timeline = emergence(run, circuit)

More is offered one level down: `headway.tasks.Hops`, `headway.recipes.hops`.
"""

from typing import TYPE_CHECKING

from headway.late import late

if TYPE_CHECKING:
    from headway.dynamics import emergence as emergence
    from headway.errors import HeadwayError as HeadwayError
    from headway.find import discover as discover
    from headway.find import every_circuit as every_circuit
    from headway.judge import certify as certify
    from headway.models import Transformer as Transformer
    from headway.models import TransformerConfig as TransformerConfig
    from headway.models import tapped as tapped
    from headway.programs import program as program
    from headway.replace import Circuit as Circuit
    from headway.replace import patch as patch
    from headway.replace import patch_all as patch_all
    from headway.report import write_report as write_report
    from headway.report.cells import widget as widget
    from headway.report.figures.saving import figure as figure
    from headway.sweeps import depend as depend
    from headway.sweeps import sweep as sweep
    from headway.tasks import IGNORE_INDEX as IGNORE_INDEX
    from headway.tasks import Batch as Batch
    from headway.tasks import Edges as Edges
    from headway.tasks import Task as Task
    from headway.tasks import Tokens as Tokens
    from headway.tasks import Vectors as Vectors
    from headway.tasks import check_task as check_task
    from headway.tasks.prompts import Prompts as Prompts
    from headway.theory import minimum_layers as minimum_layers
    from headway.training import Recorder as Recorder
    from headway.training import Run as Run
    from headway.training import RunConfig as RunConfig
    from headway.training import TrainingConfig as TrainingConfig
    from headway.training import fast as fast
    from headway.training import own as own
    from headway.training import resume as resume
    from headway.training import train as train

HOMES = {
    "dynamics": "emergence",
    "errors": "HeadwayError",
    "find": "discover every_circuit",
    "judge": "certify",
    "models": "Transformer TransformerConfig tapped",
    "programs": "program",
    "replace": "Circuit patch patch_all",
    "report": "write_report",
    "report.cells": "widget",
    "report.figures.saving": "figure",
    "sweeps": "depend sweep",
    "tasks": "IGNORE_INDEX Batch Edges Task Tokens Vectors check_task",
    "tasks.prompts": "Prompts",
    "theory": "minimum_layers",
    "training": "Recorder Run RunConfig TrainingConfig fast own resume train",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
