"""Tracr's models in PyTorch against Tracr itself, and the selectors of their heads."""

import random
import sys

import numpy as np
import pytest
import torch

from commands import refused, refusing
from headway import HeadwayError
from headway.models import attention_patterns
from headway.replace import attention_along
from headway_experiments.arena import tracr_model
from headway_experiments.arena.families import families, known_of
from headway_experiments.arena.tracr_model import compile_program, has_tracr, tracr
from headway_experiments.arena.tracr_programs import DRAWN, compiled_program, programs
from headway_experiments.arena.tracr_task import RaspTask, dictionary, edges_of
from sampling import seeded

needs_tracr = pytest.mark.skipif(
    not has_tracr(), reason="needs Tracr, in an environment of its own: make test-arena"
)


def test_without_tracr_one_line_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tracr_model, "find_spec", lambda name: None)
    assert families()["tracr"].missing is not None
    told = refused("arena", "--families", "tracr", "--out", tmp_path / "a")
    assert "pip install tracr-pypi" in told
    assert not (tmp_path / "a").exists()
    with pytest.raises(HeadwayError, match="needs Tracr"):
        programs.__wrapped__()


def test_the_arena_loads_no_jax():
    assert has_tracr() or not {"jax", "tracr", "haiku"} & sys.modules.keys()


def test_the_dictionary_leads_where_it_says():
    looks = dictionary("aba", "ab")
    leads = {
        name: [list(np.flatnonzero(row)) for row in one] for name, one in looks.items()
    }
    assert leads["offset -1"] == [[], [0], [1]]
    assert leads["same token"] == [[0, 2], [1], [0, 2]]
    assert leads["after same token"] == [[1], [2], [1]]
    assert leads["mirror"] == [[2], [1], [0]]
    assert leads["up to here"] == [[0], [0, 1], [0, 1, 2]]
    assert leads["token b"] == [[1], [1], [1]]
    of_three = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 0]], bool)
    of_one = np.array([[1]], bool)
    edges = edges_of([of_three, of_one], torch.zeros(2, 3, dtype=torch.long))
    assert edges.queries.tolist() == [[1], [0]]
    assert edges.keys.tolist() == [[[0, 1]], [[0, -1]]]


@needs_tracr
@pytest.mark.parametrize("name", ["reverse_1", "sort_freq", "pair_balance_1"])
def test_outputs_equal_those_of_tracr(name):
    one = compiled_program(name)
    its = programs()[name]
    encode = one.assembled.input_encoder.encode
    rng = random.Random(0)
    for _ in range(3):
        said = DRAWN[its.style](rng, its.tokens, its.length)
        tokens = encode(["compiler_bos", *said])
        applied = one.assembled.apply(["compiler_bos", *said])
        theirs = np.asarray(applied.transformer_output[0])
        padding = [one.module.pad] * (its.length + 1 - len(tokens))
        stream = one.module.stream(torch.tensor([tokens + padding]))
        ours = stream[0, : len(tokens)].numpy()
        assert np.abs(ours - theirs).max() < 1e-4


@needs_tracr
@pytest.mark.parametrize("name", ["reverse_1", "detect_pattern_abc", "induction"])
def test_every_head_of_the_truth_attends_along_its_selector_and_no_other_does_anything(
    name,
):
    case = known_of(families()["tracr"], name, None)  # pyright: ignore[reportArgumentType]
    batch = case.task.sample(64, seeded(3))
    patterns = attention_patterns(case.model, batch.inputs)
    edges = case.task.edges(batch)
    for path in case.required:
        along = attention_along(patterns, edges[path.relation])
        assert along[path.at] == pytest.approx(1, abs=0.01)
    used = {path.at for path in case.required}

    def without(layer, pattern):
        n_heads = case.model.n_heads
        heads = torch.tensor([(layer, head) in used for head in range(n_heads)])
        return pattern * heads[:, None, None]

    with torch.no_grad():
        assert torch.equal(case.model(batch.inputs, without), case.model(batch.inputs))


@needs_tracr
def test_answers_are_those_of_the_program():
    task = RaspTask(program="reverse_1")
    batch = task.sample(8, seeded(0))
    row = task.read(batch.inputs[0].tolist())
    values = task.compiled.values
    assert values is not None
    answers = batch.targets[0, :, 0].tolist()
    said = [values[answer] for answer in answers if answer >= 0]
    assert said == row[::-1]
    assert len(set(task.names)) == len(task.names)


@needs_tracr
def test_a_program_that_tracr_refuses_is_one_clear_line():
    cases = {
        case["testcase_name"]: case
        for case in tracr("compiler.test_cases").UNSUPPORTED_TEST_CASES
    }
    bad = cases["numerical_selector"]
    with refusing("Tracr refuses the program"):
        compile_program(bad["program"], tuple(bad["vocab"]), 5)
    with pytest.raises(HeadwayError, match="program = 'none' is not allowed"):
        compiled_program("none")


@needs_tracr
def test_a_constant_output_is_refused(monkeypatch):
    rasp = tracr("rasp.rasp")
    constant = rasp.Map(lambda x: 1, rasp.tokens)
    one = programs()["reverse_1"]
    known = {"one": one.__class__("one", "ours", constant, one.tokens, one.length)}
    monkeypatch.setattr(
        "headway_experiments.arena.tracr_programs.programs", lambda: known
    )
    with pytest.raises(HeadwayError, match="its output is constant"):
        compiled_program.__wrapped__("one")
