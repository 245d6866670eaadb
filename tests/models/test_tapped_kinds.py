"""Attention of many kinds: all of it is seen, as [batch, head, query, key], or refused
by name.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from commands import refusing
from headway.errors import HeadwayError
from headway.models import tapped
from nano import looked
from sampling import seeded

LENGTH = 8
WIDTH = 16


SEED = seeded(0)
X = torch.randn(3, LENGTH, WIDTH, generator=SEED)


def split(x, heads=2):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def joined(z):
    return z.transpose(1, 2).flatten(2)


def attended(x, keys=None, hidden=None):
    """Eager attention of two heads, whose keys are their values."""
    query = split(x)
    if keys is None:
        keys = query
    scores = query @ keys.mT
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    pattern = scores.softmax(-1)
    return joined(pattern @ keys)


def sdpa(query, keys):
    z = F.scaled_dot_product_attention(query, keys, keys)
    return joined(z)


class Net(nn.Module):
    def __init__(self, forward):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv1d(WIDTH, WIDTH, 3, padding=1)
        self.gru = nn.GRU(WIDTH, WIDTH)
        self.places = nn.Linear(LENGTH, LENGTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.memory = nn.Parameter(torch.randn(1, 2, 6, WIDTH // 2))
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        self.run = forward

    def forward(self, x):
        return self.run(self, x)


# Blocks, chunks and windows.
def blocks(x):
    return x.unflatten(1, (-1, 4))


def block_local(net, x):
    y = blocks(x)
    pattern = (y @ y.mT).softmax(-1)
    return attended(x + (pattern @ y).flatten(1, 2))


def blocks_as_heads(net, x):
    y = blocks(x).unflatten(-1, (2, -1)).transpose(2, 3)
    z = F.scaled_dot_product_attention(y, y, y)
    return x + z.transpose(2, 3).flatten(1, 2).flatten(2)


# Other orders of axes.
def turned_around(net, x):
    return attended(x.flip(1)).flip(1) + x


def query_head_key(net, x):
    h = x.unflatten(-1, (2, -1))
    pattern = torch.einsum("bqhd,bkhd->bqhk", h, h).softmax(-1)
    z = torch.einsum("bqhk,bkhd->bqhd", pattern, h)
    return x + z.flatten(2)


def key_query(net, x):
    h = split(x)
    pattern = (h @ h.mT).softmax(-2)
    return x + joined(pattern.mT @ h)


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
    total = weights.sum(-1, keepdim=True)
    return attended(x) + weights / total @ x


def linear(net, x):
    return attended(x) + x.softmax(-1) @ (x.mT @ x)


def under_vmap(net, x):
    def one(y):
        h = y.unflatten(-1, (2, -1)).transpose(0, 1)
        pattern = (h @ h.mT).softmax(-1)
        return (pattern @ h).transpose(0, 1).flatten(1)

    return x + torch.vmap(one)(x)


# Tokens that the module puts in.
def with_token(net, x):
    token = net.token.expand(len(x), -1, -1)
    return torch.cat([token, x], 1)


def token_that_relays(net, x):
    y = with_token(net, x)
    relayed = y + attended(y)
    return attended(relayed)[:, 1:]


def token_that_is_read_out(net, x):
    return attended(with_token(net, x))[:, :1]


# No attention, or to nothing.
def convolution_alone(net, x):
    return x + net.conv(x.mT).mT


def nothing_of_the_input(net, x):
    return attended(x * 0)


REFUSED = {
    block_local: "by torch.Tensor.matmul to [1, 2, 4, 4]",
    blocks_as_heads: "[4, 4, 4], are not [head, query, key] of its 8 pos",
    turned_around: "[2, 8, 8], are not [head, query, key]",
    query_head_key: "[8, 2, 8], are not [head, query, key]",
    key_query: "by torch.Tensor.matmul to [1, 2, 8, 8]",
    softmax_by_hand: "by torch.Tensor.matmul to [1, 8, 8]",
    linear: "by torch.Tensor.matmul to [1, 16, 16]",
    under_vmap: "attention inside torch.vmap cannot be tapped",
    token_that_relays: "by torch.Tensor.matmul to [1, 2, 9, 8]",
    token_that_is_read_out: "by torch.Tensor.matmul to [1, 2, 9, 8]",
    convolution_alone: "another by torch.nn.functional.conv1d to [1, 16, 8]",
    nothing_of_the_input: "nothing that Net gives depends on the example inputs",
}


def name_of(forward):
    return forward.__name__


@pytest.mark.parametrize("forward", REFUSED, ids=name_of)
@pytest.mark.parametrize("batch", [1, 3])
def test_what_is_not_seen_is_named(forward, batch):
    with refusing(REFUSED[forward]):
        tapped(Net(forward), X[:batch])


HEADS_FIRST = {
    4: "[4, 2, 8, 8] is not allowed: it must be [batch, …] with a",
    2: "or the first dimension of patterns is not the batch",
}


@pytest.mark.parametrize("n_heads", HEADS_FIRST)
@pytest.mark.parametrize("batch", [1, 3])
def test_heads_before_the_batch_are_refused(n_heads, batch):
    net = Net(heads_first(n_heads))
    with refusing(HEADS_FIRST[n_heads]):
        tapped(net, X[:batch])


# Other ways in which positions reach one another.
def convolved(net, x):
    return attended(x + net.conv(x.mT).mT)


def recurrent(net, x):
    out, _ = net.gru(x.transpose(0, 1))
    return attended(x + out.transpose(0, 1))


def shifted(net, x):
    before = F.pad(x[:, :-1], (0, 0, 1, 0))
    return attended(x + before)


def summed_up(net, x):
    return attended(x + x.cumsum(1))


def mean_of_all(net, x):
    return (x + attended(x)).mean(1, keepdim=True)


def added_in_place(net, x):
    x = x + attended(x)
    x[:, 1:] += x[:, :-1].clone()
    return x


def key_that_is_a_mean(net, x):
    h = split(x)
    mean = h.mean(2, keepdim=True)
    return attended(x, torch.cat([mean, h], 2))


@pytest.mark.parametrize(
    ("mixer", "forward"),
    [
        ("conv1d to [1, 16, 8]", convolved),
        ("torch.gru to [8, 1, 16]", recurrent),
        ("torch.Tensor.add to [1, 8, 16]", shifted),
        ("cumsum to [1, 8, 16]", summed_up),
        ("mean to [1, 1, 16]", mean_of_all),
        ("mean to [1, 2, 1, 8]", key_that_is_a_mean),
        ("add_ to [1, 7, 16]", added_in_place),
    ],
)
def test_other_ways_than_attention_are_named(mixer, forward):
    with pytest.warns(UserWarning, match="^Net mixes positions by ") as said:
        wrapped = tapped(Net(forward), X)
    assert mixer in str(said[0].message)
    assert any(mixer in name for name in wrapped.mixers)
    assert wrapped.n_layers == 1
    assert wrapped.n_heads == 2


def by_rows(flat, expert):
    """Rows for an expert, taken out and put back."""
    out = torch.zeros_like(flat)
    gate = flat[:, 0]
    for chosen in (gate > 0, gate <= 0):
        (rows,) = torch.where(chosen)
        weighted = expert(flat[rows]) * flat[rows, :1]
        out.index_add_(0, rows, weighted)
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


def rows_of(x):
    """What attention gives, a row for every position of every sequence."""
    return attended(x).reshape(-1, WIDTH)


def routed(route):
    def forward(net, x):
        return x + route(rows_of(x), torch.tanh).view(x.shape)

    return forward


def routed_behind_a_convolution(route):
    after = routed(route)

    def forward(net, x):
        return after(net, x + net.conv(x.mT).mT)

    return forward


def routed_to_attention(route):
    def expert(rows):
        return (rows @ rows.mT).relu() @ rows

    def forward(net, x):
        return x + route(rows_of(x), expert).view(x.shape)

    return forward


ROUTES = [by_rows, by_order, packed]


@pytest.fixture(params=range(3))
def inputs(request):
    generator = seeded(request.param)
    return torch.randn(3, LENGTH, WIDTH, generator=generator)


@pytest.mark.parametrize("route", ROUTES)
def test_routes_of_rows_mix_no_positions(route, inputs):
    net = Net(routed(route))
    assert tapped(net, inputs).mixers == ()


@pytest.mark.parametrize("route", ROUTES)
def test_a_convolution_before_a_route_is_named_alone(route, inputs):
    net = Net(routed_behind_a_convolution(route))
    with pytest.warns(UserWarning, match="mixes positions by"):
        wrapped = tapped(net, inputs)
    assert wrapped.mixers == ("torch.nn.functional.conv1d to [1, 16, 8]",)


@pytest.mark.parametrize("route", ROUTES)
def test_an_expert_that_attends_is_refused(route, inputs):
    net = Net(routed_to_attention(route))
    with pytest.raises(HeadwayError):
        tapped(net, inputs)


# Keys that are no position, and positions that are no query.
def memory_first(net, x):
    memory = net.memory.expand(len(x), -1, -1, -1)
    keys = torch.cat([memory, split(x)], 2)
    return attended(x, keys)


def memory_on_both_sides(net, x):
    memory = net.memory.expand(len(x), -1, -1, -1)
    first = memory[:, :, :1]
    last = memory[:, :, 1:2]
    keys = torch.cat([first, split(x), last], 2)
    return attended(x, keys)


def token_in_front(net, x):
    whole = torch.ones(LENGTH + 1, LENGTH + 1, dtype=torch.bool)
    hidden = ~whole.tril()
    return attended(with_token(net, x), hidden=hidden)[:, 1:]


def last_query_alone(net, x):
    query = split(x[:, -1:])
    return x[:, -1:] + sdpa(query, split(x))


def softmaxes_of(net, monkeypatch):
    """The softmaxes that a net takes of `X`."""
    softmaxes = []
    softmax = torch.Tensor.softmax

    def kept(*given):
        result = softmax(*given)
        softmaxes.append(result)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(torch.Tensor, "softmax", kept)
        net(X)
    return softmaxes


BESIDE = {
    memory_first: list(range(6, 14)),
    memory_on_both_sides: list(range(1, 9)),
    token_in_front: list(range(1, 9)),
}


@pytest.mark.parametrize("forward", BESIDE, ids=name_of)
def test_keys_that_are_no_position_come_last(forward, monkeypatch):
    net = Net(forward)
    (pattern,) = softmaxes_of(net, monkeypatch)
    keys = BESIDE[forward]
    others = [key for key in range(pattern.shape[-1]) if key not in keys]
    queries = keys if forward is token_in_front else list(range(LENGTH))
    expected = pattern[:, :, queries][..., keys + others]
    with torch.no_grad():
        outputs, seen = looked(tapped(net, X), X)
        assert_close(outputs, net(X))
        assert_close(seen[0], expected)


@pytest.mark.parametrize("forward", BESIDE, ids=name_of)
def test_an_edit_reaches_positions_by_their_numbers_beside_other_keys(forward):
    def second_reads_sixth(_, own):
        own = own.clone()
        own[:, :, 1] = F.one_hot(torch.tensor(5), own.shape[-1])
        return own

    with torch.no_grad():
        wrapped = tapped(Net(forward), X)
        outputs = wrapped(X, second_reads_sixth)
    assert_close(outputs[:, 1], X[:, 5])


def test_a_single_query_is_that_of_the_last_position():
    net = Net(last_query_alone)
    outputs, seen = looked(tapped(net, X), X)
    assert_close(outputs, net(X))
    pattern = seen[0]
    assert pattern.shape == (3, 2, LENGTH, LENGTH)
    sums = pattern.sum(-1)
    assert_close(sums[..., -1], torch.ones(3, 2))
    assert not pattern[:, :, :-1].any()


def test_rows_that_see_nothing_are_zero():
    hidden = ~torch.ones(LENGTH, LENGTH).tril(-1).bool()

    def strict(net, x):
        h = split(x)
        scores = (h @ h.mT).masked_fill(hidden, -torch.inf)
        pattern = scores.softmax(-1).nan_to_num(0.0)
        return joined(pattern @ h)

    net = Net(strict)
    outputs, seen = looked(tapped(net, X), X)
    assert_close(outputs, net(X))
    pattern = seen[0]
    assert not pattern[:, :, 0].any()
    sums = pattern[:, :, 1:].sum(-1)
    assert_close(sums, torch.ones(3, 2, LENGTH - 1))


@pytest.mark.parametrize(
    "tokens", [torch.zeros(2, 4, dtype=torch.long), torch.arange(8)[None]]
)
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

    wrapped = tapped(Net(memory_first), X)
    with pytest.raises(KeyError, match="mine"):
        wrapped(X, tap)


def by_sdpa(net, x):
    h = split(x)
    return x + sdpa(h, h)


def by_softmax(net, x):
    return x + attended(x)


def silenced(_, own):
    return own.zero_()


@pytest.mark.parametrize("forward", [by_sdpa, by_softmax])
def test_a_tap_may_edit_in_place(forward):
    wrapped = tapped(Net(forward), X)
    assert_close(wrapped(X, silenced), X)
    with torch.inference_mode():
        assert_close(wrapped(X, silenced), X)
