"""The lines of a program over the checkpoints of a model."""

import pytest

from headway import discover
from headway.dynamics import ProgramHistory, program_history
from headway.errors import HeadwayError
from headway.programs import program


@pytest.fixture(scope="module")
def judged(solved):
    model = solved.model()
    found = discover(model, solved.task, trials=False)
    return program(model, solved.task, found)


def test_every_head_of_a_program_is_dated_over_a_runs_checkpoints(solved, judged):
    seen = list[tuple[int, int]]()
    history = program_history(
        solved, judged, sequences=60, watch=lambda *done: seen.append(done)
    )
    steps = solved.checkpoint_steps()
    assert history.steps == steps
    assert seen[-1] == (len(steps), len(steps))
    assert history.matches[0] < 0.5
    assert history.matches[-1] >= 0.95
    names = [line.line.split()[1] for line in history.lines]
    assert names == ["L0.H0", "L1.H0"]
    for line in history.lines:
        assert line.attention[0] < 0.5 < line.attention[-1]
        assert line.follows[-1] is not None
        looks_from = history.holds_from(line.attention, 0.5)
        assert looks_from in steps
        at = steps.index(looks_from)
        assert line.attention[at - 1] < 0.5
    printed = str(history)
    assert "whole sequences" in printed
    assert str(history.holds_from(history.matches, 0.95)) in printed


def test_models_by_step_are_dated_with_their_task(solved, judged):
    steps = solved.checkpoint_steps()
    models = {step: solved.model(step) for step in (steps[0], steps[-1])}
    history = program_history(models, judged, solved.task, sequences=40)
    assert history.steps == [steps[0], steps[-1]]
    assert history.matches[0] < 0.5 < history.matches[1]


def test_a_curve_holds_from_the_step_after_which_it_never_falls():
    history = ProgramHistory([0, 10, 20, 30], [0.0, 1.0, 0.9, 1.0], [], 10)
    assert history.holds_from(history.matches, 0.95) == 30
    assert history.holds_from(history.matches, 0.9) == 10
    assert history.holds_from([1.0, 1.0, 1.0, None], 0.9) is None


def test_models_that_are_not_by_step_are_refused(solved, judged):
    with pytest.raises(HeadwayError, match=r"checkpoints = .* models by their steps"):
        program_history({"last": solved.model()}, judged, solved.task)


def test_a_run_has_its_own_task(solved, judged):
    with pytest.raises(HeadwayError, match=r"task = .* as the run has its own"):
        program_history(solved, judged, solved.task)
