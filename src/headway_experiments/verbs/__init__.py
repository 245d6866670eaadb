"""Verbs of the experiments, a module for each group."""
