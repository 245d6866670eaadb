"""The run folder: whole files, one writer, clear refusals."""

import fcntl
import json
import subprocess
import sys

import pytest
import torch

from headway.dynamics import Timeline
from headway.dynamics.dependence import Dependence
from headway.errors import HeadwayError
from headway.find import MinimalCircuits
from headway.judge import Discovery
from headway.judge.certificate import Certificate
from headway.judge.discovery import Refusal
from headway.training import Run, train
from headway.training.files import write_tensors
from headway.training.finding import LEFT_BY_RUNS, run_folders
from headway.training.run import FINDINGS, FOUND_OUT, kind_of

LOSSES = {"x_1": 1.0, "x_2": 1.0}
EVALUATION = {"train_loss": 1.0, "val_loss": 1.0, "partial": LOSSES, "seconds": 1.0}


def test_a_run_says_where_its_numbers_come_from(tiny, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    environment = run.read("environment.json")[0]
    assert environment["torch"] == torch.__version__
    assert {"headway", "python", "processor", "threads", "command", "started"} <= set(
        environment
    )
    assert json.loads((run.folder / "config.json").read_text())["seed"] == tiny.seed


def test_checkpoints_follow_the_schedule(tiny, with_training, tmp_path):
    linear = train(tiny, tmp_path / "linear")
    assert linear.checkpoint_steps() == [0, 4, 8, 12]
    log = train(with_training(tiny, checkpoints="log"), tmp_path / "log")
    assert log.checkpoint_steps() == [0, 1, 2, 4, 8, 12]
    ends = train(with_training(tiny, checkpoint_every=0), tmp_path / "ends")
    assert ends.checkpoint_steps() == [0, 12]


CONFIGS = [
    (None, "no config.json"),
    ('{"format": 1, "ta', "not valid JSON"),
    ({"format": 99}, "format = 99 is not allowed: it must be 1, the one that"),
    ({"bogus": 1}, "run/config.json: bogus is not a field"),
    ({"seed": "x"}, "seed = 'x' is not allowed: it must be a whole number"),
    ({"task": {"kind": "chess"}}, "task.kind = 'chess' is not allowed"),
]
OUTCOMES = ["[]", "null", '{"status": "fine"}', '{"status": [1]}', "{}"]
LINES = [
    "{",
    "",
    "3",
    "{}",
    "\x00\x00",
    *({"step": step} for step in ("2", 1, 0)),
    {"step": 2, "val_loss": None},
    *({"step": 2, "partial": losses} for losses in ([1.0], {"x_1": "low"})),
]
SPOILT = [
    *(("config.json", *case) for case in CONFIGS),
    *(
        ("outcome.json", text, r"outcome.json.* is (not allowed|missing)")
        for text in OUTCOMES
    ),
    *(
        ("metrics.jsonl", line, r"metrics.jsonl, line 2( is not|: | = 3)")
        for line in LINES
    ),
]
"""Files of a run, their content or fields of it, or what is added to the
evaluations.
"""


@pytest.mark.parametrize(("name", "content", "complaint"), SPOILT)
def test_a_spoilt_file_is_told_in_one_line(tiny, tmp_path, name, content, complaint):
    run = Run.create(tmp_path / "run", tiny)
    run.append_metrics({**EVALUATION, "step": 1})
    path = run.folder / name
    if content is None:
        path.unlink()
    elif name == "metrics.jsonl":
        line = (
            json.dumps({**EVALUATION, **content})
            if isinstance(content, dict)
            else content
        )
        path.write_text(f"{path.read_text()}{line}\n")
    else:
        whole = isinstance(content, str)
        path.write_text(content if whole else json.dumps({**run.read(name), **content}))
    with pytest.raises(HeadwayError, match=f"^[^\n]*{complaint}[^\n]*$"):
        _ = Run.open(run.folder).status, run.metrics()


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        *(
            (lambda p, n=n: p.write_bytes(p.read_bytes()[:n]), "truncated")
            for n in (0, 7, 100, -5)
        ),
        (
            lambda path: write_tensors(path, {"x": torch.zeros(2)}, {}),
            "does not fit the model",
        ),
    ],
)
def test_a_spoilt_checkpoint_is_named(tiny, tmp_path, spoil, complaint):
    run = train(tiny, tmp_path / "run")
    spoil(run.checkpoint_path(12))
    with pytest.raises(HeadwayError, match=rf"step_0000012.safetensors .*{complaint}"):
        run.model()
    run.model(8)


def test_a_second_writer_is_refused(tiny, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    with run.writing():
        assert run.status == "running"
    holding = (
        "import fcntl, sys\n"
        "lock = open(sys.argv[1], 'a')\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "print(flush=True)\n"
        "input()\n"
    )
    words = [sys.executable, "-c", holding, run.folder / ".lock"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout.readline() == "\n"
        assert run.status == "running"
        with (
            pytest.raises(HeadwayError, match="another process is writing"),
            run.writing(),
        ):
            pass
        other.communicate("\n")
    assert run.status == "stopped"


def test_a_folder_without_permission_is_named(tiny, tmp_path):
    blocked = tmp_path / "file-not-folder"
    blocked.write_text("")
    with pytest.raises(HeadwayError, match="cannot make"):
        Run.create(blocked / "run", tiny)


def test_an_outcome_that_nothing_supports_is_refused(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    run.write("outcome.json", {**run.read("outcome.json"), "step": 11})
    with pytest.raises(
        HeadwayError, match=r"ends with step 12, but outcome\.json tells of 11"
    ):
        run.metrics()


def test_who_looks_at_a_run_is_no_writer(tiny, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    with run.writing():
        pass
    with open(run.folder / ".lock") as another_look:
        fcntl.flock(another_look, fcntl.LOCK_SH)
        assert run.status == "stopped"


def test_rewinding_forgets_what_came_later(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    for name in ("circuit", "emergence", "circuit_0000004", "circuit_0000008"):
        run.write(f"{name}.json", {})
    drafts = [
        ".state.safetensors.draft-1",
        "checkpoints/.step_0000004.safetensors.draft-1",
    ]
    for name in drafts:
        (run.folder / name).write_text("")
    with run.writing():
        run.rewind(12)
    assert run.status == "stopped"
    assert run.read("circuit.json") is None, "the run goes on to other weights"
    assert not any((run.folder / name).exists() for name in drafts)

    run.rewind(6)
    assert run.checkpoint_steps() == [0, 4]
    assert [line["step"] for line in run.metrics()] == [2, 4, 6]
    assert run.read("emergence.json") is run.read("circuit_0000008.json") is None
    assert run.read("circuit_0000004.json") == {}


@pytest.mark.parametrize("name", FOUND_OUT)
def test_rewinding_forgets_all_that_was_found_out(tiny, tmp_path, name):
    run = train(tiny, tmp_path / "run")
    run.write(name, {})
    run.rewind(8)
    assert not (run.folder / name).exists()
    findings = (Discovery, MinimalCircuits, Timeline, Dependence, Certificate, Refusal)
    assert {kind.FILE for kind in findings} <= {*FOUND_OUT}


@pytest.mark.parametrize("file", FINDINGS)
def test_a_finding_is_kept_in_the_file_of_its_kind(file):
    assert file == kind_of(file).FILE


BESIDE = ("figures", "results", "asked")


def test_runs_of_sweeps_in_a_folder_of_sweeps_are_found(tiny, tmp_path):
    alone = Run.create(tmp_path / "alone", tiny).folder
    sweeps = [tmp_path / "paper-small" / group for group in ("ic", "non-ic")]
    inner = [sweep / f"seed={seed}" for sweep in sweeps for seed in (9, 10)]
    for folder in reversed(inner):
        Run.create(folder, tiny)
    for sweep in sweeps:
        (sweep / "plan.json").write_text("{}")
    for name in BESIDE:
        (tmp_path / "paper-small" / name / "more").mkdir(parents=True)
    (tmp_path / "no-run").mkdir()
    assert run_folders(tmp_path) == [alone, *inner]
    assert run_folders(tmp_path / "paper-small") == inner
    assert run_folders(sweeps[0]) == inner[:2]
    (alone / "metrics.jsonl").write_text("")
    (alone / "config.json").unlink()
    assert run_folders(alone) == [alone]


@pytest.mark.parametrize("left", LEFT_BY_RUNS)
def test_a_run_that_lost_its_config_is_told_and_other_folders_are_not(
    tiny, tmp_path, left
):
    whole = Run.create(tmp_path / "alone", tiny).folder
    (tmp_path / "ask-model").mkdir()
    (tmp_path / "ask-model" / "asked.json").write_text("{}")
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost" / left).write_text("")
    assert run_folders(tmp_path) == [whole, tmp_path / "lost"]


GIVEN_UP = [{"step": step, "partial": {}} for step in (5, 6)]


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        (None, "stopped: {losses} after 7 steps, 1 min 01 s"),
        (
            {"message": "the loss is nan"},
            "failed: the loss is nan; {losses} after 7 steps, 1 min",
        ),
        ({}, "done: {losses} after 7 steps, 1 min 01 s"),
        ({"given_up": GIVEN_UP}, "1 min 01 s (given up before: attempts at step 5, 6)"),
    ],
)
def test_a_run_says_how_it_ended_and_its_losses(
    tiny, tmp_path, monkeypatch, ended, told
):
    run = Run.create(tmp_path / "run", tiny)
    partial = dict.fromkeys(run.task.hops, 0.75)
    losses = {"train_loss": 1.0, "val_loss": 0.75, "partial": partial, "seconds": 61.0}
    run.append_metrics({"step": 7, **losses})
    if ended is not None:
        run.end(**ended)
    monkeypatch.setenv("COLUMNS", "60")
    *lines, last = str(run).splitlines()
    assert max(map(len, lines)) <= 60
    assert last == f"run   {run.folder}"
    hops = " ".join(f"{hop} 0.750" for hop in run.task.hops)
    whole = " ".join(" ".join(lines).split())
    assert told.format(losses=f"validation MSE 0.750 ({hops})") in whole
