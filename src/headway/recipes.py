"""Recipes, which are configs that train well, users' files, and changes to them."""

from headway.training.config import flat as flat
from headway.training.recipes import RECIPES as RECIPES
from headway.training.recipes import Base as Base
from headway.training.recipes import annotations as annotations
from headway.training.recipes import base_of as base_of
from headway.training.recipes import changed as changed
from headway.training.recipes import config_asked_for as config_asked_for
from headway.training.recipes import configured as configured
from headway.training.recipes import fast as fast
from headway.training.recipes import hints_in as hints_in
from headway.training.recipes import hops as hops
from headway.training.recipes import recipe_in as recipe_in
from headway.training.recipes import source_and_fields as source_and_fields

__all__ = [
    "RECIPES",
    "Base",
    "annotations",
    "base_of",
    "changed",
    "config_asked_for",
    "configured",
    "fast",
    "flat",
    "hints_in",
    "hops",
    "recipe_in",
    "source_and_fields",
]
