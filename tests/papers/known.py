"""All experiments, groups of runs and claims that there are."""

from headway.papers.paper import FIGURES
from headway.papers.reproduce import groups_of
from headway.papers.talk import MECHANISMS

EXPERIMENTS = FIGURES | MECHANISMS
GROUPS = {group.name: group for group in groups_of(EXPERIMENTS.values())}
CLAIMS = [claim for one in EXPERIMENTS.values() for claim in one.claims]
