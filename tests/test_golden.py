"""Files are the same to the byte: of two equal runs, and of a folder that was written
once.

`python tests/test_golden.py` writes that folder anew; its numbers are of the machine
that does.
"""

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from fuzz.crashes import files_in
from fuzz.runs import CONFIG, with_every_file
from headway.dynamics import Timeline, emergence
from headway.dynamics.dependence import Dependence
from headway.dynamics.whole import faults_of
from headway.errors import HeadwayError
from headway.fields import to_json
from headway.find import MinimalCircuits, discover
from headway.judge import Discovery
from headway.judge.certificate import Certificate
from headway.relations.paths import Relation
from headway.replace import Paths
from headway.report import write_report
from headway.report.figures.saving import save_figures
from headway.training import Run, environment, train
from headway.training.config import FORMAT, from_dict
from headway.training.files import read_json, read_tensors, write_json, write_tensors

GOLDEN = Path(__file__).parent / "golden" / "run"


def everything(folder: Path) -> Run:
    """A tiny run with every file that a run may have."""
    model = replace(CONFIG.model, d_model=4)
    run = train(
        replace(CONFIG, model=model, training=replace(CONFIG.training, steps=4)), folder
    )
    found = discover(run, threshold=10.0, sequences=8, trials=False)
    path = Paths(frozenset([Relation("s2←s1")]))
    circuit = found.circuit.replacing((0, 0), path)
    given = discover(run, circuit=circuit, threshold=10.0, sequences=8, trials=False)
    run.write("circuit.json", {**(run.read("circuit.json") or {}), **given.to_json()})
    emergence(run, given, sequences=8)
    return with_every_file(run)


def test_files_of_equal_runs_are_equal_but_for_times(tmp_path, monkeypatch):
    noon = environment.datetime(2026, 1, 1, 12, tzinfo=environment.UTC)
    monkeypatch.setattr(environment, "datetime", Mock(now=lambda zone: noon))
    found = []
    for name in "ab":
        clock = itertools.count()
        monkeypatch.setattr("time.perf_counter", lambda clock=clock: float(next(clock)))
        run = everything(tmp_path / name / "run")
        write_report(run)
        save_figures(run)
        found.append(files_in(run.folder))
    assert found[0].keys() == found[1].keys()
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []
    kinds = {Path(name).suffix for name in found[0]}
    assert kinds >= {".json", ".jsonl", ".safetensors", ".html", ".svg", ".png"}


@pytest.fixture
def copy(tmp_path) -> Path:
    return shutil.copytree(GOLDEN, tmp_path / "run")


def test_a_folder_written_once_is_still_whole(copy):
    assert faults_of(copy) == []
    assert "Evidence" in write_report(copy).read_text()
    assert Run.open(copy).transformer().n_layers == 1


def test_what_is_read_from_a_folder_is_written_to_the_same_bytes(copy):
    before = files_in(copy)
    write_json(
        copy / "config.json", {"format": FORMAT, **to_json(from_dict(config_in(copy)))}
    )
    for name, kind in (
        ("circuit.json", Discovery),
        ("emergence.json", Timeline),
        ("circuits.json", MinimalCircuits),
        ("dependence.json", Dependence),
        ("certificate.json", Certificate),
    ):
        data = read_json(copy / name)
        about = {field: data[field] for field in ("step", "seed") if field in data}
        about = about if kind is Discovery else {}
        (copy / name).unlink()
        write_json(copy / name, {**about, **kind.from_json(data).to_json()})
    run = Run.open(copy)
    lines = run.metrics()
    (copy / "metrics.jsonl").unlink()
    for line in lines:
        run.append_metrics(line)
    for path in copy.rglob("*.safetensors"):
        tensors, about = read_tensors(path)
        path.unlink()
        write_tensors(path, tensors, about)
    for name in ("outcome.json", "environment.json"):
        run.write(name, read_json(copy / name))
    after = files_in(copy)
    assert [name for name in before if before[name] != after.get(name)] == []


def config_in(folder: Path) -> dict[str, Any]:
    data = read_json(folder / "config.json")
    return {name: value for name, value in data.items() if name != "format"}


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        (Dependence, ("clamped", 0, "clamped")),
        (Discovery, ("evidence", "likeness", "circuit", "agreement_by_hop")),
    ],
)
def test_findings_whose_parts_do_not_agree_are_refused(kind, way):
    *above, last = way
    data = read_json(GOLDEN / kind.FILE)
    inner: Any = data
    for step in above:
        inner = inner[step]
    inner[last] = {"x_9": 1.0} if isinstance(inner[last], dict) else "L0.H0 s9←s8"
    with pytest.raises(HeadwayError, match=r"of paths of the circuit|of the hops of"):
        kind.from_json(data)


if __name__ == "__main__":
    shutil.rmtree(GOLDEN, ignore_errors=True)
    run = everything(GOLDEN)
    shutil.rmtree(run.folder / "clamped")
    (run.folder / ".lock").unlink()
    session = json.loads((run.folder / "environment.json").read_text())[0]
    run.write(
        "environment.json", [{**session, "platform": "Linux", "processor": "x86_64"}]
    )
