"""The arena: methods that look for circuits, on models whose circuits are known."""

from headway_experiments.arena.case import Known
from headway_experiments.arena.compiled import compiled
from headway_experiments.arena.planted import planted
from headway_experiments.arena.wiring import Labelled

__all__ = ["Known", "Labelled", "compiled", "planted"]
