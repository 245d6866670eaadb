"""Measures of in-context bigrams, on short runs."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from headway.models import Transformer, TransformerConfig
from headway.relations.paths import AttentionPath
from headway.tasks import IGNORE_INDEX
from headway.training import train
from headway.training.losses import predictions
from headway_experiments.reading import by_run
from headway_experiments.talk import induction, noise
from headway_experiments.talk.induction import (
    OUTPUT,
    PREVIOUS,
    PROBES,
    TRIGGER,
    chances,
    recalled,
    settled,
)
from headway_experiments.tasks import Bigrams
from sampling import seeded


def short(config, **training):
    fields = {"steps": 12, "cooldown_steps": 0, "eval_every": 6, "checkpoint_every": 6}
    shortened = replace(config.training, **fields | training)
    return replace(config, training=shortened)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    config = short(noise.noisy("smoke")["seed=0"])
    folder = tmp_path_factory.mktemp("runs")
    return train(config, folder / "noisy")


@pytest.fixture(scope="module")
def joint(tmp_path_factory):
    whole = induction.simple(induction.JOINT, "smoke")["seed=0"]
    config = short(whole, steps=60, checkpoint_every=4)
    folder = tmp_path_factory.mktemp("runs")
    return train(config, folder / "joint")


def left_of_the_margins(task, model, inputs, wanted):
    """Margins when the last layer adds nothing, at the norm's scale of before."""
    first, last = model.streams(inputs, lambda _, pattern: pattern)
    scale = last.var(-1, correction=0, keepdim=True).add(1e-5).sqrt()
    centred = (first - first.mean(-1, keepdim=True)) / scale
    rows = model.unembed.weight
    towards = rows[task.noise_token] - rows[wanted]
    return (centred * towards).sum(-1)


def test_margins_add_up_to_the_logits(noisy):
    task = noisy.task
    model = noisy.model()
    batch = induction.unseen(noisy)
    targets = batch.targets[..., task.hops.index("in-context")]
    asked = targets != IGNORE_INDEX
    wanted = targets.clamp(min=0)
    logits = predictions(model, batch)
    of_wanted = logits.gather(-1, wanted[..., None])[..., 0]
    margins = logits[..., task.noise_token] - of_wanted
    expected = margins[asked].mean().item()
    mlp, attention = noise.margins(model, task, batch)
    rest = left_of_the_margins(task, model, batch.inputs, wanted)[asked].mean().item()
    assert mlp + attention + rest == pytest.approx(expected, abs=1e-4)


def test_an_mlp_of_zeros_has_no_margin(noisy):
    model = noisy.model()
    block = model.layers[-1]
    assert block.mlp is not None
    block.mlp.down.weight.zero_()
    none, _ = noise.margins(model, noisy.task, induction.unseen(noisy))
    assert none == pytest.approx(0, abs=1e-6)


def test_an_interval_of_equal_gains_is_one_number():
    asked = torch.full((400,), 2.0).double()
    half = torch.arange(400).remainder(2).double()
    intact = noise.Said(half, asked - half, asked)
    better = noise.Said(half + 1, asked - half - 1, asked)
    assert noise.gain_interval(better, intact) == pytest.approx((0.5, 0.5))


@pytest.fixture(scope="module")
def fractions(noisy):
    return noise.by_fraction(noisy)


def test_a_fraction_of_nothing_is_a_model_without_its_last_mlp(noisy, fractions):
    found = fractions
    model = noisy.model()
    batch = induction.unseen(noisy)
    intact = noise.said(model, noisy.task, batch)
    assert torch.equal(found[1.0].outputs, intact.outputs)
    assert torch.equal(found[1.0].noises, intact.noises)
    mlp = model.layers[-1].mlp
    assert mlp is not None
    mlp.up.weight.zero_()
    mlp.down.weight.zero_()
    without = noise.said(model, noisy.task, batch)
    assert torch.equal(found[0.0].outputs, without.outputs)
    assert torch.equal(found[0.0].asked, intact.asked)
    for said in found.values():
        assert 0 <= said.output + said.noise <= 1


def test_the_interval_of_a_gain_is_that_of_its_sequences():
    asked = torch.full((400,), 2.0).double()
    half = torch.arange(400).remainder(2).double()
    intact = noise.Said(half, asked - half, asked)
    best = noise.Said(asked, 0 * asked, asked)
    low, high = noise.gain_interval(best, intact)
    assert low < 0.75 < high
    # 0.5 - half/2 by sequence: a standard deviation of 0.25, 1.96 of it over sqrt(400)
    # each way.
    assert high - low == pytest.approx(2 * 1.96 * 0.25 / 20, rel=0.15)


def test_noise_is_measured_of_every_run(noisy, fractions):
    measured = by_run({"seed=0": noisy}, noise.learning)
    gain = fractions[0.1].output - fractions[1.0].output
    assert measured["noisy_gain_0.1"] == {"seed=0": gain}
    one = "seed=0 fraction=0.1"
    assert measured["noisy_gain_low"][one] <= gain <= measured["noisy_gain_high"][one]
    steps, mlp, attention = noise.histories(noisy)
    assert steps == [0, 6, 12]
    assert len(mlp) == 3
    assert len(attention) == 3


@pytest.mark.parametrize(
    ("mlp", "attention", "expected"),
    [
        ([0.0, 3.0, 4.0], [0.0, 0.0, -4.0], 1.0),
        ([0.0, 0.0, 4.0], [0.0, -3.0, -4.0], 0.0),  # attention is first
        ([0.0, 2.0, -3.0], [0.0, 0.0, -4.0], 0.0),  # the MLP does not keep the noise
        ([0.0, 3.0, 4.0], [0.0, 1.0, 2.0], 0.0),  # attention never learns the output
        ([0.0, 0.0, 0.0], [0.0, 0.0, -4.0], 0.0),
    ],
)
def test_the_mlp_is_first_if_it_learns_and_keeps_the_noise(
    noisy, fractions, monkeypatch, mlp, attention, expected
):
    monkeypatch.setattr(noise, "histories", lambda _: ([0, 10, 20], mlp, attention))
    monkeypatch.setattr(noise, "by_fraction", lambda _: fractions)
    measured = by_run({"seed=0": noisy}, noise.learning)
    assert measured["noisy_mlp_first"] == {"seed=0": expected}


@pytest.mark.parametrize(
    ("learnt", "expected"),
    [
        ((10, 20, 30), 1.0),
        ((20, 10, 30), 0.0),
        ((10, 20, None), 0.0),  # one is never learnt
    ],
)
def test_the_order_counts_if_all_three_are_learnt(joint, monkeypatch, learnt, expected):
    steps = [0, 10, 20, 30]
    curves = {
        name: [float(at is not None and step >= at) for step in steps]
        for name, at in zip(PROBES, learnt, strict=True)
    }
    monkeypatch.setattr(induction, "histories", lambda _: (steps, curves))
    monkeypatch.setattr(induction, "halfway", lambda *_: 0.5)
    found = induction.measured({}, {}, {"seed=0": joint}, {})
    assert found["induction_order"] == {"seed=0": expected}


@pytest.mark.parametrize(
    ("paths", "faithful", "expected"),
    [
        ([(0, induction.PREVIOUS_TOKEN), (1, induction.ALL)], True, True),
        ([(0, induction.PREVIOUS_TOKEN), (1, induction.LATEST)], True, True),
        ([(0, induction.PREVIOUS_TOKEN), (1, induction.ALL)], False, False),
        ([(1, induction.PREVIOUS_TOKEN), (1, induction.ALL)], True, False),
        ([(0, induction.PREVIOUS_TOKEN)], True, False),
    ],
)
def test_an_induction_head_is_one_of_a_circuit_that_explains(
    monkeypatch, paths, faithful, expected
):
    paths = [AttentionPath.of(layer, 0, relation) for layer, relation in paths]
    found = SimpleNamespace(circuit=SimpleNamespace(paths=paths), faithful=faithful)
    monkeypatch.setattr(induction, "saved_discovery", lambda _: found)
    assert induction.has_induction_head(None) is expected


def test_the_memories_of_an_induction_head_are_learnt_in_order(joint):
    measured = induction.measured({}, {}, {"seed=0": joint}, {})
    assert measured["induction_order"] == {"seed=0": 1.0}
    assert measured["induction_recall_W_OV.1"]["seed=0"] == 1.0
    dates = [measured[f"induction_date_{name}"]["seed=0"] for name in PROBES]
    assert dates == sorted(dates)
    assert measured["induction_two_layers"] == {}
    assert measured["induction_joint_gain"] == {}


def test_three_steps_change_one_weight_each(tmp_path):
    config = induction.three_steps("smoke")["seed=0"]
    run = train(
        replace(config, training=replace(config.training, batch_size=64)),
        tmp_path / "run",
    )
    models = [run.model(step) for step in range(4)]
    d = config.model.d_model
    for step, (layer, weight) in enumerate(
        [(1, "out"), (1, "key"), (0, "key")], start=1
    ):
        for other in range(4):
            attention = models[other].layers[layer].attn
            value = (
                attention.out.weight
                if weight == "out"
                else attention.qkv.weight[d : 2 * d]
            )
            assert bool(value.any()) == (other >= step)
    measured = by_run({"seed=0": run}, induction.probes)
    for values in measured.values():
        assert 0 <= values["seed=0"] <= 1


D = 96
TASK = Bigrams(length=24, n_tokens=20, n_triggers=3, asked_at="in-context")


def simple(task, seed=0):
    config = TransformerConfig(
        n_layers=2, d_model=D, n_heads=1, d_mlp=0, norm="none", init="associative"
    )
    model = Transformer(
        config, 1, task.d_target, task.length, task.n_read, seed, task.vocabulary
    )
    return model.requires_grad_(False)


def planted(task, sharpness=400.0):
    """An induction head written by hand, each of its memories a sum of outer
    products.
    """
    model = simple(task)
    drawn = torch.randn(D, D, generator=seeded(1))
    vectors, _ = torch.linalg.qr(drawn)
    tokens = vectors[:20]
    places = vectors[20 : 20 + task.length]
    told = vectors[44:64]
    model.embed.weight.copy_(tokens)
    model.pos_embed.weight.copy_(places)
    model.unembed.weight.copy_(vectors[64:84])
    first, second = (block.attn for block in model.layers)
    values = {first: told.T @ tokens, second: torch.eye(D)}
    for attention, value in values.items():
        attention.qkv.weight[2 * D :] = value
        attention.out.weight.copy_(torch.eye(D))
    first.qkv.weight[D : 2 * D] = sharpness * places[1:].T @ places[:-1]
    triggers = task.frequent()
    second.qkv.weight[D : 2 * D] = sharpness * tokens[triggers].T @ told[triggers]
    second.out.weight.copy_(10 * model.unembed.weight.T @ tokens)
    return model


@pytest.mark.parametrize("name", PROBES)
def test_an_induction_head_written_by_hand_recalls_everything(name):
    probe = PROBES[name]
    assert probe(planted(TASK), TASK) == 1


def test_an_induction_head_written_by_hand_works():
    model = planted(TASK)
    batch = TASK.sample(64, seeded(0))
    # The first position sees itself alone, and takes its own token for the one before
    # it.
    usual = ~torch.isin(batch.inputs[:, 0], TASK.frequent())
    wanted = batch.targets[usual, :, 0]
    told = model(batch.inputs)[usual].argmax(-1)
    asked = wanted != IGNORE_INDEX
    assert asked.sum() > 100
    assert told.eq(wanted)[asked].all()


def with_random_attention(task, seed):
    """A model whose keys and outputs are drawn."""
    model = simple(task, seed)
    generator = seeded(seed)
    for block in model.layers:
        block.attn.qkv.weight[D : 2 * D].normal_(generator=generator)
        block.attn.out.weight.normal_(generator=generator)
    return model


@pytest.mark.parametrize("name", [OUTPUT, TRIGGER, PREVIOUS])
def test_a_probe_tells_of_one_memory_alone(name):
    task = TASK
    model = planted(TASK)
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
    recalled_by = {name: [] for name in PROBES}
    for seed in range(80):
        model = with_random_attention(task, seed)
        for name, probe in PROBES.items():
            recalled_by[name].append(probe(model, task))
    for name, expected in chances(task).items():
        shares = torch.tensor(recalled_by[name])
        standard_error = shares.std() / len(shares) ** 0.5
        assert abs(shares.mean() - expected) < 5 * standard_error


def test_the_share_recalled_counts_rows():
    scores = torch.tensor([[1.0, 0.0], [3.0, 2.0]])
    assert recalled(scores, torch.tensor([0, 1])) == 0.5


def test_a_curve_settles_where_it_rises_for_good():
    steps = [0, 1, 2, 3, 4]
    assert settled(steps, [0, 0.9, 0.2, 0.6, 1.0], 0.5) == pytest.approx(2.75)
    assert settled(steps, [0.0, 0.0, 0.0, 0.0, 1.0], 0.25) == pytest.approx(3.25)
    assert settled(steps, [1.0, 1.0, 1.0, 1.0, 1.0], 0.5) == 0
    assert settled(steps, [1.0, 1.0, 1.0, 1.0, 0.4], 0.5) is None
