import pytest
import torch

from headway.models import Transformer, TransformerConfig
from headway.tasks import IGNORE_INDEX
from headway_experiments.talk.measures.bigrams import settled
from headway_experiments.talk.measures.probes import (
    OUTPUT,
    PREVIOUS,
    PROBES,
    TRIGGER,
    chances,
    recalled,
)
from headway_experiments.tasks import Bigrams

D = 96
TASK = Bigrams(length=24, n_tokens=20, n_triggers=3, asked_at="in-context")


def simple(task, seed=0):
    config = TransformerConfig(
        n_layers=2, d_model=D, n_heads=1, d_mlp=0, norm="none", init="associative"
    )
    model = Transformer(config, 1, task.d_target, task.length, task.n_read, seed, task.vocabulary)
    return model.requires_grad_(False)


def planted(task, sharpness=400.0):
    """An induction head written by hand, each of its memories a sum of outer products."""
    model = simple(task)
    vectors = torch.linalg.qr(torch.randn(D, D, generator=torch.Generator().manual_seed(1)))[0]
    tokens, places = vectors[:20], vectors[20 : 20 + task.length]
    told = vectors[44:64]
    model.embed.weight.copy_(tokens)
    model.pos_embed.weight.copy_(places)
    model.unembed.weight.copy_(vectors[64:84])
    first, second = (block.attn for block in model.layers)
    for attention, value in ((first, told.T @ tokens), (second, torch.eye(D))):
        attention.qkv.weight[2 * D :] = value
        attention.out.weight.copy_(torch.eye(D))
    first.qkv.weight[D : 2 * D] = sharpness * places[1:].T @ places[:-1]
    triggers = task.frequent()
    second.qkv.weight[D : 2 * D] = sharpness * tokens[triggers].T @ told[triggers]
    second.out.weight.copy_(10 * model.unembed.weight.T @ tokens)
    return model


def test_an_induction_head_written_by_hand_recalls_everything_and_works():
    task, model = TASK, planted(TASK)
    assert {name: probe(model, task) for name, probe in PROBES.items()} == dict.fromkeys(PROBES, 1)
    batch = task.sample(64, torch.Generator().manual_seed(0))
    # The first position sees itself alone, and takes its own token for the one before it.
    usual = ~torch.isin(batch.inputs[:, 0], task.frequent())
    wanted, told = batch.targets[usual, :, 0], model(batch.inputs)[usual].argmax(-1)
    assert (wanted != IGNORE_INDEX).sum() > 100
    assert told.eq(wanted)[wanted != IGNORE_INDEX].all()


@pytest.mark.parametrize("name", [OUTPUT, TRIGGER, PREVIOUS])
def test_a_probe_tells_of_one_memory_alone(name):
    task, model = TASK, planted(TASK)
    first, second = (block.attn for block in model.layers)
    weights = {
        OUTPUT: second.out.weight,
        TRIGGER: second.qkv.weight[D : 2 * D],
        PREVIOUS: first.qkv.weight[D : 2 * D],
    }
    weights[name].neg_()
    for other, probe in PROBES.items():
        assert (probe(model, task) == 1) == (other != name)


def test_random_weights_recall_by_chance():
    task = Bigrams(length=12, n_tokens=12, n_triggers=3)
    found = {name: [] for name in PROBES}
    for seed in range(80):
        model = simple(task, seed)
        generator = torch.Generator().manual_seed(seed)
        for block in model.layers:
            for weight in (block.attn.qkv.weight[D : 2 * D], block.attn.out.weight):
                weight.normal_(generator=generator)
        for name, probe in PROBES.items():
            found[name].append(probe(model, task))
    for name, expected in chances(task).items():
        values = torch.tensor(found[name])
        assert abs(values.mean() - expected) < 5 * values.std() / len(values) ** 0.5


def test_the_share_recalled_counts_rows():
    scores = torch.tensor([[1.0, 0.0], [3.0, 2.0]])
    assert recalled(scores, torch.tensor([0, 1])) == 0.5


def test_a_curve_settles_where_it_rises_for_good():
    steps = [0, 1, 2, 3, 4]
    assert settled(steps, [0, 0.9, 0.2, 0.6, 1.0], 0.5) == pytest.approx(2.75)
    assert settled(steps, [0.0, 0.0, 0.0, 0.0, 1.0], 0.25) == pytest.approx(3.25)
    assert settled(steps, [1.0, 1.0, 1.0, 1.0, 1.0], 0.5) == 0
    assert settled(steps, [1.0, 1.0, 1.0, 1.0, 0.4], 0.5) is None
