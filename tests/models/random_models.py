"""Models and inputs that are drawn at random, to compare computations on."""

import torch

from headway.models import Transformer

D_INPUT, D_TARGET, LENGTH, N_READ, VOCABULARY = 6, 5, 7, 3, 11


def build(config, seed=0, tokens=False):
    """A model in which no weight, bias or norm is left at a plain 0 or 1."""
    vocabulary = VOCABULARY if tokens else None
    sizes = (1 if tokens else D_INPUT, D_TARGET, LENGTH, N_READ, seed, vocabulary)
    model = Transformer(config, *sizes)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return model


def random_inputs(seed=0, batch=2, tokens=False):
    generator = torch.Generator().manual_seed(seed)
    if tokens:
        return torch.randint(VOCABULARY, (batch, LENGTH), generator=generator)
    return torch.randn(batch, LENGTH, D_INPUT, generator=generator)
