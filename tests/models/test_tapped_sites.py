"""The tap gets and puts what meets values; heads that cannot read one another are one
layer.
"""

import copy
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from headway.models import tapped
from nano import LENGTH, WIDTH, X, looked
from sampling import seeded

HEADS = 4
CAUSAL = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()


def split(x, heads=HEADS):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def joined(z):
    return z.transpose(1, 2).flatten(2)


def zeroed(head):
    """A tap that takes a head of the first layer away."""

    def tap(layer, pattern):
        return pattern.index_fill(1, torch.tensor(head), 0) if layer == 0 else pattern

    return tap


class Weighs(nn.Module):
    """One layer, whose pattern is made of scores and meets values in one of many
    ways.
    """

    def __init__(self, weigh, meet=torch.matmul):
        super().__init__()
        torch.manual_seed(0)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.gate = nn.Linear(WIDTH, HEADS)
        self.talk = nn.Parameter(torch.randn(HEADS, HEADS))
        self.conv = nn.Conv2d(HEADS, HEADS, 1, bias=False)
        self.weigh = weigh
        self.meet = meet

    def forward(self, x):
        query = split(self.query(x))
        key = split(self.key(x))
        scores = (query @ key.mT).masked_fill(~CAUSAL, -torch.inf)
        self.pattern = self.weigh(self, scores, x)
        values = split(self.value(x))
        read = self.meet(self.pattern, values)
        return joined(read)


# What a module makes of its scores.
def signed(net, scores, x):
    size = scores.abs().masked_fill(~CAUSAL, -torch.inf)
    sign = scores.masked_fill(~CAUSAL, 0.0).sign()
    pattern = size.softmax(-1)
    return pattern * sign


def masked_behind(net, scores, x):
    near = CAUSAL & ~CAUSAL.tril(-3)
    return scores.softmax(-1) * near


def mask_of_what_is_zero(net, scores, x):
    return scores.softmax(-1).masked_fill(~CAUSAL, 0.0)


def of_sum_one_again(net, scores, x):
    kept = scores.softmax(-1) ** 2
    return kept / kept.sum(-1, keepdim=True)


def largest_two(net, scores, x):
    pattern = scores.softmax(-1)
    second = pattern.topk(2).values[..., -1:]
    return torch.where(pattern >= second, pattern, 0.0)


def scattered(net, scores, x):
    pattern = scores.softmax(-1)
    shares, keys = pattern.topk(2)
    return torch.zeros_like(pattern).scatter(-1, keys, shares)


def as_dropout_scales(net, scores, x):
    return scores.softmax(-1) / 0.9


def in_place(net, scores, x):
    pattern = scores.softmax(-1)
    pattern *= 0.5
    pattern[:, 1] = 0.0
    return pattern


def heads_talk(net, scores, x):
    pattern = scores.softmax(-1)
    return torch.einsum("bhqk,gh->bgqk", pattern, net.talk)


def heads_are_convolved(net, scores, x):
    pattern = scores.softmax(-1)
    return net.conv(pattern)


def heads_are_gated(net, scores, x):
    pattern = scores.softmax(-1)
    gates = net.gate(x).sigmoid()
    return pattern * gates.mT[..., None]


def weighed_by_other_scores(net, scores, x):
    query = split(net.value(x))
    key = split(net.query(x))
    other = query @ key.mT
    pattern = scores.softmax(-1)
    return pattern * other


def difference(net, scores, x):
    key = split(net.key(x))
    other = (key @ key.mT).masked_fill(~CAUSAL, -torch.inf)
    pattern = scores.softmax(-1)
    taken = other.softmax(-1)
    return pattern - 0.4 * taken


def two_steps(net, scores, x):
    pattern = scores.softmax(-1)
    return pattern @ pattern


def straight_through(net, scores, x):
    pattern = scores.softmax(-1)
    largest = pattern.argmax(-1)
    hard = F.one_hot(largest, LENGTH)
    step = hard - pattern
    return pattern + step.detach()


def written_into(net, scores, x):
    """The pattern lies in a tensor that the module has made before."""
    buffer = torch.empty_like(scores)
    torch.softmax(scores, -1, out=buffer)
    return buffer


def written_into_and_halved(net, scores, x):
    return written_into(net, scores, x) / 2


CHANGED = [
    signed,
    masked_behind,
    mask_of_what_is_zero,
    of_sum_one_again,
    largest_two,
    scattered,
    as_dropout_scales,
    in_place,
    heads_talk,
    heads_are_convolved,
    heads_are_gated,
    weighed_by_other_scores,
    difference,
    two_steps,
    straight_through,
    written_into,
    written_into_and_halved,
]


def by_einsum(pattern, values):
    return torch.einsum("bhqk,bhkd->bhqd", pattern, values)


def by_einsum_of_a_list(pattern, values):
    return torch.einsum("... k d, ... q k -> ... q d", [values, pattern])


def by_flat_heads(pattern, values):
    flat = pattern.flatten(0, 1)
    read = torch.bmm(flat, values.flatten(0, 1))
    return read.unflatten(0, (-1, HEADS))


def transposed(pattern, values):
    read = values.mT @ pattern.mT
    return read.mT


def entry_by_entry(pattern, values):
    shares = pattern[..., None]
    read = shares * values[:, :, None]
    return read.sum(-2)


def written_elsewhere(pattern, values):
    if torch.is_grad_enabled():
        return pattern @ values
    return torch.matmul(pattern, values, out=torch.empty_like(values))


WAYS = [by_einsum, by_einsum_of_a_list, by_flat_heads, transposed, entry_by_entry]
WAYS += [written_elsewhere]


@pytest.mark.parametrize(
    ("weigh", "meet"),
    [(weigh, torch.matmul) for weigh in CHANGED] + [(heads_talk, way) for way in WAYS],
)
@torch.no_grad()
def test_what_meets_values_is_what_the_tap_gets_and_puts(weigh, meet):
    net = Weighs(weigh, meet)
    wrapped = tapped(net, X)
    assert wrapped.n_layers == 1
    assert wrapped.n_heads == HEADS
    assert wrapped.mixers == ()
    expected = net(X)
    known = net.pattern
    found, seen = looked(wrapped)
    assert_close(found, expected)
    assert_close(seen, [known])
    other = torch.randn(known.shape, generator=seeded(1))
    found = wrapped(X, lambda _, own: other)
    values = split(net.value(X))
    expected = joined(other @ values)
    assert_close(found, expected)


def sink_left_out(net, scores, x):
    sink = torch.ones_like(scores[..., :1])
    pattern = torch.cat([scores, sink], -1).softmax(-1)
    return pattern[..., :LENGTH]


def first_sink_left_out(net, scores, x):
    sink = torch.ones_like(scores[..., :1])
    pattern = torch.cat([sink, scores], -1).softmax(-1)
    return pattern[..., 1:]


@pytest.mark.parametrize("weigh", [sink_left_out, first_sink_left_out])
@torch.no_grad()
def test_a_sink_that_is_left_out_is_still_seen(weigh):
    net = Weighs(weigh)
    wrapped = tapped(net, X[:1])
    (seen,) = looked(wrapped)[1]
    assert seen.shape[-1] == LENGTH + 1
    assert_close(seen.sum(-1), torch.ones(seen.shape[:-1]))


def head_by_head(pattern, values):
    read = []
    for head in range(HEADS):
        read.append(pattern[:, head] @ values[:, head])
    return torch.stack(read, 1)


def halves_of_heads(pattern, values):
    pairs = zip(pattern.chunk(2, 1), values.chunk(2, 1), strict=True)
    return torch.cat([some @ theirs for some, theirs in pairs], 1)


@pytest.mark.parametrize("meet", [head_by_head, halves_of_heads])
@torch.no_grad()
def test_a_pattern_may_meet_values_in_parts(meet):
    net = Weighs(lambda net, scores, x: scores.softmax(-1), meet)
    with warnings.catch_warnings(action="error"):
        wrapped = tapped(net, X)
    assert wrapped.n_layers == 1
    assert wrapped.n_heads == HEADS


def by_values_of_the_largest(pattern, values):
    shares, keys = pattern.topk(2)
    places = keys[..., None].expand(*keys.shape, values.shape[-1])
    taken = values[:, :, None].expand(*pattern.shape, -1).gather(3, places)
    return (shares[..., None, :] @ taken).squeeze(-2)


def through_a_buffer(pattern, values):
    buffer = torch.zeros(pattern.shape)
    buffer[:] = pattern * 2
    return buffer @ values


def divided_by_sums(pattern, values):
    read = pattern @ values
    return read / pattern.sum(-1, keepdim=True)


def divided_by_sums_of_squares(pattern, values):
    read = pattern @ values
    sizes = torch.sum(pattern**2, dim=3)
    return read / sizes[..., None]


LOST = [
    by_values_of_the_largest,
    through_a_buffer,
    divided_by_sums,
    divided_by_sums_of_squares,
]


def sums_of_queries(pattern, values):
    """Other sums are no shares of rows: how much attention a key or a sequence gets."""
    read = pattern @ values
    for_keys = pattern.sum(-2)
    for_all = pattern.sum()
    return read + 0 * for_keys[..., None] + 0 * for_all


@torch.no_grad()
def test_sums_over_queries_are_no_shares():
    net = Weighs(lambda net, scores, x: scores.softmax(-1), sums_of_queries)
    with warnings.catch_warnings(action="error"):
        tapped(net, X)


@pytest.mark.parametrize("meet", LOST)
@torch.no_grad()
def test_a_pattern_that_is_lost_from_sight_is_told_once(meet):
    net = Weighs(lambda net, scores, x: scores.softmax(-1), meet)
    said = "how the pattern of layer 0 of Weighs meets values is not seen"
    wrapped = tapped(net)
    with pytest.warns(UserWarning, match=said) as told:
        looked(wrapped)
    assert len(told) == 1
    with warnings.catch_warnings(action="error"):
        looked(wrapped)


class Head(nn.Module):
    """One head, with maps of its own."""

    def __init__(self, width=WIDTH, d_head=4):
        super().__init__()
        self.query = nn.Linear(width, d_head)
        self.key = nn.Linear(width, d_head)
        self.value = nn.Linear(width, d_head)
        self.out = nn.Linear(d_head, width, bias=False)

    def forward(self, x):
        query = self.query(x)
        key = self.key(x)
        scores = query @ key.mT
        hidden = scores.masked_fill(~CAUSAL, -torch.inf)
        self.pattern = hidden.softmax(-1)
        read = self.pattern @ self.value(x)
        return self.out(read)


class Listed(nn.Module):
    """Layers of heads that are computed one by one."""

    def __init__(self, *counts, norm=nn.Identity):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(
            nn.ModuleList(Head() for _ in range(count)) for count in counts
        )
        self.norms = nn.ModuleList(norm(WIDTH) for _ in counts)

    def forward(self, x):
        for norm, heads in zip(self.norms, self.layers, strict=True):
            normed = norm(x)
            x = x + sum(head(normed) for head in heads)
        return x


@pytest.mark.parametrize("norm", [nn.Identity, nn.LayerNorm])
@torch.no_grad()
def test_a_list_of_heads_is_a_layer(norm):
    model = Listed(4, 4, norm=norm)
    wrapped = tapped(model, X)
    assert wrapped.n_layers == 2
    assert wrapped.n_heads == 4
    expected = model(X)
    found, seen = looked(wrapped)
    assert_close(found, expected)
    for pattern, heads in zip(seen, model.layers, strict=True):
        known = torch.stack([head.pattern for head in heads], 1)
        assert_close(pattern, known)
    without = copy.deepcopy(model)
    without.layers[0][2].out.weight.zero_()
    assert_close(wrapped(X, zeroed(2)), without(X))


def test_a_tap_is_asked_once_a_layer_in_order():
    asked = []
    wrapped = tapped(Listed(2, 2, 2), X)
    wrapped(X, lambda layer, own: asked.append(layer) or own)
    assert asked == [0, 1, 2]


def test_slopes_reach_the_pattern_of_a_list_of_heads():
    """The oracle is a difference of two outputs."""
    model = Listed(2, 2).double()
    x = X.double()
    wrapped = tapped(model, x)

    def output(strength):
        def tap(layer, pattern):
            return torch.cat([pattern[:, :1] * strength, pattern[:, 1:]], 1)

        return wrapped(x, tap).square().sum()

    strength = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(output(strength), strength)
    step = 1e-5
    measured = (output(strength + step) - output(strength - step)) / (2 * step)
    assert slope.item() == pytest.approx(measured.item(), rel=1e-6)


def test_heads_that_begin_as_copies_are_several():
    model = Listed(1)
    model.layers[0].extend(copy.deepcopy(model.layers[0][0]) for _ in range(3))
    wrapped = tapped(model, X)
    assert wrapped.n_layers == 1
    assert wrapped.n_heads == 4


class Halves(nn.Module):
    """A layer whose pattern is computed twice, for each half of the values."""

    def __init__(self, attend, layers=2):
        super().__init__()
        torch.manual_seed(0)
        self.maps = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(layers))
        self.outs = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(layers))
        self.attend = attend

    def forward(self, x):
        for qkv, out in zip(self.maps, self.outs, strict=True):
            mapped = qkv(x).chunk(3, -1)
            query, key, value = map(split, mapped)
            halves = value.chunk(2, -1)
            read = [self.attend(query, key, half) for half in halves]
            whole = torch.cat(read, -1)
            x = x + out(joined(whole))
        return x


def by_hand(query, key, value):
    scores = (query @ key.mT).masked_fill(~CAUSAL, -torch.inf)
    return scores.softmax(-1) @ value


def by_torch(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


@pytest.mark.parametrize("attend", [by_hand, by_torch])
@torch.no_grad()
def test_one_pattern_for_two_halves_of_values_is_one_head(attend):
    model = Halves(attend)
    wrapped = tapped(model, X)
    assert wrapped.n_layers == 2
    assert wrapped.n_heads == HEADS
    assert_close(looked(wrapped)[0], model(X))
    without = copy.deepcopy(model)
    without.outs[0].weight[:, 8:12] = 0
    assert_close(wrapped(X, zeroed(2)), without(X))


@torch.no_grad()
def test_two_calls_of_one_differential_attention_are_heads_of_one_layer():
    class Differs(Halves):
        def forward(self, x):
            for qkv, out in zip(self.maps, self.outs, strict=True):
                mapped = qkv(x).chunk(3, -1)
                query, key, value = map(split, mapped)
                read = by_torch(query, key, value)
                taken = by_torch(key, query, value)
                x = x + out(joined(read - 0.4 * taken))
            return x

    wrapped = tapped(Differs(by_torch), X)
    assert wrapped.n_layers == 2
    assert wrapped.n_heads == (2 * HEADS)
    _, seen = looked(wrapped)
    assert not torch.allclose(seen[0][:, :HEADS], seen[0][:, HEADS:])


@pytest.mark.parametrize("part", ["queries and keys", "values", "output"])
@torch.no_grad()
def test_layers_that_do_nothing_yet_are_layers(part):
    """Equal patterns, and nothing written: what could be read decides."""
    whole = nn.Sequential(*(Block(part) for _ in range(3)))
    wrapped = tapped(whole, X)
    assert wrapped.n_layers == 3
    assert wrapped.n_heads == HEADS


class Block(nn.Module):
    """A layer of attention with a part that is zero."""

    def __init__(self, zero=None):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        if zero == "queries and keys":
            nn.init.zeros_(self.qkv.weight[: 2 * WIDTH])
            nn.init.zeros_(self.qkv.bias)
        elif zero == "values":
            nn.init.zeros_(self.qkv.weight[2 * WIDTH :])
            nn.init.zeros_(self.qkv.bias)
        elif zero == "output":
            nn.init.zeros_(self.out.weight)
            nn.init.zeros_(self.out.bias)

    def forward(self, x):
        mapped = self.qkv(x).chunk(3, -1)
        query, key, value = map(split, mapped)
        read = by_torch(query, key, value)
        return x + self.out(joined(read))


@pytest.mark.parametrize("attend", [by_hand, by_torch])
@torch.no_grad()
def test_values_alone_may_make_layers(attend):
    """All patterns are made of the inputs; only values tell of the layer before."""

    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.maps = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))

        def forward(self, x):
            query = split(x)
            for values in self.maps:
                read = attend(query, query.flip(-1), split(values(x)))
                x = x + joined(read)
            return x

    wrapped = tapped(Positions(), X)
    assert wrapped.n_layers == 3
    assert wrapped.n_heads == HEADS


class Towers(nn.Module):
    """Two stacks beside one another, and a layer on top of both."""

    def __init__(self, depth, on_top):
        super().__init__()
        torch.manual_seed(0)
        self.left = nn.Sequential(*(Block() for _ in range(depth)))
        self.right = nn.Sequential(*(Block() for _ in range(depth)))
        self.top = Block() if on_top else nn.Identity()

    def forward(self, x):
        left = self.left(x)
        right = self.right(x.flip(-1))
        return self.top(left + right)


@pytest.mark.parametrize(
    ("depth", "on_top", "layers", "heads"),
    [(1, False, 1, 8), (1, True, 3, 4), (2, False, 4, 4), (2, True, 5, 4)],
)
@torch.no_grad()
def test_layers_beside_one_another(depth, on_top, layers, heads):
    """They are one layer if they depend on the same, and if all layers are alike
    then.
    """
    model = Towers(depth, on_top)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        wrapped = tapped(model, X)
    assert wrapped.n_layers == layers
    assert wrapped.n_heads == heads
    assert_close(looked(wrapped)[0], model(X))
    apart = [
        "every call of attention in Towers is a layer" in str(one.message)
        for one in told
    ]
    assert apart == ([True] if on_top and depth == 1 else [])


@torch.no_grad()
def test_lists_of_heads_may_stand_beside_fused_heads():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.listed = Listed(4)
            self.fused = Block()

        def forward(self, x):
            return self.fused(self.listed(x))

    wrapped = tapped(Both(), X)
    assert wrapped.n_layers == 2
    assert wrapped.n_heads == 4
