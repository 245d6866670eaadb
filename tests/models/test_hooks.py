import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

import random_models
from headway.errors import HeadwayError
from headway.models import (
    Transformer,
    TransformerConfig,
    accuracy_lens,
    logit_lens,
    loss_lens,
)
from headway.tasks import Hops
from random_models import D_TARGET, LENGTH, N_READ, configs, quick, seeds
from sampling import seeded

norms = st.sampled_from(["pre", "none"])


kinds = st.sampled_from(["softmax", "linear"])


shapes = configs(norm=norms, attention=kinds)
two = TransformerConfig(n_layers=2, d_model=8, n_heads=2, d_mlp=10)


def build(config=two, tokens=False, seed=0):
    return random_models.build(config, seed, tokens).double()


def draw(tokens=False, seed=0, batch=2):
    inputs = random_models.random_inputs(seed, batch, tokens)
    return inputs if tokens else inputs.double()


def normalised(x):
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    return centred / (variance + 1e-5).sqrt()


STREAM = (2, 7, 8)


HEADS = (2, 7, 2, 4)


SQUARE = (2, 2, 7, 7)


OF_A_BLOCK = {f"attn.hook_{name}": HEADS for name in "qkvz"}
OF_A_BLOCK |= {f"hook_resid_{place}": STREAM for place in ("pre", "mid", "post")}
OF_A_BLOCK |= {f"hook_{part}_out": STREAM for part in ("attn", "mlp")}
OF_A_BLOCK |= {f"{norm}.hook_normalized": STREAM for norm in ("ln1", "ln2")}
OF_A_BLOCK |= {f"attn.hook_{name}": SQUARE for name in ("attn_scores", "pattern")}
OF_A_BLOCK |= {f"mlp.hook_{name}": (2, 7, 10) for name in ("pre", "post")}


def test_names_and_shapes_are_those_of_transformer_lens():
    outputs, cache = build(tokens=True).run_with_cache(draw(tokens=True))
    expected = dict.fromkeys(
        ["hook_embed", "hook_pos_embed", "ln_final.hook_normalized"], STREAM
    )
    for layer in (0, 1):
        expected |= {
            f"blocks.{layer}.{name}": shape for name, shape in OF_A_BLOCK.items()
        }
    shapes = {name: tuple(value.shape) for name, value in cache.items()}
    assert shapes == expected
    assert outputs.shape == (2, N_READ, D_TARGET)


near = assert_close


def mapped(linear, x):
    return x @ linear.weight.T + linear.bias


def scaled(norm, x):
    return normalised(x) * norm.weight + norm.bias


def embedded(model, cache, inputs, tokens):
    """The stream that the first layer reads, by hand."""
    if not tokens:
        near(cache["hook_embed"], mapped(model.embed, inputs))
        return cache["hook_embed"]
    near(cache["hook_embed"], model.embed.weight[inputs])
    if model.config.positions != "learned":
        return cache["hook_embed"]
    near(cache["hook_pos_embed"][1], model.pos_embed.weight)
    return cache["hook_embed"] + cache["hook_pos_embed"]


def read_by(norm, name, config, cache, layer, stream):
    """What a part of a block reads of the stream, by hand."""
    if config.norm != "pre":
        return stream
    near(cache["normalized", layer, name], normalised(stream))
    return scaled(norm, stream)


def attended(block, config, cache, layer, read):
    """What attention writes, by hand."""
    parts = mapped(block.attn.qkv, read).chunk(3, -1)
    for name, part in zip("qkv", parts, strict=True):
        near(cache[name, layer], part.unflatten(-1, (config.n_heads, -1)))
    products = torch.einsum("bqhd,bkhd->bhqk", cache["q", layer], cache["k", layer])
    scores = products / config.head_width**0.5
    linear = config.attention == "linear"
    if config.causal:
        hidden = torch.ones(LENGTH, LENGTH).triu(1).bool()
        scores = scores.masked_fill(hidden, 0.0 if linear else -torch.inf)
    near(cache["attn_scores", layer], scores)
    pattern = scores if linear else scores.softmax(-1)
    near(cache["pattern", layer], pattern)
    z = torch.einsum("bhqk,bkhd->bqhd", pattern, cache["v", layer])
    near(cache["z", layer], z)
    near(cache["attn_out", layer], block.attn.out(z.flatten(2)))
    return cache["attn_out", layer]


def computed(block, config, cache, layer, read):
    """What an MLP writes, by hand."""
    near(cache["pre", layer], mapped(block.mlp.up, read))
    act = torch.relu if config.act_fn == "relu" else torch.nn.functional.gelu
    near(cache["post", layer], act(cache["pre", layer]))
    near(cache["mlp_out", layer], block.mlp.down(cache["post", layer]))
    return cache["mlp_out", layer]


@given(config=shapes, tokens=st.booleans(), seed=seeds)
@quick
def test_what_is_kept_adds_up_to_the_outputs(config, tokens, seed):
    model = build(config, tokens, seed)
    inputs = draw(tokens, seed)
    outputs, cache = model.run_with_cache(inputs)
    near(outputs, model(inputs))
    stream = embedded(model, cache, inputs, tokens)
    for layer, block in enumerate(model.blocks):
        near(cache["resid_pre", layer], stream)
        read = read_by(block.ln1, "ln1", config, cache, layer, stream)
        stream = stream + attended(block, config, cache, layer, read)
        if config.mlp_width:
            near(cache["resid_mid", layer], stream)
            read = read_by(block.ln2, "ln2", config, cache, layer, stream)
            stream = stream + computed(block, config, cache, layer, read)
        near(cache["resid_post", layer], stream)
    if config.norm == "pre":
        near(cache["ln_final.hook_normalized"], normalised(stream))
        stream = scaled(model.ln_final, stream)
    near(outputs, mapped(model.unembed, stream)[:, -N_READ:])


@pytest.mark.parametrize(
    "key",
    [
        "blocks.1.attn.pattern",
        ("pattern", 1),
        ("pattern", -1),
        ("pattern", 1, "attn"),
    ],
)
def test_a_name_may_be_short_and_layers_may_count_from_the_end(key):
    _, cache = build().run_with_cache(draw())
    assert cache[key] is cache["blocks.1.attn.hook_pattern"]
    assert key in cache


def test_names_beside_the_pattern_may_be_short():
    _, cache = build().run_with_cache(draw())
    assert cache["embed"] is cache["hook_embed"]
    assert cache["resid_post", -2] is cache["blocks.0.hook_resid_post"]


def is_middle(name):
    return name.endswith("resid_mid")


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        ("blocks.1.attn.pattern", ["blocks.1.attn.hook_pattern"]),
        (("mlp_out", -1), ["blocks.1.hook_mlp_out"]),
        (["hook_embed", ("z", 0)], ["hook_embed", "blocks.0.attn.hook_z"]),
        (is_middle, ["blocks.0.hook_resid_mid", "blocks.1.hook_resid_mid"]),
        ([], []),
    ],
)
def test_only_what_is_named_is_kept(names, kept):
    model = build()
    inputs = draw()
    outputs, cache = model.run_with_cache(inputs, names=names)
    assert list(cache) == kept
    assert len(cache) == len(kept)
    _, whole = model.run_with_cache(inputs)
    for name in kept:
        assert_close(cache[name], whole[name])
    assert_close(outputs, model(inputs))


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (
            "blocks.1.attn.hook_patern",
            r"names nothing: is it blocks\.1\.attn\.hook_pattern or",
        ),
        (
            "blocks.2.hook_resid_pre",
            r"names nothing: is it blocks\.[01]\.hook_resid_pre or",
        ),
        (("pattern", 2), "names nothing"),
        (("pattern", -3), "names nothing"),
        (("patern", 0), "names nothing"),
        (("pattern",), "names nothing"),
        (
            ("normalized", 1),
            r"names 2: is it blocks\.1\.ln1\.hook_normalized or blocks\.1\.ln2",
        ),
    ],
)
def test_an_unknown_name_is_told_what_is_near(key, told):
    model = build()
    inputs = draw()
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
    model = build(config, seed=seed)
    inputs = draw(seed=seed)
    at = data.draw(st.integers(0, config.n_layers - 1))

    def edit(pattern, hook=None):
        return pattern.roll(1, 0) * 0.5

    def tap(layer, pattern):
        return edit(pattern) if layer == at else pattern

    edited = model.run_with_hooks(inputs, [(("pattern", at), edit)])
    assert_close(edited, model(inputs, tap))
    assert not torch.allclose(edited, model(inputs))


def doubled(value, hook):
    return 2 * value


def fail(value, hook):
    raise ZeroDivisionError


def test_no_hook_is_left_behind():
    model = build()
    inputs = draw()
    before = model(inputs)
    with pytest.raises(ZeroDivisionError):
        model.run_with_hooks(inputs, [("hook_embed", doubled), (("z", 1), fail)])
    with pytest.raises(HeadwayError, match="names nothing"):
        model.run_with_hooks(inputs, [("hook_embed", doubled), ("nowhere", fail)])
    assert torch.equal(model(inputs), before)


PARTS = ["", ".attn", ".mlp", ".ln1"]


HOOKED = [f"blocks.{layer}{part}" for layer in (0, 1) for part in PARTS]


def hooked(model):
    """What parts of a model give, once it is called, and its gradients, after
    `backward`.
    """
    seen = {}
    gradients = {}
    handles = []
    for name in HOOKED:

        def keep(module, inputs, output, name=name):
            seen[name] = output

        def keep_gradient(module, of_inputs, of_outputs, name=name):
            gradients[name] = of_outputs[0]

        part = model.get_submodule(name)
        handles.append(part.register_forward_hook(keep))
        handles.append(part.register_full_backward_hook(keep_gradient))
    return seen, gradients, handles


def test_hooks_of_torch_fire_on_blocks_and_their_parts_at_all_positions():
    model = build()
    inputs = draw()
    _, cache = model.run_with_cache(inputs)
    plain = model(inputs)
    seen, gradients, handles = hooked(model)
    outputs = model(inputs)
    outputs.square().sum().backward()
    for handle in handles:
        handle.remove()
    assert_close(outputs, plain)
    assert set(seen) == set(HOOKED)
    assert set(gradients) == set(HOOKED)
    for layer in (0, 1):
        block = f"blocks.{layer}"
        assert_close(seen[block], cache["resid_post", layer])
        assert_close(seen[f"{block}.attn"], cache["attn_out", layer])
        assert_close(seen[f"{block}.mlp"], cache["mlp_out", layer])
        assert gradients[block].shape == (2, LENGTH, 8)
    of_the_last = gradients["blocks.1"].abs()
    assert of_the_last[:, :-N_READ].max() == 0
    assert of_the_last[:, -N_READ:].min() > 0
    assert torch.equal(model(inputs), plain)


def test_gradients_flow_through_a_cache():
    model = build()
    inputs = draw()
    outputs, cache = model.run_with_cache(inputs)
    size = outputs.square().sum()
    (of_pattern,) = torch.autograd.grad(size, cache["pattern", 0])
    step = 1e-6 * torch.randn_like(of_pattern)

    def nudge(pattern, hook):
        return pattern + step

    nudged = model.run_with_hooks(inputs, [(("pattern", 0), nudge)])
    change = nudged.square().sum() - size
    assert_close(change, (of_pattern * step).sum(), rtol=1e-3, atol=1e-9)


TWO_ASKED = Hops(asked=(1, 2), n_places=12)


@pytest.fixture
def three_layers():
    """A model of three layers for two hops, and a batch."""
    task = TWO_ASKED
    shape = TransformerConfig(n_layers=3, d_model=16, n_heads=2, init="fan_in")
    sizes = (task.d_input, task.d_target, task.length, task.n_read)
    model = Transformer(shape, *sizes, vocabulary=task.vocabulary)
    batch = task.sample(8, seeded(0))
    return model, batch


def cut_to(model, n_layers):
    """The model with its first layers alone."""
    model.blocks = model.blocks[:n_layers]
    return model


@pytest.mark.parametrize("layer", range(3))
def test_every_layer_is_read_as_if_it_were_the_last(three_layers, layer):
    model, batch = three_layers
    told = logit_lens(model, batch.inputs)
    assert told.shape == (3, 8, TWO_ASKED.n_read, TWO_ASKED.vocabulary)
    shallow = cut_to(model, layer + 1)
    assert_close(told[layer], shallow(batch.inputs))


@pytest.mark.parametrize("layer", range(3))
@pytest.mark.parametrize("hop", [0, 1])
def test_losses_and_accuracies_are_those_of_what_every_layer_tells(
    three_layers, layer, hop
):
    model, batch = three_layers
    losses = loss_lens(model, TWO_ASKED, batch)
    accuracies = accuracy_lens(model, TWO_ASKED, batch)
    assert losses.shape == (3, 2)
    assert accuracies.shape == (3, 2)
    wanted = batch.targets[..., hop]
    asked = wanted >= 0
    logits = logit_lens(model, batch.inputs)[layer][asked]
    loss = torch.nn.functional.cross_entropy(logits, wanted[asked])
    assert_close(losses[layer, hop], loss)
    right = logits.argmax(-1) == wanted[asked]
    assert_close(accuracies[layer, hop], right.float().mean())
