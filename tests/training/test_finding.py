"""Finding runs: in a folder, in sweeps, and in folders of sweeps."""

import pytest

from headway.training import Run
from headway.training.finding import LEFT_BY_RUNS, run_folders

BESIDE = ("figures", "results", "asked")


def test_runs_of_sweeps_in_a_folder_of_sweeps_are_found(tiny, tmp_path):
    alone = Run.create(tmp_path / "alone", tiny).folder
    for group in ("ic", "non-ic"):
        for seed in (10, 9):
            Run.create(tmp_path / "paper-small" / group / f"seed={seed}", tiny)
        (tmp_path / "paper-small" / group / "plan.json").write_text("{}")
    for name in BESIDE:
        (tmp_path / "paper-small" / name / "more").mkdir(parents=True)
    (tmp_path / "no-run").mkdir()
    inner = [
        tmp_path / "paper-small" / group / f"seed={seed}"
        for group in ("ic", "non-ic")
        for seed in (9, 10)
    ]
    assert run_folders(tmp_path) == [alone, *inner]
    assert run_folders(tmp_path / "paper-small") == inner
    assert run_folders(tmp_path / "paper-small" / "ic") == inner[:2]


def test_runs_and_sweeps_side_by_side_in_a_folder_are_all_found(tiny, tmp_path):
    alone = Run.create(tmp_path / "all" / "alone", tiny).folder
    swept = Run.create(tmp_path / "all" / "sweep" / "seed=0", tiny).folder
    (tmp_path / "all" / "sweep" / "plan.json").write_text("{}")
    assert run_folders(tmp_path) == [alone, swept]
    (alone / "metrics.jsonl").write_text("")
    (alone / "config.json").unlink()
    assert run_folders(alone) == [alone]


@pytest.mark.parametrize("left", LEFT_BY_RUNS)
def test_a_run_that_lost_its_config_is_told_and_other_folders_are_not(tiny, tmp_path, left):
    whole = Run.create(tmp_path / "alone", tiny).folder
    (tmp_path / "ask-model").mkdir()
    (tmp_path / "ask-model" / "asked.json").write_text("{}")
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost" / left).write_text("")
    assert run_folders(tmp_path) == [whole, tmp_path / "lost"]
