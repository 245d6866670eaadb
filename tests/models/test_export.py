import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.models.export import to_transformer_lens
from random_models import D_INPUT, LENGTH, build, configs, quick, random_inputs, seeds

close = {"rtol": 0.0, "atol": 1e-5}


def test_without_transformer_lens_one_line_says_what_to_install(monkeypatch):
    for name in [
        name for name in sys.modules if name.split(".")[0] == "transformer_lens"
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "transformer_lens", None)
    advised = r"^[^\n]*pip install 'headway-interp\[lens\]'$"
    with pytest.raises(HeadwayError, match=advised):
        to_transformer_lens(build(TransformerConfig(n_layers=1, d_model=8)))


@pytest.mark.lens
@given(config=configs(), seed=seeds, tokens=st.booleans())
@quick
def test_a_cache_holds_what_that_of_transformer_lens_holds(config, seed, tokens):
    model = build(config, seed, tokens)
    inputs = random_inputs(seed, tokens=tokens)
    outputs, ours = model.run_with_cache(inputs)
    lens = to_transformer_lens(model)
    theirs_outputs, theirs = lens.run_with_cache(inputs)
    assert_close(outputs, theirs_outputs, **close)
    assert_close(lens(inputs), theirs_outputs)
    assert len(ours) > 10 * config.n_layers
    for name, value in ours.items():
        expected = theirs[name]
        if (
            name.endswith("attn_scores") and config.causal
        ):  # hidden: -inf, there the least float
            assert torch.equal(value.isinf(), expected < -1e30)
            value, expected = (
                x.masked_fill(value.isinf(), 0.0) for x in (value, expected)
            )
        assert_close(value, expected, **close, msg=lambda why, name=name: name + why)
    for key in (
        ("pattern", -1),
        ("resid_post", 0),
        ("normalized", 0, "ln1"),
        ("z", -1),
    ):
        assert_close(ours[key], theirs[key], **close)


@pytest.mark.lens
@pytest.mark.parametrize("tokens", [True, False])
def test_the_same_hooks_do_the_same(tokens):
    model = build(TransformerConfig(n_layers=2, d_model=8, n_heads=2), tokens=tokens)
    inputs = random_inputs(tokens=tokens)
    lens = to_transformer_lens(model)

    def cut(z, hook):
        z = z.clone()
        z[:, :, 1] = 0.0
        return z

    def shift(value, hook):
        return (
            value + 1.0
            if hook.name.endswith(("resid_mid", "k", "normalized"))
            else value
        )

    names = ("hook_embed", "attn.hook_k", "hook_resid_mid")
    hooks = [("blocks.1.attn.hook_z", cut), ("hook_embed", lambda x, hook: x * 2.0)]
    hooks += [(f"blocks.0.{name}", shift) for name in names[1:]]
    said = model.run_with_hooks(inputs, fwd_hooks=hooks)
    assert_close(said, lens.run_with_hooks(inputs, fwd_hooks=hooks), **close)
    assert not torch.allclose(said, model(inputs), atol=1e-3)


@pytest.mark.lens
def test_an_export_that_computes_something_else_is_not_handed_over(monkeypatch):
    monkeypatch.setattr(
        "headway.models.export.Scale", lambda factor: torch.nn.Identity()
    )
    model = build(TransformerConfig(n_layers=2, d_model=12))
    with pytest.raises(HeadwayError, match="computes something else"):
        to_transformer_lens(model)


@pytest.mark.lens
@pytest.mark.parametrize("d_mlp", [0, 8])
def test_compatibility_mode_leaves_the_outputs_alone_or_is_refused(d_mlp):
    model = build(TransformerConfig(n_layers=2, d_model=8, d_mlp=d_mlp))
    inputs = random_inputs()
    lens = to_transformer_lens(model)
    lens.enable_compatibility_mode(no_processing=True)
    assert_close(lens(inputs), model(inputs), **close)
    lens = to_transformer_lens(model)
    with pytest.raises(HeadwayError, match="no_processing=True"):
        lens.enable_compatibility_mode()
    assert_close(lens(inputs), model(inputs), **close)


@pytest.mark.lens
@pytest.mark.parametrize(
    "wrong",
    [
        torch.ones(2, LENGTH, dtype=torch.long),
        torch.ones(2, LENGTH, D_INPUT, dtype=torch.long),
        torch.ones(2, LENGTH, D_INPUT + 1),
    ],
)
def test_inputs_that_are_not_of_the_task_are_refused(wrong):
    lens = to_transformer_lens(build(TransformerConfig(n_layers=1, d_model=8)))
    with pytest.raises(HeadwayError, match=rf"vectors \[batch, position, {D_INPUT}\]"):
        lens(wrong)
    if wrong.is_floating_point() or wrong.ndim == 3:
        lens = to_transformer_lens(
            build(TransformerConfig(n_layers=1, d_model=8), tokens=True)
        )
        with pytest.raises(HeadwayError, match=r"tokens \[batch, position\]"):
            lens(wrong)
