"""What can be named of a kind: what headway has, and what installed packages offer."""

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import TypeVar

from headway.errors import HeadwayError
from headway.userfile import described, installed

T = TypeVar("T")


class Offered(Mapping[str, T]):
    """Things by name: those that are known, and those that packages offer by entry points.

    One of a package is imported when it is asked for.

    Args:
        group: of the entry points.
        field: that names one in a config, for errors.
        known: those that are known from the start; more may be put in.
    """

    def __init__(self, group: str, field: str, known: dict[str, T] | None = None):
        self.group, self.field, self.known = group, field, known or {}

    def __getitem__(self, name: str) -> T:
        if name in self.known:
            return self.known[name]
        if point := installed(self.group).get(name):
            return self.known.setdefault(name, self._imported(name, point))
        raise KeyError(name)

    def _imported(self, name: str, point: EntryPoint) -> T:
        try:
            return point.load()
        except Exception as error:  # whatever a package may raise
            where = f"{self.field} = {name!r}: the entry point {point.value}"
            raise HeadwayError(f"{where} fails: {described(error)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter({**self.known, **installed(self.group)})

    def __len__(self) -> int:
        return sum(1 for _ in self)
