"""Where runs are found: in a folder, in sweeps, and in folders of sweeps."""

from headway.training import Run
from headway.training.finding import BESIDE, run_folders


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
    assert run_folders(tmp_path) == [alone, tmp_path / "no-run", *inner]
    assert run_folders(tmp_path / "paper-small") == inner
    assert run_folders(tmp_path / "paper-small" / "ic") == inner[:2]


def test_a_folder_beside_runs_that_are_no_sweeps_is_told(tiny, tmp_path):
    run = Run.create(tmp_path / "alone", tiny).folder
    (tmp_path / "figures").mkdir()
    assert run_folders(tmp_path) == [run, tmp_path / "figures"]


def test_a_run_and_a_sweep_may_be_called_as_what_stands_beside_sweeps(tiny, tmp_path):
    for sweep in ("results", "some"):
        Run.create(tmp_path / sweep / "seed=0", tiny)
        (tmp_path / sweep / "plan.json").write_text("{}")
    asked = Run.create(tmp_path / "asked", tiny).folder
    (tmp_path / "figures").mkdir()
    inside = [tmp_path / "results" / "seed=0", tmp_path / "some" / "seed=0"]
    assert run_folders(tmp_path) == [asked, *inside]
