"""A short, seeded part of what `make fuzz` tries."""

from fuzzing import Tried, command_lines, damaged_files, power_cuts, taken_apart


def test_power_cuts(tmp_path):
    tried = Tried()
    power_cuts(tried, 10, 0, tmp_path)
    assert tried.counts["power cuts"] == 10
    assert not tried.failed


def test_damaged_files_and_command_lines(tmp_path):
    tried, run = Tried(), taken_apart(tmp_path)
    damaged_files(tried, 200, 0, run)
    command_lines(tried, 30, 0, run)
    assert tried.counts["damaged files"] == 200
    assert not tried.failed
