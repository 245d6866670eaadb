"""A small module of somebody's, with the parts that others put into theirs."""

import torch
from torch import nn

import headway
from sampling import seeded

TASK = headway.tasks.Hops(asked=(1,), n_symbols=4, n_places=24)


class Net(nn.Module):
    """One head that attends to what comes before."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(TASK.vocabulary, 16)
        self.norm = nn.BatchNorm1d(16)
        self.up = nn.Linear(16, 16)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(16, TASK.d_target)

    def forward(self, tokens):
        x = self.norm(self.embed(tokens).mT).mT
        x = x + self.attended(x[:, None])[:, 0]
        return self.head(x + self.drop(self.up(x)))

    def attended(self, x):
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


class Busy(Net):
    """A module that writes to its own state in every pass, also in evaluation."""

    def __init__(self):
        super().__init__()
        # Writes to its weight.
        self.embed = nn.Embedding(TASK.vocabulary, 16, max_norm=0.5)
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("shift", torch.zeros(16), persistent=False)
        self.seen = []
        self.lengths = {}
        self.cache = None
        self.generator = seeded(0)

    def forward(self, tokens):
        self.calls += 1
        self.shift.add_(0.01 * float(self.training))
        if self.cache is None:
            self.cache = self.embed.weight.mean() * torch.ones(tokens.shape[1], 1)
            self.register_buffer("late", torch.ones(3), persistent=False)
        self.seen.append(len(tokens))
        self.lengths[tokens.shape[1]] = self.lengths.get(tokens.shape[1], 0) + 1
        torch.rand(1), torch.rand(1, generator=self.generator)
        return super().forward(tokens) + self.cache.detach()


def compiled_in_parts(model):
    model.up = torch.compile(model.up, backend="eager")
    model.norm.compile(backend="eager")
    return model


def parametrized(model):
    nn.utils.parametrizations.weight_norm(model.up)
    nn.utils.parametrizations.spectral_norm(model.head)
    return model.train()


WRAPPED = {
    "plain": lambda model: model,
    "compiled": lambda model: torch.compile(model, backend="eager"),
    "compiled in parts": compiled_in_parts,
    "replicated": nn.DataParallel,
    "averaged": torch.optim.swa_utils.AveragedModel,
    "parametrized": parametrized,
    "tapped": headway.tapped,
}
"""Ways in which others wrap or change a module."""
