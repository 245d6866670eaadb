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
from headway.tasks import Batch, Edges, Hops
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


@pytest.fixture(scope="module", params=TASKS)
def run(request, folder, tmp_path_factory) -> Run:
    """A run of a task, in a folder of its own."""
    copy = tmp_path_factory.mktemp("alone") / request.param
    return Run.open(shutil.copytree(folder / request.param, copy))


@pytest.fixture(scope="module")
def data(run) -> dict:
    """The data of its page."""
    return page_data(report(run))


@pytest.fixture
def circuit(data) -> dict:
    """The circuit on the page, of a task that has one."""
    if data["circuit"] is None:
        pytest.skip("a sequence has one position")
    return data["circuit"]


def first_of(run) -> Batch:
    """The sequence that the page shows first."""
    return Findings.of(run).sequences.part(slice(1))


def test_every_page_tells_of_its_task(run, data):
    name, task = run.folder.name, run.task
    assert data["steps"] == run.checkpoint_steps()
    assert data["task"]["loss"] == LOSSES[name not in VECTORS]
    assert data["task"]["references"] == task.references()
    hops = [hop["label"] for hop in data["task"]["hops"]]
    assert hops == list(map(typeset, task.hops))


def test_a_minimum_is_told_where_it_is_known(run, data):
    is_known = run.folder.name in WITH_FLOW
    assert is_known == (data["minimum"] is not None)
    assert not is_known or data["minimum"]["tables"]


def test_every_page_has_a_curve_of_every_hop(run, data):
    names = [curve["name"] for curve in data["losses"]]
    assert names == ["training", *map(typeset, run.task.hops)]
    assert data["losses"][1]["points"]


def test_a_sequence_of_one_position_has_no_circuit(run, data):
    why = data["missing"].get("circuit", "")
    has_one_position = run.task.length == 1
    assert ("A sequence has one position" in why) == has_one_position
    assert (data["attention"] is None) == has_one_position
    assert (data["circuit"] is None) == has_one_position
    assert (data["sequences"] == []) == has_one_position


def test_every_question_has_its_answer(run, data, circuit):
    batch, shown = first_of(run), data["sequences"][0]
    asked = run.task.targets.asked(batch.targets)[0]
    assert len(shown["questions"]) == asked.sum()
    if run.folder.name not in VECTORS:
        answers = batch.targets[0][asked].tolist()
        right = [shown["names"][question["answer"]] for question in shown["questions"]]
        assert right == [run.task.token_name(token) for token in answers]


def test_every_path_has_its_cells(run, circuit):
    relations = run.task.relations(first_of(run))
    for shown, known in zip(circuit["paths"], saved_timeline(run).paths, strict=True):
        assert shown["key"] == path_key(known.path)
        assert set(map(tuple, shown["cells"][0])) == led(relations[known.path.relation])


def test_every_path_has_a_curve(run, data, circuit):
    timeline = saved_timeline(run)
    for curve, history in zip(data["along"], timeline.paths, strict=True):
        points = zip(timeline.steps, history.attention, strict=True)
        assert curve["points"] == [[at, short(share)] for at, share in points]


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
            [[cell]] for cell in ends
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
