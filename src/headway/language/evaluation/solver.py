"""How a question is asked: again and again, each time anew, until the answer is acceptable."""

from inspect_ai.model import get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from tenacity import RetryError

from headway.errors import HeadwayError
from headway.language.matching import matched


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
