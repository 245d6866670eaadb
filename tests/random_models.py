"""Models and inputs that are drawn at random, to compare computations on."""

import torch
from hypothesis import settings
from hypothesis import strategies as st

from headway.models import Transformer, TransformerConfig
from sampling import seeded

D_INPUT = 6
D_TARGET = 5
LENGTH = 7
N_READ = 3
VOCABULARY = 11

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
    generator = seeded(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn(
                weight.shape, generator=generator, dtype=weight.dtype
            )
    return model


def build(config, seed=0, tokens=False, n_read=N_READ):
    vocabulary = VOCABULARY if tokens else None
    sizes = (1 if tokens else D_INPUT, D_TARGET, LENGTH, n_read, seed, vocabulary)
    return moved(Transformer(config, *sizes), seed)


def random_inputs(seed=0, batch=2, tokens=False):
    generator = seeded(seed)
    if tokens:
        return torch.randint(VOCABULARY, (batch, LENGTH), generator=generator)
    return torch.randn(batch, LENGTH, D_INPUT, generator=generator)


class Plain(torch.nn.Module):
    """A module around a transformer's weights, with attention written out and a key
    that is no position, which nobody looks at. It puts out something at all
    positions."""

    def __init__(self, model):
        super().__init__()
        self.inner = model

    def forward(self, inputs):
        model = self.inner
        x = model.embedded(inputs)
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        for block in model.blocks:
            mapped = block.attn.qkv(block.ln1(x)).unflatten(-1, (3, model.n_heads, -1))
            q, k, v = mapped.permute(2, 0, 3, 1, 4)
            k = torch.nn.functional.pad(k, (0, 0, 1, 0))
            v = torch.nn.functional.pad(v, (0, 0, 1, 0))
            seen = torch.nn.functional.pad(past, (1, 0))
            scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen, -torch.inf)
            z = self.read(scores.softmax(-1), v)
            x = block.finish(x + block.attn.out(z.transpose(1, 2).flatten(2)))
        return self.outputs(x)

    def read(self, pattern, values):
        return pattern @ values

    def outputs(self, x):
        model = self.inner
        return model.unembed(model.ln_final(x))
