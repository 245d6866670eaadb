"""Gradients through modules of others: checkpointed ones, and those that keep some
back.
"""

import threading

import pytest
import torch
import torch.utils.checkpoint
from torch import nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from commands import refusing
from headway.models import tapped
from headway.models.recomputing import kept
from headway.replace.patterns import attention_slopes
from nano import Nano, X

OWN = torch.utils.checkpoint.CheckpointFunction


def squares(outputs, _):
    return outputs.square().sum()


def slopes_of(module):
    """The patterns of a module, and the slopes of its outputs' squares, with zeros in
    layer 0.
    """

    def through(layer, pattern):
        return pattern.tril() if layer == 0 else pattern

    return attention_slopes(tapped(module, X), X, X.shape[1], squares, through)


class Around(nn.Module):
    """The blocks of a small model, each called in some way."""

    def __init__(self, call):
        super().__init__()
        self.inner = Nano("sdpa", "softmax")
        self.call = call

    def forward(self, x):
        for at, block in enumerate(self.inner.blocks):
            x = self.call(at, block, x)
        return x


def plainly(_, block, x):
    return block(x)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpointed_layers_have_the_slopes_of_plain_ones(use_reentrant):
    module = Around(
        lambda _, block, x: checkpoint(block, x, use_reentrant=use_reentrant)
    )
    expected = slopes_of(Around(plainly))
    found = slopes_of(module)
    assert_close(found, expected)
    assert all(found[1].flatten(3).any(-1).any(0).all(1))


def test_checkpoints_in_checkpoints_and_with_a_context_of_their_own():
    def policy(*_, **__):
        return torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE

    def contexts():
        return torch.utils.checkpoint.create_selective_checkpoint_contexts(policy)

    def inside(block, x):
        return checkpoint(block, x, use_reentrant=True)

    def outside(_, block, x):
        return checkpoint(inside, block, x, use_reentrant=False, context_fn=contexts)

    assert_close(slopes_of(Around(outside)), slopes_of(Around(plainly)))


def test_a_checkpoint_is_one_again_when_the_pass_is_done():
    ends = threading.Event()
    begun = threading.Event()

    def inside():
        with kept():
            begun.set()
            ends.wait(60)

    other = threading.Thread(target=inside)
    with kept():
        other.start()
        begun.wait(60)
        assert torch.utils.checkpoint.CheckpointFunction is not OWN
    # The other pass goes on.
    assert torch.utils.checkpoint.CheckpointFunction is not OWN
    ends.set()
    other.join()
    assert torch.utils.checkpoint.CheckpointFunction is OWN
    with pytest.raises(ValueError, match="failed"), kept():
        raise ValueError("failed")
    assert torch.utils.checkpoint.CheckpointFunction is OWN


def test_training_through_a_tapped_module_keeps_its_checkpoints():
    calls = []

    def counted(block, x):
        calls.append(1)
        return block(x)

    def call(_, block, x):
        return checkpoint(counted, block, x, use_reentrant=False)

    model = tapped(Around(call), X)
    calls.clear()
    model(X).sum().backward()
    assert len(calls) == 4  # both layers, forward and again


class Own(torch.autograd.Function):
    """A block with a backward pass of its own, as in reversible models."""

    @staticmethod
    def forward(ctx, block, x):
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        return None, gradient


def without_gradients(at, block, x):
    with torch.set_grad_enabled(at != 0):
        return block(x)


def wholly_without_gradients(_, block, x):
    with torch.no_grad():
        return block(x)


def as_inferred(_, block, x):
    with torch.inference_mode():
        return block(x)


def detached(at, block, x):
    return block(x.detach() if at else x)


def by_data(at, block, x):
    return block(x.data if at else x)


def with_its_own(at, block, x):
    return block(x) if at else Own.apply(block, x)


CUT = {
    without_gradients: "without gradients",
    wholly_without_gradients: "without gradients",
    as_inferred: "without gradients",
    detached: "detached",
    by_data: "detached",
    with_its_own: "a backward pass of its own",
}


@pytest.mark.parametrize("call", CUT, ids=lambda call: call.__name__)
def test_a_layer_whose_gradients_are_kept_back_is_refused_by_name(call):
    with refusing("layer 0 has no gradient", CUT[call]):
        slopes_of(Around(call))


def test_a_gradient_that_fails_is_refused_in_a_line():
    class Fails(Own):
        @staticmethod
        def backward(ctx, gradient):
            raise RuntimeError("no way back")

    def call(at, block, x):
        return Fails.apply(block, x) if at else block(x)

    with refusing("gradients cannot be computed", "no way back"):
        slopes_of(Around(call))


def test_a_layer_that_nothing_depends_on_has_no_slope_and_is_not_refused():
    def call(at, block, x):
        if at == 0:
            return block(x)
        block(x.detach())  # for nothing
        return x

    _, slopes = slopes_of(Around(call))
    assert slopes[:, 0].any()
    assert not slopes[:, 1].any()


def test_what_depends_on_attention_in_steps_is_not_refused():
    def call(at, block, x):
        return (block(x) > 0).float()

    _, slopes = slopes_of(Around(call))
    assert not slopes.any()


@pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable` is deprecated")
def test_gradient_checkpointing_of_transformers_changes_no_slope():
    transformers = pytest.importorskip("transformers")
    sizes = {"n_embd": 16, "n_head": 2, "n_layer": 2, "n_positions": 6, "vocab_size": 7}
    dropouts = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    config = transformers.GPT2Config(
        **sizes, **dropouts, bos_token_id=0, eos_token_id=0
    )
    torch.manual_seed(0)
    module = transformers.GPT2LMHeadModel(
        config
    ).train()  # it has checkpoints in training alone
    tokens = torch.arange(12).reshape(2, 6) % 7

    def slopes():
        return attention_slopes(tapped(module, tokens), tokens, 6, squares)[1]

    expected = slopes()
    for use_reentrant in (True, False):
        how = {"use_reentrant": use_reentrant}
        module.gradient_checkpointing_enable(gradient_checkpointing_kwargs=how)
        assert module.transformer.h[0].gradient_checkpointing
        assert_close(slopes(), expected)
