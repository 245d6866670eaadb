"""Training to a known circuit: what is replaced, what is asked for, and what is left out."""

import random

import pytest
import torch

from headway_experiments.arena import siit
from headway_experiments.arena.case import LeftOutError
from headway_experiments.arena.tracr_model import has_tracr
from headway_experiments.arena.tracr_task import RaspTask

pytestmark = pytest.mark.skipif(
    not has_tracr(), reason="needs Tracr, in an environment of its own: make test-arena"
)


def test_a_program_answers_as_with_its_heads_replaced():
    pupil = siit.Pupil(RaspTask(program="shift_twice"), random.Random(0))
    base, source = pupil.pairs(pupil.unseen[:64])
    assert ((base != pupil.program.pad).sum(1) == (source != pupil.program.pad).sum(1)).all()
    (_, plain), *pairs = pupil.swapped(base, source, pupil.nodes)
    last = base[:, 1:] != pupil.program.pad
    twice = pupil.answers(pupil.program(source), source)
    for node, (_, right) in zip(pupil.nodes, pairs, strict=True):
        # whatever either shift brings is brought from the other sequence, and nothing by others
        wanted = plain if node.of_program is None else twice
        assert torch.equal(right[last], wanted[last])


def test_a_model_that_has_not_learnt_is_left_out_and_its_weights_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(siit, "STEPS", 1)
    for _ in range(2):
        with pytest.raises(LeftOutError, match="of its answers are right with some head replaced"):
            siit.build_siit("siit shift_twice", tmp_path)
        monkeypatch.setattr(siit.Pupil, "learn", None)  # the second time nothing is trained
    assert (tmp_path / "siit" / "shift_twice.safetensors").is_file()
