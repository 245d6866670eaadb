"""Experiments that use headway: replications of a paper and of a talk, an arena of
methods, studies of language models.

They import public names of `headway`, and add verbs to its command line by entry
points, as anybody's package can.
"""
