from dataclasses import dataclass

import pytest
import torch

from headway.errors import HeadwayError
from headway.replace.partners import partners, trailing
from headway.tasks import Batch, Hops, Retrieval, Task
from sampling import seeded


def test_roles_of_partners_stand_where_they_stand_in_the_sequences():
    given = partners(Retrieval(depth=2), 32, seeded(0))
    assert torch.equal(given.partner.roles, given.batch.roles)
    assert not torch.equal(given.partner.inputs, given.batch.inputs)
    assert not torch.equal(given.elsewhere.roles, given.batch.roles)


@dataclass(frozen=True)
class Padded(Task, registered=False):
    """Sequences of one to six tokens, then padding; the answer is the first token."""

    vocabulary = 5

    def draw(self, count, generator):
        tokens = torch.randint(1, 5, (count, 6), generator=generator)
        lengths = torch.randint(1, 7, (count, 1), generator=generator)
        return tokens, lengths

    def assemble(self, draws):
        tokens, lengths = draws
        is_padding = torch.arange(6) >= lengths
        padded = tokens.masked_fill(is_padding, 0)
        inputs = torch.cat([padded, torch.zeros(len(tokens), 1, dtype=torch.long)], 1)
        return Batch(inputs, tokens[:, :1, None])


def test_partners_are_equally_long_below_their_padding():
    given = partners(Padded(), 64, seeded(0))
    lengths = trailing(given.batch.inputs)
    assert len(lengths.unique()) > 3
    assert torch.equal(lengths, trailing(given.partner.inputs))


@dataclass(frozen=True)
class OneTensor(Padded, registered=False):
    """The same, drawn as one tensor, so that no part of a draw can be exchanged."""

    def draw(self, count, generator):
        tokens, lengths = super().draw(count, generator)
        return (torch.cat([tokens, lengths], 1),)

    def assemble(self, draws):
        (both,) = draws
        return super().assemble((both[:, :-1], both[:, -1:]))


def test_sequences_of_one_layout_are_paired_where_draws_have_no_parts():
    given = partners(OneTensor(), 64, seeded(0))
    assert len(given.batch.inputs) > 32
    assert torch.equal(trailing(given.batch.inputs), trailing(given.partner.inputs))
    rows = {tuple(row) for row in given.batch.inputs.tolist()}
    assert {tuple(row) for row in given.partner.inputs.tolist()} == rows


def test_what_is_asked_is_asked_of_partners_too():
    task = Hops(asked=(1, 2), n_places=12)
    given = partners(task, 32, seeded(0))
    asked = [
        task.targets.asked(batch.targets) for batch in (given.batch, given.partner)
    ]
    assert torch.equal(*asked)


@dataclass(frozen=True)
class AllUnlike(Task, registered=False):
    """The roles of no two sequences stand alike."""

    vocabulary = 3
    roles = ("query", "key")

    def draw(self, count, generator):
        return (torch.arange(count)[:, None] % 3, torch.arange(count)[:, None])

    def assemble(self, draws):
        tokens, places = draws
        inputs = tokens.expand(-1, 40).clone()
        roles = torch.stack([places + 20, places], 1)
        return Batch(inputs, tokens[:, None], roles)


def test_a_task_without_partners_is_refused_in_a_line():
    with pytest.raises(
        HeadwayError, match=r"^exchange: 0 of 16 sequences have another"
    ):
        partners(AllUnlike(), 16, seeded(0))
