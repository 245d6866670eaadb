"""Recipes: configs that are known to train well, and how to change one."""

from headway.changes import changed, whole_names
from headway.training.config import flat
from headway.training.recipes import RECIPES, fast, hops, own, paper

__all__ = ["RECIPES", "changed", "fast", "flat", "hops", "own", "paper", "whole_names"]
