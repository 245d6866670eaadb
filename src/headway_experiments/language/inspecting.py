"""The five formulations as tasks: `inspect eval headway/equations -T d=1,2,3 --model
…`.

All take the same parameters: `d`, the look-ups to the answer (a number, a list or a
range `1..5`; by default those of the paper's example), `n` questions of every depth,
`chains` that are interleaved, the `seed` of the questions, and `draws`, the number
after which a question is given up.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from rich.markup import escape
from tenacity import RetryError

import headway
from headway.errors import HeadwayError
from headway.fields import AtLeastOne, require_allowed, values_of
from headway.intervals import wilson
from headway_experiments.language.accuracy import mean
from headway_experiments.language.asking import Asked
from headway_experiments.language.formulations import formulation
from headway_experiments.language.question import Question, matched

RETRIES = 6
"""Retries of a call, after 3, 6, 12, … seconds: a dead endpoint is given up in
minutes.
"""

ATTEMPT = 300
"""Seconds that one attempt of a call may take."""

NAMED_HERE = "" if "site-packages" in Path(headway.__file__).parts else "headway/"
"""Inspect puts a package before names of tasks only if it is in `site-packages`."""

Function = TypeVar("Function", bound=Callable[..., Any])


def of_headway(function: Function) -> Function:
    """Give a function the name `headway/…` in Inspect, which takes the package from
    the function's module.
    """
    function.__module__ = "headway"
    return function


def task_of(name: str) -> Callable[..., Task]:
    """The task of a formulation, at temperature 1.

    A sample whose calls keep failing is named as failed, and the others go on; the
    log's status is then `error`, so that `inspect eval-retry` asks what failed again.
    If a value is out of range, Inspect prints why as one line.
    """

    @of_headway
    def made(
        d: Any = None,
        n: int = 500,
        chains: int = 4,
        seed: int = 0,
        draws: int = 100,
        **unknown: Any,
    ) -> Task:
        try:
            for field, value in unknown.items():
                allowed = f"{name} takes d, n, chains, seed, draws"
                raise HeadwayError(f"-T {field}={value} is not allowed: {allowed}")
            depths = depths_of(d, formulation(name).default_depth)
            places = tuple((name, depth) for depth in depths)
            asked = Asked("", None, places, chains, n, seed)
            require_allowed("draws", draws, AtLeastOne)
        except HeadwayError as error:
            raise PrerequisiteError(escape(f"headway: {error}")) from None
        samples = [_sample(number, question) for number, question in asked.questions()]
        return Task(
            dataset=MemoryDataset(samples, name=name),
            solver=until_acceptable(draws),
            scorer=acceptable_answer(),
            config=GenerateConfig(
                temperature=1.0, max_retries=RETRIES, attempt_timeout=ATTEMPT
            ),
            continue_on_fail=True,
            display_name=f"headway: {name}",
            version=1,
            metadata={"formulation": name, "seed": seed},
        )

    return task(name=f"{NAMED_HERE}{name}")(made)


equations = task_of("equations")
lives_with = task_of("lives-with")
kingdoms = task_of("kingdoms")
functions = task_of("functions")
relatives = task_of("relatives")


def _sample(number: int, question: Question) -> Sample:
    """The right answer is the target; the identifier says depth and number."""
    about = {"depth": question.depth, "acceptable": list(question.acceptable)}
    name = f"D{question.depth}-{number}"
    return Sample(
        input=question.prompt, target=question.correct, id=name, metadata=about
    )


def depths_of(d: Any, default: int) -> list[int]:
    """The depths that Inspect passes on, each once: a number, a list, a range `1..5`,
    or none.

    Raises:
        HeadwayError: if one is no whole number.
    """
    if d is None:
        return [default]
    several = d if isinstance(d, list | tuple) else [d]
    text = ",".join(map(str, several))
    depths = values_of("d", text, int)
    return list(dict.fromkeys(depths))


@solver
@of_headway
def until_acceptable(draws: int) -> Solver:
    """The paper's protocol (section 4), with a cap.

    Nothing of an earlier draw is shown to the model. The store gets `draws`, how many
    there were; the output of the last one is the sample's.

    Args:
        draws: unacceptable answers after which the question is given up.

    Raises:
        HeadwayError: in a sample, which Inspect then names as failed, if the endpoint
            keeps failing or the prompt does not fit into the model.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = get_model()
        *before, asked = state.messages
        for draw in range(1, draws + 1):
            # Inspect's cache looks at a message's metadata too: so every draw is kept
            # by itself, and a second one is not answered with the first.
            turn = asked.model_copy(update={"metadata": {"draw": draw}})
            try:
                state.output = await model.generate([*before, turn])
            except RetryError as error:
                last = error.last_attempt.exception() or error
                why = f"{type(last).__name__} {last}".strip()
                raise HeadwayError(f"the model's endpoint failed: {why}") from last
            state.store.set("draws", draw)
            if state.output.stop_reason == "model_length":
                raise HeadwayError(
                    f"{state.sample_id}: the prompt is longer than the model takes"
                )
            if (
                matched(state.output.completion, state.metadata["acceptable"])
                is not None
            ):
                break
        state.messages.append(state.output.message)
        return state

    return solve


@metric(scores="unreduced")
@of_headway
def shares() -> Metric:
    """Accuracies, intervals, the share unanswered, draws and chance, overall and by
    depth, whose names begin with `D=…`. Epochs count as questions of their own."""

    def summed(scores: list[SampleScore]) -> Value:
        by_depth: dict[int, list[SampleScore]] = {}
        for score in scores:
            depth = (score.sample_metadata or {})["depth"]
            by_depth.setdefault(depth, []).append(score)
        every = _shares(scores)
        for depth, own in sorted(by_depth.items()):
            for name, value in _shares(own).items():
                every[f"D={depth} {name}"] = value
        return every

    return summed


def _shares(scores: list[SampleScore]) -> dict[str, float]:
    """Shares of scores; `of_answered` is left out if nothing was answered, and all of
    no scores.
    """
    if not scores:
        return {"questions": 0.0}
    count = len(scores)
    values = [score.score.value for score in scores]
    right = values.count(CORRECT)
    unanswered = values.count(NOANSWER)
    draws = []
    chances = []
    for score in scores:
        draws.append((score.score.metadata or {})["draws"])
        acceptable = (score.sample_metadata or {})["acceptable"]
        chances.append(1 / len(acceptable))
    shares = _with_ends("accuracy", right, count)
    if unanswered < count:
        shares |= _with_ends("of_answered", right, count - unanswered)
    shares["unanswered"] = unanswered / count
    shares["draws"] = mean(draws)
    shares["chance"] = mean(chances)
    shares["questions"] = float(count)
    return shares


def _with_ends(name: str, right: int, count: int) -> dict[str, float]:
    """A share and the ends of its interval."""
    low, high = wilson(right, count)
    return {name: right / count, f"{name}_low": low, f"{name}_high": high}


@scorer(metrics=[shares()])
@of_headway
def acceptable_answer() -> Scorer:
    """`C` if the last answer is the right one, `I` if it is another acceptable one, `N`
    if there was none; see `matched`."""

    async def score(state: TaskState, target: Target) -> Score:
        said = state.output.completion
        draws = state.store.get("draws", 1)
        answer = matched(said, state.metadata["acceptable"])
        value = CORRECT if answer == target.text else INCORRECT
        why = None
        if answer is None:
            value = NOANSWER
            why = f"no acceptable answer in {draws} draws; the last: {said!r}"
        reason = "invalid_response_format" if answer is None else None
        about = {"draws": draws}
        return Score(
            value=value, answer=answer, explanation=why, reason=reason, metadata=about
        )

    return score
