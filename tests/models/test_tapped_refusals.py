"""Modules that cannot be tapped are told in one line; attention is, however it is
written.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from commands import refusing
from headway import discover
from headway.errors import HeadwayError
from headway.models import tapped
from headway.tasks import Hops
from nano import BIAS, LENGTH, WIDTH, Nano, X, looked
from sampling import seeded


def unchanged(layer, pattern):
    return pattern


def refusal(module, inputs=X):
    """The words said at once, and the same at the first call with a tap."""
    with pytest.raises(HeadwayError) as at_once:
        tapped(module, inputs)
    with pytest.raises(HeadwayError) as later:
        tapped(module)(inputs, unchanged)
    assert str(at_once.value) == str(later.value)
    assert "\n" not in str(at_once.value)
    return str(at_once.value)


class Around(nn.Module):
    """Something done to the input before, or the output after, a layer of attention."""

    def __init__(self, before=None, after=None, kind="sdpa"):
        super().__init__()
        self.inner = Nano(kind)
        self.before = before
        self.after = after
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.before:
            x = self.before(self, x)
        x = self.inner(x)
        if self.after:
            x = self.after(self, x)
        return x


def noise(_, x):
    return x + 0.1 * torch.randn_like(x)


def state(module, x):
    return x + 0.1 * module.calls


def whole_numbers(_, x):
    return x.argmax(-1)


def as_a_dict(_, x):
    return {"logits": x}


def nothing(_, x):
    return ()


class Mixes(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(WIDTH))

    def forward(self, x):
        return (x @ self.weight).softmax(-1)


DIFFER = "Around keeps state between calls or draws at random"
OPERATOR = "headway_tests.flash_attn.default is called"


NO_PRODUCT = "by torch.Tensor.matmul to [1, 2, 6, 6]"
REFUSED = {
    "no attention": (Mixes(), "no attention was seen: Mixes"),
    "operator": (Nano("custom"), OPERATOR),
    "operator behind": (Nano("sdpa", "custom"), OPERATOR),
    "sigmoid": (
        Nano("sigmoid"),
        "in Nano one position reaches another by torch.Tensor.matmul to",
    ),
    "sigmoid behind": (Nano("sdpa", "sigmoid"), NO_PRODUCT),
    "sigmoid in front": (Nano("sigmoid", "softmax"), NO_PRODUCT),
    "heads": (
        Nano("sdpa", "softmax", n_heads=(2, 3)),
        "by layer of Nano = [(2, 0), (3, 0)]",
    ),
}
REFUSED |= {
    "noise": (Around(noise), DIFFER),
    "state": (Around(state), DIFFER),
    "whole numbers": (Around(after=whole_numbers), "output of Around is a Tensor"),
    "dict": (Around(after=as_a_dict), "output of Around is a dict"),
    "empty": (Around(after=nothing), "output of Around is a tuple"),
}


class Drops(nn.Module):
    def forward(self, x):
        p = 0.1 * self.training
        return F.scaled_dot_product_attention(x, x, x, dropout_p=p)


def encoder():
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 1)


def with_a_module():
    return nn.Sequential(nn.Dropout(0.1), Nano("sdpa"))


@pytest.mark.parametrize("name", REFUSED)
def test_a_module_that_cannot_be_tapped(name):
    module, said = REFUSED[name]
    assert said in refusal(module)


@pytest.mark.parametrize("make", [Drops, with_a_module, encoder])
def test_dropout(make):
    module = make()
    assert "dropout is on (p = 0.1)" in refusal(module)
    assert tapped(module.eval(), X).n_layers == 1


class Trains(nn.Module):
    """A module in training mode, with something that only training has."""

    def __init__(self, part):
        super().__init__()
        self.inner = Nano("sdpa").eval()
        self.part = part

    def forward(self, x):
        return self.part(self.inner(x))


@pytest.mark.parametrize("part", [nn.Dropout1d(0.2), nn.AlphaDropout(0.2)], ids=str)
def test_dropout_of_other_kinds(part):
    module = Trains(part)
    assert "dropout is on (p = 0.2): call .eval()" in refusal(module)
    assert tapped(Trains(part).eval(), X).n_layers == 1


def partly_traced(module):
    return nn.Sequential(nn.Identity(), traced(module))


EXPORTED = "GraphModule is exported (torch.export)"


def test_a_module_in_training_mode_is_told_so():
    said = refusal(Trains(nn.BatchNorm1d(LENGTH)))
    assert "the pattern of a sequence changes with the rest of its batch" in said
    assert said.endswith("it is in training mode: call .eval() on it first")
    assert tapped(Trains(nn.BatchNorm1d(LENGTH)).eval(), X).n_layers == 1


class FixedBatch(nn.Module):
    """A module for two sequences."""

    def __init__(self):
        super().__init__()
        self.inner = Nano("sdpa")

    def forward(self, x):
        return self.inner(x.view(2, LENGTH, WIDTH))


def test_a_fixed_number_of_sequences_is_told():
    said = refusal(FixedBatch(), X[:2])
    assert "cannot be called with another number of sequences" in said
    assert "at inputs of [1, 6, 16]" in said


def exported(module, **options):
    return torch.export.export(module, (X,), **options).module()


def of_any_batch(module):
    return exported(module, dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))


def quantised(module):
    return torch.ao.quantization.quantize_dynamic(module, {nn.Linear})


def traced(module):
    return torch.jit.trace(module, X, check_trace=False)


SEALED = {
    traced: "is traced or scripted (TorchScript): its calls cannot be seen",
    partly_traced: "Sequential is traced or scripted",
    exported: EXPORTED,
    of_any_batch: EXPORTED,
    quantised: "is quantised: what it rounds to depends on the whole batch",
}


@pytest.mark.parametrize("make", SEALED)
@pytest.mark.parametrize("kind", ["sdpa", "softmax"])
@pytest.mark.filterwarnings("ignore")
def test_what_was_done_to_a_module_is_told(make, kind):
    module = make(Nano(kind))
    told = refusal(module)
    assert SEALED[make] in told
    assert told.endswith("give the module that it was made from")


@pytest.mark.filterwarnings("ignore")
def test_discovery_of_a_traced_module_is_refused_in_the_same_words():
    task = Hops(asked=(1,), n_symbols=4, n_places=8)
    embed = nn.Embedding(task.vocabulary, WIDTH)
    unembed = nn.Linear(WIDTH, task.vocabulary)
    module = nn.Sequential(embed, Nano("sdpa"), unembed)
    inputs = task.sample(2, seeded(0)).inputs
    script = torch.jit.trace(module, inputs, check_trace=False)
    with refusing("is traced or scripted (TorchScript)"):
        discover(script, task)


def test_a_graph_of_calls_is_no_exported_module():
    class Attends(nn.Module):
        def forward(self, x):
            heads = x[:, None]
            return F.scaled_dot_product_attention(heads, heads, heads)[:, 0]

    graph = torch.fx.symbolic_trace(Attends())
    assert tapped(graph, X).n_layers == 1


@pytest.mark.parametrize(
    "inputs", [X[0, 0], X[:0], X[..., None]], ids=lambda x: str(x.shape)
)
def test_inputs_of_another_shape(inputs):
    shape = list(inputs.shape)
    told = refusal(Nano("sdpa"), inputs)
    assert told.startswith(f"shape of inputs = {shape} is not allowed")


def test_layers_and_heads_before_they_are_known():
    wrapped = tapped(Nano("sdpa"))
    for name in ("n_layers", "n_heads"):
        with pytest.raises(
            HeadwayError, match="layers and heads of Nano are not known yet"
        ):
            getattr(wrapped, name)
    wrapped(X)
    with pytest.raises(HeadwayError, match="not known yet"):
        _ = wrapped.n_layers
    wrapped(X, unchanged)
    assert wrapped.n_layers == 1
    assert wrapped.n_heads == 2


def test_a_model_that_changes_its_layers():
    module = Nano("sdpa", "sdpa")
    wrapped = tapped(module, X)
    del module.blocks[1]
    with pytest.raises(
        HeadwayError, match=r"by layer = \[\(2, 0\)\] is not .*\(2, 0\)\], as at"
    ):
        wrapped(X, unchanged)


def split(x):
    return x.view(*x.shape[:2], 4, -1).transpose(1, 2)


def additive(x):
    """Scores that are no product."""
    sums = x[:, :, None] + x[:, None]
    scores = torch.tanh(sums)[..., :4].permute(0, 3, 1, 2)
    return scores.softmax(-1)


def grouped(x):
    """Scores [batch, key head, query head of it, query, key]."""
    query = split(x).unflatten(1, (2, 2))
    key = query[:, :, :1]
    return torch.softmax(query @ key.mT, -1).flatten(1, 2)


def flat(x):
    """Scores [batch * head, query, key], as in Bloom."""
    query = split(x).flatten(0, 1)
    bias = BIAS.repeat(len(x), 1, 1)
    scores = bias.baddbmm(batch1=query, batch2=query.mT, beta=0.5)
    return F.softmax(scores, dim=2).view(len(x), 4, LENGTH, LENGTH)


def viewed(x):
    """Such scores, with a key that is no position, as [batch, head, query, key]."""
    query = split(x).flatten(0, 1)
    beside = torch.zeros(4 * len(x), 1, query.shape[-1])
    keys = torch.cat([query, beside], 1)
    scores = torch.bmm(query, keys.mT)
    return scores.view(len(x), 4, LENGTH, LENGTH + 1).softmax(3)


def sink(x):
    """A key beside the positions."""
    query = split(x)
    beside = torch.ones(len(x), 4, LENGTH, 1)
    scores = torch.cat([query @ query.mT, beside], -1)
    return scores.softmax(-1)


class Weighed(nn.Module):
    """Attention by a function of the input; keys that are no position have values of
    0.
    """

    def __init__(self, weigh):
        super().__init__()
        self.weigh = weigh

    def forward(self, x):
        pattern = self.weigh(x)
        beside = pattern.shape[-1] - LENGTH
        values = F.pad(split(x), (0, 0, 0, beside))
        return (pattern @ values).transpose(1, 2)


def without_third_head(_, pattern):
    return pattern.index_fill(1, torch.tensor(2), 0)


WAYS = [additive, grouped, flat, viewed, sink]


@pytest.mark.parametrize("weigh", WAYS)
def test_other_ways_to_write_attention(weigh):
    wrapped = tapped(Weighed(weigh), X)
    expected = wrapped(X)
    outputs, seen = looked(wrapped)
    assert_close(outputs, expected)
    assert_close(seen, [weigh(X)])
    assert wrapped.n_layers == 1
    assert wrapped.n_heads == 4
    expected[:, :, 2] = 0
    assert_close(wrapped(X, without_third_head), expected)


class Decoys(nn.Module):
    """One head, whose pattern has no dimension for it; as many outputs, experts and
    units of an expert as keys.
    """

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.router = nn.Linear(WIDTH, LENGTH)
        self.unembed = nn.Linear(WIDTH, LENGTH)
        self.up = nn.Parameter(torch.randn(LENGTH, WIDTH, LENGTH) / 4)
        self.down = nn.Parameter(torch.randn(LENGTH, LENGTH, WIDTH) / 4)

    def forward(self, x):
        scores = torch.bmm(x, x.transpose(1, 2)) / 8
        self.pattern = torch.softmax(scores, -1)
        x = torch.bmm(self.pattern, x)
        experts = (x[:, None] @ self.up).relu() @ self.down
        shares = F.softmax(self.router(x), -1).mT[..., None]
        mixed = (shares * experts).sum(1)
        return self.unembed(mixed).softmax(-1)


def test_other_softmaxes_are_left_alone():
    module = Decoys()
    wrapped = tapped(module, X)
    _, seen = looked(wrapped)
    assert wrapped.n_layers == 1
    assert wrapped.n_heads == 1
    assert_close(seen, [module.pattern[:, None]])
