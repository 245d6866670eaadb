"""Sweeps of a task in a user's file: workers find it again, or say once that they
cannot.
"""

import pytest
from watched import Seen

from headway.errors import HeadwayError
from headway.sweeps import Plan, load_plan, sweep
from headway.training import Run


@pytest.fixture
def swept(engine):
    """Carry a plan out: which runs were begun, and the board."""

    def carry_out(plan, folder, **options):
        events = Seen()
        board = sweep(plan, folder, engine, watch=events, **options)
        return events.became("running"), board

    return carry_out


def test_workers_train_a_task_from_a_file(swept, own_runs, own_file, tmp_path):
    begun, board = swept(own_runs, tmp_path / "s")
    assert [*own_runs.runs] == begun
    assert board.named("done") == begun
    for name, config in own_runs.runs.items():
        run = Run.open(tmp_path / "s" / name)
        assert run.config == config
        assert run.read("config.json")["task"]["defined"]["file"] == str(own_file)
    again, _ = swept(load_plan(tmp_path / "s"), tmp_path / "s")
    assert again == []


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_task_whose_file_is_gone_or_has_changed_fails_once(
    swept, own_runs, own_file, tmp_path, is_gone
):
    text = own_file.read_text()
    own_file.unlink()
    if not is_gone:
        own_file.write_text(text + "# and a remark\n")
    begun, board = swept(own_runs, tmp_path / "s")
    assert [*own_runs.runs] == begun
    assert board.named("failed") == begun
    why = "No such file" if is_gone else "as it is now, it is not on your list"
    for name, run in board.runs.items():
        assert why in run.message
        assert run.message.count("\n") == 0
        outcome = Run(tmp_path / "s" / name, own_runs.runs[name]).outcome()
        assert outcome["status"] == "failed"
        assert outcome["message"] == run.message
    assert swept(own_runs, tmp_path / "s")[0] == []


def test_a_sweep_does_not_go_on_with_another_task(swept, own_runs, own_file, tmp_path):
    first = Plan("p", dict([*own_runs.runs.items()][:1]))
    swept(first, tmp_path / "s")
    (name,) = first.runs
    run = Run.open(tmp_path / "s" / name)
    written = run.read("config.json")
    digest = {**written["task"]["defined"], "sha256": "0123456789abcdef"}
    run.write(
        "config.json", {**written, "task": {**written["task"], "defined": digest}}
    )
    with pytest.raises(
        HeadwayError, match=r"has changed since \(it was 0123456789abcdef.*put the"
    ):
        swept(own_runs, tmp_path / "s")
    run.write("config.json", written)
    assert len(swept(own_runs, tmp_path / "s")[1].named("done")) == 2
