import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from commands import refusing
from headway.errors import HeadwayError
from headway.models import Transformer, TransformerConfig, tapped
from headway.relations.paths import AttentionPath
from headway.replace.patching import patch, patch_all
from headway.tasks import Batch, Hops, Retrieval
from headway_experiments.arena import compiled
from random_models import Plain, moved
from sampling import seeded


def pair(task, count=16, seed=0):
    """Sequences, and others laid out alike."""
    symbols, slots = task.draw(count, seeded(seed))
    clean = task.assemble((symbols, slots))
    corrupted = task.assemble((symbols.roll(1, 0), slots))
    return clean, corrupted


CHAINS = Retrieval(depth=2, n_chains=2)
CLEAN, CORRUPTED = pair(CHAINS)
SHORT = (CHAINS, CLEAN, CORRUPTED)


def build(task, seed=0, **shape):
    config = TransformerConfig(n_layers=2, d_model=12, n_heads=2, **shape)
    sizes = (
        task.d_input,
        task.d_target,
        task.length,
        task.n_read,
        seed,
        task.vocabulary,
    )
    return moved(Transformer(config, *sizes), seed)


def in_double(batch):
    return Batch(batch.inputs.double(), batch.targets, batch.roles)


def by_hand(model, clean, corrupted, replaced):
    """The clean run of which some values that heads read are the corrupted run's.

    `replaced` [layer, head, batch, query, key] says which.
    """
    own = model.embedded(clean.inputs)
    other = model.embedded(corrupted.inputs)
    for block, is_replaced in zip(model.blocks, replaced, strict=True):
        pattern, values = attention_by_hand(model, block, own)
        their_pattern, their_values = attention_by_hand(model, block, other)
        # What every query reads of every key, [batch, head, query, key, number].
        read = torch.where(is_replaced.transpose(0, 1)[..., None], their_values, values)
        own = own + written(block, pattern, read)
        other = other + written(block, their_pattern, their_values)
        own = own + block.mlp(block.ln2(own))
        other = other + block.mlp(block.ln2(other))
    return model.read(own)


def attention_by_hand(model, block, stream):
    """A layer's pattern and its values, the same for every query."""
    mapped = block.attn.qkv(block.ln1(stream))
    q, k, v = mapped.unflatten(-1, (3, model.n_heads, -1)).transpose(1, 3).unbind(2)
    n = stream.shape[1]
    scores = q @ k.mT * model.config.head_width**-0.5
    pattern = (scores + model.mask[:n, :n]).softmax(-1)
    return pattern, v[:, :, None]


def written(block, pattern, read):
    """What a layer's heads write that read values along a pattern."""
    z = (pattern[..., None] * read).sum(3)
    return block.attn.out(z.transpose(1, 2).flatten(2))


@given(
    seed=st.integers(0, 1000),
    layer=st.integers(0, 1),
    head=st.integers(0, 1),
    names=st.sets(st.sampled_from(["s2←s1", "s0←s2", "s0←s0", "s0←s4"]), min_size=1),
)
@settings(max_examples=25)
def test_a_path_carries_the_values_that_are_read_along_it(seed, layer, head, names):
    task = Retrieval(depth=2, n_chains=2)
    clean, corrupted = map(in_double, pair(task, 3, seed))
    model = build(task, seed).double()
    replaced = torch.zeros(2, 2, 3, task.length, task.length, dtype=torch.bool)
    rows = torch.arange(3)[:, None]
    for name in names:
        query, key = (role.removeprefix("s") for role in name.split("←"))
        queries = clean.roles[:, int(query)]
        keys = clean.roles[:, int(key)]
        replaced[layer, head, rows, queries, keys] = True
    paths = [AttentionPath.of(layer, head, name) for name in names]
    patched = patch(model, task, clean, corrupted, paths)
    assert_close(patched, by_hand(model, clean, corrupted, replaced))
    is_read = layer == 0 or any(name.startswith("s0") for name in names)
    moved_by = (patched - model(clean.inputs)).abs().max()
    assert is_read == (moved_by > 1e-9)


def test_a_head_carries_all_that_it_reads():
    model = build(CHAINS)
    _, ours = model.run_with_cache(CLEAN.inputs)
    _, theirs = model.run_with_cache(CORRUPTED.inputs)
    block = model.layers[1]
    z = ours["z", 1].clone()
    z[:, :, 0] = theirs["z", 1][:, :, 0]
    attended = ours["resid_pre", 1] + block.attn.out(z.flatten(2))
    expected = model.read(block.finish(attended))
    assert_close(patch(model, *SHORT, "L1.H0"), expected)
    assert_close(patch(model, *SHORT, (1, 0)), expected)


@pytest.mark.parametrize(
    "construction", ["doubling", pytest.param("sequential", marks=pytest.mark.slow)]
)
def test_of_all_paths_those_of_the_compiled_circuit_have_an_effect(construction):
    known = compiled(3, construction)
    clean, corrupted = pair(known.task, 16)
    effects = patch_all(known.model, known.task, clean, corrupted, "paths")
    assert len(effects.sites) == known.model.n_layers * 21
    largest = effects.normalised.amax(1)
    by_site = dict(zip(effects.sites, largest, strict=True))
    effective = {site for site, effect in by_site.items() if effect > 0.01}
    assert effective == known.required
    for site in effective:
        assert by_site[site] > 0.7


def test_losses_are_those_of_the_clean_targets():
    known = compiled(2)
    clean, corrupted = pair(known.task, 32)
    effects = patch_all(known.model, known.task, clean, corrupted, ["L0.H0", (1, 0)])

    def loss(outputs):
        return known.task.targets.partial_losses(outputs, clean.targets)

    assert_close(effects.clean, loss(known.model(clean.inputs)))
    assert_close(effects.corrupted, loss(known.model(corrupted.inputs)))
    patched = loss(patch(known.model, known.task, clean, corrupted, "L1.H0"))
    assert_close(effects.patched[1], patched)
    share = (patched - effects.clean) / (effects.corrupted - effects.clean)
    assert_close(effects.normalised[1], share)
    head, _, of_upper_head = str(effects).splitlines()
    assert head.split() == ["x_1", "x_2"]
    shares = [f"{effect:z.2f}" for effect in share.tolist()]
    assert of_upper_head.split() == ["L1.H0", *shares]
    assert len(of_upper_head) == len(head)


def test_tokens_can_be_patched_along_relations_that_are_no_roles():
    task = Hops(asked=(1,), n_places=12)
    turns, chosen = task.draw(8, seeded(0))
    clean = task.assemble((turns, chosen))
    renamed = turns.clone()
    renamed[:, 0] = (turns[:, 0] + 1) % task.n_symbols
    corrupted = task.assemble((renamed, chosen))  # every symbol is the next one
    model = build(task)
    sites = ["L1.H0 find^1", "L0.H1 previous token"]
    effects = patch_all(model, task, clean, corrupted, sites)
    assert effects.normalised.isfinite().all()
    other = task.sample(8, seeded(1))
    with pytest.raises(
        HeadwayError, match=r"^corrupted: find\^1 must lead where it leads in clea"
    ):
        patch(model, task, clean, other, "L1.H0 find^1")


@pytest.mark.parametrize(
    ("site", "told"),
    [
        (
            "L1.H0s0←s2",
            "head = 'L1.H0s0←s2' is not allowed: it must be written as L1.H0",
        ),
        ("s2", "head = 's2' is not allowed"),
        (
            "L2.H0",
            "site = 'L2.H0' is not allowed: it must be of 2 layers and 2 heads in each",
        ),
        ("L0.H2 s0←s2", "site = 'L0.H2 s0←s2' is not allowed: it must be of 2 layers"),
        ("L0.H0 s0←s9", "path = 's0←s9' is not allowed"),
        (
            "L0.H0 s4←s0",
            "path = 's4←s0' is not allowed: it must be .* mask lets it see",
        ),
    ],
)
def test_what_is_no_site_is_refused_in_one_line(site, told):
    with pytest.raises(HeadwayError, match=f"^[^\n]*{told}[^\n]*$"):
        patch(build(CHAINS), *SHORT, site)


def test_other_layouts_and_kinds_are_refused():
    model = build(CHAINS)
    with pytest.raises(
        HeadwayError, match="roles must stand where they stand in clean"
    ):
        patch(model, CHAINS, CLEAN, pair(CHAINS, seed=1)[0], "L0.H0")
    with pytest.raises(
        HeadwayError, match=r"inputs = \[4, 10, 8\] is not .* as clean, \[16, 10, 8\]"
    ):
        patch(model, CHAINS, CLEAN, CORRUPTED.part(slice(4)), "L0.H0")
    with pytest.raises(
        HeadwayError, match="at = 'layers' is not allowed: it must be paths, heads,"
    ):
        patch_all(model, *SHORT, "layers")


class Transposed(Plain):
    def read(self, pattern, values):
        read = values.mT @ pattern.mT
        return read.mT


class Halved(Plain):
    """The pattern is halved before it meets values, which are doubled."""

    def read(self, pattern, values):
        half = pattern / 2
        twice = values * 2
        return half @ twice


class HalvedTransposed(Transposed):
    def read(self, pattern, values):
        return super().read(pattern / 2, values * 2)


@pytest.mark.parametrize("kind", [Plain, Transposed, Halved, HalvedTransposed])
def test_heads_and_paths_of_any_module(kind):
    model = build(CHAINS)
    for site in ("L0.H1", "L1.H0", "L0.H0 s2←s1", "L1.H1 s0←s2"):
        expected = patch(model, *SHORT, site)
        for mine in (kind(model), tapped(kind(model), CLEAN.inputs)):
            patched = patch(mine, *SHORT, site)
            assert_close(patched, expected, atol=1e-5, rtol=0)
        moved_by = expected - model(CLEAN.inputs)
        assert moved_by.abs().max() > 1e-3
    ours = patch_all(kind(model), *SHORT, "heads")
    theirs = patch_all(model, *SHORT, "heads")
    assert_close(ours.patched, theirs.patched, atol=1e-5, rtol=0)


def permuted(layout, is_halved):
    """The module whose pattern is laid out anew, after a softmax, for `einsum`."""

    class Permuted(Plain):
        def read(self, pattern, values):
            if is_halved:
                pattern = pattern / 2
                values = values * 2
            axes = ["bhqk".index(axis) for axis in layout]
            return torch.einsum(f"{layout},bhkd->bhqd", pattern.permute(axes), values)

    return Permuted


@pytest.mark.parametrize("is_halved", [False, True])
@pytest.mark.parametrize(
    "layout", ["bhqk", "bqhk", "bqkh", "bhkq", "bkhq", "kbhq", "qbkh"]
)
def test_a_pattern_may_be_laid_out_anew_for_an_equation(layout, is_halved):
    model = build(CHAINS)
    mine = permuted(layout, is_halved)(model)
    for site in ("L0.H1", "L1.H1 s0←s2"):
        expected = patch(model, *SHORT, site)
        said = patch(mine, *SHORT, site)
        assert_close(said, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("is_halved", "told"),
    [
        (False, "their pattern is changed, or laid out anew, before it meets values"),
        (True, "the first dimension of patterns is not the batch"),
    ],
)
def test_a_pattern_that_begins_with_heads_is_refused(is_halved, told):
    with refusing(told):
        patch(permuted("hbqk", is_halved)(build(CHAINS)), *SHORT, "L0.H1")


def test_a_relation_that_leads_elsewhere_is_left_out():
    task = Hops(asked=(1,), n_symbols=4, n_places=16)
    clean = task.sample(8, seeded(0))
    corrupted = task.sample(8, seeded(1))
    model = build(task)
    every = patch_all(model, task, clean, clean, "paths").sites
    alike = patch_all(model, task, clean, corrupted, "paths").sites
    assert {*alike} < {*every}
    site = min({*every} - {*alike})
    for call, at in ((patch, site), (patch_all, [site])):
        with pytest.raises(HeadwayError, match="must lead where it leads in clean"):
            call(model, task, clean, corrupted, at)


class Listed(Plain):
    """The same, with heads that are computed one by one."""

    def forward(self, inputs):
        model = self.inner
        x = model.embedded(inputs)
        n = x.shape[1]
        future = torch.full((n, n), -torch.inf).triu(1)
        for block in model.blocks:
            attention = block.attn
            mapped = attention.qkv(block.ln1(x))
            by_head = mapped.unflatten(-1, (3, model.n_heads, -1))
            read = []
            for head in range(model.n_heads):
                q, k, v = by_head[:, :, :, head].unbind(2)
                scores = q @ k.mT * q.shape[-1] ** -0.5
                pattern = (scores + future).softmax(-1)
                read.append(pattern @ v)
            x = x + attention.out(torch.cat(read, -1))
            x = x + block.mlp(block.ln2(x))
        return self.outputs(x)


def test_heads_that_are_computed_one_by_one_are_patched_as_those_of_a_layer():
    model = build(CHAINS)
    for at in ("heads", "paths"):
        ours = patch_all(Listed(model), *SHORT, at)
        theirs = patch_all(model, *SHORT, at)
        assert ours.sites == theirs.sites
        assert_close(ours.patched, theirs.patched, atol=1e-5, rtol=0)


@pytest.mark.parametrize("silent", [1, 2])
@torch.no_grad()
def test_upper_heads_may_read_nothing(silent):
    """Then no output tells which positions the queries of the last layer are."""
    model = build(CHAINS)
    width = model.config.d_model
    for block in model.blocks[-silent:]:
        block.attn.qkv.weight[-width:] = 0
        block.attn.qkv.bias[-width:] = 0
    effects = patch_all(model, *SHORT, "heads")
    layers = torch.tensor([layer for layer, _ in effects.sites])
    upper = effects.patched[layers >= 2 - silent]
    assert len(upper) == 2 * silent
    assert_close(upper, effects.clean.expand_as(upper))
