"""What a training loop starts from and what it leaves behind, in the folder of its run."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from headway.errors import HeadwayError
from headway.fields import found_in
from headway.models import Transformer
from headway.tasks import Batch
from headway.training.data import Stream, held_out
from headway.training.files import clear_content_errors
from headway.training.losses import evaluate
from headway.training.optimisers import Optimisers
from headway.training.run import Run
from headway.training.seeds import generator_for
from headway.training.state import DivergedError, State

STAGE_EXAMPLES = 256
"""Held-out sequences by which a stage of a curriculum is judged."""


class Trainer(NamedTuple):
    """All that changes while a run is trained, and its data.

    Attributes:
        state: how far training is.
        model: that learns.
        optimisers: that move its weights.
        batches: that it learns from.
    """

    state: State
    model: Transformer
    optimisers: Optimisers
    batches: Stream


def started(run: Run, state: State) -> Trainer:
    """An attempt before its first step. Every attempt starts from weights and data of its own."""
    model = run.new_model(run.config.device, state.attempt)
    optimisers = Optimisers(model, run.config.training)
    return Trainer(state, model, optimisers, Stream(run.config, state.attempt))


def restored(run: Run) -> Trainer:
    """A run as it was when it was last saved, or before its first step. Changes nothing.

    Raises:
        HeadwayError: if something in the run's folder that is needed to go on is missing or
            damaged.
    """
    run.sessions()
    saved, config = run.load_state(), run.config.training
    path = run.folder / "state.safetensors"
    if saved is None:
        kept = run.checkpoint_steps()
        if kept and kept[-1] > config.save_every:
            raise HeadwayError(f"{path} is missing: cannot resume; its checkpoints are kept")
        return started(run, State.at_start(config))
    tensors, about = saved
    with clear_content_errors(path):
        found_in(State, about, str(path))
        for name, tensor in tensors.items():
            if tensor.is_floating_point() and not tensor.isfinite().all():
                raise HeadwayError(f"{path}: {name} holds a value that is no finite number")
        trainer = started(run, State(**about))
        if trainer.state.step > 0:
            weights = {n[len("model.") :]: t for n, t in tensors.items() if n.startswith("model.")}
            trainer.model.load_state_dict(weights)
            trainer.optimisers.load(tensors)
    require_evaluations(run, trainer.state)
    return trainer


def require_evaluations(run: Run, state: State) -> None:
    """Makes sure that no evaluation is missing of those made until a state was saved.

    Raises:
        HeadwayError: if one is.
    """
    due = {*range(0, state.step + 1, run.config.training.eval_every)} - {0}
    due |= {state.step} if state.step == state.end else set()
    missing = sorted(due - {line["step"] for line in run.metrics_until(state.step)})
    if missing:
        told = ", ".join(map(str, missing[:3])) + (", …" if len(missing) > 3 else "")
        raise HeadwayError(
            f"{run.folder}/metrics.jsonl lacks {len(missing)} of {len(due)} evaluations, of step"
            f" {told}: they were lost after state.safetensors was saved; cannot resume, as the run"
            " would end with a gap"
        )


def held_out_of(run: Run, purpose: str) -> Batch:
    """The sequences that a run is evaluated on: `held-out`, while it is trained, and `test`."""
    config = run.config
    return held_out(run.task, config.training.eval_examples, config.seed, config.device, purpose)


def losses_at(run: Run, step: int, model: Transformer, batch: Batch) -> list[float]:
    """The loss of every hop, with what is clamped at a step."""
    clamp = run.config.training.clamp
    return evaluate(
        model, run.task, batch, tap=lambda part: clamp.tap(run.task, part, step)
    ).tolist()


def is_learnt(run: Run, step: int, stage: int, model: Transformer) -> bool:
    """Whether a model has learnt what a stage of its curriculum is about, with what is clamped at a
    step."""
    config, curriculum = run.config, run.config.training.curriculum
    task = curriculum.taught(config.task)
    if stage + 1 == len(curriculum.stages(task)):
        return False
    depth, hops = curriculum.judged_in(stage, config.task)
    generator = generator_for(config.device, config.seed, "stage")
    batch = task.shallower(task.draw(STAGE_EXAMPLES, generator), depth)
    clamp = config.training.clamp
    read = curriculum.through(model, hops)
    losses = evaluate(read, task, batch, tap=lambda part: clamp.tap(task, part, step)).tolist()
    return curriculum.is_over(losses[:hops])


def begin(run: Run, state: State, environment: dict[str, Any]) -> None:
    """Lets a run go on from a state, in an environment; what was written after it is forgotten."""
    environment |= {"task_changed": run.changed} if run.changed else {}
    again = state.step > 0 or bool(state.given_up)
    run.rewind(state.step, environment if again else {})
    if not again:
        run.write("environment.json", [environment])


def save(run: Run, state: State, weights: dict[str, Tensor], optimisers: dict[str, Tensor]) -> None:
    """Saves all that a run resumes from; what optimisers remember is that of `Optimisers.state`."""
    named = {f"model.{name}": weight for name, weight in weights.items()}
    run.save_state({**named, **optimisers}, vars(state))


def give_up(run: Run, state: State, metrics: dict[str, Any]) -> Trainer:
    """Gives an attempt up at its last evaluation and starts the next; a kill leaves one or the
    other."""
    given_up = [*state.given_up, {"step": state.step, "partial": metrics["partial"]}]
    trainer = started(run, State.at_start(run.config.training, given_up, state.seconds))
    save(run, trainer.state, trainer.model.state_dict(), trainer.optimisers.state())
    run.rewind(0, {})
    return trainer


def finish(run: Run, state: State, test_losses: Sequence[float]) -> None:
    """Records that a run is done.

    When to stop was decided on the validation sample, so the end is judged on another.
    """
    run.end(**_told(state), test_loss=sum(test_losses) / len(test_losses))


def fail(run: Run, error: DivergedError) -> DivergedError:
    """Records that a run diverged; checkpoints of weights that are of no use are dropped.

    Returns:
        The error, which now tells what is left.
    """
    kept = run.checkpoint_steps()
    good = [step for step in kept if step < error.spoilt_from]
    for spoilt in kept[len(good) :]:
        run.drop_checkpoint(spoilt)
    last = f"the last good checkpoint is step {good[-1]}" if good else "no checkpoint is good"
    message = f"{error}; {last} in {run.folder}"
    run.end(message, **_told(error.state))
    return DivergedError(message, error.state, error.spoilt_from)


def _told(state: State) -> dict[str, Any]:
    seconds = round(state.seconds, 3)
    return {"step": state.step, "seconds": seconds, "given_up": state.given_up}
