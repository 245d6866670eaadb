"""Tables of heads that attend to unlike parts of what the model may see."""

import torch
from torch.testing import assert_close

from headway.relations.fitted import Tables
from sampling import seeded


def test_what_one_head_never_attends_to_another_may():
    inputs = torch.randint(3, (16, 4), generator=seeded(0))
    even = torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None]
    of_sequence = torch.stack([torch.eye(4), even])
    attention = of_sequence.expand(16, 1, 2, 4, 4)
    tables = Tables(inputs, lambda: attention)
    assert_close(tables.patterns(inputs), attention, atol=0.05, rtol=0)
