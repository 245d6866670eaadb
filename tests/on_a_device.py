"""Training, the search, recorded loops and the page on a device of their own (see
`elsewhere`).
"""

import shutil
from dataclasses import replace

import pytest
import torch
from torch import nn

import headway
from elsewhere import PLACE, elsewhere, register
from headway.recipes import changed
from headway.tasks import Conditional, Hops, Retrieval
from headway.training.loop import Trainer

register()

SHORT = {
    "training.steps": 3,
    "training.warmup_steps": 0,
    "training.cooldown_steps": 0,
    "training.eval_every": 3,
}
TASKS = {
    "retrieval": {
        "task": Retrieval(depth=2, n_chains=2, copies="rotated"),
        "training.train_examples": 24,
        "training.clamped": ("L0.H0 s0←s2",),
    },
    "conditional": {"task": Conditional(n_values=2, n_chains=2)},
    "hops": {"task": Hops(asked=(1, 2), n_places=12), "training.precision": "float32"},
}


def test_tensors_of_two_devices_do_not_meet():
    with elsewhere():
        one = torch.ones(2, device=PLACE)
        assert (one + 1).sum().item() == 4
        assert (one.to("cpu") + torch.ones(2)).tolist() == [2, 2]
        with pytest.raises(
            RuntimeError, match="add: expected all tensors to be on the same dev"
        ):
            one + torch.ones(2)
        with pytest.raises(
            RuntimeError, match="index: expected all tensors to be on the same dev"
        ):
            torch.ones(2)[one.long()]
        with pytest.raises(RuntimeError, match="a generator of elsewhere"):
            torch.rand(2, generator=torch.Generator(PLACE))


@pytest.mark.parametrize("name", TASKS)
def test_a_run_elsewhere_has_the_bits_of_one_here(tiny, tmp_path, name):
    config = changed(tiny, {**SHORT, **TASKS[name]})
    here = headway.train(config, tmp_path / "here")
    with elsewhere():
        there = headway.train(replace(config, device=PLACE), tmp_path / "there")
        assert {weight.device.type for weight in there.transformer().parameters()} == {
            PLACE
        }
        assert there.metrics()[-1]["val_loss"] == here.metrics()[-1]["val_loss"]
        weights = there.transformer().state_dict()
        for key, value in here.transformer().state_dict().items():
            assert torch.equal(weights[key].cpu(), value)


def test_a_run_is_resumed_elsewhere(tiny, tmp_path):
    with elsewhere():
        there = headway.Run.create(tmp_path / "there", replace(tiny, device=PLACE))
        trainer = Trainer.restored(there)
        trainer.begin()
        for _ in range(5):
            trainer.after(
                trainer.step(*trainer.batches.asked(trainer.state.step + 1)), None
            )
        trainer.save()
        assert headway.resume(there.folder).status == "done"


def test_a_circuit_is_found_dated_and_shown_elsewhere(solved, tmp_path):
    here = headway.discover(solved, sequences=16, trials=False)
    folder = shutil.copytree(solved.folder, tmp_path / "there")
    with elsewhere():
        there = headway.Run(folder, replace(solved.config, device=PLACE))
        found = headway.discover(there, sequences=16, trials=False)
        assert found.circuit == here.circuit
        for step in there.checkpoint_steps()[1:-1]:
            there.drop_checkpoint(step)
        timeline = headway.emergence(there, found, sequences=4)
        assert [one.path for one in timeline.paths] == sorted(found.circuit.paths) != []
        headway.every_circuit(there, most=20)
        assert headway.write_report(there).exists()


OWN = Hops(asked=(1,), n_places=12, n_symbols=8)


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(OWN.vocabulary, 8)
        self.place = nn.Embedding(OWN.length, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, OWN.d_target)

    def forward(self, tokens):
        read = self.token(tokens) + self.place.weight[: tokens.shape[1]]
        mask = torch.ones(
            2 * tokens.shape[1:], dtype=torch.bool, device=tokens.device
        ).triu(1)
        return self.out(read + self.attention(read, read, read, attn_mask=mask)[0])


def test_a_loop_of_ones_own_is_recorded_elsewhere(tmp_path):
    with elsewhere():
        model = Own().to(PLACE)
        with headway.Recorder(tmp_path / "run", model, OWN, sequences=8) as recorder:
            metrics = recorder.save(1, 0.5)
        run = headway.Run.open(tmp_path / "run", build=Own)
        assert run.device == f"{PLACE}:0"
        batch = headway.training.held_out(OWN, 8, 0, run.device)
        assert headway.training.evaluate(run.model(), OWN, batch).tolist() == list(
            metrics["partial"].values()
        )
