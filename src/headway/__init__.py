"""How stacked attention heads learn to follow a chain of facts, and when.

from headway import discover, emergence, fast, train

run = train(fast(depth=3))
circuit = discover(run)
timeline = emergence(run, circuit)
"""

from headway.circuits import (
    Circuit,
    Discovery,
    Identity,
    Paths,
    Timeline,
    Uniform,
    discover,
    emergence,
)
from headway.errors import HeadwayError
from headway.models import Transformer, TransformerConfig
from headway.notebook import show_in_notebooks
from headway.tasks import (
    Conditional,
    ConditionalConfig,
    Retrieval,
    RetrievalConfig,
)
from headway.training import Run, RunConfig, TrainingConfig, fast, paper, resume, train

__all__ = [
    "Circuit",
    "Conditional",
    "ConditionalConfig",
    "Discovery",
    "HeadwayError",
    "Identity",
    "Paths",
    "Retrieval",
    "RetrievalConfig",
    "Run",
    "RunConfig",
    "Timeline",
    "TrainingConfig",
    "Transformer",
    "TransformerConfig",
    "Uniform",
    "discover",
    "emergence",
    "fast",
    "paper",
    "resume",
    "train",
]

show_in_notebooks()
