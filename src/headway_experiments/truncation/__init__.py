"""Weights cut to low rank: what a run's model loses, and how a language model goes
on.
"""
