"""The arena: methods that look for circuits, on models whose circuits are known."""

from headway_experiments.arena.assembly import Known
from headway_experiments.arena.compiled import compiled
from headway_experiments.arena.labelled import Labelled
from headway_experiments.arena.planted import planted
from headway_experiments.arena.truth import Hits, Score, score, scored, total

__all__ = ["Hits", "Known", "Labelled", "Score", "compiled", "planted", "score", "scored", "total"]
