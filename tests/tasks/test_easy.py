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
VOCABULARY = 12
LENGTH = 8


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
            (tokens,) = draws
            count = len(tokens)
            answers = rule(tokens).reshape(count, -1)
            inputs = tokens
            targets = answers[:, -n_read:, None]
            if vectors:
                numbers = tokens[..., None].float()
                inputs = torch.cat([numbers, numbers**2], -1)
                targets = targets[..., None].float()
            if not given:
                return Batch(inputs, targets)
            from_end = torch.arange(1, len(given) + 1)
            roles = (LENGTH - from_end).expand(count, -1)
            return Batch(inputs, targets, roles[..., None])

    return Ruled


def told(cls: type[Task]) -> list[str]:
    return [str(one) for one in check_task(cls)]


def mostly(rule: Rule, other: Rule, share: float) -> Rule:
    """A rule for a share of the sequences, by their first two tokens, and another for
    the rest.
    """

    def mixed(tokens: Tensor) -> Tensor:
        first_two = tokens[:, 0] * VOCABULARY + tokens[:, 1]
        is_first_rule = first_two < share * VOCABULARY**2
        by_rule = rule(tokens).reshape(len(tokens), -1)
        by_other = other(tokens).reshape(len(tokens), -1)
        return torch.where(is_first_rule[:, None], by_rule, by_other)

    return mixed


def own(tokens: Tensor) -> Tensor:
    return tokens[:, -1]


def computed(tokens: Tensor) -> Tensor:
    return (tokens[:, 3] * 5 + tokens[:, 4]) % VOCABULARY


def frequent(tokens: Tensor) -> Tensor:
    return tokens.mode(1).values


@pytest.mark.parametrize("roles", [(), ("query", "other")], ids=["no roles", "roles"])
@pytest.mark.parametrize(
    ("rule", "words"),
    [
        pytest.param(own, "the query's own token in 100% of 512", id="own"),
        pytest.param(
            lambda tokens: tokens[:, 0], "the first token in 100%", id="first"
        ),
        pytest.param(
            lambda tokens: torch.where(tokens[:, 0] > 0, 5, 6),
            "the token 5 in 9",
            id="mostly one",
        ),
        pytest.param(
            frequent, "the most frequent token of the sequence in 96%", id="frequent"
        ),
        pytest.param(
            mostly(own, computed, 0.75), "the query's own token in 7", id="mostly own"
        ),
    ],
)
def test_a_rule_that_looks_nothing_up_is_named_with_what_it_gets(rule, words, roles):
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
    assert f"is the {words} in 100% of 2048 cases" in "\n".join(found)


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
    assert "looked up" not in "\n".join(told(task_of(rule)))


def test_positions_without_a_role_are_doubted():
    doubts = told(task_of(computed, given=("a", "b")))
    words = "75% of the positions play no role and no path leads to them"
    assert f"\nroles: {words}" in "\n".join(["", *doubts])


@pytest.mark.parametrize("roles", [(), tuple("abcdefgh")])
def test_positions_of_a_task_without_roles_or_with_roles_for_all_are_not_doubted(roles):
    doubts = told(task_of(computed, given=roles))
    assert "play no role" not in "\n".join(doubts)
