"""What the page's script works on: every checkpoint, path and map."""

import base64
import gzip

import numpy as np
import pytest
from pages import page_data, report

from headway.circuits import Path
from headway.circuits.roles import role_attention
from headway.errors import HeadwayError
from headway.models import attention_patterns
from headway.report.findings import Findings
from headway.report.history import hundredths
from headway.report.page.html import path_key


def test_the_slider_holds_every_checkpoint(run):
    data = page_data(report(run))
    assert data["steps"] == run.checkpoint_steps()
    lines = {line["step"]: line for line in run.metrics()}
    for step, evaluated in zip(data["steps"], data["evaluations"], strict=True):
        last = max((at for at in lines if at <= step), default=None)
        expected = None if last is None else {key: lines[last][key] for key in evaluated}
        assert evaluated == expected
    timeline = run.read("emergence.json")
    assert len(data["paths"]) == len(timeline["paths"]) > 0
    for path, dated in zip(data["paths"], timeline["paths"], strict=True):
        assert path["key"] == path_key(Path.parse(dated["path"]))
        assert path["attention"] == dated["attention"]
        assert path["without"] == dated["loss_without"]
        assert path["model"] == timeline["loss"]


def test_the_maps_are_the_attention_of_the_checkpoints(run):
    data, findings = page_data(report(run)), Findings.of(run)
    batch, task = findings.sequences, run.task
    n, length, heads = len(task.roles), task.length, len(data["heads"])
    between = np.frombuffer(base64.b64decode(data["betweenRoles"]), np.uint8)
    between = between.reshape(len(data["steps"]), heads, n, n)
    example = gzip.decompress(base64.b64decode(data["example"]["packed"]))
    example = np.frombuffer(example, np.uint8).reshape(-1, heads, length, length)
    assert data["example"]["kept"] == list(range(len(data["steps"])))
    for i, step in enumerate(data["steps"]):
        patterns = attention_patterns(run.model(step), batch.inputs)
        expected = hundredths(role_attention(patterns, task, batch)).flatten(0, 1)
        assert (between[i] == expected.numpy()).all()
        assert (example[i] == hundredths(patterns[0]).flatten(0, 1).numpy()).all()
    for position, (role, chain) in enumerate(data["example"]["owners"]):
        name = data["roles"][role]
        assert batch.roles[0, task.roles.index(name), chain] == position


def test_with_many_heads_the_maps_are_of_the_useful_ones(run, monkeypatch):
    monkeypatch.setattr("headway.report.findings.MOST_HEADS", 1)
    circuit = run.read("circuit.json")
    circuit["heads"]["L0.H0"] = "uniform"
    run.write("circuit.json", circuit)
    with pytest.raises(HeadwayError, match="dates another circuit"):
        report(run)
    timeline = run.read("emergence.json")
    timeline["paths"] = [p for p in timeline["paths"] if not p["path"].startswith("L0.")]
    run.write("emergence.json", timeline)
    text = report(run)
    assert [head["layer"] for head in page_data(text)["heads"]] == [1]
    assert "1 head without a path are left out" in text
