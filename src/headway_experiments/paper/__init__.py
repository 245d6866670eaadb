"""The paper's figures (Musat 2024, arXiv 2411.12118), and studies of what it leaves
open.
"""

from importlib import import_module

NAMES = (
    *(
        "language_models",
        "information_flow",
        "layers",
        "transformers_abc",
        "transformer_d",
    ),
    *(
        "depths",
        "curricula",
        "circuits",
        "algorithms",
        "by_heart",
        "identifiability",
        "two_hops",
    ),
)
MODULES = tuple(import_module(f"{__name__}.{name}") for name in NAMES)
FIGURES = {
    experiment.name: experiment
    for module in MODULES
    for experiment in module.EXPERIMENTS
}

__all__ = ["FIGURES"]
