"""Every task has a page: stock kinds, tasks from files, and what none of them knows is
left out.
"""

import shutil
from pathlib import Path

import pytest
import torch
from pages import page_data, report, unpacked
from serving import serving
from tiny_runs import TASKS, taken_apart, tiny_config
from torch import nn

from headway.dynamics import saved_timeline
from headway.judge import saved_discovery
from headway.report import Findings
from headway.report.circuit import path_key
from headway.report.curves import short
from headway.report.labels import typeset
from headway.report.runs import write_runs
from headway.tasks import Edges, Hops
from headway.training import Recorder, Run

WITH_FLOW, LOSSES = {"retrieval", "conditional"}, ("MSE", "cross-entropy")
VECTORS = {"retrieval", "conditional", "labelled", "reassigned"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run of every task."""
    folder = tmp_path_factory.mktemp("every")
    for name, task in TASKS.items():
        taken_apart(folder / name, tiny_config(task(), causal=False))
    return folder


@pytest.fixture(params=TASKS)
def one(request, folder, tmp_path) -> Run:
    """One of the runs, in a folder of its own."""
    return Run.open(shutil.copytree(folder / request.param, tmp_path / request.param))


def test_every_task_has_a_page_with_a_curve_and_cells_of_every_path(one):
    data, name, task = page_data(report(one)), one.folder.name, one.task
    no_circuit = data["missing"].get("circuit", "")
    assert ("A sequence has one position" in no_circuit) == (name == "associations")
    known = "is not known" not in data["minimum"]["sentences"][0]
    assert known == (name in WITH_FLOW) == bool(data["minimum"]["tables"])
    assert data["task"]["loss"] == LOSSES[name not in VECTORS]
    assert data["task"]["references"] == task.references()
    assert [hop["label"] for hop in data["task"]["hops"]] == list(
        map(typeset, task.hops)
    )
    assert [curve["name"] for curve in data["losses"]] == [
        "training",
        *map(typeset, task.hops),
    ]
    assert data["losses"][1]["points"]
    batch = Findings.of(one).sequences.part(slice(1))
    assert data["steps"] == one.checkpoint_steps()
    if task.length == 1:
        assert (data["attention"], data["circuit"], data["sequences"]) == (
            None,
            None,
            [],
        )
        return
    timeline, circuit, first = (
        saved_timeline(one),
        data["circuit"],
        data["sequences"][0],
    )
    asked = task.targets.asked(batch.targets)[0]
    assert len(first["questions"]) == asked.sum()
    if one.folder.name not in VECTORS:
        right = [first["names"][question["answer"]] for question in first["questions"]]
        assert right == [
            task.token_name(token) for token in batch.targets[0][asked].tolist()
        ]
    curves = zip(circuit["paths"], data["along"], timeline.paths, strict=True)
    for entry, curve, history in curves:
        relation = history.path.relation
        assert entry["key"] == path_key(history.path)
        assert set(map(tuple, entry["cells"][0])) == led(
            task.relations(batch)[relation]
        )
        assert curve["points"] == [
            [at, short(x)]
            for at, x in zip(timeline.steps, history.attention, strict=True)
        ]


def led(edges: Edges) -> set[tuple[int, int]]:
    """Where a relation leads in the first sequence."""
    rows = zip(edges.queries[0].tolist(), edges.keys[0].tolist(), strict=True)
    return {
        (query, key) for query, keys in rows for key in keys if min(query, key) >= 0
    }


def test_runs_of_all_tasks_are_compared_listed_and_gathered(folder, tmp_path):
    runs = [Run.open(folder / name) for name in TASKS]
    data = page_data(write_runs(runs, tmp_path / "all.html").read_text())
    for run, circuit in data["circuits"].items():
        paths = saved_discovery(Run.open(folder / run)).circuit.paths
        roles = [place["role"] for place in circuit["places"]]
        ends = [
            [roles.index(end) for end in path.relation.ends] for path in paths if roles
        ]
        assert [path["cells"] for path in circuit["paths"]] == [
            [[one]] for one in ends
        ] or not ends
    assert len(data["circuits"]) == len(TASKS) - 1
    data = page_data(write_runs(folder, tmp_path / "sweep.html").read_text())
    assert f"{len(TASKS)} of {len(TASKS)} runs done" in data["summary"][0]
    with serving(folder) as site:
        for run in runs:
            assert site.row(run.folder.name)["task"].startswith(f"{run.task.kind} ")
            assert site.data(f"/run/{run.folder.name}/")["kind"] == "run"


def test_of_a_long_sequence_the_end_is_shown(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("headway.report.findings.MOST_POSITIONS", 4)
    run = Run.open(shutil.copytree(folder / "hops", tmp_path / "run"))
    data, length = page_data(report(run)), run.task.length
    batch, first = Findings.of(run).sequences.part(slice(1)), data["sequences"][0]
    assert first["labels"] == [str(token) for token in batch.inputs[0, -4:].tolist()]
    kept, heads = data["attention"]["steps"], data["attention"]["heads"]
    unpacked(data["attention"]["packed"], 8, len(heads), 4, 4, len(kept))
    for path, known in zip(
        data["circuit"]["paths"], saved_timeline(run).paths, strict=True
    ):
        cells = led(run.task.relations(batch)[known.path.relation])
        late = {(q - length + 4, k - length + 4) for q, k in cells}
        assert set(map(tuple, path["cells"][0])) == {
            cell for cell in late if min(cell) >= 0
        }


class Small(nn.Module):
    """A model of one's own."""

    def __init__(self):
        super().__init__()
        self.embed, self.read = nn.Embedding(16, 8), nn.Linear(8, 16)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, tokens):
        stream = self.embed(tokens)
        return self.read(
            stream + self.attend(stream, stream, stream, need_weights=False)[0]
        )


@pytest.mark.parametrize("can_build", [True, False])
def test_a_recorded_run_has_a_page(tmp_path, can_build):
    model, task = Small(), Hops(asked=(1,), n_symbols=14, n_places=8)
    if not can_build:
        # As the class alone does not build it.
        model.read.extra = nn.Parameter(torch.zeros(1))
    with Recorder(tmp_path / "run", model, task, sequences=8) as recorder:
        for step in range(3):
            recorder.save(step, 1.0)
    run = Run.open(tmp_path / "run")
    data = page_data(report(run))
    assert "1 layer × 2 heads" in data["summary"][-1]
    assert "seed" not in data["summary"][-1] + data["again"]  # none is known
    assert data["steps"] == [0, 1, 2]
    assert "train(" not in data["again"]
    why = data["missing"].get("attention", "")
    assert ("without a way to build it again" in why) == (not can_build)
    assert bool(data["attention"]) == bool(data["sequences"]) == can_build
    with serving(tmp_path) as site:
        assert site.row("run")["steps"] == 2
    data = page_data(write_runs(tmp_path, tmp_path / "s.html").read_text())
    assert "1 of 1 run done" in data["summary"][0]
