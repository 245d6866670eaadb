"""Dependence: which paths of a circuit still form while another one is clamped.

For every path of a circuit the same seed is trained again with that path blocked (`training.clamp`;
the method of Singh et al. 2024, arXiv 2404.07129). Weights, batches and rates are those of the free
run, step by step; nothing differs but the clamp. `sweeps.depend` trains; this module measures.
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
        numbers = {path: str(i) for i, path in enumerate(self.circuit, start=1)}
        formed = {grown.path for grown in self.free.paths if grown.formed}
        rows = [["", "clamped", "loss", "learnt", "does not form"]]
        for training in (self.free, *self.clamped):
            path = training.clamped
            gone = (one.path for one in training.paths if one.path in formed and not one.formed)
            name = ("", "nothing") if path is None else (numbers[path], str(path))
            learnt = " ".join(hop for hop, loss in training.partial.items() if loss < EMERGES_AT)
            lacks = " ".join(numbers[other] for other in gone)
            rows.append([*name, f"{training.loss:.3f}", learnt or "–", lacks or "–"])
        table = aligned(rows, "><><<")
        lines += ["", *(part for line in table for part in wrapped(line, rest="    "))]
        clamped = {training.clamped for training in self.clamped}
        if rest := [f"{numbers[path]} {path}" for path in self.circuit if path not in clamped]:
            lines += wrapped("not clamped: " + "; ".join(rest), rest="    ")
        return "\n".join(lines)

    def __post_init__(self):
        known, clamped = set(self.circuit), {one.clamped for one in self.clamped}
        require(self.free.clamped is None, "free.clamped", self.free.clamped, "none")
        require(clamped <= known, "clamped", clamped, "of paths of the circuit")
        for one in (self.free, *self.clamped):
            there = {grown.path for grown in one.paths}
            require(there == known - {one.clamped}, "paths", there, "the others of the circuit")


def dependence(free: Run, clamped: Sequence[Run], circuit: Sequence[AttentionPath]) -> Dependence:
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
    config, step = run.config, run.checkpoint_steps()[-1]
    clamped = next(map(AttentionPath.parse, config.training.clamped), None)
    batch = held_out(run.task, SEQUENCES, config.seed, run.device, "emergence", config)
    edges = run.task.edges(batch, ahead=not config.model.causal)
    tap = clamp.blocked(config, run.task, batch, step)
    patterns = attention_patterns(run.transformer(step), batch.inputs, tap)
    along = {
        path: attention_along(patterns, edges[path.relation])[path.at].item()
        for path in circuit
        if path != clamped
    }
    last, outcome = run.metrics()[-1], run.outcome() or {}
    if outcome.get("test_loss") is None:
        raise HeadwayError(f"{run.folder}/outcome.json: test_loss is missing")
    return Training(
        clamped=clamped,
        steps=last["step"],
        loss=outcome["test_loss"],
        partial=last["partial"],
        paths=[Grown(path, attention) for path, attention in along.items()],
    )
