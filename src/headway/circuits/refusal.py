"""A search that was refused, as a finding of its own."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from headway.errors import HeadwayError
from headway.fields import found_in


class NoCircuitError(HeadwayError):
    """There is no circuit to find in a model."""


@dataclass(frozen=True)
class Refusal:
    """Why the search for the circuit of a run's last checkpoint was refused.

    Attributes:
        why: the reason, as it was printed.
    """

    FILE: ClassVar[str] = "refused.json"

    why: str

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> "Refusal":
        """The finding that `to_json` wrote; `HeadwayError` if the data is none."""
        return found_in(cls, data, cls.FILE)
