import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import random_models
from headway.errors import HeadwayError
from headway.models import Transformer, TransformerConfig, accuracy_lens, logit_lens, loss_lens
from headway.tasks import Hops
from random_models import D_TARGET, LENGTH, N_READ, configs, quick, seeds

shapes = configs(
    norm=st.sampled_from(["pre", "none"]), attention=st.sampled_from(["softmax", "linear"])
)
two = TransformerConfig(n_layers=2, d_model=8, n_heads=2, d_mlp=10)


def build(config=two, tokens=False, seed=0):
    return random_models.build(config, seed, tokens).double()


def draw(tokens=False, seed=0, batch=2):
    inputs = random_models.random_inputs(seed, batch, tokens)
    return inputs if tokens else inputs.double()


def normalised(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred**2).mean(-1, keepdim=True) + 1e-5).sqrt()


def test_names_and_shapes_are_those_of_transformer_lens():
    outputs, cache = build(tokens=True).run_with_cache(draw(tokens=True))
    stream, heads, square = (2, 7, 8), (2, 7, 2, 4), (2, 2, 7, 7)
    inside = {
        **dict.fromkeys(["hook_resid_pre", "hook_resid_mid", "hook_resid_post"], stream),
        **dict.fromkeys(["hook_attn_out", "hook_mlp_out"], stream),
        **dict.fromkeys(["ln1.hook_normalized", "ln2.hook_normalized"], stream),
        **{f"attn.hook_{name}": heads for name in "qkvz"},
        **dict.fromkeys(["attn.hook_attn_scores", "attn.hook_pattern"], square),
        **dict.fromkeys(["mlp.hook_pre", "mlp.hook_post"], (2, 7, 10)),
    }
    expected = {
        f"blocks.{layer}.{name}": shape for name, shape in inside.items() for layer in (0, 1)
    }
    expected |= dict.fromkeys(["hook_embed", "hook_pos_embed", "ln_final.hook_normalized"], stream)
    assert {name: tuple(value.shape) for name, value in cache.items()} == expected
    assert outputs.shape == (2, N_READ, D_TARGET)


@given(config=shapes, tokens=st.booleans(), seed=seeds)
@quick
def test_what_is_kept_adds_up_to_the_outputs(config, tokens, seed):
    model, inputs = build(config, tokens, seed), draw(tokens, seed)
    outputs, cache = model.run_with_cache(inputs)
    near = torch.testing.assert_close
    near(outputs, model(inputs))

    stream = cache["hook_embed"]
    if tokens:
        near(stream, model.embed.weight[inputs])
        if config.positions == "learned":
            near(cache["hook_pos_embed"][1], model.pos_embed.weight)
            stream = stream + cache["hook_pos_embed"]
    else:
        near(stream, inputs @ model.embed.weight.T + model.embed.bias)
    for layer, block in enumerate(model.blocks):
        near(cache["resid_pre", layer], stream)
        read = stream
        if config.norm == "pre":
            near(cache["normalized", layer, "ln1"], normalised(stream))
            read = normalised(stream) * block.ln1.weight + block.ln1.bias
        parts = (read @ block.attn.qkv.weight.T + block.attn.qkv.bias).chunk(3, -1)
        for name, part in zip("qkv", parts, strict=True):
            near(cache[name, layer], part.unflatten(-1, (config.n_heads, -1)))
        q, k = cache["q", layer], cache["k", layer]
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / config.head_width**0.5
        if config.causal:
            hidden = torch.ones(LENGTH, LENGTH).triu(1).bool()
            least = 0.0 if config.attention == "linear" else -torch.inf
            scores = scores.masked_fill(hidden, least)
        near(cache["attn_scores", layer], scores)
        pattern = scores if config.attention == "linear" else scores.softmax(-1)
        near(cache["pattern", layer], pattern)
        z = torch.einsum("bhqk,bkhd->bqhd", pattern, cache["v", layer])
        near(cache["z", layer], z)
        near(cache["attn_out", layer], block.attn.out(z.flatten(2)))
        stream = stream + cache["attn_out", layer]
        if config.mlp_width:
            near(cache["resid_mid", layer], stream)
            read = stream
            if config.norm == "pre":
                near(cache["normalized", layer, "ln2"], normalised(stream))
                read = normalised(stream) * block.ln2.weight + block.ln2.bias
            near(cache["pre", layer], read @ block.mlp.up.weight.T + block.mlp.up.bias)
            act = torch.relu if config.act_fn == "relu" else torch.nn.functional.gelu
            near(cache["post", layer], act(cache["pre", layer]))
            near(cache["mlp_out", layer], block.mlp.down(cache["post", layer]))
            stream = stream + cache["mlp_out", layer]
        near(cache["resid_post", layer], stream)
    if config.norm == "pre":
        near(cache["ln_final.hook_normalized"], normalised(stream))
        stream = normalised(stream) * model.ln_final.weight + model.ln_final.bias
    near(outputs, (stream @ model.unembed.weight.T + model.unembed.bias)[:, -N_READ:])


def test_a_name_may_be_short_and_layers_may_count_from_the_end():
    _, cache = build().run_with_cache(draw())
    pattern = cache["blocks.1.attn.hook_pattern"]
    for key in ("blocks.1.attn.pattern", ("pattern", 1), ("pattern", -1), ("pattern", 1, "attn")):
        assert cache[key] is pattern
        assert key in cache
    assert cache["embed"] is cache["hook_embed"]
    assert cache["resid_post", -2] is cache["blocks.0.hook_resid_post"]


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        ("blocks.1.attn.pattern", ["blocks.1.attn.hook_pattern"]),
        (("mlp_out", -1), ["blocks.1.hook_mlp_out"]),
        (["hook_embed", ("z", 0)], ["hook_embed", "blocks.0.attn.hook_z"]),
        (lambda name: name.endswith("resid_mid"), [f"blocks.{i}.hook_resid_mid" for i in (0, 1)]),
        ([], []),
    ],
)
def test_only_what_is_named_is_kept(names, kept):
    model, inputs = build(), draw()
    outputs, cache = model.run_with_cache(inputs, names=names)
    assert list(cache) == kept
    assert len(cache) == len(kept)
    _, whole = model.run_with_cache(inputs)
    torch.testing.assert_close([cache[name] for name in kept], [whole[name] for name in kept])
    torch.testing.assert_close(outputs, model(inputs))


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("blocks.1.attn.hook_patern", r"names nothing: is it blocks\.1\.attn\.hook_pattern or"),
        ("blocks.2.hook_resid_pre", r"names nothing: is it blocks\.[01]\.hook_resid_pre or"),
        (("pattern", 2), "names nothing"),
        (("pattern", -3), "names nothing"),
        (("patern", 0), "names nothing"),
        (("pattern",), "names nothing"),
        (("normalized", 1), r"names 2: is it blocks\.1\.ln1\.hook_normalized or blocks\.1\.ln2"),
    ],
)
def test_an_unknown_name_is_told_what_is_near(key, told):
    model, inputs = build(), draw()
    _, cache = model.run_with_cache(inputs)
    with pytest.raises(HeadwayError, match=f"^[^\n]*{told}[^\n]*$"):
        cache[key]
    with pytest.raises(HeadwayError, match=told):
        model.run_with_cache(inputs, names=[key])
    assert key not in cache
    assert cache.get(key) is None


@given(config=shapes, seed=seeds, data=st.data())
@quick
def test_an_edited_pattern_does_what_the_tap_does(config, seed, data):
    model, inputs = build(config, seed=seed), draw(seed=seed)
    at = data.draw(st.integers(0, config.n_layers - 1))

    def edit(pattern, hook=None):
        return pattern.roll(1, 0) * 0.5

    edited = model.run_with_hooks(inputs, [(("pattern", at), edit)])
    tapped = model(inputs, lambda layer, pattern: edit(pattern) if layer == at else pattern)
    torch.testing.assert_close(edited, tapped)
    assert not torch.allclose(edited, model(inputs))


def test_no_hook_is_left_behind():
    model, inputs = build(), draw()
    before = model(inputs)

    def fail(value, hook):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        model.run_with_hooks(inputs, [("hook_embed", lambda x, _: 2 * x), (("z", 1), fail)])
    with pytest.raises(HeadwayError, match="names nothing"):
        model.run_with_hooks(inputs, [("hook_embed", lambda x, _: 2 * x), ("nowhere", fail)])
    assert torch.equal(model(inputs), before)


def test_hooks_of_torch_fire_on_blocks_and_their_parts_at_all_positions():
    model, inputs = build(), draw()
    _, cache = model.run_with_cache(inputs)
    plain, seen, gradients = model(inputs), {}, {}
    parts = {f"blocks.{i}{part}": None for i in (0, 1) for part in ("", ".attn", ".mlp", ".ln1")}
    handles = []
    for name in parts:
        part = model.get_submodule(name)
        handles += [
            part.register_forward_hook(lambda _, i, out, name=name: seen.update({name: out})),
            part.register_full_backward_hook(
                lambda _, i, out, name=name: gradients.update({name: out[0]})
            ),
        ]
    outputs = model(inputs)
    outputs.square().sum().backward()
    for handle in handles:
        handle.remove()
    torch.testing.assert_close(outputs, plain)
    assert seen.keys() == gradients.keys() == parts.keys()
    for layer in (0, 1):
        block = f"blocks.{layer}"
        torch.testing.assert_close(seen[block], cache["resid_post", layer])
        torch.testing.assert_close(seen[f"{block}.attn"], cache["attn_out", layer])
        torch.testing.assert_close(seen[f"{block}.mlp"], cache["mlp_out", layer])
        assert gradients[block].shape == (2, LENGTH, 8)
    assert gradients["blocks.1"][:, :-N_READ].abs().max() == 0
    assert gradients["blocks.1"][:, -N_READ:].abs().min() > 0
    assert torch.equal(model(inputs), plain)


def test_gradients_flow_through_a_cache():
    model, inputs = build(), draw()
    outputs, cache = model.run_with_cache(inputs)
    (of_pattern,) = torch.autograd.grad(outputs.square().sum(), cache["pattern", 0])
    step = 1e-6 * torch.randn_like(of_pattern)
    nudged = model.run_with_hooks(inputs, [(("pattern", 0), lambda x, _: x + step)])
    change = nudged.square().sum() - outputs.square().sum()
    torch.testing.assert_close(change, (of_pattern * step).sum(), rtol=1e-3, atol=1e-9)


def test_every_layer_is_read_as_if_it_were_the_last():
    task = Hops(asked=(1, 2), n_places=12)
    shape = TransformerConfig(n_layers=3, d_model=16, n_heads=2, init="fan_in")
    sizes = (task.d_input, task.d_target, task.length, task.n_read)
    model = Transformer(shape, *sizes, vocabulary=task.vocabulary)
    batch = task.sample(8, torch.Generator().manual_seed(0))
    whole = list(model.blocks)
    told, losses = logit_lens(model, batch.inputs), loss_lens(model, task, batch)
    right = accuracy_lens(model, task, batch)
    assert told.shape == (3, 8, task.n_read, task.vocabulary)
    assert losses.shape == right.shape == (3, 2)
    for layer in range(3):
        model.blocks = torch.nn.ModuleList(whole[: layer + 1])
        torch.testing.assert_close(told[layer], model(batch.inputs))
        each = torch.nn.functional.cross_entropy(
            told[layer].flatten(0, 1).repeat_interleave(2, 0),
            batch.targets.flatten(),
            reduction="none",
        ).unflatten(0, (8, task.n_read, 2))
        asked = batch.targets >= 0
        for hop in (0, 1):
            torch.testing.assert_close(losses[layer, hop], each[..., hop][asked[..., hop]].mean())
            said = told[layer].argmax(-1)[asked[..., hop]]
            wanted = batch.targets[..., hop][asked[..., hop]]
            torch.testing.assert_close(right[layer, hop], (said == wanted).float().mean())
