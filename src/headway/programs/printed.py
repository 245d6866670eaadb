"""A program: its lines, its file, and its answers."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from keyword import iskeyword
from types import MappingProxyType

import numpy as np

from headway.programs import prelude
from headway.programs.expressions import (
    FUNCTIONS,
    Array,
    Expression,
    Input,
    Scope,
)
from headway.programs.sample import Answers

NOTHING_INSTEAD: Mapping[Expression, Array] = MappingProxyType({})

TAKEN = {*FUNCTIONS, *["t", "x", "n", "i", "j", "q", "k", "seen", "np", "told"]}
"""Names in a program's file that are no hop's."""

AT_ONCE = 4_000_000
"""Cells of selects that a program holds at once."""

MAIN = """

if __name__ == "__main__":
    import sys

    sequences = np.load(sys.argv[1])
    step = max(1, {most} // sequences.shape[1] ** 2)
    parts = range(0, len(sequences), step)
    told = [program(sequences[start : start + step]) for start in parts]
    np.save(sys.argv[2], np.concatenate(told))
"""


@dataclass(frozen=True)
class Line:
    """A line of a program.

    Attributes:
        name: of what it computes.
        code: on the right of the equals sign.
        heads: that it comes from.
        says: the relation of a head, in words.
        expression: that it computes.
    """

    name: str
    code: str
    heads: tuple[str, ...]
    says: str
    expression: Expression

    def __str__(self):
        told = " ".join([*self.heads, self.says]).strip()
        note = f"  # {told}" if told else ""
        return f"{self.name} = {self.code}{note}"


@dataclass(frozen=True)
class Program:
    """A program that gives a model's answers without it.

    Attributes:
        title: a line about the model.
        how: how it sees what the model reads.
        hops: the expression of every hop's answer, by its name.
        unread: heads of the circuit that no expression stands for, and why.
    """

    title: str
    how: Input
    hops: Mapping[str, Expression]
    unread: Mapping[str, str]

    @cached_property
    def names(self) -> list[str]:
        """The names of answers in its code: those of hops, or hop_0, hop_1, …"""
        names = list[str]()
        for at, hop in enumerate(self.hops):
            name = _identifier(hop)
            names.append(f"hop_{at}" if not name or name in names else name)
        return names

    @cached_property
    def lines(self) -> list[Line]:
        """Its lines, in the order in which they are computed."""
        answers = dict(zip(self.hops.values(), self.names, strict=True))
        inner = {part for answer in answers for part in answer.below}
        named = dict[Expression, str]()
        lines = list[Line]()
        for expression in _in_order(self.hops.values()):
            if expression.kind == "select":
                name = expression.heads[0].replace(".", "")
                name += _suffix(name, named)
            elif expression in answers and expression not in inner:
                name = answers[expression]
            else:
                name = f"v{sum(name.startswith('v') for name in named.values())}"
            code = expression.code(named)
            named[expression] = name
            heads = expression.brought_by
            lines.append(Line(name, code, heads, expression.says, expression))
        for name, expression in zip(self.names, self.hops.values(), strict=True):
            code = named.get(expression) or expression.code(named)
            if code != name:
                lines.append(Line(name, code, (), "", expression))
        return lines

    def __call__(
        self, inputs: Array, instead: Mapping[Expression, Array] = NOTHING_INSTEAD
    ) -> Answers:
        """The answers at every position, [sequence, position, hop].

        Args:
            inputs: what the model reads.
            instead: by expression, what stands in its place.
        """
        scope = Scope(inputs, self.how, instead)
        told = [scope.value(expression) for expression in self.hops.values()]
        return np.stack(told, -1)

    @property
    def text(self) -> str:
        """The lines of its function, as in its file."""
        return "\n".join(map(str, self.lines))

    @property
    def source(self) -> str:
        """A Python file that runs with numpy alone."""
        body = self._body()
        parts = [f'"""{self.title}"""', "", "import numpy as np", ""]
        if "HIGHEST" in (used := _used(body)):
            parts += [f"HIGHEST = {prelude.HIGHEST}", ""]
        parts += ["", used, body]
        return "\n".join(parts) + MAIN.replace("{most}", str(AT_ONCE))

    def __str__(self):
        return self.text

    def _body(self) -> str:
        """The function that the file is about."""
        argument = "x" if self.how.width else "t"
        ahead = ", ahead=True" if self.how.ahead else ""
        padding = f", padding={self.how.padding}" if self.how.padding >= 0 else ""
        lines = [f"def program({argument}):"]
        if self.how.width:
            lines.append(f"    t = symbols(x, {self.how.width})")
        lines.append(f"    n, i, j, q, k, seen = frame(t{ahead}{padding})")
        lines += [f"    {line}" for line in self.lines]
        told = f"np.broadcast_arrays({', '.join(self.names)}, t)[:-1]"
        if self.how.width:
            lines.append(f"    told = {told}")
            each = f"[vectors_of(x, {self.how.width}, hop) for hop in told]"
            lines.append(f"    return np.stack({each}, 2)")
        else:
            lines.append(f"    return np.stack({told}, 2)")
        return "\n".join(lines)


def _in_order(expressions: "Iterator[Expression] | object") -> list[Expression]:
    """The expressions that have lines, those first that others need."""
    used = dict[Expression, None]()

    def visit(expression: Expression) -> None:
        for part in expression.parts:
            visit(part)
        if expression.is_line:
            used.setdefault(expression)

    for expression in expressions:  # pyright: ignore[reportGeneralTypeIssues]
        visit(expression)
    return list(used)


def _suffix(name: str, named: Mapping[Expression, str]) -> str:
    """A letter for the second select of a head, and those after it."""
    count = sum(known.rstrip("bcd") == name for known in named.values())
    return "abcd"[count] if count else ""


def _identifier(hop: str) -> str:
    """The name of a hop as one of Python's; empty if none of its letters may be."""
    letters = [letter if letter.isalnum() else "_" for letter in hop]
    name = "".join(letters).strip("_")
    is_value = name[:1] == "v" and name[1:].isdigit()
    is_taken = is_value or name in TAKEN or iskeyword(name)
    is_free = name.isidentifier() and not is_taken
    return name if is_free or not name else f"hop_{name}"


def _used(body: str) -> str:
    """The functions of the prelude that some code needs, in their order there."""
    needed = set[str]()
    left = [body]
    while left:
        code = left.pop()
        for name, function in FUNCTIONS.items():
            if f"{name}(" in code and name not in needed:
                needed.add(name)
                left.append(inspect.getsource(function).partition("\n")[2])
    used = [function for name, function in FUNCTIONS.items() if name in needed]
    sources = [inspect.getsource(function) for function in used]
    return "\n\n".join(sources) + "\n"
