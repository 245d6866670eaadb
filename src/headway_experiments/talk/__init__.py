"""The talk's mechanisms (Bietti, April 2025), as experiments."""

from headway_experiments.talk import (
    composition,
    induction,
    khop,
    memories,
    noise,
    recall,
)

MODULES = (memories, recall, induction, noise, khop, composition)

MECHANISMS = {
    experiment.name: experiment
    for module in MODULES
    for experiment in module.EXPERIMENTS
}

__all__ = ["MECHANISMS"]
