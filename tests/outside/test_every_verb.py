"""Tasks that others wrote, in files that import headway alone, through every verb."""

from pathlib import Path

import pytest
from serving import serving

import headway
from commands import refused
from headway.report.cells import cell
from headway.tasks import task_in
from headway.terminal.cli import main
from in_process import forget_files, swept_here

HERE = Path(__file__).parent
SMALL = (
    "model.d_model=16",
    "model.n_heads=1",
    "model.d_mlp=16",
    "training.steps=20",
    "training.eval_every=10",
    "training.checkpoint_every=10",
    "training.eval_examples=32",
    "training.cooldown_steps=2",
)
TASKS = {"assignments": "depth=1", "reassigned": "n_keys=2", "sums": "terms=2"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "reassigned" else pytest.mark.slow)
        for name in TASKS
    ],
)
def test_every_verb_takes_them_without_a_word_of_trust(
    name, tmp_path, monkeypatch, capsys, undrawn, kinds
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = str(HERE / f"{name}.py")
    field = TASKS[name]

    def told(*words: str) -> str:
        forget_files()  # as another process that has not met the file
        main(list(words))
        found = capsys.readouterr()
        assert "unreadable" not in found.out
        assert found.err == "", words
        return found.out

    assert name in told("check", file, field).lower()
    told("train", file, field, *SMALL, "--folder", "runs/one")
    told("train", "--resume", "runs/one")
    found = told("circuit", "runs/one", "--threshold", "100", "--sequences", "16")
    assert "L0.H0" in found
    assert "flow: not known of this task" in found
    assert "how information flows in its task is not known" in refused(
        "theory", "runs/one"
    )
    certificate = headway.certify("runs/one", agreement=0.5)
    assert f"of {certificate.sequences} fresh sequences agree" in str(certificate)
    told("emergence", "runs/one")
    told("report", "runs/one")
    told("check", "runs/one")
    page = Path("runs/one/report.html").read_text()
    task = headway.Run.open("runs/one").task
    assert task.targets.loss_name in page
    assert "</html>" in page
    words = ("seed=0,1", field, *SMALL, "--folder", "runs/many", "--workers", "1")
    with swept_here():
        told("sweep", file, *words)
        told("sweep", "runs/many")
    assert told("runs", "runs").count("done") >= 3
    first, second = sorted(p for p in Path("runs/many").iterdir() if p.is_dir())
    told("report", str(first), str(second))
    told("report", "runs/many")
    found = headway.discover("runs/one", threshold=100.0, sequences=16, trials=False)
    assert "headway" in cell(found)
    with serving(Path("runs")) as site:
        assert name in site.page()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fields", "paths"),
    [
        ("assignments", {"depth": 2}, {"s0←s2", "s2←s1"}),
        ("reassigned", {}, {"query←value", "value←key"}),
        ("sums", {}, {"1 back", "2 back"}),
    ],
)
def test_they_are_learnt_and_their_circuit_is_found(name, fields, paths, tmp_path):
    task = task_in(str(HERE / f"{name}.py"))(**fields)
    run = headway.train(headway.own(task, seed=3), tmp_path / "run")
    found = headway.discover(run)
    assert found.faithful, found.replaced_loss
    relations = {path.relation for path in found.circuit.paths}
    assert paths <= relations
    timeline = headway.emergence(run, found)
    assert any(path.emerged is not None for path in timeline.paths)
