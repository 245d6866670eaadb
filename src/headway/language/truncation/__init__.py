"""Weights of language models cut to low rank: what is said instead (the talk, section on noise)."""
