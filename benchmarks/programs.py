"""Programs of models: do they match and follow, and how long are they?

python benchmarks/programs.py [--runs RUN …] [--depths 1 2 3] [--seeds 3] [--mutated]
[--out FILE]; of compiled models, and of runs with their circuits. With --mutated, each
program is changed in one place in every way that is listed here, and judged again.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from frame import options
from headway import Circuit, Run, Task
from headway.judge import saved_discovery
from headway.programs.expressions import PLACE, TOKEN, Expression
from headway.programs.find import Read, read_program
from headway.programs.judged import JudgedProgram, judged
from headway.programs.sample import Sample
from headway.replace import Bench
from headway.replace.mechanism import NOTHING
from headway.replace.subject import with_tap
from headway.training import held_out
from headway_experiments.arena.compiled import compiled
from headway_experiments.arena.families import FROM

SAME_KEYS = "same keys, but not the head's"


@dataclass(frozen=True)
class Case:
    """A model with its circuit.

    Attributes:
        name: of it.
        model: with a tap.
        task: that it solves.
        circuit: that it has.
    """

    name: str
    model: Any
    task: Task
    circuit: Circuit

    def sample(self, purpose: str, seed: int) -> Sample:
        """Sequences for one purpose."""
        batch = held_out(self.task, 200, seed, "cpu", purpose)
        return Sample.of(Bench(self.model, self.task, batch, shared=False))


def cases(depths: list[int], runs: list[Path]) -> Iterator[Case]:
    """Compiled models, then runs."""
    for how, least in FROM.items():
        for depth in depths:
            if depth >= least:
                known = compiled(depth, how)
                layers, heads = range(known.model.n_layers), range(known.model.n_heads)
                idle = {(layer, head): NOTHING for layer in layers for head in heads}
                circuit = Circuit.of(known.required, idle)
                yield Case(f"{how} D={depth}", known.model, known.task, circuit)
    for folder in runs:
        run = Run.open(folder)
        model = with_tap(run.model(), run.task)
        yield Case(folder.name, model, run.task, saved_discovery(run).circuit)


def mutations(read: Read) -> Iterator[tuple[str, Expression, Expression]]:
    """Single expressions of a program, with others of their type in their place."""
    selects = read.selects
    lines = [line.expression for line in read.program.lines if line.expression.is_line]
    values = [one for one in lines if one.kind == "token"]
    for line in lines:
        for at, part in enumerate(line.parts):
            if part.kind == "select":
                others = [one for one in selects if one is not part]
            else:
                others = [one for one in (TOKEN, *values) if one is not part]
            others = others if part is not PLACE else []
            for other in others:
                parts = (*line.parts[:at], other, *line.parts[at + 1 :])
                if line not in (other, *below(other)):
                    yield "another part", line, replace(line, parts=parts)
        if line.kind == "select":
            inner = replace(line, heads=())
            shifted = replace(line, form="beside({}, 1, seen)", parts=(inner,))
            yield "next place", line, shifted
            yield SAME_KEYS, line, inner


def below(expression: Expression) -> list[Expression]:
    """All that an expression is made of."""
    parts = list(expression.parts)
    return [*parts, *(one for part in parts for one in below(part))]


def mutated(read: Read, old: Expression, new: Expression) -> Read:
    """A program with one expression in the place of another."""
    known = {old: new}

    def changed(expression: Expression) -> Expression:
        if expression not in known:
            parts = tuple(map(changed, expression.parts))
            is_same = all(map(lambda a, b: a is b, parts, expression.parts))
            known[expression] = (
                expression if is_same else replace(expression, parts=parts)
            )
        return known[expression]

    hops = {hop: changed(one) for hop, one in read.program.hops.items()}
    selects = read.selects
    if new.heads or new.kind != "select":
        selects = [changed(one) for one in selects]
    return Read(replace(read.program, hops=hops), selects)


def line_of(name: str, seed: int, found: JudgedProgram, what: str) -> dict[str, Any]:
    """What is kept of a program."""
    shares = [one.share for one in found.follows if one.share is not None]
    return {
        "model": name,
        "seed": seed,
        "program": what,
        "matches": round(found.matches, 4),
        "follows": round(min(shares), 4) if shares else None,
        "heads": {" ".join(one.heads): one.share for one in found.follows},
        "is_models": found.does_match and found.does_follow,
        "lines": len(found.program.lines),
        "spare": found.spare,
        "seconds": round(found.seconds, 1),
    }


def main():
    given = options(__doc__, runs=(), depths=(1, 2, 3), seeds=1, mutated=False)
    for case in cases(given.depths, [Path(run) for run in given.runs]):
        for seed in range(given.seeds):
            began = time.monotonic()
            sample = case.sample("program", seed)
            fresh = case.sample("judging a program", seed)
            tokens_are = case.task.tokens_are
            read = read_program(sample, case.circuit, tokens_are, case.name)
            programs = [("found", read)]
            if given.mutated:
                programs += [
                    (f"mutated {what}", mutated(read, old, new))
                    for what, old, new in mutations(read)
                ]
            for what, one in programs:
                found = judged(one, fresh, seed, began)
                told = json.dumps(line_of(case.name, seed, found, what))
                print(told, flush=True)
                if given.out:
                    with given.out.open("a") as out:
                        out.write(f"{told}\n")
                began = time.monotonic()


if __name__ == "__main__":
    main()
