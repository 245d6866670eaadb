"""Weights that are trained, weights that stay, and gradient descent on tokens."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from headway.errors import HeadwayError
from headway.models import Transformer, TransformerConfig
from headway.tasks import IGNORE_INDEX, Hops
from headway.training import Run, RunConfig, Stream, TrainingConfig, resume, train
from headway_experiments.talk.induction import moves
from headway_experiments.trained import Trained

SGD = TrainingConfig(
    steps=6,
    batch_size=8,
    train_examples=None,
    optimizer="sgd",
    learning_rate=0.5,
    momentum=0.9,
    weight_decay=0.0,
    eval_every=2,
    eval_examples=8,
    checkpoint_every=1,
    save_every=2,
)


def tokens(weights: str | None = None, every: int = 200, **training) -> RunConfig:
    if weights is not None:
        training["curriculum"] = Trained(weights, every)
    return RunConfig(
        task=Hops(asked=(1, 2), n_places=8),
        model=TransformerConfig(2, 16, 1, d_mlp=8, norm="none", init="associative"),
        training=replace(SGD, **training),
        seed=3,
    )


def moved(run: Run, first: int, last: int) -> set[str]:
    """The weights, by TransformerLens' names, that are not the same at two steps."""
    before = by_name(run.model(first))
    after = by_name(run.model(last))
    return {name for name in before if not torch.equal(before[name], after[name])}


def by_name(model) -> dict[str, torch.Tensor]:
    """Weights by TransformerLens' names; biases by their own."""
    weights = model.state_dict()
    for own, name in (("embed", "W_E"), ("pos_embed", "W_pos"), ("unembed", "W_U")):
        weights[name] = weights.pop(f"{own}.weight")
    ends = {"attn.out": "W_O", "mlp.up": "W_in", "mlp.down": "W_out"}
    for layer in range(2):
        block = f"blocks.{layer}"
        parts = weights.pop(f"{block}.attn.qkv.weight").chunk(3)
        for name, part in zip("QKV", parts, strict=True):
            weights[f"W_{name}.{layer}"] = part
        for own, name in ends.items():
            weights[f"{name}.{layer}"] = weights.pop(f"{block}.{own}.weight")
    return weights


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_only_what_is_named_is_trained(tmp_path, optimizer):
    config = tokens(weights="W_O.1 W_U", optimizer=optimizer, learning_rate=0.1)
    assert moved(train(config, tmp_path / "run"), 0, 6) == {"W_O.1", "W_U"}


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_stages_come_one_after_the_other(tmp_path, optimizer):
    config = tokens(
        weights="W_O.1 > W_K.1 W_V.1 > W_out",
        every=2,
        optimizer=optimizer,
        momentum=0.9,
    )
    run = train(config, tmp_path / "run")
    assert moved(run, 0, 2) == {"W_O.1"}
    assert moved(run, 2, 4) == {"W_K.1", "W_V.1"}
    assert moved(run, 4, 6) == {"W_out.0", "W_out.1"}


def test_a_stage_may_have_rates_of_its_own(tmp_path):
    plain = tokens(weights="W_U > W_E", every=1, steps=2, momentum=0.0)
    scaled = tokens(weights="W_U > 3 W_E", every=1, steps=2, momentum=0.0)

    def step_of(name, config):
        """How the second step moves an embedding."""
        run = train(config, tmp_path / name)
        return run.model(2).embed.weight - run.model(1).embed.weight

    threefold = 3 * step_of("plain", plain)
    assert_close(step_of("scaled", scaled), threefold, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_stages_resume_as_if_nothing_had_happened(tmp_path, momentum):
    def stop(_: Run, step: int, *__: object) -> None:
        if step == 5:
            raise KeyboardInterrupt

    config = tokens(weights="W_O.1 > W_K.1 > W_out", every=2, momentum=momentum)
    whole = train(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "cut", watch=stop)
    again = resume(tmp_path / "cut")
    for name, weight in whole.model().state_dict().items():
        assert torch.equal(weight, again.model().state_dict()[name]), name


def test_descent_is_that_of_torch(tmp_path):
    config = tokens(weights="W_U", steps=1, momentum=0.0)
    run = train(config, tmp_path / "run")
    _, batch = Stream(config).asked(1)
    model = run.new_model()
    is_asked = batch.targets != IGNORE_INDEX
    by_query = model(batch.inputs)[:, :, None]
    logits = by_query.expand(*batch.targets.shape, -1)
    F.cross_entropy(logits[is_asked], batch.targets[is_asked]).backward()
    weight = model.unembed.weight
    expected = weight - 0.5 * weight.grad
    assert_close(run.model().unembed.weight, expected, atol=1e-6, rtol=1e-5)


def test_linear_attention_takes_the_scores_for_the_pattern():
    config = TransformerConfig(
        1, 8, 1, d_mlp=0, attention="linear", norm="none", init="fan_in"
    )
    model = Transformer(config, 2, 5, 4, 4, vocabulary=5)
    inputs = torch.tensor([[0, 3, 1, 2]])
    x = model.embedded(inputs)
    attn = model.layers[0].attn
    q, k, v = attn.qkv(x).chunk(3, dim=-1)
    scores = (q @ k.mT / 8**0.5).tril()
    expected = model.unembed(x + attn.out(scores @ v))
    assert_close(model(inputs), expected, atol=1e-6, rtol=1e-5)


def test_memories_start_from_nothing():
    config = TransformerConfig(
        2, 16, 1, norm="none", init="associative", positions="none"
    )
    model = Transformer(config, 2, 7, 4, 4, vocabulary=7)
    alike = model.embedded(torch.zeros(1, 4).long())
    assert alike.std(1).max() == 0  # places do not count
    for layer, block in enumerate(model.layers):
        query, key, value = block.attn.qkv.weight.chunk(3)
        assert torch.equal(query, torch.eye(16))
        assert not key.any()
        assert torch.allclose(value @ value.T, torch.eye(16), atol=1e-5)
        assert bool(block.attn.out.weight.any()) == (layer == 0)
        assert block.mlp is not None
        assert not block.mlp.down.weight.any()


def test_embeddings_can_be_orthonormal():
    config = TransformerConfig(2, 22, 1, d_mlp=0, norm="none", init="orthonormal")
    model = Transformer(config, 2, 7, 4, 4, vocabulary=7)
    embedded = torch.cat([model.embed.weight, model.pos_embed.weight])
    moved_on = embedded @ moves(model, 0).T
    for vectors in (torch.cat([embedded, moved_on]), model.unembed.weight):
        products = vectors @ vectors.T
        assert_close(products, torch.eye(len(vectors)), atol=1e-5, rtol=1e-5)
    assert not model.layers[1].attn.out.weight.any()


@pytest.mark.parametrize(
    ("d_model", "d_head", "vocabulary"), [(22, 8, 7), (21, None, 7), (22, None, None)]
)
def test_what_has_no_room_for_orthonormal_embeddings_is_refused(
    d_model, d_head, vocabulary
):
    shape = {"d_head": d_head, "d_mlp": 0, "norm": "none", "init": "orthonormal"}
    config = TransformerConfig(2, d_model, 1, **shape)
    with pytest.raises(HeadwayError, match=r"model.init = 'orthonormal' .* for tokens"):
        Transformer(config, 7, 7, 4, 4, vocabulary=vocabulary)


def test_a_weight_that_the_model_lacks_is_told(tmp_path):
    with pytest.raises(HeadwayError, match=r"W_K\.7.*a weight that the model has"):
        train(tokens(weights="W_K.7"), tmp_path / "run")
