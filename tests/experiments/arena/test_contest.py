"""A contest goes on where it was; models that cannot be cases are left out with their
reason.
"""

import json
from itertools import product
from statistics import fmean

import pytest
from filelock import FileLock

from commands import refused
from headway.errors import HeadwayError
from headway.relations import AttentionPath
from headway.terminal import cli
from headway_experiments.arena import compiled
from headway_experiments.arena import contest as module
from headway_experiments.arena.case import Known, LeftOutError
from headway_experiments.arena.contest import FILE, contest, read
from headway_experiments.arena.families import Family, families, known_of
from headway_experiments.arena.table import markdown

QUICK = ("attention", "random")
COMPILED = {"compiled": families()["compiled"]}
PLANTED = {"planted": families()["planted"]}
ONE = ("arena", "--families", "planted", "--methods", "random", "--first", "1")


def test_what_is_there_is_not_done_again_and_half_a_line_is(tmp_path, monkeypatch):
    rows = contest(tmp_path, COMPILED, QUICK, first=2)
    competed = [(row["model"], row["method"]) for row in rows]
    assert competed == [*product(COMPILED["compiled"].names[:2], QUICK)]
    path = tmp_path / FILE
    *whole, last = path.read_text().splitlines()
    path.write_text("\n".join([*whole, last[:40]]))
    jobs = []

    def compete(job):
        jobs.append(job)
        return [json.loads(last)]

    monkeypatch.setattr(module, "compete", compete)
    assert contest(tmp_path, COMPILED, QUICK, first=2) == rows
    (job,) = jobs
    assert job.model == rows[-1]["model"]
    assert job.methods == ("random",)
    assert len(read(tmp_path)) == 4
    assert len(contest(tmp_path, COMPILED, QUICK[:1], first=1)) == 1


def test_a_folder_has_one_writer(tmp_path):
    lock = FileLock(tmp_path / ".lock")
    with lock, pytest.raises(HeadwayError, match="another process is writing here"):
        contest(tmp_path, COMPILED, QUICK, first=1)
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(
    "line", ["{}", "[1]", "7", '{"family": [], "model": {}, "method": 1}']
)
def test_scores_that_are_none_are_one_clear_line(line, tmp_path):
    (tmp_path / FILE).write_text(f"{line}\n")
    assert str(tmp_path / FILE) in refused(*ONE, "--out", tmp_path)
    assert (tmp_path / FILE).read_text() == f"{line}\n"


def test_rows_that_lack_scores_are_one_clear_line(tmp_path):
    (row,) = contest(tmp_path, PLANTED, ["random"], first=1)
    del row["paths_ap"]
    (tmp_path / FILE).write_text(f"{json.dumps(row)}\n")
    told = refused(*ONE, "--out", tmp_path)
    assert "scores.jsonl is corrupted or of another version" in told


def test_a_method_that_is_named_twice_competes_once(tmp_path):
    (row,) = contest(tmp_path, PLANTED, ["random", "random"], first=1)
    assert read(tmp_path) == [row]
    # As two writers left it before.
    (tmp_path / FILE).write_text(f"{json.dumps(row)}\n" * 2)
    assert contest(tmp_path, PLANTED, ["random"], first=1) == [row]


def cells_of(line):
    return line.strip("| ").split(" | ")


def test_the_table_has_means_and_what_was_missed(tmp_path):
    rows = contest(tmp_path, COMPILED, ["headway", "random"], first=1)
    missed = {**rows[0], "exact": False, "missing": ["L0.H0 s2←s1"], "model": "lost"}
    left = {"method": None, "model": "odd", "left_out": "no reason"}
    page = markdown([*rows, missed, left])
    head, _, better, worse = map(cells_of, page.splitlines()[:4])
    assert better[0] == "headway"
    assert worse[0] == "random"
    assert better[head.index("compiled (2)")] == "1.000 (1)"
    assert better[head.index("names F1")] == "1.000"
    assert worse[head.index("names F1")] == "–"
    assert "- *lost* (compiled): missing `L0.H0 s2←s1`;\n  too much: none" in page
    assert "- *odd*: no reason" in page


def test_a_model_that_cannot_be_a_case_is_left_out(tmp_path, monkeypatch):
    def fails(family, name, folder):
        raise LeftOutError("its attention is too soft")

    monkeypatch.setattr(module, "known_of", fails)
    (row,) = contest(tmp_path, PLANTED, QUICK, first=1)
    assert row["method"] is None
    assert row["left_out"] == "its attention is too soft"
    assert contest(tmp_path, PLANTED, QUICK, first=1) == [row]  # and is not tried again


def test_a_model_that_has_not_learnt_its_task_is_left_out(tmp_path):
    known = compiled(1)
    for one in known.model.parameters():
        one.data.zero_()
    with pytest.raises(LeftOutError, match="it does not solve its task"):
        known_of(Family(["idle"], lambda name, folder: known), "idle", tmp_path)


STRANGERS = """
import torch
from headway.tasks import Retrieval
from headway.models import Transformer, TransformerConfig
task = Retrieval(depth=1)
shape = task.d_input, task.d_target, task.length, task.n_chains
MODELS = {"small": (lambda: Transformer(TransformerConfig(n_layers=1), *shape), task)}
"""


def test_models_of_others_are_read_from_their_folder(tmp_path):
    (tmp_path / "strangers.py").write_text(STRANGERS)
    there = {"strangers": families(strangers=tmp_path)["strangers"]}
    (row,) = contest(tmp_path / "arena", there, ["EAP corrupted"])
    assert row["model"] == "stranger small"
    assert row["exact"] is None
    assert row["paths_ap"] is None
    head, _, cells = map(cells_of, markdown([row]).splitlines()[:3])
    of_column = dict(zip(head, cells, strict=True))
    assert of_column["strangers (1)"] == f"{row['curve']['cmd']:.3f}"


ASKED = ("arena", "--families", "strangers")


def test_models_of_others_need_a_folder(tmp_path):
    assert "--strangers" in refused(*ASKED, "--out", tmp_path)


def test_a_folder_of_no_models_is_refused(tmp_path):
    (tmp_path / "strangers.py").write_text("MODELS = 3")
    complaint = refused(*ASKED, "--strangers", tmp_path, "--out", tmp_path / "out")
    assert "MODELS in strangers.py = 3 is not allowed" in complaint


def test_of_alternatives_the_nearest_is_right():
    known = compiled(1)
    a = AttentionPath.of(0, 0, "s2←s1")
    b = AttentionPath.of(0, 1, "s2←s1")
    c = AttentionPath.of(1, 0, "s0←s2")
    either = (frozenset({a}), frozenset({b}))
    two = Known(known.model, known.task, frozenset({c}), (either,))
    assert two.nearest(frozenset({a, c})) == {a, c}
    assert two.nearest(frozenset({b, c})) == {b, c}
    assert two.nearest(None, {a: 0.1, b: 0.2, c: 1.0}) == {b, c}
    assert len(two.nearest(frozenset({c}))) == 2


@pytest.mark.parametrize(
    ("seeds", "depth"),
    [((404,), 2), pytest.param(tuple(range(400, 405)), 8, marks=pytest.mark.slow)],
    ids=["small", "some"],
)
def test_known_circuits_are_found(seeds, depth, tmp_path):
    every = families(seeds, depth)
    made = {name: every[name] for name in ("compiled", "planted")}
    rows = contest(tmp_path, made, ["headway"])
    planted = {row["model"] for row in rows if row["family"] == "planted"}
    assert planted == {f"planted {seed}" for seed in seeds}
    for row in rows:
        assert row["exact"] or row["family"] != "compiled"
    assert fmean(row["own_f1"] for row in rows) >= 0.98


def test_the_verb_leaves_a_table(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cli.main(
        ["arena", "--families", "planted", "--methods", "attention", "--first", "1"]
    )
    told = capsys.readouterr().out
    assert "planted 4000" in told
    assert "written to runs/arena/arena.md" in told
    assert "| planted (1) |" in (tmp_path / "runs/arena/arena.md").read_text()


@pytest.mark.slow
def test_workers_find_the_same(tmp_path):
    one = contest(tmp_path / "one", COMPILED, QUICK, first=3)
    two = contest(tmp_path / "two", COMPILED, QUICK, first=3, workers=2)

    def known(rows):
        return sorted((r["model"], r["method"], r["paths_ap"]) for r in rows)

    assert known(one) == known(two)
