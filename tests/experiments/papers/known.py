"""All experiments, groups of runs and claims that there are."""

from headway_experiments.experiment import groups_of
from headway_experiments.paper import FIGURES
from headway_experiments.talk import MECHANISMS

EXPERIMENTS = FIGURES | MECHANISMS
GROUPS = {group.name: group for group in groups_of(EXPERIMENTS.values()) if group.plan("small")}
CLAIMS = [claim for one in EXPERIMENTS.values() for claim in one.claims]
