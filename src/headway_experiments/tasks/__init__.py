"""Tasks that only experiments are about."""

from headway_experiments.tasks.associations import Associations
from headway_experiments.tasks.bigrams import Bigrams
from headway_experiments.tasks.composition import Composition
from headway_experiments.tasks.named import Named
from headway_experiments.tasks.recall import Recall
from headway_experiments.tasks.two_hops import TwoHops

__all__ = ["Associations", "Bigrams", "Composition", "Named", "Recall", "TwoHops"]
