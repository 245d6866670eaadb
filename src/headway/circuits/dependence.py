"""Dependence: which paths of a circuit still form while another one is clamped.

For every path of a circuit the same seed is trained again with that path blocked (`training.clamp`;
the method of Singh et al. 2024, arXiv 2404.07129). Weights, batches and rates are those of the free
run, step by step; nothing differs but the clamp. `sweeps.depend` trains; this module measures.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from headway.circuits.agreement import KINDS, NEEDS, Kinds, Pair, Share, predicted
from headway.circuits.dependence_text import of_dependence
from headway.circuits.emergence import BIRTH, crossing, hop_steps
from headway.circuits.mechanism import WrittenPath
from headway.circuits.patterns import attention_along
from headway.errors import HeadwayError
from headway.fields import found_in, to_json
from headway.models import attention_patterns
from headway.paths import Path
from headway.tasks import Batch
from headway.training.clamp import clampable
from headway.training.data import held_out
from headway.training.run import Run

"""Where the findings are left in a run's folder."""

Watch = Callable[[int, int], None]
"""Called with how many checkpoints are measured, and of how many."""


@dataclass(frozen=True)
class Grown:
    """One path of the circuit in one training.

    Attributes:
        path: layer, head and relation.
        attention: mean attention along it at the last checkpoint.
        born: the step at which the attention first passes 0.5, interpolated between checkpoints;
            None if it never does.
        elsewhere: the same relation in other heads that attend along it by more than 0.5 at the
            last checkpoint.
    """

    path: WrittenPath
    attention: float
    born: float | None
    elsewhere: list[WrittenPath]

    @property
    def formed(self) -> bool:
        """Whether the head attends along it in the end."""
        return self.attention > BIRTH


@dataclass(frozen=True)
class Training:
    """What became of a circuit's paths in one training.

    Attributes:
        clamped: the path that was blocked; None in the free run.
        steps: how many it took.
        loss: on the test sequences at the end, with the clamp if it is on then.
        partial: the loss of every hop at the last evaluation, likewise.
        hops: the step at which each of them first passes below 0.5, interpolated between
            evaluations; None if it never does.
        paths: all of the circuit but the one that is clamped.
    """

    clamped: WrittenPath | None
    steps: int
    loss: float
    partial: dict[str, float]
    hops: dict[str, float | None]
    paths: list[Grown]

    def grown(self, path: Path) -> Grown:
        """What became of a path."""
        return next(grown for grown in self.paths if grown.path == path)

    @property
    def learnt(self) -> list[str]:
        """The hops whose loss is below 0.5 at the end."""
        return [hop for hop, loss in self.partial.items() if loss < BIRTH]


@dataclass(frozen=True)
class Dependence:
    """Which paths of a circuit depend on which: what became of it with each of them clamped.

    Attributes:
        after: the step after which paths were clamped.
        until: the last step at which they were; None if to the end.
        most: the most steps that a clamped training could take.
        circuit: the paths of the circuit.
        free: the run itself.
        clamped: one training for every path that was clamped.
        pairs: every clamped path with every other path, predicted and measured.
        sequences: held-out sequences that attention is averaged over.
    """

    FILE: ClassVar[str] = "dependence.json"

    after: int
    until: int | None
    most: int
    circuit: list[WrittenPath]
    free: Training
    clamped: list[Training]
    pairs: list[Pair]
    sequences: int

    @property
    def throughout(self) -> bool:
        """Whether paths were clamped in all steps, as the prediction supposes."""
        return self.after == 0 and self.until is None

    @property
    def predicts(self) -> bool:
        """Whether anything is predicted."""
        return any(pair.kind is not None for pair in self.pairs)

    @property
    def agreed(self) -> Share:
        """Pairs that came out as predicted."""
        return Share.of(self.pairs, *KINDS)

    @property
    def confirmed(self) -> Share:
        """Predicted dependences that were found."""
        return Share.of(self.pairs, *NEEDS)

    def __str__(self):
        return of_dependence(self)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, as in `dependence.json`."""
        return {"formed": f"attention above {BIRTH:g} at the last checkpoint", **to_json(self)}

    @classmethod
    def from_json(cls, data: Any) -> "Dependence":
        """What `to_json` wrote.

        Raises:
            HeadwayError: if a field is missing or not what it should be.
        """
        return found_in(cls, data, cls.FILE)


def dependence(
    free: Run,
    clamped: Mapping[Path, Run],
    circuit: Sequence[Path],
    *,
    sequences: int = 32,
    watch: Watch | None = None,
) -> Dependence:
    """Measures what became of a circuit's paths in trainings that are done.

    Args:
        free: the run that the circuit was found in.
        clamped: the run of each path that was clamped.
        circuit: its paths.
        sequences: held-out sequences to average the attention over, as `emergence` takes them.
        watch: called with the progress.

    Raises:
        HeadwayError: if a checkpoint cannot be read.
    """
    batch = held_out(free.task, sequences, free.config.seed, free.device, "emergence")
    runs = [(None, free), *clamped.items()]
    tell = _counted(sum(len(run.checkpoint_steps()) for _, run in runs), watch)
    with free.computing():
        found = [grown_in(run, path, circuit, batch, tell) for path, run in runs]
    whole, *others = found
    config = next(iter(clamped.values())).config.training
    names = clampable(free.task)
    moving = [path for path in circuit if path.relation in names]
    kinds = predicted(free.task, moving, free.config.model.causal)
    return Dependence(
        after=config.clamped_after,
        until=config.clamped_until,
        most=config.steps,
        circuit=list(circuit),
        free=whole,
        clamped=others,
        pairs=list(_pairs(whole, others, kinds)),
        sequences=sequences,
    )


@torch.no_grad()
def grown_in(
    run: Run, clamped: Path | None, circuit: Sequence[Path], batch: Batch, tell: Callable[[], None]
) -> Training:
    """What became of a circuit's paths in one training, as seen at its checkpoints."""
    paths = [path for path in circuit if path != clamped]
    names = {path.relation for path in paths}
    relations = {name: edges for name, edges in run.task.edges(batch).items() if name in names}
    steps, seen = run.checkpoint_steps(), list[dict[str, Tensor]]()
    for step in steps:
        tap = run.config.training.clamp.tap(run.task, batch, step)
        patterns = attention_patterns(run.transformer(step), batch.inputs, tap)
        seen.append({name: attention_along(patterns, edges) for name, edges in relations.items()})
        tell()
    metrics, outcome = run.metrics(), run.outcome() or {}
    if outcome.get("test_loss") is None:
        raise HeadwayError(f"{run.folder}/outcome.json: test_loss is missing")
    return Training(
        clamped=clamped,
        steps=metrics[-1]["step"],
        loss=outcome["test_loss"],
        partial=metrics[-1]["partial"],
        hops=hop_steps(metrics, run.task.hops),
        paths=[_grown(path, steps, [at[path.relation] for at in seen]) for path in paths],
    )


def _grown(path: Path, steps: Sequence[int], along: Sequence[Tensor]) -> Grown:
    """What became of a path, from the attention of every head along its relation, step by step."""
    curve = [at[path.at].item() for at in along]
    heads = (along[-1] > BIRTH).nonzero().tolist()
    elsewhere = [Path.of(layer, head, path.relation) for layer, head in heads]
    return Grown(
        path=path,
        attention=curve[-1],
        born=crossing(steps, curve, BIRTH),
        elsewhere=[other for other in elsewhere if other != path],
    )


def _pairs(free: Training, clamped: Sequence[Training], kinds: Kinds | None) -> Iterator[Pair]:
    """Every clamped path with every other path."""
    for training in clamped:
        assert training.clamped is not None
        for grown in training.paths:
            kind = None if kinds is None else kinds.get((training.clamped, grown.path))
            formed = grown.formed if free.grown(grown.path).formed else None
            yield Pair(training.clamped, grown.path, kind, formed)


def _counted(total: int, watch: Watch | None) -> Callable[[], None]:
    """Counts calls and reports them."""
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if watch is not None:
            watch(done, total)

    return tell
