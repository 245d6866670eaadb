"""Findings on disk: data that a run's folder keeps, a kind a file."""

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

from headway.errors import require
from headway.fields import found_in, to_json

Condition = tuple[str, Any, bool, str]
"""A field, its value, whether it is allowed, and what is."""

F = TypeVar("F", bound="Finding")


class Finding:
    """A frozen dataclass whose fields are what was found (see `Run.save` and `Run.load`)."""

    FILE: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, as in the run's folder."""
        return to_json(self)

    @classmethod
    def from_json(cls: type[F], data: Any) -> F:
        """The finding that `to_json` wrote.

        Raises:
            HeadwayError: if a field is missing or not what it should be.
        """
        found = found_in(cls, data, cls.FILE)
        for field, value, holds, allowed in found.conditions():
            require(holds, f"{cls.FILE}: {field}", value, allowed)
        return found

    def conditions(self) -> Iterator[Condition]:
        """Conditions beside the types of fields."""
        yield from ()
