"""Programs of models: do they match and follow, and how long are they?

python benchmarks/programs.py MODEL … [--folder FOLDER] [--strangers FOLDER] [--seeds 1]
[--mutated 20] [--out FILE]; a MODEL is one of a family (`compiled`, `planted`, `tracr`,
`siit`, `trained`, `cohort`, `strangers`), a family, or the folder of a run. Circuits of
the first four are known, of others discovered. With --mutated, each program is changed
in one place, in so many ways drawn from those that are listed here, and judged again.
"""

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from frame import options
from headway import Circuit, HeadwayError, Run, Task, discover
from headway.models import tapped
from headway.programs.expressions import PLACE, TOKEN, Expression
from headway.programs.find import Read, read_program
from headway.programs.judged import MATCH, JudgedProgram, in_whole, judged
from headway.programs.sample import Sample
from headway.replace import Bench
from headway.replace.ablation import heads_of
from headway.replace.mechanism import NOTHING
from headway.training import held_out
from headway_experiments.arena import cohorts
from headway_experiments.arena.families import FROM
from headway_experiments.arena.tracr_model import has_tracr
from headway_experiments.cohort.members import MODELS
from headway_experiments.cohort.training import load
from strangers import loaded

SAME_KEYS = "same keys, but not the head's"

DEEPEST = 8
"""The depth up to which models are compiled by hand."""

SEQUENCES = 200
"""Sequences that a program is found on, and others that it is judged on."""


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
        batch = held_out(self.task, SEQUENCES, seed, "cpu", purpose)
        return Sample.of(Bench(self.model, self.task, batch, shared=False))


def names_in(family: str, strangers: Path) -> list[str]:
    """The models of a family; of a model's name that name."""
    match family:
        case "compiled":
            return [
                f"{how} D={depth}"
                for how, least in FROM.items()
                for depth in range(least, DEEPEST + 1)
            ]
        case "planted":
            return [f"planted {seed}" for seed in cohorts.PLANTED["judging"]]
        case "tracr" if has_tracr():
            from headway_experiments.arena.tracr_programs import programs

            return [f"tracr {program}" for program in programs()]
        case "siit":
            names = cohorts.SIIT["judging"]
            return [f"siit {name}" for name in names]
        case "trained":
            depths = cohorts.TRAINED["judging"].items()
            return [
                f"trained D={d} seed {seed}" for d, seeds in depths for seed in seeds
            ]
        case "cohort":
            return [*MODELS]
        case "strangers":
            return [f"stranger {name}" for name in loaded(strangers)]
    return [family]


def case_of(name: str, folder: Path, strangers: Path) -> Case:
    """A model with its circuit.

    Args:
        name: of the model, or the folder of a run.
        folder: of models that are trained; they stay there.
        strangers: the folder of others' models.

    Raises:
        HeadwayError: if there is none, or its circuit is not known.
    """
    if (Path(name) / "config.json").exists():
        run = Run.open(name)
        return discovered(Path(name).name, run.model(), run.task)
    if name in MODELS:
        module, task, _ = load(name, folder / "cohort")
        return discovered(name, module, task)
    if name.startswith("stranger "):
        build, task = loaded(strangers)[name.removeprefix("stranger ")]
        return discovered(name, build(), task)
    known = cohorts.case_of(name, folder, strangers)
    idle = dict.fromkeys(heads_of(known.model), NOTHING)
    circuit = Circuit.of(known.right.paths, idle)
    return Case(name, known.model, known.task, circuit)


def discovered(name: str, model: Any, task: Task) -> Case:
    """A model with the circuit that is discovered."""
    inputs = held_out(task, 2, 0, "cpu", "example").inputs
    model = tapped(model, inputs)
    found = discover(model, task, seed=5, trials=False, workers=1)
    return Case(name, model, task, found.circuit)


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


def line_of(name: str, seed: int, found: JudgedProgram) -> dict[str, Any]:
    """What is kept of a program."""
    shares = [one.share for one in found.follows if one.share is not None]
    return {
        "model": name,
        "seed": seed,
        "program": "found",
        "matches": round(found.matches, 4),
        "follows": round(min(shares), 4) if shares else None,
        "heads": {" ".join(one.heads): one.share for one in found.follows},
        "is_models": found.does_match and found.does_follow,
        "lines": len(found.program.lines),
        "spare": found.spare,
    }


def lines_of(case: Case, seed: int, count: int, spent: float) -> Iterator[dict]:
    """What is kept of the program of a model, and of some that are changed.

    Args:
        case: the model with its circuit.
        seed: of sequences, of heads that look elsewhere, and of changes.
        count: of changes.
        spent: seconds that its circuit took.
    """
    began = time.process_time()
    sample = case.sample("program", seed)
    fresh = case.sample("judging a program", seed)
    read = read_program(sample, case.circuit, case.task.tokens_are, case.name)
    found = judged(read, fresh, seed)
    took = spent + time.process_time() - began
    yield line_of(case.name, seed, found) | {"seconds": round(took, 1)}
    own = fresh.answers()
    changes = list(mutations(read))
    random.Random(seed).shuffle(changes)
    for what, old, new in changes[:count]:
        wrong = mutated(read, old, new)
        matches = in_whole(wrong.program(fresh.inputs), own, fresh).mean()
        about = {"model": case.name, "seed": seed, "program": f"mutated {what}"}
        if matches < MATCH:  # it is refused, whatever it follows
            yield about | {"matches": round(matches, 4), "is_models": False}
        else:
            yield line_of(case.name, seed, judged(wrong, fresh, seed)) | about


def main():
    given = options(
        __doc__,
        model=[str],
        folder=Path("runs/arena"),
        strangers=cohorts.STRANGERS,
        seeds=1,
        mutated=0,
    )
    names = [one for each in given.model for one in names_in(each, given.strangers)]
    for name in names:
        began = time.process_time()
        try:
            case = case_of(name, given.folder, given.strangers)
            spent = time.process_time() - began
            for seed in range(given.seeds):
                for line in lines_of(case, seed, given.mutated, spent):
                    keep(line, given.out)
        except HeadwayError as error:
            keep({"model": name, "refused": str(error)}, given.out)


def keep(line: dict[str, Any], out: Path | None) -> None:
    """Prints what is kept of a program, and writes it."""
    told = json.dumps(line)
    print(told, flush=True)
    if out:
        with out.open("a") as file:
            file.write(f"{told}\n")


if __name__ == "__main__":
    main()
