"""A program as a run's folder keeps it, for the page."""

from dataclasses import dataclass
from typing import ClassVar

from headway.fields import Finding
from headway.judge.discovery import Discovery
from headway.replace.circuit import WrittenCircuit
from headway.text import wrapped


@dataclass(frozen=True)
class WrittenProgram(Finding):
    """A program of a run's model, as text, with what was measured of it.

    Attributes:
        circuit: that it was found from.
        code: its lines.
        source: its file.
        verdict: on it, in words.
        is_models: whether it matches and follows the model.
        measured: in lines: how often it matches, and which heads it follows.
    """

    FILE: ClassVar[str] = "program.json"

    circuit: WrittenCircuit
    code: str
    source: str
    verdict: str
    is_models: bool
    measured: list[str]

    def is_of(self, discovery: Discovery) -> bool:
        """True if it is about the circuit that was discovered."""
        return self.circuit == discovery.circuit

    def __str__(self):
        return "\n".join([self.code, "", *wrapped(self.verdict), *self.measured])
