"""The five formulations as tasks: `inspect eval headway/equations -T d=1,2,3 --model …`.

All take the same parameters: `d`, the look-ups to the answer (a number, a list or a range `1..5`;
by default those of the paper's example), `n` questions of every depth, `chains` that are
interleaved, the `seed` of the questions, and `draws`, the number after which a question is given
up.
"""

from collections.abc import Callable
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from rich.markup import escape

from headway.errors import HeadwayError, require
from headway.language.evaluation.depths import Depths, depths_of
from headway.language.evaluation.scorer import acceptable_answer
from headway.language.evaluation.solver import until_acceptable
from headway.language.formulations import formulation
from headway.language.question import Question
from headway.language.sampling import questions

RETRIES = 6
"""Retries of a call, after 3, 6, 12, … seconds: a dead endpoint is given up in minutes."""

ATTEMPT = 300
"""Seconds that one attempt of a call may take."""


def task_of(name: str) -> Callable[..., Task]:
    """The task of a formulation, at temperature 1.

    A sample whose calls keep failing is named as failed, and the others go on; the log's status is
    then `error`, so that `inspect eval-retry` asks what failed again. If a value is out of range,
    Inspect prints why as one line.
    """

    def made(
        d: Depths = None,
        n: int = 500,
        chains: int = 4,
        seed: int = 0,
        draws: int = 100,
        **unknown: Any,
    ) -> Task:
        numbers = {"n": n, "chains": chains, "seed": seed, "draws": draws}
        try:
            dataset = _dataset(name, d, numbers, unknown)
        except HeadwayError as error:
            raise PrerequisiteError(escape(f"headway: {error}")) from None
        return Task(
            dataset=dataset,
            solver=until_acceptable(draws),
            scorer=acceptable_answer(),
            config=GenerateConfig(temperature=1.0, max_retries=RETRIES, attempt_timeout=ATTEMPT),
            continue_on_fail=True,
            display_name=f"headway: {name}",
            description=formulation(name).about,
            version=1,
            metadata={"formulation": name, "seed": seed},
        )

    return task(name=name)(made)


equations = task_of("equations")
lives_with = task_of("lives-with")
kingdoms = task_of("kingdoms")
functions = task_of("functions")
relatives = task_of("relatives")


def _dataset(
    name: str, d: Depths, numbers: dict[str, int], unknown: dict[str, Any]
) -> MemoryDataset:
    """The questions of every depth.

    Raises:
        HeadwayError: if a parameter is unknown or out of range.
    """
    for field, value in unknown.items():
        known = ", ".join(["d", *numbers])
        raise HeadwayError(f"-T {field}={value} is not allowed: {name} takes {known}")
    for field, value in numbers.items():
        require(type(value) is int, field, value, "a whole number")
    draws = numbers["draws"]
    require(draws >= 1, "draws", draws, "a whole number of at least 1")
    of = numbers["chains"], numbers["n"], numbers["seed"]
    asked = [
        (number, question)
        for depth in depths_of(d, formulation(name).default_depth)
        for number, question in enumerate(questions(name, depth, *of))
    ]
    return MemoryDataset([_sample(*one) for one in asked], name=name)


def _sample(number: int, question: Question) -> Sample:
    """The right answer is the target; the identifier says depth and number."""
    about = {
        "depth": question.depth,
        "chains": question.chains,
        "acceptable": list(question.acceptable),
        "nearer": list(question.nearer),
    }
    name = f"D{question.depth}-{number}"
    return Sample(input=question.prompt, target=question.correct, id=name, metadata=about)
