"""Models and inputs that are drawn at random, to compare computations on."""

import torch
from hypothesis import settings
from hypothesis import strategies as st

from headway.models import Transformer, TransformerConfig

D_INPUT, D_TARGET, LENGTH, N_READ, VOCABULARY = 6, 5, 7, 3, 11

quick = settings(max_examples=25)
seeds = st.integers(0, 2**31)


def configs(**more):
    """Shapes of all kinds; further fields, too."""
    return st.builds(
        TransformerConfig,
        n_layers=st.integers(1, 3),
        d_model=st.sampled_from([4, D_INPUT, 12]),
        n_heads=st.sampled_from([1, 2]),
        d_head=st.sampled_from([None, 1, 5]),
        d_mlp=st.sampled_from([None, 0, 5]),
        act_fn=st.sampled_from(["gelu", "relu"]),
        causal=st.booleans(),
        positions=st.sampled_from(["learned", "none"]),
        **more,
    )


def moved(model, seed=0):
    """The model with no weight, bias or norm left at a plain 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
    return model


def build(config, seed=0, tokens=False, n_read=N_READ):
    vocabulary = VOCABULARY if tokens else None
    sizes = (1 if tokens else D_INPUT, D_TARGET, LENGTH, n_read, seed, vocabulary)
    return moved(Transformer(config, *sizes), seed)


def random_inputs(seed=0, batch=2, tokens=False):
    generator = torch.Generator().manual_seed(seed)
    if tokens:
        return torch.randint(VOCABULARY, (batch, LENGTH), generator=generator)
    return torch.randn(batch, LENGTH, D_INPUT, generator=generator)
