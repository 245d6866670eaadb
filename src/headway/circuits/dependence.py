"""Dependence: which paths of a circuit still form while another one is clamped.

For every path of a circuit the same seed is trained again with that path blocked (`training.clamp`;
the method of Singh et al. 2024, arXiv 2404.07129). Weights, batches and rates are those of the free
run, step by step; nothing differs but the clamp. `sweeps.depend` trains; this module measures.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from headway.paths import AttentionPath
from headway.tasks import Batch
from headway.text import aligned, wrapped
from headway.training.clamp import clampable
from headway.training.data import held_out
from headway.training.run import Run

Watch = Callable[[int, int], None]
"""Called with how many checkpoints are measured, and of how many."""


KINDS: tuple[Kind, ...] = ("finds", "carries", "serves", "apart")

MEANINGS: dict[Kind, str] = {
    "finds": "P brings what Q finds its key by",
    "carries": "P brings something that Q carries",
    "serves": "Q is of no use without P",
    "apart": "none of these",
}


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
class Share:
    """The share of several pairs that came out as predicted.

    Attributes:
        right: how many came out as predicted.
        count: how many pairs there are.
    """

    right: int
    count: int

    @classmethod
    def of(cls, pairs: Iterable[Pair], *kinds: Kind) -> "Share":
        """The share among pairs that have a prediction and a measurement."""
        judged = [pair.agrees for pair in pairs if pair.kind in kinds]
        judged = [agrees for agrees in judged if agrees is not None]
        return cls(sum(judged), len(judged))

    def __str__(self):
        return f"{self.right} of {self.count}"


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

    @property
    def throughout(self) -> bool:
        """True if paths were clamped in all steps, as the prediction supposes."""
        return self.after == 0 and self.until is None

    @property
    def predicts(self) -> bool:
        """True if anything is predicted."""
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
        lines = [*wrapped(when(self) + "."), "", *trainings(self), *not_clamped(self)]
        if self.predicts and self.throughout:
            lines += ["", *kinds(self.pairs), "", *wrapped(verdict(self))]
        elif not self.predicts:
            lines += wrapped("Nothing is predicted: the flow of this task or circuit is not known.")
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


def when(found: Dependence) -> str:
    """The trainings, in a sentence without its full stop."""
    start = "all the way" if not found.after else f"after step {found.after}"
    end = "" if found.until is None else f" up to step {found.until}"
    count = len(found.clamped)
    return (
        f"{count} {'path' if count == 1 else 'paths'} of {len(found.circuit)}, each clamped"
        f" {start}{end} in a training of the same seed; free training took {found.free.steps}"
        f" steps, clamped ones could take {found.most}"
    )


def trainings(found: Dependence) -> list[str]:
    """A line per training: its loss, the hops that it learnt, and the paths that it lacks."""
    numbers = {path: str(i) for i, path in enumerate(found.circuit, start=1)}
    rows = [["", "clamped", "loss", "learnt", "does not form"]]
    for training in (found.free, *found.clamped):
        lacks = [
            numbers[pair.other] + "!" * (pair.agrees is False)
            for pair in found.pairs
            if pair.clamped == training.clamped and pair.formed is False
        ]
        missed = [
            f"({numbers[pair.other]}!)"
            for pair in found.pairs
            if pair.clamped == training.clamped and pair.formed and pair.agrees is False
        ]
        path, learnt = training.clamped, " ".join(training.learnt) or "–"
        name = ("", "nothing") if path is None else (numbers[path], str(path))
        cells = [f"{training.loss:.3f}", learnt, " ".join([*lacks, *missed]) or "–"]
        rows.append([*name, *cells])
    return table(rows, "rlrll") + wrapped(
        "! not as predicted; in brackets what forms against the prediction"
    )


def not_clamped(found: Dependence) -> list[str]:
    """A line with the paths of the circuit that were never clamped, by number; empty if none."""
    clamped = {training.clamped for training in found.clamped}
    numbered = enumerate(found.circuit, start=1)
    rest = [f"{number} {path}" for number, path in numbered if path not in clamped]
    return wrapped("not clamped: " + "; ".join(rest), rest=" " * 4) if rest else []


def kinds(pairs: Sequence[Pair]) -> list[str]:
    """The successes of the prediction, kind by kind."""
    rows = [["if P is clamped", "then Q", "it does so"]]
    for kind in KINDS:
        if (share := Share.of(pairs, kind)).count:
            expected = "does not form" if kind in NEEDS else "forms"
            rows.append([f"{kind}: {MEANINGS[kind]}", expected, str(share)])
    return table(rows, "lll")


def verdict(found: Dependence) -> str:
    """The part of the prediction that came true."""
    agreed, confirmed = found.agreed, found.confirmed
    return (
        f"As predicted: {agreed} pairs; of {confirmed.count} predicted dependences"
        f" {confirmed.right} {'is' if confirmed.right == 1 else 'are'} confirmed."
    )


def table(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Rows of cells as columns, broken where a terminal is too narrow."""
    return [part for line in aligned(rows, sides, gap=2) for part in wrapped(line, rest="    ")]
