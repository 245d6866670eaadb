"""Held-out sequences with the model's answers and attention, at one checkpoint after another."""

import base64
import gzip
from collections.abc import Sequence as Sequential
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from headway.dynamics.emergence import EMERGES_AT
from headway.judge.roles import places, position_labels
from headway.models import Tappable, attention_patterns
from headway.relations.paths import AttentionPath
from headway.relations.roles import chain_letter
from headway.replace.ablation import Bench
from headway.replace.mechanism import KnockOut
from headway.replace.subject import with_tap
from headway.report import schema
from headway.report.circuit import Cells
from headway.report.curves import thinned
from headway.report.findings import EXAMPLES, Findings
from headway.report.labels import typeset
from headway.tasks import Batch, Task
from headway.tasks.targets import Tokens
from headway.training.files import is_there

MOST_STEPS, MOST_ANSWERS, MOST_FORWARDS = 1000, 400_000, 700
"""The most steps of a page, and of answers on it and of models that give them; of more steps,
evenly many are kept."""

FEW_CELLS, MOST_CELLS = 240_000, 6_000_000
"""Attention values that a page may always have, and the most that one of a large model has."""

ENOUGH, MANY = 12, 32
"""Checkpoints for which attention is to be kept rather than for more sequences; and for which that
on one sequence is kept, if a page of that size has room."""

MOST_LEADS = 256
"""The most cells of a path in one sequence."""

NO_ANSWER, MOST_NAMES = 255, 254


@dataclass(frozen=True)
class Snapshot:
    """The model at one checkpoint.

    Attributes:
        attention: of the followed heads on some of the examples, in hundredths.
        along: attention along the circuit's paths in every example, cell by cell, in hundredths.
        answers: the model's, and those without each path: a token, or for vectors the query that
            asks for the nearest; -1 for none. None where answers are not kept.
    """

    attention: UInt8[Tensor, "sequence head query key"]
    along: list[UInt8[Tensor, " cell"]]
    answers: Int[Tensor, "variant sequence query hop"] | None


Memory = dict[tuple[object, ...], Snapshot]
"""Snapshots that were computed before, by step and time of the checkpoint and what was followed."""


@dataclass(frozen=True)
class Examples:
    """The steps of a page, and what is shown of the examples at each of them (see `schema`)."""

    steps: list[int]
    cells: Cells = field(default_factory=dict)
    answer_steps: list[int] = field(default_factory=list)
    sequences: list[schema.Sequence] = field(default_factory=list)
    attention: schema.Attention | None = None


def examples(findings: Findings, memory: Memory | None = None) -> Examples:
    """Follows the examples through the checkpoints of a run.

    Args:
        findings: of the run.
        memory: filled with what was computed, and read if it was there.

    Raises:
        HeadwayError: if a checkpoint cannot be read.
    """
    steps = thinned(findings.checkpoints, MOST_STEPS)
    if findings.no_maps is not None:
        return Examples(steps)
    memory = {} if memory is None else memory
    batch = findings.sequences.part(slice(EXAMPLES))
    cells = leads(findings, batch, findings.paths)
    answer_steps = thinned(range(len(steps)), _most_answer_steps(findings, batch))
    most_maps, count = _room(findings, len(steps))
    snapshots = list[Snapshot]()
    for i, step in enumerate(steps):
        key = _memory_key(findings, step, i in answer_steps, count)
        if key not in memory:
            memory[key] = _look(findings, batch, cells, step, i in answer_steps, count)
        snapshots.append(memory[key])
    return Examples(
        steps=steps,
        cells=cells,
        answer_steps=answer_steps,
        sequences=_sequences(findings, batch, snapshots),
        attention=_maps(findings, snapshots, most_maps, count),
    )


def _most_answer_steps(findings: Findings, batch: Batch) -> int:
    """The most checkpoints for which answers are kept."""
    n_variants = 1 + len(findings.paths)
    n_asked = int(findings.task.targets.asked(batch.targets).sum())
    n_answers = max(1, n_variants * n_asked)
    return min(MOST_FORWARDS // n_variants, MOST_ANSWERS // n_answers)


def _room(findings: Findings, n_steps: int) -> tuple[int, int]:
    """The most checkpoints for which attention is kept, and on how many sequences."""
    one_map = len(findings.followed_heads) * len(findings.shown) ** 2
    cells = max(FEW_CELLS, min(MOST_CELLS, MANY * one_map))
    room, count = cells // one_map, EXAMPLES
    while count > 1 and room // count < min(ENOUGH, n_steps):
        count //= 2
    return room // count, count


def _memory_key(
    findings: Findings, step: int, with_answers: bool, count: int
) -> tuple[object, ...]:
    """What a snapshot depends on, the time of its checkpoint included."""
    file = findings.run.checkpoint_path(step)
    changed = file.stat().st_mtime_ns if is_there(file) else 0
    return step, changed, with_answers, count, *findings.followed_heads, *findings.paths


def _maps(
    findings: Findings, snapshots: Sequential[Snapshot], most: int, count: int
) -> schema.Attention:
    """The attention of the followed heads at so many of the checkpoints."""
    kept = thinned(range(len(snapshots)), most)
    maps = torch.stack([snapshots[i].attention for i in kept], dim=-1)
    return schema.Attention(kept, count, findings.followed_heads, packed(maps))


def _sequences(
    findings: Findings, batch: Batch, snapshots: Sequential[Snapshot]
) -> list[schema.Sequence]:
    """The examples, with the answers and the attention along paths at all checkpoints."""
    known = [shot.answers for shot in snapshots if shot.answers is not None]
    answers = torch.stack(known, dim=1)
    sequences = list[schema.Sequence]()
    for i in range(len(batch.inputs)):
        along = torch.stack([shot.along[i] for shot in snapshots])
        example = batch.part(slice(i, i + 1))
        sequences.append(_sequence(findings, example, answers[:, :, i], along))
    return sequences


@torch.no_grad()
def _look(
    findings: Findings, batch: Batch, cells: Cells, step: int, with_answers: bool, count: int
) -> Snapshot:
    """Looks at the examples with the eyes of one checkpoint; `count` of them have maps."""
    start, size = findings.shown.start, findings.task.length
    model = findings.run.model(step)
    patterns = attention_patterns(model, batch.inputs)[..., start:, start:size]
    along = list[UInt8[Tensor, " cell"]]()
    for i, pattern in enumerate(hundredths(patterns)):
        indices = list[tuple[int, ...]]()
        for path in findings.paths:
            indices += [(*path.at, *cell) for cell in cells[path.relation][i]]
        at = torch.tensor(indices, dtype=torch.long).reshape(-1, 4)
        along.append(pattern[at.unbind(1)])
    answers = _answers_without_paths(findings, batch, model) if with_answers else None
    layers, heads = zip(*findings.followed_heads, strict=True)
    followed = patterns[:count, list(layers), list(heads)]
    even = 2 * (50 * followed).round()
    return Snapshot(hundredths(even / 100), along, answers)


def _answers_without_paths(
    findings: Findings, batch: Batch, model: Tappable
) -> Int[Tensor, "variant sequence query hop"]:
    """The answers of a model, and those with the attention along each path at zero."""
    task = findings.task
    bench = Bench(with_tap(model, task), task, batch)
    cut = [{path.at: KnockOut(frozenset({path.relation}))} for path in findings.paths]
    outputs = torch.cat([bench.outputs([{}, *cut], part) for part in bench.parts], dim=1)
    return torch.stack([_answers(task, batch, variant) for variant in outputs])


def _answers(
    task: Task, batch: Batch, outputs: Float[Tensor, "sequence query output"]
) -> Int[Tensor, "sequence query hop"]:
    """The answers in some outputs (see `Snapshot`)."""
    targets, wanted = task.targets, batch.targets
    chosen = targets.answers(outputs, wanted)
    if isinstance(targets, Tokens):
        return chosen[..., 0].long().cpu()
    # Of vectors the nearest that is asked for anywhere; of a sequence that asks for a single one,
    # none if it is far from that.
    distinct = wanted[:, None].nan_to_num(1e9)
    nearest = (chosen[:, :, None] == distinct).all(-1).int().argmax(2)
    n_asked = targets.asked(wanted).sum(1, keepdim=True)
    is_near = targets.each(outputs, wanted) < EMERGES_AT
    astray = (n_asked < 2).expand(nearest.shape) & ~is_near
    return nearest.masked_fill(astray, -1).cpu()


def hundredths(shares: Float[Tensor, "..."]) -> UInt8[Tensor, "..."]:
    """Shares between 0 and 1, rounded."""
    return (100 * shares).round().clamp(0, 100).to(torch.uint8).cpu()


def packed(values: UInt8[Tensor, "..."]) -> str:
    """Bytes by gzip, as base64."""
    return base64.b64encode(gzip.compress(values.numpy().tobytes(), 9, mtime=0)).decode()


@dataclass(frozen=True)
class Standing:
    """Where the positions of a sequence stand, and what its answers are called.

    Attributes:
        task: of the sequence.
        places: the number of the place at every position that has a role.
        chains: the number of its chain.
    """

    task: Task
    places: dict[int, int] = field(default_factory=dict)
    chains: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, task: Task, example: Batch) -> "Standing":
        """That of the only sequence of a batch."""
        standing = cls(task)
        for number, place in enumerate(places(task)):
            role = task.roles.index(place.role)
            for chain, position in enumerate(example.roles[0, role].tolist()):
                standing.places[position] = number
                standing.chains[position] = chain
        return standing

    def name(self, answer: int, hop: int) -> str:
        """An answer (see `Snapshot`) as it is printed, if there is one."""
        task = self.task
        if isinstance(task.targets, Tokens):
            return task.token_name(answer)
        position = task.length - task.n_read + answer
        letter = chain_letter(self.chains.get(position, answer))
        symbol = task.hops[hop]
        end = symbol.partition("_")[2]
        return typeset(f"{letter}{end}" if end.isdigit() else f"{symbol} {letter}")


class Numbers(dict[str, int]):
    """The numbers of names, in the order in which they are asked for.

    Of very many the last stands for all others.
    """

    def __missing__(self, name: str) -> int:
        self[name] = min(len(self), MOST_NAMES)
        return self[name]


def _sequence(
    findings: Findings,
    example: Batch,
    answers: Int[Tensor, "variant step query hop"],
    along: UInt8[Tensor, "step cell"],
) -> schema.Sequence:
    """One of the examples."""
    task, shown = findings.task, findings.shown
    standing = Standing.of(task, example)
    of_tokens = isinstance(task.targets, Tokens)
    asked = task.targets.asked(example.targets)[0].nonzero().tolist()
    first = task.length - task.n_read - shown.start
    numbers = Numbers()
    questions = list[schema.Question]()
    for query, hop in asked:
        right = int(example.targets[0, query, hop]) if of_tokens else query
        answer = numbers[standing.name(right, hop)]
        questions.append(schema.Question(first + query, hop, answer))
    coded = list[list[int]]()
    for query, hop in asked:
        given = answers[..., query, hop].flatten().tolist()
        coded.append([NO_ANSWER if a < 0 else numbers[standing.name(a, hop)] for a in given])
    names = list(numbers)
    labels = position_labels(task, example)[shown.start :]
    return schema.Sequence(
        labels=[typeset(label) for label in labels],
        places=[standing.places.get(position) for position in shown],
        chains=[standing.chains.get(position) for position in shown],
        questions=questions,
        names=names if len(names) <= MOST_NAMES else [*names[:MOST_NAMES], "…"],
        answers=packed(torch.tensor(coded, dtype=torch.uint8).T.contiguous()),
        along=packed(along),
    )


def leads(findings: Findings, batch: Batch, paths: Sequential[AttentionPath]) -> Cells:
    """The cells of paths' relations in every example, as far as it is shown."""
    edges = findings.task.edges(batch, not findings.causal)
    cells: Cells = {path.relation: [] for path in paths}
    for relation, in_examples in cells.items():
        related = edges[relation]
        queries = related.queries[..., None].expand_as(related.keys)
        pairs = torch.stack([queries, related.keys], -1) - findings.shown.start
        is_inside = related.there & (pairs >= 0).all(-1)
        for i, inside in enumerate(is_inside):
            last = pairs[i, inside][-MOST_LEADS:]
            in_examples.append([(query, key) for query, key in last.tolist()])
    return cells
