"""A module that a recorder keeps opens again, whatever is wrapped around the module."""

import pytest
import safetensors.torch
import torch
from attending import TASK, WRAPPED, Net, parametrized
from torch import nn
from torch.testing import assert_close

import headway
from headway.errors import HeadwayError
from nano import GPT
from sampling import seeded

INPUTS = TASK.sample(4, seeded(5)).inputs


def averaged(model):
    average = torch.optim.swa_utils.AveragedModel(model)
    with torch.no_grad():
        model.head.weight.mul_(2.0)
    average.update_parameters(model)
    return average


MORE = {
    **{name: wrap for name, wrap in WRAPPED.items() if name != "parametrized"},
    "averaged": averaged,
    "replicated and compiled": lambda m: torch.compile(
        nn.DataParallel(m), backend="eager"
    ),
    "compiled and tapped": lambda m: headway.tapped(torch.compile(m, backend="eager")),
}


def recorded(folder, model, **told):
    with headway.Recorder(folder, model, TASK, sequences=8, **told) as recorder:
        recorder.save(0, 1.0)
    return headway.Run.open(folder)


@torch.no_grad()
def answer(model):
    """The outputs of a module in evaluation mode, read as it was written."""
    flags = {module: module.training for module in model.modules()}
    model.eval()
    with torch.compiler.set_stance("force_eager"):
        out = model(INPUTS)
    for module, flag in flags.items():
        module.training = flag
    return out


@pytest.mark.parametrize("wrap", MORE)
def test_a_wrapped_module_opens_again(wrap, tmp_path):
    model = MORE[wrap](Net())
    run = recorded(tmp_path / "run", model)
    names = safetensors.torch.load_file(run.checkpoint_path(0)).keys()
    assert names == Net().state_dict().keys()
    expected = answer(model)
    for build in (None, Net, lambda: MORE[wrap](Net())):
        again = headway.Run.open(tmp_path / "run", build=build).model()
        assert_close(again(INPUTS), expected)


@pytest.mark.parametrize(
    "build", [lambda: parametrized(Net()), lambda: GPT(TASK.vocabulary, width=32)]
)
def test_what_its_class_alone_does_not_build_opens_by_a_builder(build, tmp_path):
    model = build()
    run = recorded(tmp_path / "run", model)
    with pytest.raises(HeadwayError, match="recorded without a way to build it"):
        run.model()
    again = headway.Run.open(tmp_path / "run", build=build).model()
    assert_close(again(INPUTS), answer(model))


class Kept(Net):
    """Weights that are tied, not contiguous, of one storage; buffers of every kind."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(16, TASK.vocabulary, bias=False)
        self.out.weight = self.embed.weight
        self.turned = nn.Parameter(torch.randn(16, 16).T)
        whole = torch.randn(2, 16)
        self.first = nn.Parameter(whole[0])
        self.second = nn.Parameter(whole[1])
        for name, value in {
            "steps": torch.tensor(3),
            "scale": torch.tensor(0.5),
            "mask": torch.ones(4, 4).tril().bool(),
            "bytes": torch.arange(3, dtype=torch.uint8),
            "none": torch.empty(0, 3),
            "spread": torch.ones(1).expand(5),
        }.items():
            self.register_buffer(name, value)

    def attended(self, x):
        x = x @ self.turned + self.first * self.second + self.scale
        return super().attended(x)


@pytest.mark.parametrize(
    "kind", [torch.float32, torch.float64, torch.bfloat16, torch.float16]
)
def test_weights_of_every_kind_are_kept_as_they_are(kind, tmp_path):
    model = Kept().to(kind)
    run = recorded(tmp_path / "run", model, build=Kept)
    again = run.model()
    kept = safetensors.torch.load_file(run.checkpoint_path(0))
    for name, weight in model.state_dict().items():
        assert torch.equal(kept[name], weight), name
        assert torch.equal(again.state_dict()[name], weight), name
        assert again.state_dict()[name].dtype == weight.dtype, name
    assert_close(again(INPUTS), answer(model))


class Ahead(Net):
    """A position sees only what comes after it: the last sees nothing."""

    def attended(self, x):
        hidden = ~torch.ones(x.shape[2], x.shape[2]).triu(1).bool()
        return (x @ x.mT).masked_fill(hidden, -torch.inf).softmax(-1).nan_to_num(0) @ x


class ExtraKey(Net):
    """`MultiheadAttention` with a key that is no position."""

    def __init__(self, causal=True):
        super().__init__()
        self.causal = causal
        self.heads = nn.MultiheadAttention(16, 2, add_zero_attn=True, batch_first=True)

    def attended(self, x):
        n = x.shape[2]
        mask = torch.ones(n, n).triu(1).bool() if self.causal else None
        return self.heads(x[:, 0], x[:, 0], x[:, 0], attn_mask=mask)[0][:, None]


@pytest.mark.parametrize(
    ("make", "causal"),
    [
        (Net, True),
        (Ahead, False),
        (ExtraKey, True),
        (lambda: ExtraKey(causal=False), False),
    ],
)
def test_causal_is_what_positions_see(make, causal, tmp_path):
    model = make()
    if isinstance(model, Ahead):
        model.norm = nn.Identity()
    assert recorded(tmp_path / "run", model).config.model.causal is causal


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(
            lambda model: model.register_buffer("links", torch.eye(3).to_sparse()),
            id="sparse",
        ),
        pytest.param(
            lambda model: setattr(
                type(model), "get_extra_state", lambda self: {"scale": 1}
            ),
            id="extra",
        ),
        pytest.param(lambda model: setattr(model, "more", nn.LazyLinear(3)), id="lazy"),
        pytest.param(
            lambda model: setattr(model, "more", nn.Linear(3, 3, device="meta")),
            id="meta",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_written(spoil, tmp_path):
    class Own(Net):
        pass

    model = Own()
    spoil(model)
    with pytest.raises(HeadwayError, match=r"^model.*$"):
        headway.Recorder(tmp_path / "run", model, TASK, sequences=8)
    assert not any(tmp_path.iterdir())


def test_a_module_that_becomes_another_is_refused(tmp_path):
    model = Net()
    with headway.Recorder(tmp_path / "run", model, TASK, sequences=8) as recorder:
        recorder.save(0, 1.0)
        model.more = nn.Linear(2, 3)
        with pytest.raises(
            HeadwayError, match=r"names or shapes = \['more.bias', 'more.weight'\]"
        ):
            recorder.save(1, 1.0)
    assert headway.Run.open(tmp_path / "run").checkpoint_steps() == [0]
