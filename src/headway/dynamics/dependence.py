"""Dependence: which paths of a circuit still form while another one is clamped.

For every path of a circuit the same seed is trained again with that path blocked
(`training.clamp`; the method of Singh et al. 2024, arXiv 2404.07129). Weights, batches
and rates are those of the free run, step by step; nothing differs but the clamp.
`sweeps.depend` trains; this module measures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from headway.dynamics.emergence import EMERGES_AT
from headway.errors import HeadwayError, require
from headway.fields import Finding
from headway.judge.discovery import Discovery
from headway.models import attention_patterns
from headway.relations.paths import AttentionPath
from headway.replace.heads import WrittenPath
from headway.replace.patterns import attention_along
from headway.replace.subject import Counted
from headway.text import aligned, counted, wrapped
from headway.training import Run, clamp, held_out

SEQUENCES = 32
"""Held-out sequences that attention is averaged over, those of `emergence`."""


@dataclass(frozen=True)
class Grown:
    """One path of the circuit at the end of one training.

    Attributes:
        path: layer, head and relation.
        attention: mean attention along it at the last checkpoint.
    """

    path: WrittenPath
    attention: float

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
        paths: all of the circuit but the one that is clamped.
    """

    clamped: WrittenPath | None
    steps: int
    loss: float
    partial: dict[str, float]
    paths: list[Grown]


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
        sequences: held-out sequences that attention is averaged over.
    """

    FILE: ClassVar[str] = "dependence.json"

    after: int
    until: int | None
    most: int
    circuit: list[WrittenPath]
    free: Training
    clamped: list[Training]
    sequences: Counted

    def is_of(self, discovery: Discovery) -> bool:
        """True if it is about the circuit that was discovered."""
        return self.circuit == discovery.circuit.paths

    def __str__(self):
        when = f"after step {self.after}" if self.after else "all the way"
        if self.until is not None:
            when += f" up to step {self.until}"
        lines = wrapped(
            f"{len(self.clamped)} of {counted(len(self.circuit), 'path')},"
            f" each clamped {when} in a training of the same seed;"
            f" free training took {self.free.steps} steps,"
            f" clamped ones could take {self.most}."
        )
        lines.append("")
        rows = [["", "clamped", "loss", "learnt", "does not form"]]
        for training in (self.free, *self.clamped):
            rows.append(self._row(training))
        for row in aligned(rows, "><><<"):
            lines += wrapped(row, rest="    ")
        clamped = {training.clamped for training in self.clamped}
        numbers = self._numbers
        rest = [
            f"{numbers[path]} {path}" for path in self.circuit if path not in clamped
        ]
        if rest:
            lines += wrapped("not clamped: " + "; ".join(rest), rest="    ")
        return "\n".join(lines)

    @property
    def _numbers(self) -> dict[AttentionPath, str]:
        """The paths of the circuit by the numbers that they have in the table."""
        return {path: str(number) for number, path in enumerate(self.circuit, start=1)}

    def _row(self, training: Training) -> list[str]:
        """One training: number, clamped path, loss, hops learnt, paths missing."""
        numbers = self._numbers
        formed = {grown.path for grown in self.free.paths if grown.formed}
        lacks = list[str]()
        for grown in training.paths:
            if grown.path in formed and not grown.formed:
                lacks.append(numbers[grown.path])
        learnt = [hop for hop, loss in training.partial.items() if loss < EMERGES_AT]
        row = ["", "nothing"]
        if training.clamped is not None:
            row = [numbers[training.clamped], str(training.clamped)]
        row.append(f"{training.loss:.3f}")
        return [*row, " ".join(learnt) or "–", " ".join(lacks) or "–"]

    def __post_init__(self):
        known = set(self.circuit)
        clamped = {training.clamped for training in self.clamped}
        require(self.free.clamped is None, "free.clamped", self.free.clamped, "none")
        require(clamped <= known, "clamped", clamped, "of paths of the circuit")
        for training in (self.free, *self.clamped):
            paths = {grown.path for grown in training.paths}
            others = known - {training.clamped}
            require(paths == others, "paths", paths, "the others of the circuit")


def dependence(
    free: Run, clamped: Sequence[Run], circuit: Sequence[AttentionPath]
) -> Dependence:
    """Measures what became of a circuit's paths in trainings that are done.

    Args:
        free: the run that the circuit was found in.
        clamped: the runs of the same seed in which one of the paths was clamped each.
        circuit: its paths.

    Raises:
        HeadwayError: if a checkpoint cannot be read.
    """
    with free.computing():
        whole, *others = [grown_in(run, circuit) for run in (free, *clamped)]
    config = clamped[0].config.training
    return Dependence(
        after=config.clamped_after,
        until=config.clamped_until,
        most=config.steps,
        circuit=list(circuit),
        free=whole,
        clamped=others,
        sequences=SEQUENCES,
    )


@torch.no_grad()
def grown_in(run: Run, circuit: Sequence[AttentionPath]) -> Training:
    """The fate of a circuit's paths in one training, as seen at its last checkpoint."""
    clamped = next(map(AttentionPath.parse, run.config.training.clamped), None)
    paths = [path for path in circuit if path != clamped]
    grown = _grown(run, paths)
    last = run.metrics()[-1]
    loss = (run.outcome() or {}).get("test_loss")
    if loss is None:
        raise HeadwayError(f"{run.folder}/outcome.json: test_loss is missing")
    return Training(clamped, last["step"], loss, last["partial"], grown)


def _grown(run: Run, paths: Sequence[AttentionPath]) -> list[Grown]:
    """The attention along paths at a run's last checkpoint."""
    config = run.config
    step = run.checkpoint_steps()[-1]
    batch = held_out(run.task, SEQUENCES, config.seed, run.device, "emergence", config)
    edges = run.task.edges(batch, ahead=not config.model.causal)
    tap = clamp.blocked(config, run.task, batch, step)
    patterns = attention_patterns(run.transformer(step), batch.inputs, tap)
    grown = list[Grown]()
    for path in paths:
        along = attention_along(patterns, edges[path.relation])
        grown.append(Grown(path, along[path.at].item()))
    return grown
