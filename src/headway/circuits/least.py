"""The flow minimum of a task: the least number of layers by the theory, if it is known."""

from dataclasses import dataclass
from functools import lru_cache

from headway.tasks import Task
from headway.theory import Flow


@dataclass(frozen=True)
class Least:
    """How few layers can do under the assumptions of `theory.flow`.

    Attributes:
        known: whether it is known how information must flow in the task.
        layers: the least number of layers; None if no number is enough, or that is not known.
    """

    known: bool
    layers: int | None = None

    @classmethod
    def of(cls, task: Task, causal: bool) -> "Least":
        """Of a task, with the causal mask or without."""
        flow = task.flow()
        return cls(False) if flow is None else cls(True, _layers(flow, causal))

    @property
    def words(self) -> str:
        """The same in a few words."""
        if not self.known:
            return "flow minimum not known"
        if self.layers is None:
            return "no number of layers can answer"
        return f"flow minimum: {self.layers} {'layer' if self.layers == 1 else 'layers'}"

    @property
    def cell(self) -> str:
        """The same in a column that says what it is."""
        if not self.known:
            return "not known"
        return "none is enough" if self.layers is None else str(self.layers)


@lru_cache(maxsize=1024)
def _layers(flow: Flow, causal: bool) -> int | None:
    return flow.minimum_layers(causal)
