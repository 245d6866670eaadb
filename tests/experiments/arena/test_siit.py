"""Training to a known circuit: what is replaced, what is asked for, and what is left
out.
"""

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
    pad = pupil.program.pad
    base_lengths = (base != pad).sum(1)
    source_lengths = (source != pad).sum(1)
    assert torch.equal(base_lengths, source_lengths)
    (_, plain), *pairs = pupil.swapped(base, source, [[node] for node in pupil.nodes])
    last = base[:, 1:] != pad
    twice = pupil.answers(pupil.program(source), source)
    for node, (_, right) in zip(pupil.nodes, pairs, strict=True):
        # whatever either shift brings is brought from the other sequence, and nothing
        # by others
        wanted = plain if node.of_program is None else twice
        assert torch.equal(right[last], wanted[last])


@needs_tracr
def test_a_model_that_has_not_learnt_is_left_out_and_its_weights_are_kept(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(siit, "STEPS", 1)
    for _ in range(2):
        with pytest.raises(
            LeftOutError, match="of its answers are right with some head replaced"
        ):
            siit.build_siit("siit shift_twice", tmp_path)
        # The second time nothing is trained.
        monkeypatch.setattr(siit.Pupil, "learn", None)
    monkeypatch.setattr(siit, "RIGHT", 0)
    assert 0 < siit.build_siit("siit shift_twice", tmp_path).alone < 1
    assert (tmp_path / "siit" / "shift_twice.safetensors").is_file()


class Carries(torch.nn.Module):
    """Puts out what its heads carry, [layer, sequence, position, head, number]: in
    layer 1 twice the inputs."""

    def __init__(self):
        super().__init__()
        layers = (
            torch.nn.ModuleDict({"hook_z": torch.nn.Identity()}) for _ in range(2)
        )
        self.blocks = torch.nn.ModuleList(layers)

    def forward(self, inputs):
        first, second = self.blocks
        of_first = first["hook_z"](1.0 * inputs)  # a copy: heads are written into
        return torch.stack([of_first, second["hook_z"](2.0 * inputs)])


def test_heads_carry_what_they_do_in_the_other_sequence():
    base = torch.zeros(2, 4, 3, 1)
    source = torch.ones(2, 4, 3, 1, requires_grad=True)
    heads = [(0, 1), (1, 0), (1, 2)]
    carried = siit.interchanged(Carries(), base, source, heads)
    by_head = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 2.0]])
    expected = by_head[:, None, None, :, None]
    assert torch.equal(carried, expected.expand_as(carried))
    assert not carried.requires_grad


def pupil(pairs):
    """A pupil of one weight, whatever head is replaced; `pairs` gives outputs and
    answers.
    """
    made = object.__new__(siit.Pupil)
    made.task = SimpleNamespace(targets=Tokens(2))
    made.rng = random.Random(0)
    made.model = torch.nn.Linear(1, 2, bias=False)
    made.unseen = None
    made.seen = torch.zeros(siit.TRAINED_ON, 1)
    made.nodes = [siit.Node(0, 0, 0), siit.Node(0, 1, None)]
    made.pairs = lambda inputs: (inputs, inputs)
    made.swapped = pairs
    return made


def test_the_heads_that_are_replaced_are_those_that_count(monkeypatch):
    answers = torch.zeros(4, 1, 1, dtype=torch.long)
    all_right = torch.tensor([[[1.0, 0.0]]] * 4)
    half = all_right.clone()
    half[2:] = half[2:].flip(-1)
    pairs = [(said, answers) for said in (all_right, half, all_right)]
    one = pupil(lambda *_: iter(pairs))
    assert one.right() == 0.5
    said = {((0, 1),): half}  # the head that is not the program's
    monkeypatch.setattr(
        siit, "interchanged", lambda model, base, source, heads: said[(*heads,)]
    )
    one.program = torch.nn.Identity()
    one.answers = lambda outputs, inputs: answers
    assert one.alone() == 0.5


def test_heads_that_are_not_of_the_program_are_taught_to_do_nothing(monkeypatch):
    monkeypatch.setattr(siit, "STEPS", 1)
    answers = torch.zeros(4, 1, 1, dtype=torch.long)
    asked = []

    def pairs(base, source, sets):
        asked.append([[node.of_program is None for node in nodes] for nodes in sets])
        told = one.model(torch.ones(4, 1, 1))
        fixed = told.detach()
        return iter([(fixed, answers), (fixed, answers), (told, answers)])

    one = pupil(pairs)
    before = one.model.weight.clone()
    one.learn()
    assert asked == [[[False], [True]]]
    assert not torch.equal(one.model.weight, before)
