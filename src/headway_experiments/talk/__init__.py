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

MECHANISMS = {one.name: one for module in MODULES for one in module.EXPERIMENTS}

__all__ = ["MECHANISMS"]
