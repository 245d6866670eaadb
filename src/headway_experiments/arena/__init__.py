"""The arena: methods that look for circuits, on models whose circuits are known."""

from headway_experiments.arena.planted import planted
from headway_experiments.arena.truth import Hits, Score, score, scored, total

__all__ = ["Hits", "Score", "planted", "score", "scored", "total"]
