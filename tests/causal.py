"""Attention to no later position, for models that a test writes by hand."""

import torch


def causal_softmax(scores):
    """Attention by scores, [..., query, key], with none on keys after the query."""
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1)
