"""Weights cut to low rank: what a run's model loses, and what a language model says instead."""
