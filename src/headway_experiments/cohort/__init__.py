"""Two cohorts of small trained models on which the blind reading of heads is judged.

Rules and limits of reading are chosen on the models for `choosing`. Those for `judging`
have other seeds, other parameters and in part other tasks; nobody looks at them while
choosing.
"""
