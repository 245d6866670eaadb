"""Answers that need no looking up, and positions that no circuit speaks of, are
doubted.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from headway.tasks import Batch, Task, check_task

Rule = Callable[[Tensor], Tensor]
VOCABULARY, LENGTH = 12, 8


def task_of(
    rule: Rule, n_read: int = 1, vectors: bool = False, given: tuple[str, ...] = ()
):
    """A task whose answers are what a rule makes of tokens, and whose roles are at the
    end.
    """

    @dataclass(frozen=True)
    class Ruled(Task, registered=False):
        """Answers by a rule."""

        size: int = VOCABULARY

        @property
        def roles(self) -> tuple[str, ...]:
            return given

        @property
        def vocabulary(self) -> int | None:
            return None if vectors else self.size

        def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
            return (torch.randint(self.size, (count, LENGTH), generator=generator),)

        def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
            tokens = draws[0]
            answers = rule(tokens).reshape(len(tokens), -1)[:, -n_read:, None]
            last = LENGTH - 1 - torch.arange(len(given)).expand(len(tokens), -1)
            roles = last[..., None] if given else None
            if vectors:
                read, wanted = (one[..., None].float() for one in (tokens, answers))
                return Batch(
                    torch.cat([read, read**2], -1), wanted, *([roles] if given else [])
                )
            return Batch(tokens, answers, *([roles] if given else []))

    return Ruled


def told(cls: type[Task]) -> list[str]:
    return [str(one) for one in check_task(cls)]


def mostly(rule: Rule, other: Rule, share: float) -> Rule:
    """A rule for a share of the sequences, by their first two tokens, and another for
    the rest.
    """

    def mixed(tokens: Tensor) -> Tensor:
        first = tokens[:, 0] * VOCABULARY + tokens[:, 1] < share * VOCABULARY**2
        one, two = (which(tokens).reshape(len(tokens), -1) for which in (rule, other))
        return torch.where(first[:, None], one, two)

    return mixed


def own(tokens: Tensor) -> Tensor:
    return tokens[:, -1]


def computed(tokens: Tensor) -> Tensor:
    return (tokens[:, 3] * 5 + tokens[:, 4]) % VOCABULARY


def frequent(tokens: Tensor) -> Tensor:
    return tokens.mode(1).values


EASY = {
    "own": (own, "the query's own token in 100% of 512"),
    "first": (lambda tokens: tokens[:, 0], "the first token in 100%"),
    "mostly one": (
        lambda tokens: torch.where(tokens[:, 0] > 0, 5, 6),
        "the token 5 in 9",
    ),
    "frequent": (frequent, "the most frequent token of the sequence in 96%"),
    "mostly own": (mostly(own, computed, 0.75), "the query's own token in 7"),
}


@pytest.mark.parametrize("roles", [(), ("query", "other")], ids=["no roles", "roles"])
@pytest.mark.parametrize("name", EASY)
def test_a_rule_that_looks_nothing_up_is_named_with_what_it_gets(name, roles):
    rule, words = EASY[name]
    found = told(task_of(rule, given=roles))
    (easy,) = [one for one in found if "nothing need be looked up" in one]
    assert easy.startswith(f"assemble: the answer to answer is {words}")


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize(
    ("shift", "words"), [(0, "query's own {}"), (2, "{} 2 before the query")]
)
def test_places_are_counted_from_every_query(vectors, shift, words):
    found = told(task_of(lambda tokens: tokens.roll(shift, 1), 4, vectors))
    words = words.format("vector" if vectors else "token")
    assert any(f"is the {words} in 100% of 2048 cases" in one for one in found), found


@pytest.mark.parametrize(
    "rule",
    [
        computed,
        lambda tokens: computed(tokens) % 2,
        lambda tokens: (tokens == 3).sum(1),
        mostly(own, computed, 0.4),
        lambda tokens: tokens.gather(1, tokens[:, :1] % LENGTH),
    ],
)
def test_what_must_be_computed_is_not_doubted(rule):
    assert not [one for one in told(task_of(rule)) if "looked up" in one]


def test_positions_without_a_role_are_doubted():
    words = "75% of the positions play no role and no path leads to them"
    assert any(
        one.startswith(f"roles: {words}")
        for one in told(task_of(computed, 1, False, ("a", "b")))
    )
    names = tuple("abcdefgh")
    assert not [
        one for one in told(task_of(computed, 1, False, names)) if "play no role" in one
    ]
    assert not [one for one in told(task_of(computed)) if "play no role" in one]
