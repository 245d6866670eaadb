"""A loop that is recorded trains as one that is not, to the last bit, whatever the
module does.
"""

import random
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import torch
from attending import TASK, WRAPPED, Busy, Net
from torch import nn

import headway
from sampling import seeded


def state_of(model):
    """The content of a module, by name: tensors as numbers, containers as they
    print.
    """
    found = {}
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if name not in (
                "_modules",
                "_parameters",
                "_buffers",
                "_torchdynamo_wrapper_id",
            ):
                told = (
                    value.get_state() if isinstance(value, torch.Generator) else value
                )
                whole = told.tolist() if isinstance(told, torch.Tensor) else told
                found[f"{path}.{name}"] = repr(whole)
        tensors = [*module._parameters.items(), *module._buffers.items()]
        found |= {f"{path}.{n}": t.tolist() for n, t in tensors if t is not None}
        found |= {
            f"{path}.{n} gradient": t.grad.tolist()
            for n, t in tensors
            if t.grad is not None
        }
    return found


def trained(model, folder, autocast=False):
    """The outcome of ten steps with dropout, recorded or not: the module, and what is
    drawn.
    """
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    recorder = (
        nullcontext()
        if folder is None
        else headway.Recorder(folder, model, TASK, sequences=32)
    )
    optimizer = torch.optim.AdamW(
        [w for w in model.parameters() if w.requires_grad], lr=1e-2
    )
    generator = seeded(0)
    losses = []
    with recorder, torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        for step in range(10):
            batch = TASK.sample(16, generator)
            loss = TASK.targets.loss(
                model(batch.inputs)[:, -TASK.n_read :], batch.targets
            )
            if folder is not None and step % 3 == 0:
                recorder.save(step, loss)  # between the pass and its gradients
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    drawn = torch.rand(3).tolist(), random.random(), np.random.random()  # noqa: NPY002
    return losses, drawn, state_of(model)


def frozen(model):
    """In the middle of what people do: parts in evaluation, parts without gradients,
    hooks.
    """
    model.train()
    model.norm.eval()
    model.drop.train()
    model.embed.weight.requires_grad_(False)
    model.up.register_forward_hook(lambda module, given, out: out * 1.5)
    model.head.register_full_backward_hook(lambda module, into, out: None)
    return model


def overriding(model):
    """A module of which a part stays in evaluation by its own word."""

    class Stays(nn.BatchNorm1d):
        def train(self, mode=True):
            return super().train(False)

    model.norm = Stays(16)
    return model.train()


KINDS = {
    **{name: partial(lambda wrap: wrap(Net()), wrap) for name, wrap in WRAPPED.items()},
    "frozen": lambda: frozen(Net()),
    "overriding": lambda: overriding(Net()),
    "busy": Busy,
    "busy and frozen": lambda: frozen(Busy()),
    "evaluating": lambda: Net().eval(),
    "compiled and frozen": lambda: torch.compile(frozen(Net()), backend="eager"),
}


@pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor"
)  # of what is compiled
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_recording_changes_nothing(kind, autocast, tmp_path):
    torch.manual_seed(7)
    one = KINDS[kind]()
    torch.manual_seed(7)
    other = KINDS[kind]()
    alone = trained(one, None, autocast)
    recorded = trained(other, tmp_path / "run", autocast)
    assert recorded[:2] == alone[:2]
    assert recorded[2].keys() == alone[2].keys()
    differ = [
        name
        for name in alone[2]
        if "hook" not in name and alone[2][name] != recorded[2][name]
    ]
    assert [name for name in differ if "0x" not in alone[2][name]] == []
    assert headway.Run.open(tmp_path / "run").checkpoint_steps() == [0, 3, 6, 9]


def test_what_a_module_holds_is_the_same_object_afterwards(tmp_path):
    model = frozen(Busy())
    before = [
        (module, module.__dict__, dict(module.__dict__)) for module in model.modules()
    ]
    versions = {name: weight._version for name, weight in model.named_parameters()}
    with headway.Recorder(tmp_path / "run", model, TASK, sequences=8) as recorder:
        recorder.save(0, 1.0)
    for module, state, held in before:
        assert module.__dict__ is state
        for name, value in held.items():
            assert state[name] is value
        assert state.keys() == held.keys()
    assert versions == {
        name: weight._version for name, weight in model.named_parameters()
    }


def test_opening_a_run_draws_nothing(tmp_path):
    with headway.Recorder(tmp_path / "run", Net(), TASK, sequences=8) as recorder:
        recorder.save(0, 1.0)
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    headway.Run.open(tmp_path / "run", build=Net).model()
    assert torch.equal(torch.rand(3), expected)
