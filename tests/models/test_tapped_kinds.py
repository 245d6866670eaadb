"""Attention of many kinds: all of it is seen, as [batch, head, query, key], or refused by name."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from commands import refusing
from headway.errors import HeadwayError
from headway.models import tapped
from nano import looked

LENGTH, WIDTH = 8, 16
X = torch.randn(3, LENGTH, WIDTH, generator=torch.Generator().manual_seed(0))


def split(x, heads=2):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def joined(z):
    return z.transpose(1, 2).flatten(2)


def attended(x, keys=None, hidden=None):
    """Eager attention of two heads, whose keys are their values."""
    query = split(x)
    keys = query if keys is None else keys
    scores = query @ keys.mT
    scores = scores if hidden is None else scores.masked_fill(hidden, -torch.inf)
    return joined(scores.softmax(-1) @ keys)


def sdpa(query, keys):
    return joined(F.scaled_dot_product_attention(query, keys, keys))


class Net(nn.Module):
    def __init__(self, forward):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.gru = nn.Conv1d(WIDTH, WIDTH, 3, padding=1), nn.GRU(WIDTH, WIDTH)
        self.places, self.out = nn.Linear(LENGTH, LENGTH), nn.Linear(WIDTH, WIDTH)
        self.token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.memory = nn.Parameter(torch.randn(1, 2, 6, WIDTH // 2))
        nn.init.zeros_(self.out.weight), nn.init.zeros_(self.out.bias)
        self.run = forward

    def forward(self, x):
        return self.run(self, x)


# Blocks, chunks and windows.
def blocks(x):
    return x.unflatten(1, (-1, 4))


def block_local(net, x):
    y = blocks(x)
    return attended(x + ((y @ y.mT).softmax(-1) @ y).flatten(1, 2))


def blocks_as_heads(net, x):
    y = blocks(x).unflatten(-1, (2, -1)).transpose(2, 3)
    return x + F.scaled_dot_product_attention(y, y, y).transpose(2, 3).flatten(1, 2).flatten(2)


# Other orders of axes.
def query_head_key(net, x):
    h = x.unflatten(-1, (2, -1))
    pattern = torch.einsum("bqhd,bkhd->bqhk", h, h).softmax(-1)
    return x + torch.einsum("bqhk,bkhd->bqhd", pattern, h).flatten(2)


def key_query(net, x):
    h = split(x)
    return x + joined((h @ h.mT).softmax(-2).mT @ h)


def heads_first(n_heads):
    """The pattern is changed, and meets values as [head, batch, query, key]."""

    def forward(net, x):
        h = split(x, n_heads)
        pattern = (h @ h.mT).softmax(-1) / 2
        z = torch.einsum("hbqk,bhkd->bqhd", pattern.transpose(0, 1), 2 * h)
        return x + z.flatten(2)

    return forward


# Not by a product and a softmax.
def softmax_by_hand(net, x):
    weights = (x @ x.mT / WIDTH).exp()
    return attended(x) + weights / weights.sum(-1, keepdim=True) @ x


def under_vmap(net, x):
    def one(y):
        h = y.unflatten(-1, (2, -1)).transpose(0, 1)
        return ((h @ h.mT).softmax(-1) @ h).transpose(0, 1).flatten(1)

    return x + torch.vmap(one)(x)


# Tokens that the module puts in.
def with_token(net, x):
    return torch.cat([net.token.expand(len(x), -1, -1), x], 1)


def token_that_relays(net, x):
    y = with_token(net, x)
    return attended(y + attended(y))[:, 1:]


REFUSED = {
    "block local": (block_local, "by torch.Tensor.matmul to [1, 2, 4, 4]"),
    "blocks as heads": (blocks_as_heads, "[4, 4, 4], are not [head, query, key] of its 8 pos"),
    "turned around": (
        lambda net, x: attended(x.flip(1)).flip(1) + x,
        "[2, 8, 8], are not [head, query, key]",
    ),
    "query, head, key": (query_head_key, "[8, 2, 8], are not [head, query, key]"),
    "key, query": (key_query, "by torch.Tensor.matmul to [1, 2, 8, 8]"),
    "heads first": (heads_first(4), "[4, 2, 8, 8] is not allowed: it must be [batch, …] with a"),
    "as many heads first": (heads_first(2), "or the first dimension of patterns is not the batch"),
    "softmax by hand": (softmax_by_hand, "by torch.Tensor.matmul to [1, 8, 8]"),
    "linear": (
        lambda net, x: attended(x) + x.softmax(-1) @ (x.mT @ x),
        "by torch.Tensor.matmul to [1, 16, 16]",
    ),
    "under vmap": (under_vmap, "attention inside torch.vmap cannot be tapped"),
    "token that relays": (token_that_relays, "by torch.Tensor.matmul to [1, 2, 9, 8]"),
    "token that is read out": (
        lambda net, x: attended(with_token(net, x))[:, :1],
        "by torch.Tensor.matmul to [1, 2, 9, 8]",
    ),
    "convolution alone": (
        lambda net, x: x + net.conv(x.mT).mT,
        "another by torch.nn.functional.conv1d to [1, 16, 8]",
    ),
    "nothing of the input": (
        lambda net, x: attended(x * 0),
        "nothing that Net gives depends on the example inputs",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("batch", [1, 3])
def test_what_is_not_seen_is_named(name, batch):
    forward, said = REFUSED[name]
    with refusing(said):
        tapped(Net(forward), X[:batch])


# Other ways in which positions reach one another.
def added_in_place(net, x):
    x = x + attended(x)
    x[:, 1:] += x[:, :-1].clone()
    return x


def key_that_is_a_mean(net, x):
    h = split(x)
    return attended(x, torch.cat([h.mean(2, keepdim=True), h], 2))


OTHERWISE = {
    "conv1d to [1, 16, 8]": lambda net, x: attended(x + net.conv(x.mT).mT),
    "torch.gru to [8, 1, 16]": lambda net, x: attended(
        x + net.gru(x.transpose(0, 1))[0].transpose(0, 1)
    ),
    "torch.Tensor.add to [1, 8, 16]": lambda net, x: attended(x + F.pad(x[:, :-1], (0, 0, 1, 0))),
    "cumsum to [1, 8, 16]": lambda net, x: attended(x + x.cumsum(1)),
    "mean to [1, 1, 16]": lambda net, x: (x + attended(x)).mean(1, keepdim=True),
    "mean to [1, 2, 1, 8]": key_that_is_a_mean,
    "add_ to [1, 7, 16]": added_in_place,
}


@pytest.mark.parametrize("mixer", OTHERWISE)
def test_other_ways_than_attention_are_named(mixer):
    with pytest.warns(UserWarning, match="^Net mixes positions by ") as said:
        wrapped = tapped(Net(OTHERWISE[mixer]), X)
    assert mixer in str(said[0].message)
    assert any(mixer in name for name in wrapped.mixers)
    assert (wrapped.n_layers, wrapped.n_heads) == (1, 2)


def by_rows(flat, expert):
    """Rows for an expert, taken out and put back."""
    out = torch.zeros_like(flat)
    for chosen in (flat[:, 0] > 0, flat[:, 0] <= 0):
        (rows,) = torch.where(chosen)
        out.index_add_(0, rows, expert(flat[rows]) * flat[rows, :1])
    return out


def by_order(flat, expert):
    """Rows sorted by their expert, and sorted back."""
    order = (flat[:, 0] > 0).int().argsort()
    out = torch.empty_like(flat)
    out[order] = expert(flat[order])
    return out


def packed(flat, expert):
    """Rows that are no padding."""
    kept = flat[:, 1] > -1
    out = torch.zeros_like(flat)
    out[kept] = expert(flat[kept])
    return out


@pytest.mark.parametrize("route", [by_rows, by_order, packed])
@pytest.mark.parametrize("seed", range(3))
def test_routes_of_rows_mix_no_positions(route, seed):
    x = torch.randn(3, LENGTH, WIDTH, generator=torch.Generator().manual_seed(seed))

    def routed(net, x):
        return x + route(attended(x).reshape(-1, WIDTH), torch.tanh).view(x.shape)

    def behind_a_convolution(net, x):
        return routed(net, x + net.conv(x.mT).mT)

    def with_attention(net, x):
        y = attended(x).reshape(-1, WIDTH)
        return x + route(y, lambda rows: (rows @ rows.mT).relu() @ rows).view(x.shape)

    assert tapped(Net(routed), x).mixers == ()
    with pytest.warns(UserWarning, match="mixes positions by"):
        (mixer,) = tapped(Net(behind_a_convolution), x).mixers
    assert mixer == "torch.nn.functional.conv1d to [1, 16, 8]"
    with pytest.raises(HeadwayError):
        tapped(Net(with_attention), x)


# Keys that are no position, and positions that are no query.
def memory_first(net, x):
    return attended(x, torch.cat([net.memory.expand(len(x), -1, -1, -1), split(x)], 2))


def memory_on_both_sides(net, x):
    memory = net.memory.expand(len(x), -1, -1, -1)
    return attended(x, torch.cat([memory[:, :, :1], split(x), memory[:, :, 1:2]], 2))


def token_in_front(net, x):
    hidden = ~torch.ones(LENGTH + 1, LENGTH + 1, dtype=torch.bool).tril()
    return attended(with_token(net, x), hidden=hidden)[:, 1:]


def last_query_alone(net, x):
    return x[:, -1:] + sdpa(split(x[:, -1:]), split(x))


BESIDE = {
    memory_first: list(range(6, 14)),
    memory_on_both_sides: list(range(1, 9)),
    token_in_front: list(range(1, 9)),
}


@pytest.mark.parametrize("forward", BESIDE, ids=lambda forward: forward.__name__)
def test_keys_that_are_no_position_come_last(forward, monkeypatch):
    net, softmaxes = Net(forward), []
    softmax = torch.Tensor.softmax
    monkeypatch.setattr(
        torch.Tensor, "softmax", lambda *given: softmaxes.append(softmax(*given)) or softmaxes[-1]
    )
    net(X)
    monkeypatch.undo()
    (pattern,), keys = softmaxes, BESIDE[forward]
    others = [key for key in range(pattern.shape[-1]) if key not in keys]
    queries = keys if forward is token_in_front else range(LENGTH)
    with torch.no_grad():
        wrapped = tapped(net, X)
        found, seen = looked(wrapped, X)
        torch.testing.assert_close(found, net(X))
        torch.testing.assert_close(seen[0], pattern[:, :, list(queries)][..., keys + others])

        def second_reads_sixth(_, own):
            own = own.clone()
            own[:, :, 1] = F.one_hot(torch.tensor(5), own.shape[-1])
            return own

        found = wrapped(X, second_reads_sixth)[:, 1]
        torch.testing.assert_close(found, X[:, 5])


def test_a_single_query_is_that_of_the_last_position():
    net = Net(last_query_alone)
    found, seen = looked(tapped(net, X), X)
    torch.testing.assert_close(found, net(X))
    assert seen[0].shape == (3, 2, LENGTH, LENGTH)
    torch.testing.assert_close(seen[0].sum(-1)[..., -1], torch.ones(3, 2))
    assert not seen[0][:, :, :-1].any()


def test_rows_that_see_nothing_are_zero():
    hidden = ~torch.ones(LENGTH, LENGTH).tril(-1).bool()

    def strict(net, x):
        scores = (split(x) @ split(x).mT).masked_fill(hidden, -torch.inf)
        return joined(scores.softmax(-1).nan_to_num(0.0) @ split(x))

    net = Net(strict)
    found, seen = looked(tapped(net, X), X)
    torch.testing.assert_close(found, net(X))
    assert not seen[0][:, :, 0].any()
    torch.testing.assert_close(seen[0][:, :, 1:].sum(-1), torch.ones(3, 2, LENGTH - 1))


@pytest.mark.parametrize("tokens", [torch.zeros(2, 4, dtype=torch.long), torch.arange(8)[None]])
def test_tokens_are_exchanged_for_others_that_occur(tokens):
    class Embeds(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(8, WIDTH)

        def forward(self, tokens):
            assert tokens.max() < 8
            return attended(self.embed(tokens))

    assert tapped(Embeds(), tokens).n_layers == 1


def test_an_error_of_a_tap_is_the_tap_s():
    def tap(layer, pattern):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tapped(Net(memory_first), X)(X, tap)


@pytest.mark.parametrize("kind", ["sdpa", "softmax"])
def test_a_tap_may_edit_in_place(kind):
    def forward(net, x):
        return x + (sdpa(split(x), split(x)) if kind == "sdpa" else attended(x))

    wrapped = tapped(Net(forward), X)
    torch.testing.assert_close(wrapped(X, lambda _, own: own.zero_()), X)
    with torch.inference_mode():
        torch.testing.assert_close(wrapped(X, lambda _, own: own.zero_()), X)
