"""Held-out sequences with the model's answers and attention, at one checkpoint after
another.
"""

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
from headway.relations import Edges
from headway.relations.paths import AttentionPath
from headway.relations.roles import chain_letter
from headway.replace.ablation import Bench
from headway.replace.mechanism import KnockOut
from headway.replace.subject import with_tap
from headway.report import schema
from headway.report.circuit import Cells, Leads
from headway.report.curves import thinned
from headway.report.findings import EXAMPLES, Findings
from headway.report.labels import typeset
from headway.report.schema import Attention, Question
from headway.tasks import Batch, Task
from headway.tasks.targets import Tokens
from headway.training.files import is_there

MOST_STEPS, MOST_ANSWERS, MOST_FORWARDS = 1000, 400_000, 700
"""The most steps of a page, and of answers on it and of models that give them; of more
steps, evenly many are kept."""

FEW_CELLS, MOST_CELLS = 240_000, 6_000_000
"""Attention values that a page may always have, and the most that one of a large model
has.
"""

ENOUGH, MANY = 12, 32
"""Checkpoints for which attention is to be kept rather than for more sequences; and for
which that on one sequence is kept, if a page of that size has room."""

MOST_LEADS = 256
"""The most cells of a path in one sequence."""

NO_ANSWER, MOST_NAMES = 255, 254


@dataclass(frozen=True)
class Snapshot:
    """The model at one checkpoint.

    Attributes:
        attention: of the followed heads on some of the examples, in hundredths.
        along: attention along the circuit's paths in every example, cell by cell, in
            hundredths.
        answers: the model's, and those without each path: a token, or for vectors the
            query that asks for the nearest; -1 for none. None where answers are not
            kept.
    """

    attention: UInt8[Tensor, "sequence head query key"]
    along: list[UInt8[Tensor, " cell"]]
    answers: Int[Tensor, "variant sequence query hop"] | None


Memory = dict[tuple[object, ...], Snapshot]
"""Snapshots that were computed before, by step and time of the checkpoint and what was
followed.
"""


@dataclass(frozen=True)
class Examples:
    """The steps of a page, and what is shown of the examples at each of them (see
    `schema`).
    """

    steps: list[int]
    cells: Cells = field(default_factory=dict)
    answer_steps: list[int] = field(default_factory=list)
    sequences: list[schema.Sequence] = field(default_factory=list)
    attention: Attention | None = None


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
    count = _n_with_maps(findings, len(steps))
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
        attention=_maps(findings, snapshots),
    )


def _most_answer_steps(findings: Findings, batch: Batch) -> int:
    """The most checkpoints for which answers are kept."""
    n_variants = 1 + len(findings.paths)
    n_asked = int(findings.task.targets.asked(batch.targets).sum())
    n_answers = max(1, n_variants * n_asked)
    return min(MOST_FORWARDS // n_variants, MOST_ANSWERS // n_answers)


def _room(findings: Findings) -> int:
    """The most maps of one sequence that a page has room for."""
    one_map = len(findings.followed_heads) * len(findings.shown) ** 2
    cells = max(FEW_CELLS, min(MOST_CELLS, MANY * one_map))
    return cells // one_map


def _n_with_maps(findings: Findings, n_steps: int) -> int:
    """On how many sequences attention is kept: fewer where it would be at few
    checkpoints.
    """
    room = _room(findings)
    count = EXAMPLES
    while count > 1 and room // count < min(ENOUGH, n_steps):
        count //= 2
    return count


def _memory_key(
    findings: Findings, step: int, with_answers: bool, count: int
) -> tuple[object, ...]:
    """The key of a snapshot, with the time of its checkpoint."""
    file = findings.run.checkpoint_path(step)
    changed = file.stat().st_mtime_ns if is_there(file) else 0
    return step, changed, with_answers, count, *findings.followed_heads, *findings.paths


def _maps(findings: Findings, snapshots: Sequential[Snapshot]) -> Attention:
    """The attention of the followed heads, at as many of the checkpoints as there is
    room for.
    """
    count = len(snapshots[0].attention)
    kept = thinned(range(len(snapshots)), _room(findings) // count)
    maps = torch.stack([snapshots[i].attention for i in kept], dim=-1)
    return Attention(kept, count, findings.followed_heads, packed(maps))


def _sequences(
    findings: Findings, batch: Batch, snapshots: Sequential[Snapshot]
) -> list[schema.Sequence]:
    """The examples, with the answers and the attention along paths at all
    checkpoints.
    """
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
    findings: Findings,
    batch: Batch,
    cells: Cells,
    step: int,
    with_answers: bool,
    count: int,
) -> Snapshot:
    """Looks at the examples with the eyes of one checkpoint; `count` of them have
    maps.
    """
    model = findings.run.model(step)
    shown = slice(findings.shown.start, findings.task.length)
    patterns = attention_patterns(model, batch.inputs)[..., shown, shown]
    layers, heads = zip(*findings.followed_heads, strict=True)
    followed = patterns[:count, list(layers), list(heads)]
    even = 2 * (50 * followed).round()
    along = _along_paths(findings.paths, cells, hundredths(patterns))
    answers = _answers_without_paths(findings, batch, model) if with_answers else None
    return Snapshot(hundredths(even / 100), along, answers)


def _along_paths(
    paths: Sequential[AttentionPath], cells: Cells, patterns: UInt8[Tensor, "..."]
) -> list[UInt8[Tensor, " cell"]]:
    """The attention in every cell of the paths, one path after the other, in every
    example.
    """
    along = list[UInt8[Tensor, " cell"]]()
    for i, pattern in enumerate(patterns):
        indices = list[tuple[int, ...]]()
        for path in paths:
            indices += [(*path.at, *cell) for cell in cells[path.relation][i]]
        at = torch.tensor(indices, dtype=torch.long).reshape(-1, 4)
        along.append(pattern[at.unbind(1)])
    return along


def _answers_without_paths(
    findings: Findings, batch: Batch, model: Tappable
) -> Int[Tensor, "variant sequence query hop"]:
    """The answers of a model, and those with the attention along each path at zero."""
    task = findings.task
    bench = Bench(with_tap(model, task), task, batch)
    cut = [{path.at: KnockOut(frozenset({path.relation}))} for path in findings.paths]
    outputs = torch.cat(
        [bench.outputs([{}, *cut], part) for part in bench.parts], dim=1
    )
    return torch.stack([_answers(task, batch, variant) for variant in outputs])


def _answers(
    task: Task, batch: Batch, outputs: Float[Tensor, "sequence query output"]
) -> Int[Tensor, "sequence query hop"]:
    """The answers in some outputs (see `Snapshot`)."""
    targets = task.targets
    wanted = batch.targets
    chosen = targets.answers(outputs, wanted)
    if isinstance(targets, Tokens):
        return chosen[..., 0].long().cpu()
    # A vector is told by the query that asks for just that one.
    is_chosen = chosen[:, :, None] == wanted[:, None].nan_to_num(1e9)
    nearest = is_chosen.all(-1).int().argmax(2)
    # Where a sequence asks for a single one, that is nearest however far it is.
    n_asked = targets.asked(wanted).sum(1, keepdim=True)
    is_near = targets.each(outputs, wanted) < EMERGES_AT
    astray = (n_asked < 2).expand(nearest.shape) & ~is_near
    return nearest.masked_fill(astray, -1).cpu()


def hundredths(shares: Float[Tensor, "..."]) -> UInt8[Tensor, "..."]:
    """Shares between 0 and 1, rounded."""
    return (100 * shares).round().clamp(0, 100).to(torch.uint8).cpu()


def packed(values: UInt8[Tensor, "..."]) -> str:
    """Bytes by gzip, as base64."""
    compressed = gzip.compress(values.numpy().tobytes(), 9, mtime=0)
    return base64.b64encode(compressed).decode()


class Standing:
    """The places of the positions of a sequence, and the names of its answers.

    Attributes:
        task: of the sequence.
        places: the number of the place at every position that has a role.
        chains: the number of its chain.
        numbers: of the names of answers, in the order in which they are asked for.
    """

    def __init__(self, task: Task, example: Batch):
        self.task = task
        self.places: dict[int, int] = {}
        self.chains: dict[int, int] = {}
        self.numbers: dict[str, int] = {}
        for number, place in enumerate(places(task)):
            role = task.roles.index(place.role)
            for chain, position in enumerate(example.roles[0, role].tolist()):
                self.places[position] = number
                self.chains[position] = chain

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

    def number(self, answer: int, hop: int) -> int:
        """The number of an answer's name; of very many the last stands for all
        others.
        """
        if answer < 0:
            return NO_ANSWER
        name = self.name(answer, hop)
        return self.numbers.setdefault(name, min(len(self.numbers), MOST_NAMES))


def _sequence(
    findings: Findings,
    example: Batch,
    answers: Int[Tensor, "variant step query hop"],
    along: UInt8[Tensor, "step cell"],
) -> schema.Sequence:
    """One of the examples."""
    task = findings.task
    shown = findings.shown
    standing = Standing(task, example)
    of_tokens = isinstance(task.targets, Tokens)
    first = task.length - task.n_read - shown.start
    asked = task.targets.asked(example.targets)[0].nonzero().tolist()
    questions = list[Question]()
    for query, hop in asked:
        right = int(example.targets[0, query, hop]) if of_tokens else query
        questions.append(Question(first + query, hop, standing.number(right, hop)))
    coded = _coded(standing, answers, asked)
    names = list(standing.numbers)
    if len(names) > MOST_NAMES:
        names[MOST_NAMES:] = ["…"]
    labels = position_labels(task, example)[shown.start :]
    return schema.Sequence(
        labels=[typeset(label) for label in labels],
        places=[standing.places.get(position) for position in shown],
        chains=[standing.chains.get(position) for position in shown],
        questions=questions,
        names=names,
        answers=packed(coded.T.contiguous()),
        along=packed(along),
    )


def _coded(
    standing: Standing,
    answers: Int[Tensor, "variant step query hop"],
    asked: list[list[int]],
) -> UInt8[Tensor, "question answer"]:
    """The numbers of the answers to every question."""
    coded = list[list[int]]()
    for query, hop in asked:
        given = answers[..., query, hop].flatten().tolist()
        coded.append([standing.number(answer, hop) for answer in given])
    return torch.tensor(coded, dtype=torch.uint8)


def leads(findings: Findings, batch: Batch, paths: Sequential[AttentionPath]) -> Cells:
    """The cells of paths' relations in every example, as far as it is shown."""
    edges = findings.task.edges(batch, not findings.causal)
    start = findings.shown.start
    return {path.relation: _leads(edges[path.relation], start) for path in paths}


def _leads(edges: Edges, start: int) -> Leads:
    """The last of a relation's cells in every example, counted from the first that is
    shown.
    """
    queries = edges.queries[..., None].expand_as(edges.keys)
    pairs = torch.stack([queries, edges.keys], -1) - start
    is_shown = edges.there & (pairs >= 0).all(-1)
    cells = list[list[tuple[int, int]]]()
    for i, in_example in enumerate(is_shown):
        last = pairs[i, in_example][-MOST_LEADS:]
        cells.append([(query, key) for query, key in last.tolist()])
    return cells
