"""Subjects of study: a model with a tap, its task, perhaps its run."""

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

from annotated_types import Ge, Le
from torch import Tensor, nn

from headway.errors import HeadwayError, require
from headway.fields import NotNegative, require_allowed
from headway.models import Tappable, Transformer, tapped
from headway.replace.ablation import Bench, heads_of
from headway.replace.circuit import Circuit
from headway.replace.heads import name_of
from headway.replace.mechanism import Exchanged, KnockOut
from headway.tasks import Batch, Task
from headway.tasks.checking import require_sound
from headway.training.config import TrainingConfig
from headway.training.data import generator_for, held_out
from headway.training.losses import misfit, misread
from headway.training.run import FOUND_OUT, Run

if TYPE_CHECKING:
    from headway.replace.partners import Partners

MOST = 1_000_000
"""Sequences at most."""

Sequences = Annotated[int, Ge(8), Le(MOST)]

Counted = Annotated[int, Ge(1), Le(MOST)]
"""Sequences that something was averaged over."""

CHUNK = 512
"""Fresh sequences that are drawn and judged at once."""

MEAN_OVER = 128
"""Sequences to average heads' patterns over, where mean patterns are used."""


@dataclass(frozen=True)
class Subject:
    """A model that is studied.

    Attributes:
        model: with a tap.
        task: what it was trained on.
        seed: of the sequences to study it on.
        step: of the checkpoint; None if a model was given.
        run: that it is of; None likewise.
    """

    model: Tappable
    task: Task
    seed: int
    step: int | None = None
    run: Run | None = None

    def sequences(self, count: int, purpose: str) -> Batch:
        """Held-out sequences that are drawn for this purpose alone."""
        config = None if self.run is None else self.run.config
        return held_out(
            self.task, count, self.seed, device_of(self.model), purpose, config
        )

    def bench(self, batch: Batch, rows: str, shared: bool = True) -> Bench:
        """The model on sequences, with a fill of rows (see `Bench`)."""
        if rows != Exchanged.kind:
            return Bench(self.model, self.task, batch, rows, shared)
        # Few studies exchange values.
        from headway.replace.exchanged import ExchangedBench

        return ExchangedBench(self.model, self.task, batch)

    def partners(self, count: int, purpose: str) -> "Partners":
        """Held-out sequences for this purpose alone, each with one to exchange with.

        Raises:
            HeadwayError: if too few have a partner of the same layout.
        """
        from headway.replace.partners import partners, partners_among

        training = None if self.run is None else self.run.config.training
        is_fixed = (
            isinstance(training, TrainingConfig) and training.train_examples is not None
        )
        if self.task.is_corrupted or is_fixed:
            return partners_among(self.task, self.sequences(count, purpose))
        generator = generator_for(device_of(self.model), self.seed, purpose)
        return partners(self.task, count, generator)

    def fresh(
        self,
        circuit: Circuit,
        rows: str,
        purpose: str,
        count: int,
        shared: bool = False,
    ) -> Iterator[Bench]:
        """Sequences that only this purpose and this circuit draw, a bench for every few
        of them.

        Args:
            circuit: a mechanism for every head.
            rows: what stands in rows without a path (`mechanism.ABLATIONS`).
            purpose: a word for what they are drawn for.
            count: how many sequences in all.
            shared: see `Bench`; by default everything is computed by whole forward
                passes.
        """
        about = json.dumps([circuit.to_json(), rows]).encode()
        stream = f"{purpose} of {hashlib.blake2b(about, digest_size=8).hexdigest()}"

        def drawn(size: int, part: str) -> Bench:
            batch = self.sequences(CHUNK, f"{stream}, {part}")
            return self.bench(batch.part(slice(size)), rows, shared)

        # Means and tables are of a sample of its own, so that sequences stay
        # independent.
        used = circuit.with_fills(rows)
        is_estimated = any(mechanism.is_estimated for mechanism in used)
        others = drawn(MEAN_OVER, "mean").patterns if is_estimated else None
        for start in range(0, count, CHUNK):
            bench = drawn(min(CHUNK, count - start), f"{start // CHUNK}")
            if others is not None:
                bench.patterns.means, bench.patterns.tables = (
                    others.means,
                    others.tables,
                )
            if any(mechanism.is_of_others for mechanism in used):
                elsewhere = drawn(bench.sequences, f"others {start // CHUNK}")
                bench.patterns.own = elsewhere.patterns.own
            yield bench


@contextmanager
def studied(
    model: Run | str | Path | Any,
    task: Task | None,
    step: int | None = None,
    seed: int | None = None,
    writes: bool = True,
) -> Iterator[Subject]:
    """A model with its task, or a run's, to whose folder nobody else writes meanwhile.

    Args:
        model: a run or its folder; or a model, with a tap or one that can be tapped.
        task: the model's task, if a model is given.
        step: the checkpoint, if a run is given; by default the last.
        seed: of the sequences; by default the run's, or 0.
        writes: whether anything is to be left in the run's folder.

    Raises:
        HeadwayError: if what is given does not go together.
    """
    run = opened(model)
    require_allowed("seed", seed, NotNegative | None)
    if not isinstance(run, Run):
        require(step is None, "step", step, "None, as a model has no checkpoints")
        task = require_task(task)
        yield Subject(with_tap(model, task), task, seed or 0)
        return
    require(task is None, "task", task, "None, as the run has its own")
    with run.writing(*FOUND_OUT) if writes else nullcontext(), run.computing():
        steps = run.checkpoint_steps()
        known = shorten(", ".join(map(str, steps)), 60, placeholder=" …")
        require(
            step in (None, *steps),
            "step",
            step,
            f"one of the run's checkpoints: {known}",
        )
        at = steps[-1] if step is None and steps else step
        seed = run.config.seed if seed is None else seed
        yield Subject(with_tap(run.model(step), run.task), run.task, seed, at, run)


def opened(model: Run | str | Path | Any) -> Run | Any:
    """The run whose folder is given, or else what is given."""
    return Run.open(model) if isinstance(model, str | Path) else model


def require_task(task: Any) -> Task:
    """The task that a model is studied with, which must be given, and be of use."""
    allowed = (
        "the task that the model is studied with, an object: discover(model, MyTask())"
    )
    require(isinstance(task, Task), "task", task, allowed)
    require_sound(task)
    return task


def with_tap(model: Any, task: Task) -> Tappable:
    """A model as it is if it has a tap, or else with one put into its attention.

    Raises:
        HeadwayError: if its attention cannot be tapped, or is linear, or has nowhere to
            look.
    """
    if task.length == 1:
        raise HeadwayError(
            "sequences of one position have no circuit: there is nowhere to look"
        )
    if isinstance(model, Transformer):
        require(
            model.config.attention == "softmax",
            "model.attention",
            model.config.attention,
            "softmax: a circuit says where heads look;"
            " linear scores are no shares of attention",
        )
    if has_tap(model):
        return model
    if not isinstance(model, nn.Module):
        raise HeadwayError(
            f"model = {type(model).__name__} is not allowed: it must be a run,"
            " its folder, or a torch.nn.Module with its weights loaded"
        )
    example = task.sample(2, generator_for(device_of(model), "example"))
    if "logits_to_keep" in parameters_of(model):
        model = ReadOut(model, task.n_read)
    try:
        return tapped(model, example.inputs)
    except HeadwayError as error:
        if (why := misfit(model, example.inputs)) is None:
            raise
        raise misread(task, example.inputs, why) from error


class ReadOut(nn.Module):
    """A language model of Transformers that computes logits at a sequence's last
    positions alone, as they take long with many tokens to choose from."""

    def __init__(self, model: nn.Module, positions: int):
        super().__init__()
        self.model, self.positions = model, positions

    def forward(self, inputs: Tensor) -> Any:
        """The outputs of the model, with logits [sequence, position, token]."""
        return self.model(inputs, use_cache=False, logits_to_keep=self.positions)


def has_tap(model: Any) -> TypeGuard[Tappable]:
    """True if a model hands its attention patterns to a `tap`, as `Tappable` says; a
    wrapper that takes any arguments is believed to."""
    if not isinstance(model, Tappable):
        return False
    taken = parameters_of(model)
    return "tap" in taken or any(
        parameter.kind is parameter.VAR_POSITIONAL for parameter in taken.values()
    )


def parameters_of(model: Any) -> Mapping[str, inspect.Parameter]:
    """The arguments of a model, by name; none if it does not tell, as a scripted
    one.
    """
    function = model.forward if isinstance(model, nn.Module) else model
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return {}


def device_of(model: Any) -> str:
    """The device of a model; the CPU if it has no parameters."""
    parameters = getattr(model, "parameters", None)
    first = None if parameters is None else next(iter(parameters()), None)
    return "cpu" if first is None else str(first.device)


def require_fits(circuit: Circuit, model: Tappable) -> None:
    """Checks that a circuit has a mechanism for every head of a model and no others.

    Raises:
        HeadwayError: if not.
    """
    cut = {
        head
        for head, mechanism in circuit.mechanisms.items()
        if isinstance(mechanism, KnockOut)
    }
    odd = sorted(set(circuit.mechanisms) ^ set(heads_of(model)) | cut)
    require(
        not odd,
        "circuit: head",
        name_of(odd[0]) if odd else None,
        "given a mechanism, not a knock-out, for every head of the model, which has"
        f" {model.n_layers} layers of {model.n_heads}",
    )
