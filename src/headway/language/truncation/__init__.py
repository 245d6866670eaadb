"""Weights of language models cut to low rank: what is then said instead (Bietti 2025; Sharma et al. 2023)."""
