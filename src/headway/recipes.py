"""Recipes: configs that are known to train well, and how to change one."""

from headway.changes import changed as changed
from headway.training.config import flat as flat
from headway.training.recipes import fast as fast
from headway.training.recipes import hops as hops
