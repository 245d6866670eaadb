"""A model whose circuit is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from headway.errors import HeadwayError
from headway.models import Tappable
from headway.relations import AttentionPath
from headway.replace import Head
from headway.tasks import Task

Paths = frozenset[AttentionPath]


class LeftOutError(HeadwayError):
    """A model that belongs to a family but whose circuit is not known, and why."""


@dataclass(frozen=True)
class Known:
    """A model, the task that it solves, and the circuit that it has.

    A path counts if the model attends along it. Some serve only the attention of heads
    above, and are needed as long as those heads attend freely: a circuit in which every
    head's attention is replaced can do without them (see `headway.find.search`).

    Attributes:
        model: with a tap.
        task: that it solves.
        required: the paths that every faithful circuit needs.
        alternatives: of each group exactly one option, a set of paths, is needed, any
            one.
        decoys: paths attended along, strongly, to no effect.
        name: of the model.
        kind: of its family.
        heads: of the circuit, where its paths are not known.
        knows: whether paths, heads alone or nothing is known.
        alone: the share of right answers when all other heads carry what they carry in
            other sequences, where that was looked at.
    """

    model: Tappable
    task: Task
    required: Paths = frozenset()
    alternatives: tuple[tuple[Paths, ...], ...] = ()
    decoys: Paths = frozenset()
    name: str = ""
    kind: str = ""
    heads: frozenset[Head] = frozenset()
    knows: Literal["paths", "heads", "nothing"] = "paths"
    alone: float | None = None

    def nearest(
        self, chosen: Paths | None, ranking: Mapping[AttentionPath, float] | None = None
    ) -> Paths:
        """The circuit, with that option of every group of alternatives that an answer
        fits best.

        Args:
            chosen: the paths that the answer picks; None if it only ranks.
            ranking: of all paths, which decides between options that fit alike.
        """
        ranks = ranking or {}

        def fit(option: Paths) -> tuple[int, float]:
            matching = 0
            if chosen is not None:
                matching = len(option & chosen) - len(option - chosen)
            rank = sum(ranks.get(path, 0) for path in option)
            return matching, rank / max(1, len(option))

        nearest = [max(group, key=fit) for group in self.alternatives]
        return self.required.union(*nearest)
