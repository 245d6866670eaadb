"""One table of many runs: what is in it, how it is filtered and sorted, and its
file.
"""

import csv
import shutil
from dataclasses import replace

import pytest

from commands import refusing
from headway.errors import HeadwayError
from headway.find import discover
from headway.sweeps import table, write_table
from headway.tasks import Conditional
from headway.terminal import cli
from headway.training import Run, train
from headway.training.config import flat


@pytest.fixture(scope="module")
def runs(tiny, tmp_path_factory):
    """A folder with a run, a run that failed, and a sweep's folder of three, one of
    them spoilt.
    """
    folder = tmp_path_factory.mktemp("runs")
    short = replace(tiny, training=replace(tiny.training, steps=4))
    train(short, folder / "alone")
    Run.create(folder / "broken", replace(short, seed=9)).end('it, "so" to say,\nbroke')
    for seed in (2, 10):
        train(replace(short, seed=seed), folder / "some" / f"seed={seed}")
    Run.create(folder / "some" / "other", replace(short, task=Conditional()))
    spoilt = Run.create(folder / "some" / "spoilt", short)
    (spoilt.folder / "config.json").write_text("{")
    (folder / "a-file").write_text("")
    return folder


def names(rows: list[dict]) -> list:
    return [row["name"] for row in rows]


def test_a_row_holds_the_config_and_the_figures(runs):
    rows = table(runs)
    assert names(rows) == ["alone", "broken", "other", "seed=2", "seed=10", "spoilt"]
    alone, broken, other, second, _, spoilt = rows
    run = Run.open(runs / "alone")
    last = {**run.metrics()[-1], **(run.outcome() or {})}
    assert flat(run.config).items() <= alone.items()
    for figure in ("status", "step", "val_loss", "test_loss", "seconds"):
        assert alone[figure] == last[figure]
    assert alone["partial.x_1"] == last["partial"]["x_1"]
    assert alone["attempts"] == 1
    assert alone["given_up_steps"] == 0
    assert alone["useful_heads"] is None
    assert second["folder"] == str(runs / "some" / "seed=2")
    assert broken["status"] == "failed"
    assert broken["step"] == 0
    assert broken["val_loss"] is None
    assert other["status"] == "stopped"
    assert other["task.kind"] == "conditional"
    assert other["step"] == 0
    assert spoilt["status"] == "unreadable"
    assert "spoilt/config.json is not valid JSON" in spoilt["message"]
    assert names(table(runs / "some")) == ["other", "seed=2", "seed=10", "spoilt"]


def test_attempts_that_were_given_up_are_counted(tiny, with_training, tmp_path):
    train(with_training(tiny, steps=30, cooldown_steps=8, patience=6), tmp_path / "run")
    (row,) = table(tmp_path)
    assert row["attempts"] == 3
    assert row["given_up_steps"] == 12


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        (["status=done"], ["alone", "seed=2", "seed=10"]),
        (["seed=2..9"], ["alone", "broken", "other", "seed=2"]),
        (["seed=2,10", "status=done"], ["seed=2", "seed=10"]),
        (["task.kind=conditional"], ["other"]),
        (["task.depth=2", "status=failed"], ["broken"]),
        (["training.curriculum=implicit", "seed=9"], ["broken"]),
        (["curriculum=growing,mixture"], []),
        (["training.betas=0.9:0.999", "name=alone"], ["alone"]),
        (["training.train_examples=none", "name=alone"], ["alone"]),
        (["status=unreadable"], ["spoilt"]),
    ],
)
def test_rows_are_kept_by_fields_and_status(runs, where, kept):
    assert names(table(runs, where)) == kept


def test_rows_are_sorted_by_a_column(runs):
    assert names(table(runs, ["status=done"], "seed")) == ["seed=2", "alone", "seed=10"]
    losses = [
        row["val_loss"] for row in table(runs, sort="val_loss") if row.get("val_loss")
    ]
    assert losses == sorted(losses)
    assert names(table(runs, sort="val_loss"))[-1] == "spoilt"
    assert names(table(runs, sort="name"))[0] == "alone"


@pytest.mark.parametrize(
    ("where", "sort", "complaint"),
    [
        (
            ["bogus=1"],
            None,
            "bogus is not a field: there are task.*, model.*, training.*, seed, ",
        ),
        (["order=up"], None, "did you mean task.order or training."),
        (["seed=x"], None, "seed = 'x' is not allowed: it must be a whole number"),
        (
            ["status=fine"],
            None,
            "status = 'fine' is not allowed: it must be one of done, failed",
        ),
        ([], "bogus", "sort = 'bogus' is not allowed: it must be one of name, folder"),
    ],
)
def test_a_filter_or_column_that_is_none_is_refused(runs, where, sort, complaint):
    with refusing(complaint):
        table(runs, where, sort)


def test_a_table_that_is_written_holds_the_same(runs, tmp_path):
    rows = table(runs)
    write_table(tmp_path / "t.csv", rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    whole = [{name: row.get(name) for name in columns} for row in rows]
    with open(tmp_path / "t.csv", newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["name"] for row in read] == [row["name"] for row in whole]
    assert read[1]["message"] == r'it, "so" to say,\nbroke'
    assert float(read[0]["val_loss"]) == whole[0]["val_loss"]
    assert read[0]["training.train_examples"] == ""
    assert read[0]["model.causal"] == "true"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@x",
    "-1",
    "\t=1",
    "\r=1",
    "\uff1d1+1",
    "two\nlines",
    "a,b",
    'a"b',
    "caf\udce9",
    "\x1b[2J",
    "12",
    "plain",
]
"""Names that a spreadsheet or a reader of lines may take for something else."""


def test_names_are_no_formulas_and_break_no_line(tiny, tmp_path, capsys):
    for name in HOSTILE:
        Run.create(tmp_path / "runs" / name, tiny)
    write_table(
        tmp_path / "t.csv", [{"=hop": -1.5, **row} for row in table(tmp_path / "runs")]
    )
    text = (tmp_path / "t.csv").read_bytes().decode()
    assert len(text.splitlines()) == 1 + len(HOSTILE)
    header, *rows = csv.reader(text.splitlines())
    assert header[0] == "'=hop"
    assert {row[0] for row in rows} == {"-1.5"}, "a number remains one"
    written = {row[1] for row in rows}
    assert not [
        name
        for name in written
        if name.startswith(("=", "+", "-", "@", "\t", "\uff1d"))
    ]
    assert {
        "'-1",
        "'+1+1",
        "12",
        "plain",
        "a,b",
        'a"b',
        r"two\nlines",
        r"caf\udce9",
    } <= written
    cli.main(["runs", str(tmp_path / "runs"), "--table", str(tmp_path / "again.csv")])
    assert len((tmp_path / "again.csv").read_text().splitlines()) == 1 + len(HOSTILE)
    assert r"caf\udce9" in capsys.readouterr().out


def test_a_table_that_cannot_be_written_is_one_clear_line(tmp_path):
    with pytest.raises(HeadwayError, match="cannot write"):
        write_table(tmp_path / "no" / "t.csv", [])
    assert not list(tmp_path.iterdir())


def test_the_heads_of_a_circuit_that_was_found_are_counted(solved, tmp_path):
    run = Run.open(shutil.copytree(solved.folder, tmp_path / "run"))
    found = discover(run, sequences=16, trials=False)
    (row,) = table(run.folder)
    assert row["status"] == "done"
    assert row["useful_heads"] == len(found.circuit.useful_heads) > 0
