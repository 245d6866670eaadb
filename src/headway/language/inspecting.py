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

from headway.errors import HeadwayError, require
from headway.language.formulations import formulation
from headway.language.matching import matched
from headway.language.question import Question
from headway.language.sampling import questions
from headway.language.tally import Outcome, tally
from headway.words import values_of

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
        d: Any = None,
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


def _dataset(name: str, d: Any, numbers: dict[str, int], unknown: dict[str, Any]) -> MemoryDataset:
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


def depths_of(d: Any, default: int) -> list[int]:
    """The depths that Inspect passes on, each once: a number, a list, a range `1..5`, or none.

    Raises:
        HeadwayError: if one is no whole number.
    """
    if d is None:
        return [default]
    text = ",".join(map(str, d)) if isinstance(d, list | tuple) else str(d)
    return list(dict.fromkeys(values_of("d", text, int)))


@solver
def until_acceptable(draws: int) -> Solver:
    """The paper's protocol (section 4), with a cap.

    Nothing of an earlier draw is shown to the model. The store gets `draws`, how many there were;
    the output of the last one is the sample's.

    Args:
        draws: unacceptable answers after which the question is given up.

    Raises:
        HeadwayError: in a sample, which Inspect then names as failed, if the endpoint keeps failing
            or the prompt does not fit into the model.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = get_model()
        *before, asked = state.messages
        for draw in range(1, draws + 1):
            # Inspect's cache looks at a message's metadata too: so every draw is kept by itself,
            # and a second one is not answered with the first.
            turn = asked.model_copy(update={"metadata": {"draw": draw}})
            try:
                state.output = await model.generate([*before, turn])
            except RetryError as error:
                last = error.last_attempt.exception() or error
                said = f"{type(last).__name__} {last}".strip()
                raise HeadwayError(f"the model's endpoint failed: {said}") from last
            state.store.set("draws", draw)
            if state.output.stop_reason == "model_length":
                raise HeadwayError(f"{state.sample_id}: the prompt is longer than the model takes")
            if matched(state.output.completion, state.metadata["acceptable"]) is not None:
                break
        state.messages.append(state.output.message)
        return state

    return solve


@metric(scores="unreduced")
def shares() -> Metric:
    """Accuracies, intervals, the share unanswered, draws and chance, overall and by depth; see
    `tally`. Epochs count as questions of their own."""

    def summed(scores: list[SampleScore]) -> Value:
        return tally([_outcome(score) for score in scores])

    return summed


@scorer(metrics=[shares()])
def acceptable_answer() -> Scorer:
    """`C` if the last answer is the right one, `I` if it is another acceptable one, `N` if there
    was none; see `matched`."""

    async def score(state: TaskState, target: Target) -> Score:
        acceptable = state.metadata["acceptable"]
        answer = matched(state.output.completion, acceptable)
        told: dict[str, Any] = {
            "depth": state.metadata["depth"],
            "draws": state.store.get("draws", 1),
            "chance": 1 / len(acceptable),
            "nearer_chance": 1 / len(state.metadata["nearer"]),
        }
        if answer is None:
            reason = "invalid_response_format"
            last = state.output.completion
            said = f"no acceptable answer in {told['draws']} draws; the last: {last!r}"
            return Score(value=NOANSWER, explanation=said, reason=reason, metadata=told)
        right = answer == target.text
        return Score(value=CORRECT if right else INCORRECT, answer=answer, metadata=told)

    return score


def _outcome(score: SampleScore) -> Outcome:
    told, value = score.score.metadata or {}, score.score.value
    return Outcome(
        depth=told["depth"],
        answered=value != NOANSWER,
        right=value == CORRECT,
        draws=told["draws"],
        chance=told["chance"],
        nearer=told["nearer_chance"],
    )
