"""Experiments that the papers ask for: which runs they take, and what came of them."""
