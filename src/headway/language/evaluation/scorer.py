"""Right, wrong, or never an acceptable answer; and the shares of each over all questions."""

from typing import Any

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
from inspect_ai.solver import TaskState

from headway.language.evaluation.tally import Outcome, tally
from headway.language.matching import matched


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
