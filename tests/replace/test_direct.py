"""Direct effects of heads and MLPs on a metric."""

import pytest
import torch
from torch import nn

from headway.replace import direct_effects
from small_llama import prompts, small_llama


@pytest.fixture(scope="module")
def llama():
    return small_llama()


@pytest.fixture(scope="module")
def task():
    return prompts()


def differences(model, task, batch):
    """By sequence, the row of the read-out by which the right token beats the wrong."""
    rows = []
    for number in batch.targets[:, 0, 0].tolist():
        (right,), (wrong,) = task.answers[number]
        rows.append(model.lm_head.weight[right] - model.lm_head.weight[wrong])
    return torch.stack(rows)


def caught(model, module, batch, before=True):
    """What a module is called with, or gives, at the last position."""
    seen = []

    def hook(_, given, output=None):
        seen.append(given[0] if before else output)

    register = (
        module.register_forward_pre_hook if before else module.register_forward_hook
    )
    handle = register(hook)
    with torch.no_grad():
        model(batch.inputs)
    handle.remove()
    return seen[0][:, -1]


@torch.no_grad()
def test_heads_mlps_and_embeddings_add_up_to_the_logit_difference(llama, task):
    batch = task.sample(12, torch.Generator().manual_seed(0))
    direct = direct_effects(llama, task, batch)
    by_part = {effect.part: effect.mean for effect in direct.effects}
    assert len(by_part) == 2 * 4 + 2
    norm = llama.model.norm
    last = caught(llama, norm, batch)
    scale = (last.square().mean(1, keepdim=True) + norm.variance_epsilon).rsqrt()
    read = differences(llama, task, batch) * norm.weight * scale
    logits = llama(batch.inputs).logits[:, -1:]
    own = task.targets.values(logits, batch.targets).mean().item()
    assert direct.whole == pytest.approx(own, abs=1e-5)
    embedded = caught(llama, llama.model.layers[0], batch)
    of_embeddings = (read * embedded).sum(1).mean().item()
    assert direct.rest == pytest.approx(of_embeddings, abs=1e-4)
    for number, layer in enumerate(llama.model.layers):
        given = caught(llama, layer.mlp, batch, before=False)
        expected = (read * given).sum(1).mean().item()
        assert by_part[f"L{number}.mlp"] == pytest.approx(expected, abs=1e-4)
        joined = caught(llama, layer.self_attn.o_proj, batch)
        for head, weight in enumerate(layer.self_attn.o_proj.weight.split(4, 1)):
            brought = joined[:, 4 * head : 4 * head + 4] @ weight.T
            expected = (read * brought).sum(1).mean().item()
            assert by_part[f"L{number}.H{head}"] == pytest.approx(expected, abs=1e-4)


def test_the_largest_effect_stands_first_and_the_table_adds_up(llama, task):
    batch = task.sample(12, torch.Generator().manual_seed(0))
    direct = direct_effects(llama, task, batch)
    sizes = [abs(effect.mean) for effect in direct.effects]
    assert sizes == sorted(sizes, reverse=True)
    for effect in direct.effects:
        low, high = effect.interval
        assert low <= effect.mean <= high
    total = sum(effect.mean for effect in direct.effects) + direct.rest
    assert total == pytest.approx(direct.whole, abs=1e-5)
    assert "logit difference" in str(direct)
    assert str(direct).splitlines()[-1].split()[0] == "all"
    assert all(weight.grad is None for weight in llama.parameters())


class Norms(nn.Module):
    """A language model with layer norms of PyTorch."""

    def __init__(self, vocabulary):
        super().__init__()
        torch.manual_seed(1)
        self.embed = nn.Embedding(vocabulary, 8)
        self.before = nn.LayerNorm(8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, bias=False)
        self.norm = nn.LayerNorm(8)
        self.read = nn.Linear(8, vocabulary, bias=False)

    def forward(self, tokens):
        stream = self.embed(tokens)
        normed = self.before(stream)
        n = tokens.shape[1]
        ahead = torch.ones(n, n).triu(1).bool()
        brought, _ = self.attention(normed, normed, normed, attn_mask=ahead)
        return self.read(self.norm(stream + brought))


@torch.no_grad()
def test_scales_of_layer_norms_are_held_fixed(task):
    model = Norms(task.vocabulary).eval()
    batch = task.sample(8, torch.Generator().manual_seed(0))
    direct = direct_effects(model, task, batch)
    stream = caught(model, model.norm, batch)
    embedded = caught(model, model.before, batch)
    scale = (stream.var(1, correction=0, keepdim=True) + 1e-5).rsqrt()
    rows = []
    for number in batch.targets[:, 0, 0].tolist():
        (right,), (wrong,) = task.answers[number]
        rows.append(model.read.weight[right] - model.read.weight[wrong])
    centred = embedded - embedded.mean(1, keepdim=True)
    read = torch.stack(rows) * scale
    own = (read * centred).sum(1).mean().item()
    assert direct.rest == pytest.approx(own, abs=1e-4)
