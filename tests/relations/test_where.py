"""Edges where a mask holds, in sequences of which some have fewer rows."""

import torch

from headway.relations import NO_KEY, Edges


def test_a_row_that_a_sequence_does_not_have_has_no_keys():
    mask = torch.zeros(2, 3, 3, dtype=torch.bool)
    mask[0, 1:, 0] = True
    mask[1, 0, 1] = True
    edges = Edges.where(mask)
    assert edges.queries.tolist() == [[1, 2], [0, NO_KEY]]
    assert edges.keys.tolist() == [[[0], [0]], [[1], [NO_KEY]]]
