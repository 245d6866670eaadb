"""Attribution against published code, and the papers' formulas, on one model."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headway.models import Transformer, TransformerConfig, tapped
from headway.tasks import Retrieval
from headway_experiments.arena.case import Known
from headway_experiments.arena.gentle import FrozenNorms, Tempered, halved
from headway_experiments.arena.methods import METHODS
from headway_experiments.arena.subject import Subject
from sampling import seeded


class Small(nn.Module):
    """Two layers with LayerNorms, whose attention torch computes."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norms = nn.ModuleList(nn.LayerNorm(8) for _ in range(2))
        self.maps = nn.ModuleList(nn.Linear(8, 24) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for norm, linear in zip(self.norms, self.maps, strict=True):
            by_head = linear(norm(x)).unflatten(-1, (3, 2, 4))
            q, k, v = by_head.permute(2, 0, 3, 1, 4)
            brought = F.scaled_dot_product_attention(q, k, v)
            x = x + brought.transpose(1, 2).flatten(2)
        return x


def test_gradients_of_gim_are_those_of_its_own_library(monkeypatch):
    gim = pytest.importorskip(
        "gim", reason="needs gim-explain, which only this test reads"
    )
    model = Small()
    x = torch.randn(3, 5, 8, generator=seeded(1))

    def attend(q, k, v):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        return F.softmax(scores, dim=-1) @ v

    monkeypatch.setattr(F, "scaled_dot_product_attention", attend)
    theirs = x.clone().requires_grad_()
    ours = x.clone().requires_grad_()
    plain = x.clone().requires_grad_()
    with gim.GIM(model):
        said = model(theirs)
    said[:, -1].square().sum().backward()
    monkeypatch.undo()

    def read(at):
        return at.product(at.pattern, halved(at.values))

    with FrozenNorms():
        own = tapped(model, x)(ours, lambda _, pattern: Tempered.apply(pattern), read)
    own[:, -1].square().sum().backward()
    model(plain)[:, -1].square().sum().backward()
    assert torch.allclose(own, said, atol=1e-6)
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-5)
    assert not torch.allclose(ours.grad, plain.grad, atol=1e-2)


def subject() -> Subject:
    task = Retrieval(depth=1)
    config = TransformerConfig(n_layers=2, d_model=16, init="orthogonal")
    model = Transformer(config, task.d_input, task.d_target, task.length, task.n_chains)
    return Subject(Known(model, task, frozenset()), 8)


def carried(
    one: Subject, inputs: torch.Tensor
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Patterns and values by layer, under the names of TransformerLens."""
    _, cache = one.model.run_with_cache(inputs)
    return [(cache["pattern", at], cache["v", at].transpose(1, 2)) for at in range(2)]


def by_formula(one: Subject, method: str, share: float) -> torch.Tensor:
    """What a paper's formula gives an edge of positions, [sequence, layer, head, query,
    key], with all attention scaled to a share; signed."""
    seen: dict[str, torch.Tensor] = {}

    def see(value, point):
        seen[point.name.removesuffix(".hook_z")] = value
        return value * share if point.name.endswith("pattern") else value

    hooks = [(lambda name: name.startswith("blocks"), see)]
    said = one.model.run_with_hooks(one.batch.inputs, hooks)
    read = [seen[f"blocks.{at}.attn"] for at in range(2)]
    slopes = torch.autograd.grad(one.margin(said), read)
    rows = []
    corrupted = carried(one, one.batch.inputs.roll(1, 0))
    for at, (slope, other) in enumerate(zip(slopes, corrupted, strict=True)):
        own = seen[f"blocks.{at}.attn.hook_pattern"]
        own_values = seen[f"blocks.{at}.attn.hook_v"].transpose(1, 2)
        other_pattern, other_values = other
        by_head = slope.transpose(1, 2)
        now = by_head @ own_values.mT
        then = by_head @ other_values.mT
        match method:
            case "PEAP":
                rows.append((own * (then - now)).abs())
            case "EAP corrupted":
                rows.append(other_pattern * then - own * now)
            case _:
                rows.append(own * now)
    return torch.stack(rows, 1).detach()


@pytest.mark.parametrize("method", ["EAP", "EAP corrupted", "EAP-IG", "PEAP"])
def test_scores_are_those_of_the_papers_formula(method):
    one = subject()
    shares = [0.2, 0.4, 0.6, 0.8, 1.0] if method == "EAP-IG" else [1.0]
    by_share = [by_formula(one, method, share) for share in shares]
    wanted = one.along(torch.stack(by_share).mean(0))
    found = METHODS[method](one).paths
    assert max(abs(value) for value in wanted.values()) > 1e-2
    for path in one.paths:
        assert found[path] == pytest.approx(abs(wanted[path]), abs=1e-5)


def test_what_is_cut_is_as_in_the_corrupted_sequence():
    one = subject()
    with torch.no_grad():
        swapped = one.outputs(lambda at: torch.zeros(1, 1, 1, 1), instead="message")
        same = one.outputs(lambda at: torch.ones(1, 1, 1, 1), instead="message")
        own = carried(one, one.batch.inputs.roll(1, 0))

        def carry(at):
            pattern, values = own[at.layer]
            return at.product(pattern[..., -at.pattern.shape[-2] :, :], values)

        watched = tapped(one.model, one.batch.inputs[:2])
        by_hand = watched(one.batch.inputs, lambda _, pattern: pattern, carry)
        intact = one.outputs()
    assert torch.allclose(swapped, by_hand, atol=1e-5)
    assert torch.allclose(same, intact, atol=1e-5)
    assert not torch.allclose(swapped, intact, atol=1e-2)
