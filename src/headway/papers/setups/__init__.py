"""Which runs every experiment is made of, at three scales."""

from headway.papers.setups.algorithms import ALGORITHMS
from headway.papers.setups.group import Configs, Group
from headway.papers.setups.printed import PRINTED
from headway.papers.setups.studies import SIZES, STUDIES, WAYS

GROUPS = {group.name: group for group in (*PRINTED, *STUDIES, ALGORITHMS)}

__all__ = ["GROUPS", "PRINTED", "SIZES", "STUDIES", "WAYS", "Configs", "Group"]
