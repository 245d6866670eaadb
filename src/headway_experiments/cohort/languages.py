"""Words of formal languages; at every position, which letters may follow."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from headway.fields import AtLeastOne
from headway.tasks import Batch, Tokens
from headway_experiments.cohort.base import CohortTask, tokens_below

FINE = 2**16
"""A letter is drawn by a whole number below this."""

END = "end"


@dataclass(frozen=True)
class Automaton:
    """A finite automaton without dead states, which starts in its first state.

    Attributes:
        letters: by name.
        follows: the next state by state and letter; -1 where a letter may not follow.
        ends: whether a word may end in each state.
    """

    letters: tuple[str, ...]
    follows: tuple[tuple[int, ...], ...]
    ends: tuple[bool, ...]

    def allowed(self) -> Tensor:
        """[state, letter or end]: what may follow."""
        goes_on = torch.tensor(self.follows) >= 0
        ends = torch.tensor(self.ends)
        return torch.cat([goes_on, ends[:, None]], dim=1)

    def varying(self) -> list[int]:
        """The columns of `allowed` that differ from state to state."""
        allowed = self.allowed()
        differs = (allowed != allowed[:1]).any(0)
        return differs.nonzero().flatten().tolist()


def automaton(follows: Sequence[Mapping[str, int]], ends: Collection[int]) -> Automaton:
    """An automaton from what follows in each state, by letter."""
    letters = sorted({letter for options in follows for letter in options})
    table = [
        tuple(options.get(letter, -1) for letter in letters) for options in follows
    ]
    may_end = tuple(state in ends for state in range(len(follows)))
    return Automaton(tuple(letters), tuple(table), may_end)


def brackets(kinds: int, depth: int) -> Automaton:
    """Balanced brackets of some kinds, nested at most so deep: states are stacks."""
    stacks: list[tuple[int, ...]] = [()]
    for stack in stacks:
        if len(stack) < depth:
            stacks += [(*stack, kind) for kind in range(kinds)]
    number = {stack: state for state, stack in enumerate(stacks)}
    table = list[tuple[int, ...]]()
    for stack in stacks:
        opened = [number.get((*stack, kind), -1) for kind in range(kinds)]
        closed = [
            number[stack[:-1]] if stack[-1:] == (kind,) else -1 for kind in range(kinds)
        ]
        table.append((*opened, *closed))
    letters = tuple("([{"[:kinds] + ")]}"[:kinds])
    may_end = tuple(not stack for stack in stacks)
    return Automaton(letters, tuple(table), may_end)


LANGUAGES = {
    # Tomita's third: no odd run of a is followed by an odd run of b.
    "tomita3": automaton(
        [{"a": 1, "b": 0}, {"a": 0, "b": 2}, {"b": 3}, {"a": 1, "b": 2}], {0, 1, 3}
    ),
    # Tomita's fourth: never three a in a row.
    "tomita4": automaton([{"a": 1, "b": 0}, {"a": 2, "b": 0}, {"b": 0}], {0, 1, 2}),
    # Tomita's seventh: a*b*a*b*.
    "tomita7": automaton(
        [{"a": 0, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 3}, {"b": 3}], {0, 1, 2, 3}
    ),
    "a*b*": automaton([{"a": 0, "b": 1}, {"b": 1}], {0, 1}),
    "a*b*c*": automaton(
        [{"a": 0, "b": 1, "c": 2}, {"b": 1, "c": 2}, {"c": 2}], {0, 1, 2}
    ),
    "(aa|bb)*": automaton([{"a": 1, "b": 2}, {"a": 0}, {"b": 0}], {0}),
    "(ab|aab)*": automaton([{"a": 1}, {"a": 2, "b": 0}, {"b": 0}], {0}),
    "a*ba*": automaton([{"a": 0, "b": 1}, {"a": 1}], {1}),
    "no two alike": automaton(
        [
            {"a": 1, "b": 2, "c": 3},
            {"b": 2, "c": 3},
            {"a": 1, "c": 3},
            {"a": 1, "b": 2},
        ],
        {0, 1, 2},
    ),
    "dyck 1 kind deep 2": brackets(1, 2),
    "dyck 1 kind deep 3": brackets(1, 3),
    "dyck 1 kind deep 4": brackets(1, 4),
    "dyck 2 kinds deep 1": brackets(2, 1),
    "dyck 2 kinds deep 2": brackets(2, 2),
    "dyck 3 kinds deep 1": brackets(3, 1),
}

Language = Literal[
    "tomita3",
    "tomita4",
    "tomita7",
    "a*b*",
    "a*b*c*",
    "(aa|bb)*",
    "(ab|aab)*",
    "a*ba*",
    "no two alike",
    "dyck 1 kind deep 2",
    "dyck 1 kind deep 3",
    "dyck 1 kind deep 4",
    "dyck 2 kinds deep 1",
    "dyck 2 kinds deep 2",
    "dyck 3 kinds deep 1",
]


@dataclass(frozen=True)
class NextLetters(CohortTask):
    """Reads BOS and letters of a word: at each, may this letter or the end follow?

    Attributes:
        language: which letters may follow which.
        size: letters in a word, which need not end there.
        repeats: in so many of a hundred letters, the one before is repeated if it may.
    """

    language: Language = "tomita4"
    size: AtLeastOne = 12
    repeats: int = 0

    @property
    def automaton(self) -> Automaton:
        return LANGUAGES[self.language]

    @property
    def tokens(self) -> tuple[str, ...]:
        return (*self.automaton.letters, "BOS")

    @property
    def hops(self) -> tuple[str, ...]:
        """The symbols that may follow in some states alone."""
        names = (*self.automaton.letters, END)
        return tuple(names[column] for column in self.automaton.varying())

    @property
    def targets(self) -> Tokens:
        return Tokens(2, own_logits=True)

    def draw(self, count, generator):
        chances = tokens_below(FINE, count, self.size, generator)
        again = tokens_below(100, count, self.size, generator)
        return chances, again

    def assemble(self, draws):
        chances, again = draws
        follows = torch.tensor(self.automaton.follows, device=chances.device)
        allowed = self.automaton.allowed().to(chances.device)
        state = torch.zeros_like(chances[:, 0])
        letter = torch.zeros_like(state)
        states = [state]
        letters = [torch.full_like(state, len(self.automaton.letters))]
        for place in range(self.size):
            may_follow = allowed[state, :-1]
            drawn = letter_of(chances[:, place], may_follow)
            repeated = may_follow.gather(1, letter[:, None])[:, 0]
            repeated &= again[:, place] < self.repeats
            letter = torch.where(repeated, letter, drawn)
            state = follows[state, letter]
            states.append(state)
            letters.append(letter)
        visited = torch.stack(states, dim=1)
        may_be = allowed.long()[:, self.automaton.varying()]
        return Batch(torch.stack(letters, dim=1), may_be[visited])


def letter_of(chance: Tensor, may_follow: Tensor) -> Tensor:
    """A letter of those that may follow, each as likely, by a number below `FINE`."""
    which = chance * may_follow.sum(1) // FINE
    passed = may_follow.cumsum(1) > which[:, None]
    return passed.long().argmax(1)
