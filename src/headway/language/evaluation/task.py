"""The five formulations as tasks: `inspect eval headway/equations -T d=1,2,3 --model …`.

All take the same parameters: `d`, the look-ups to the answer (a number, a list or a range `1..5`;
by default those of the paper's example), `n` questions of every depth, `chains` that are
interleaved, the `seed` of the questions, and `draws`, after which a question is given up.
"""

from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import GenerateConfig
from rich.markup import escape

from headway.errors import HeadwayError, require
from headway.language.adapters.depths import Depths
from headway.language.evaluation.dataset import samples
from headway.language.evaluation.scorer import acceptable_answer
from headway.language.evaluation.solver import until_acceptable
from headway.language.formulations import formulation

RETRIES = 6
"""Of one call, after 3, 6, 12, … seconds: an endpoint that is down is given up in minutes."""

ATTEMPT = 300
"""Seconds that one attempt of a call may take."""


@task
def equations(
    d: Depths = None,
    n: int = 500,
    chains: int = 4,
    seed: int = 0,
    draws: int = 100,
    **unknown: Any,
) -> Task:
    """F1: variables that are equal to variables, and at last to numbers."""
    return evaluation("equations", d, n, chains, seed, draws, unknown)


@task(name="lives-with")
def lives_with(
    d: Depths = None,
    n: int = 500,
    chains: int = 4,
    seed: int = 0,
    draws: int = 100,
    **unknown: Any,
) -> Task:
    """F2: people who live with people, and at last in cities."""
    return evaluation("lives-with", d, n, chains, seed, draws, unknown)


@task
def kingdoms(
    d: Depths = None,
    n: int = 500,
    chains: int = 4,
    seed: int = 0,
    draws: int = 100,
    **unknown: Any,
) -> Task:
    """F3: people, their kingdoms, what is believed, eaten, contained and caused there."""
    return evaluation("kingdoms", d, n, chains, seed, draws, unknown)


@task
def functions(
    d: Depths = None,
    n: int = 500,
    chains: int = 4,
    seed: int = 0,
    draws: int = 100,
    **unknown: Any,
) -> Task:
    """F4, conditional: tables of functions, functions that are functions, and arguments."""
    return evaluation("functions", d, n, chains, seed, draws, unknown)


@task
def relatives(
    d: Depths = None,
    n: int = 500,
    chains: int = 4,
    seed: int = 0,
    draws: int = 100,
    **unknown: Any,
) -> Task:
    """F5, conditional: where the relatives of people live."""
    return evaluation("relatives", d, n, chains, seed, draws, unknown)


def evaluation(
    name: str, d: Depths, n: int, chains: int, seed: int, draws: int, unknown: dict[str, Any]
) -> Task:
    """The task of a formulation, at temperature 1.

    A sample whose calls keep failing is named as failed, and the others go on; the log's status is
    then `error`, so that `inspect eval-retry` asks what failed again.

    Args:
        name: of the formulation.
        d: depths; see `samples`.
        n: questions of every depth.
        chains: that are interleaved.
        seed: of the questions.
        draws: after so many unacceptable answers a question is given up.
        unknown: parameters that there are not.

    Raises:
        PrerequisiteError: if a value is out of range; Inspect prints it as one line.
    """
    try:
        known = "d, n, chains, seed, draws"
        for field, value in unknown.items():
            raise HeadwayError(f"-T {field}={value} is not allowed: {name} takes {known}")
        whole = type(draws) is int and draws >= 1
        require(whole, "draws", draws, "a whole number of at least 1")
        dataset = samples(name, d, n, chains, seed)
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
