"""Dependence: which paths of a circuit still form while another one is clamped.

For every path of a circuit the same seed is trained again with that path blocked (`training.clamp`;
the method of Singh et al. 2024, arXiv 2404.07129). Weights, batches and rates are those of the free
run, step by step; nothing differs but the clamp. `sweeps.depend` trains; this module measures.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import torch
from torch import Tensor

from headway.circuits.discovery import Condition, Discovery, Finding
from headway.circuits.emergence import EMERGES_AT, crossing, hop_steps
from headway.circuits.flows import NEEDS, Kind, Lost, lost_without
from headway.circuits.mechanism import WrittenPath
from headway.circuits.patterns import attention_along
from headway.errors import HeadwayError
from headway.models import attention_patterns
from headway.relations.paths import AttentionPath
from headway.tasks import Batch
from headway.text import aligned, counted, wrapped
from headway.training.clamp import clampable
from headway.training.data import held_out
from headway.training.run import Run

Watch = Callable[[int, int], None]
"""Called with how many checkpoints are measured, and of how many."""


KINDS: tuple[Kind, ...] = ("finds", "carries", "serves", "apart")


@dataclass(frozen=True)
class Pair:
    """A path that was clamped and another one of the circuit.

    Attributes:
        clamped: P.
        other: Q.
        kind: what the flow says of them; None if the task's flow is not known, or Q is a stay.
        formed: whether Q formed in the training with P clamped; None if it does not form in the
            training without a clamp either, by the same measure.
    """

    clamped: WrittenPath
    other: WrittenPath
    kind: Kind | None
    formed: bool | None

    @property
    def needs(self) -> bool | None:
        """True if Q is predicted to need P; None if nothing is predicted."""
        return None if self.kind is None else self.kind in NEEDS

    @property
    def agrees(self) -> bool | None:
        """True if the prediction came true; None if there is none, or nothing was measured."""
        if self.needs is None or self.formed is None:
            return None
        return self.needs is not self.formed


@dataclass(frozen=True)
class Grown:
    """One path of the circuit in one training.

    Attributes:
        path: layer, head and relation.
        attention: mean attention along it at the last checkpoint.
        emerged: the step at which the attention first passes 0.5, interpolated between checkpoints;
            None if it never does.
        elsewhere: the same relation in other heads that attend along it by more than 0.5 at the
            last checkpoint.
    """

    path: WrittenPath
    attention: float
    emerged: float | None
    elsewhere: list[WrittenPath]

    @property
    def formed(self) -> bool:
        """True if the head attends along it in the end."""
        return self.attention > EMERGES_AT


@dataclass(frozen=True)
class Training:
    """The fate of a circuit's paths in one training.

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

    def grown(self, path: AttentionPath) -> Grown:
        """The fate of a path."""
        return next(grown for grown in self.paths if grown.path == path)

    @property
    def learnt(self) -> list[str]:
        """The hops whose loss is below 0.5 at the end."""
        return [hop for hop, loss in self.partial.items() if loss < EMERGES_AT]


@dataclass(frozen=True)
class Dependence(Finding):
    """The dependences among a circuit's paths: its fate with each of them clamped.

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

    def is_of(self, found: Discovery) -> bool:
        """True if it is about the circuit that was discovered."""
        return self.circuit == found.circuit.paths

    def __str__(self):
        start = "all the way" if not self.after else f"after step {self.after}"
        end = "" if self.until is None else f" up to step {self.until}"
        lines = wrapped(
            f"{len(self.clamped)} of {counted(len(self.circuit), 'path')}, each clamped"
            f" {start}{end} in a training of the same seed; free training took {self.free.steps}"
            f" steps, clamped ones could take {self.most}."
        )
        lines += ["", *trainings(self)]
        if not any(pair.kind is not None for pair in self.pairs):
            lines += wrapped("Nothing is predicted: the flow of this task or circuit is not known.")
        elif start == "all the way" and not end:  # as the prediction supposes
            by_kind = (f"{kind} {as_predicted(self.pairs, [kind])}" for kind in KINDS)
            lines += wrapped(
                f"As predicted: {as_predicted(self.pairs)} pairs ({', '.join(by_kind)});"
                f" of the predicted dependences {as_predicted(self.pairs, NEEDS)}."
            )
        return "\n".join(lines)

    def conditions(self) -> Iterator[Condition]:
        """Conditions beside the types of fields."""
        known, clamped = set(self.circuit), {one.clamped for one in self.clamped}
        paired = {path for pair in self.pairs for path in (pair.clamped, pair.other)}
        yield "free.clamped", self.free.clamped, self.free.clamped is None, "none"
        yield "clamped", clamped, clamped <= known, "of paths of the circuit"
        yield "pairs", paired, paired <= known, "of paths of the circuit"
        for one in (self.free, *self.clamped):
            there = {grown.path for grown in one.paths}
            yield "paths", there, there == known - {one.clamped}, "the others of the circuit"

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, and what counts as formed."""
        formed = f"attention above {EMERGES_AT:g} at the last checkpoint"
        return {"formed": formed, **super().to_json()}


def dependence(
    free: Run,
    clamped: Mapping[AttentionPath, Run],
    circuit: Sequence[AttentionPath],
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
    done, total = count(1), sum(len(run.checkpoint_steps()) for _, run in runs)

    def tell() -> None:
        if watch is not None:
            watch(next(done), total)

    with free.computing():
        found = [grown_in(run, path, circuit, batch, tell) for path, run in runs]
    whole, *others = found
    config = next(iter(clamped.values())).config.training
    names = clampable(free.task)
    moving = [path for path in circuit if path.relation in names]
    lost = lost_without(free.task, moving, free.config.model.causal)
    return Dependence(
        after=config.clamped_after,
        until=config.clamped_until,
        most=config.steps,
        circuit=list(circuit),
        free=whole,
        clamped=others,
        pairs=list(_pairs(whole, others, lost or {})),
        sequences=sequences,
    )


@torch.no_grad()
def grown_in(
    run: Run,
    clamped: AttentionPath | None,
    circuit: Sequence[AttentionPath],
    batch: Batch,
    tell: Callable[[], None],
) -> Training:
    """The fate of a circuit's paths in one training, as seen at its checkpoints."""
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


def _grown(path: AttentionPath, steps: Sequence[int], along: Sequence[Tensor]) -> Grown:
    """The fate of a path, from the attention of every head along its relation, step by step."""
    curve = [at[path.at].item() for at in along]
    heads = (along[-1] > EMERGES_AT).nonzero().tolist()
    elsewhere = [AttentionPath.of(layer, head, path.relation) for layer, head in heads]
    return Grown(
        path=path,
        attention=curve[-1],
        emerged=crossing(steps, curve, EMERGES_AT),
        elsewhere=[other for other in elsewhere if other != path],
    )


def _pairs(
    free: Training, clamped: Sequence[Training], lost: Mapping[AttentionPath, Lost]
) -> Iterator[Pair]:
    """Every clamped path with every other path."""
    for training in clamped:
        assert training.clamped is not None
        known = lost.get(training.clamped)
        for grown in training.paths:
            formed = grown.formed if free.grown(grown.path).formed else None
            kind = None if known is None else known.kinds.get(grown.path)
            yield Pair(training.clamped, grown.path, kind, formed)


def trainings(found: Dependence) -> Iterator[str]:
    """A line per training: its loss, the hops that it learnt, and the paths that it lacks."""
    numbers = {path: str(i) for i, path in enumerate(found.circuit, start=1)}
    rows = [["", "clamped", "loss", "learnt", "does not form"]]
    for training in (found.free, *found.clamped):
        path, lacks = training.clamped, list[str]()
        for pair in found.pairs:
            mark = numbers[pair.other] + "!" * (pair.agrees is False)
            if pair.clamped == path and pair.formed is False:
                lacks.append(mark)
            elif pair.clamped == path and pair.formed and pair.agrees is False:
                lacks.append(f"({mark})")
        name = ("", "nothing") if path is None else (numbers[path], str(path))
        learnt = " ".join(training.learnt) or "–"
        rows.append([*name, f"{training.loss:.3f}", learnt, " ".join(lacks) or "–"])
    for line in aligned(rows, "rlrll", gap=2):
        yield from wrapped(line, rest="    ")
    yield from wrapped("! not as predicted; in brackets what forms against the prediction")
    clamped = {training.clamped for training in found.clamped}
    if rest := [f"{numbers[path]} {path}" for path in found.circuit if path not in clamped]:
        yield from wrapped("not clamped: " + "; ".join(rest), rest="    ")


def as_predicted(pairs: Sequence[Pair], kinds: Sequence[Kind] = KINDS) -> str:
    """The share of the pairs of some kinds that came out as predicted: `5 of 6`."""
    judged = [pair.agrees for pair in pairs if pair.kind in kinds and pair.agrees is not None]
    return f"{sum(judged)} of {len(judged)}"
