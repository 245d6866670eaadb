"""The losses of a run's model with weights cut to low rank, and the verb that leaves them."""

import json
import shutil

import pytest
import torch

from headway import cli
from headway.errors import HeadwayError
from headway.training import Run, train
from headway.training.data import held_out
from headway.training.losses import evaluate
from headway_experiments.truncation.cuts import Cuts
from headway_experiments.truncation.runs import loss, truncate_run


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory):
    return train(tiny, tmp_path_factory.mktemp("truncated") / "run")


@pytest.fixture
def run(trained, tmp_path):
    return Run.open(shutil.copytree(trained.folder, tmp_path / "run"))


def test_the_losses_are_those_of_the_truncated_model(run):
    counts = []
    cuts = Cuts(None, ("mlp", "query"), (0.0, 0.25, 1.0))
    found = truncate_run(run, cuts, 64, watch=lambda *count: counts.append(count))
    assert counts == [(i, 13) for i in range(1, 14)]
    kept = json.loads((run.folder / "truncation.json").read_text())
    assert kept["step"] == run.checkpoint_steps()[-1]
    assert [row["partial"] for row in kept["rows"]] == [row.found for row in found.rows]
    batch = held_out(run.task, 64, run.config.seed, "cpu", "truncation")

    def losses(model):
        return dict(zip(run.task.hops, evaluate(model, run.task, batch).tolist(), strict=True))

    assert found.intact.found == losses(run.model())
    assert found.at((0,), "mlp", 1.0) is found.intact
    without = run.model()
    without.layers[1].mlp.down.weight.zero_()
    row = found.at((1,), "mlp", 0.0)
    assert row.found == pytest.approx(losses(without), rel=1e-4)
    assert row.kept == 0
    assert loss(row) == pytest.approx(sum(row.found.values()) / 2, rel=1e-5)
    cut = run.model()
    weight = cut.layers[0].attn.qkv.weight[:16]
    left, values, right = torch.linalg.svd(weight.double(), full_matrices=False)
    weight.copy_((left[:, :4] * values[:4]) @ right[:4])
    row = found.at((0,), "query", 0.25)
    assert row.found == pytest.approx(losses(cut), rel=1e-4)
    assert row.kept == pytest.approx((values[:4] ** 2).sum().item() / (values**2).sum().item())


def test_another_checkpoint_can_be_truncated(run):
    first = run.checkpoint_steps()[0]
    cuts = Cuts((1,), ("output",), (0.0,))
    found = truncate_run(run, cuts, 16, step=first)
    assert json.loads((run.folder / "truncation.json").read_text())["step"] == first
    assert [row.cut.layers for row in found.rows] == [(), (1,)]
    assert loss(found.intact) != loss(truncate_run(run, cuts, 16).intact)


def test_the_verb_leaves_numbers_and_a_figure_in_the_folder(run, capsys):
    words = ["truncate", str(run.folder), "--layers", "1", "--rank", "0,0.1,0.2,1"]
    cli.main([*words, "--weights", "mlp,up+down,value", "--sequences", "32"])
    told = capsys.readouterr().out
    assert "weights" in told
    assert "intact" in told
    assert max(map(len, told.splitlines()[:-2])) <= 80
    kept = json.loads((run.folder / "truncation.json").read_text())
    assert [row["weights"] for row in kept["rows"]] == [
        *("", "mlp", "mlp", "mlp", "up+down", "up+down", "up+down", "value", "value", "value")
    ]
    by = {(row["weights"], row["fraction"]): row["partial"] for row in kept["rows"]}
    assert by["mlp", 0.1] == by["up+down", 0.1] != by["value", 0.1]
    assert kept["environment"]["torch"] == torch.__version__
    assert kept["layers"] == [1]
    svg = (run.folder / "figures" / "truncation.svg").read_text()
    assert svg.count("truncated layer") >= 3 * 3
    assert (run.folder / "figures" / "truncation.png").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--layers", "2"],
            "layers = 2 is not allowed: it must be a layer of the model, from 0 to",
        ),
        (["--weights", "gate"], "weights = 'gate' is not allowed: it must be one that layer 0"),
        (["--rank", "1.1"], "rank = 1.1 is not allowed"),
        (["--sequences", "0"], "sequences = 0 is not allowed"),
        (["--step", "5"], "step_0000005.safetensors is missing"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(run, words, said, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["truncate", str(run.folder), *words])
    assert stop.value.code == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1
    assert not (run.folder / "truncation.json").exists()


def test_a_damaged_run_is_one_line(run):
    path = run.checkpoint_path(run.checkpoint_steps()[-1])
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(HeadwayError, match="is truncated or corrupted"):
        truncate_run(run, Cuts(None, ("mlp",), (0.0,)))
    path.unlink()
    shutil.rmtree(run.folder / "checkpoints")
    with pytest.raises(HeadwayError, match="the run has no checkpoints yet"):
        truncate_run(run, Cuts(None, ("mlp",), (0.0,)))
