"""Every task has a page: stock kinds, tasks from files, and what none of them knows is left out."""

import base64
import gzip
import html
import re
import shutil
from pathlib import Path

import pytest
import torch
from every_task import TASKS, taken_apart
from pages import page_data, report, words_of
from serving import serving
from torch import nn

from headway.circuits import saved_timeline
from headway.report import Findings
from headway.report.comparison import write_comparison
from headway.report.labels import typeset
from headway.report.page.html import path_key
from headway.report.sweep import write_sweep
from headway.tasks import Edges, Hops
from headway.training import Recorder, Run

WITH_FLOW, LOSSES = {"retrieval", "conditional"}, ("MSE", "cross-entropy")
VECTORS = {"retrieval", "conditional", "labelled", "reassigned"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run of every task."""
    folder = tmp_path_factory.mktemp("every")
    for name, task in TASKS.items():
        taken_apart(task(), folder / name)
    return folder


@pytest.fixture(params=TASKS)
def one(request, folder, tmp_path) -> Run:
    """One of the runs, in a folder of its own."""
    return Run.open(shutil.copytree(folder / request.param, tmp_path / request.param))


def test_every_task_has_a_page(one):
    text, name = report(one), one.folder.name
    words = words_of(text)
    assert ("A sequence has one position" in words) == (name == "associations")
    known = "The flow minimum of this task is not known" not in words
    assert known == (name in WITH_FLOW)
    assert ("What the query holds" in words) == known
    mse, entropy = (f"loss ({loss}) on held-out sequences" in words for loss in LOSSES)
    assert (mse, entropy) == (name in VECTORS, name not in VECTORS)
    for level in one.task.references():
        assert f"predicting {level}, " in words
    for hop in one.task.hops:
        assert hop.replace("_", "") in words
    if not one.task.roles:
        assert "chain" not in words[: words.index("How to reproduce")].lower()


def test_every_path_is_an_arrow_and_its_cells_are_framed(one):
    text = report(one)
    data, batch, task = page_data(text), Findings.of(one).example, one.task
    assert data["steps"] == one.checkpoint_steps()
    if task.length == 1:
        assert "heads" not in data
        assert 'class="circuit"' not in text
        return
    timeline = saved_timeline(one)
    assert [path["key"] for path in data["paths"]] == [path_key(h.path) for h in timeline.paths]
    for entry, history in zip(data["paths"], timeline.paths, strict=True):
        relation = history.path.relation
        key = html.escape(entry["key"])
        arrow = re.search(f'<g class="arrow [^"]*" data-path="{re.escape(key)}".*?</g>', text)
        assert arrow
        words = re.sub("<title>.*?</title>|<[^>]*>", "", arrow[0])
        shown = html.escape(typeset(relation)) in words
        assert shown == ("strength" in arrow[0]) == (not task.roles)
        assert set(map(tuple, entry["cells"])) == led(task.relations(batch)[relation])
        ends = (None, None)
        if task.roles:
            ends = tuple(data["roles"].index(end) for end in relation.ends)
        assert (entry["query"], entry["attended"]) == ends
        assert entry["attention"] == history.attention


def led(edges: Edges) -> set[tuple[int, int]]:
    """Where a relation leads in the first sequence."""
    rows = zip(edges.queries[0].tolist(), edges.keys[0].tolist(), strict=True)
    return {(query, key) for query, keys in rows for key in keys if min(query, key) >= 0}


def test_runs_of_all_tasks_are_compared_listed_and_gathered(folder, tmp_path):
    runs = [Run.open(folder / name) for name in TASKS]
    text = write_comparison(runs, tmp_path / "all.html").read_text()
    words = words_of(text)
    assert text.count('class="mini"') == len(TASKS) - 1
    for name in set(TASKS) - {"associations"}:
        assert f"{name} alone has a circuit of this task" in words
    assert "validation loss of every run (MSE, cross-entropy)" in words
    words = words_of(write_sweep(folder, tmp_path / "sweep.html").read_text())
    assert f"{len(TASKS)} of {len(TASKS)} runs done" in words
    with serving(folder) as site:
        listed = html.unescape(site.page())
        for run in runs:
            assert f"{run.task.kind} {run.task.label}" in listed
            assert "</html>" in site.page(f"/run/{run.folder.name}/")


def test_of_a_long_sequence_the_end_is_shown(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("headway.report.findings.MOST_POSITIONS", 4)
    run = Run.open(shutil.copytree(folder / "hops", tmp_path / "run"))
    text = report(run)
    data, batch = page_data(text), Findings.of(run).example
    length, example = run.task.length, data["example"]
    assert "the last 4 of its 10 positions" in words_of(text)
    assert example["labels"] == [str(token) for token in batch.inputs[0, -4:].tolist()]
    assert (example["first"], len(example["owners"])) == (length - 4, 4)
    packed = gzip.decompress(base64.b64decode(example["packed"]))
    assert len(packed) == len(example["kept"]) * len(data["heads"]) * 4 * 4
    for path in data["paths"]:
        cells = led(run.task.relations(batch)[path["relation"]])
        late = {(q - length + 4, k - length + 4) for q, k in cells}
        assert set(map(tuple, path["cells"])) == {cell for cell in late if min(cell) >= 0}


class Small(nn.Module):
    """A model of one's own."""

    def __init__(self):
        super().__init__()
        self.embed, self.read = nn.Embedding(16, 8), nn.Linear(8, 16)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, tokens):
        stream = self.embed(tokens)
        return self.read(stream + self.attend(stream, stream, stream, need_weights=False)[0])


@pytest.mark.parametrize("can_build", [True, False])
def test_a_recorded_run_has_a_page(tmp_path, can_build):
    model, task = Small(), Hops(asked=(1,), n_symbols=14, n_places=8)
    if not can_build:
        model.read.extra = nn.Parameter(torch.zeros(1))  # as the class alone does not build it
    with Recorder(tmp_path / "run", model, task, sequences=8) as recorder:
        for step in range(3):
            recorder.save(step, 1.0)
    run = Run.open(tmp_path / "run")
    text = report(run)
    words = words_of(text)
    assert "1 layer × 2 heads" in words
    assert "trained by a loop that is not headway's" in words
    assert page_data(text)["steps"] == [0, 1, 2]
    assert ("without a way to build it again" in words) == (not can_build)
    assert ("heads" in page_data(text)) == can_build
    with serving(tmp_path) as site:
        assert "2 steps" in site.page()
    assert "1 of 1 run done" in words_of(write_sweep(tmp_path, tmp_path / "s.html").read_text())
