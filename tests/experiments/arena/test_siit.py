"""Training to a known circuit: what is replaced, what is asked for, and what is left out."""

import random
from types import SimpleNamespace

import pytest
import torch

from headway.tasks import Tokens
from headway_experiments.arena import siit
from headway_experiments.arena.case import LeftOutError
from headway_experiments.arena.tracr_model import has_tracr
from headway_experiments.arena.tracr_task import RaspTask

needs_tracr = pytest.mark.skipif(
    not has_tracr(), reason="needs Tracr, in an environment of its own: make test-arena"
)


@needs_tracr
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


@needs_tracr
def test_a_model_that_has_not_learnt_is_left_out_and_its_weights_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(siit, "STEPS", 1)
    for _ in range(2):
        with pytest.raises(LeftOutError, match="of its answers are right with some head replaced"):
            siit.build_siit("siit shift_twice", tmp_path)
        monkeypatch.setattr(siit.Pupil, "learn", None)  # the second time nothing is trained
    assert (tmp_path / "siit" / "shift_twice.safetensors").is_file()


class Carries(torch.nn.Module):
    """Puts out what its heads carry, [sequence, position, head, number]."""

    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.ModuleDict({"hook_z": torch.nn.Identity()})])

    def forward(self, inputs):
        return self.blocks[0]["hook_z"](1 * inputs)


def test_one_head_carries_what_it_does_in_the_other_sequence():
    base, source = torch.zeros(2, 3, 2, 1), torch.ones(2, 3, 2, 1, requires_grad=True)
    found = siit.interchanged(Carries(), base, source, [(0, 1)])
    assert found[:, :, 0].eq(0).all()
    assert found[:, :, 1].eq(1).all()
    assert not found.requires_grad


def pupil(pairs):
    """A pupil of one weight, whatever head is replaced; `pairs` gives outputs and answers."""
    made = object.__new__(siit.Pupil)
    made.task, made.rng = SimpleNamespace(targets=Tokens(2)), random.Random(0)
    made.model, made.unseen = torch.nn.Linear(1, 2, bias=False), None
    made.seen = torch.zeros(siit.TRAINED_ON, 1)
    made.nodes = [siit.Node(0, 0, 0), siit.Node(0, 1, None)]
    made.pairs, made.swapped = lambda inputs: (inputs, inputs), pairs
    return made


def test_the_heads_that_are_replaced_are_those_that_count(monkeypatch):
    answers, all_right = torch.zeros(4, 1, 1, dtype=torch.long), torch.tensor([[[1.0, 0.0]]] * 4)
    half = torch.cat([all_right[:2], all_right[2:].flip(-1)])
    one = pupil(lambda *_: iter([(all_right, answers), (half, answers), (all_right, answers)]))
    assert one.right() == 0.5
    said = {(0, 1): half, (0, 0): all_right}  # the other head, and the program's
    monkeypatch.setattr(siit, "interchanged", lambda model, base, source, heads: said[heads.pop()])
    one.program, one.answers = torch.nn.Identity(), lambda outputs, inputs: answers
    assert one.alone() == 0.5


def test_heads_that_are_not_of_the_program_are_taught_to_do_nothing(monkeypatch):
    monkeypatch.setattr(siit, "STEPS", 1)
    answers, asked = torch.zeros(4, 1, 1, dtype=torch.long), []

    def pairs(base, source, nodes):
        asked.append([node.of_program is None for node in nodes])
        told = one.model(torch.ones(4, 1, 1))
        return iter([(told.detach(), answers), (told.detach(), answers), (told, answers)])

    one = pupil(pairs)
    before = one.model.weight.clone()
    one.learn()
    assert asked == [[False, True]]
    assert not torch.equal(one.model.weight, before)
