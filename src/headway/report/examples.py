"""Held-out sequences with the model's answers and attention, at one checkpoint after
another.
"""

import base64
import gzip
from collections.abc import Sequence as Sequential
from dataclasses import dataclass, field

import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from headway.judge.roles import places, position_labels
from headway.models import attention_patterns
from headway.relations import Edges
from headway.relations.paths import AttentionPath
from headway.relations.roles import chain_letter
from headway.report import schema
from headway.report.answers import (
    Answers,
    Cut,
    answers_to,
    hundredths,
    n_set_steps,
    sets_of,
)
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
        answers: the model's, those without each path, and perhaps those without
            several; None where answers are not kept.
    """

    attention: UInt8[Tensor, "sequence head query key"]
    along: list[UInt8[Tensor, " cell"]]
    answers: Answers | None


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
    cuts: list[Cut] = field(default_factory=list)
    cut_steps: list[int] = field(default_factory=list)
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
    plan = _plan(findings, batch, len(steps))
    snapshots = list[Snapshot]()
    for i, step in enumerate(steps):
        cuts = plan.at(i)
        key = _memory_key(findings, step, len(cuts), plan.n_with_maps)
        if key not in memory:
            memory[key] = _look(findings, batch, cells, step, cuts, plan.n_with_maps)
        snapshots.append(memory[key])
    return Examples(
        steps=steps,
        cells=cells,
        answer_steps=plan.answer_steps,
        cuts=plan.sets,
        cut_steps=plan.cut_steps,
        sequences=_sequences(findings, batch, snapshots, plan),
        attention=_maps(findings, snapshots),
    )


@dataclass(frozen=True)
class Plan:
    """The heads and rows looked at, by a page's steps.

    Attributes:
        singles: nothing, and every path alone.
        sets: several paths each.
        answer_steps: for which the answers to `singles` are kept, as indices.
        cut_steps: those of them for which the answers to `sets` are kept, too.
        n_with_maps: the examples of which attention is kept.
    """

    singles: list[Cut]
    sets: list[Cut]
    answer_steps: list[int]
    cut_steps: list[int]
    n_with_maps: int

    def at(self, step: int) -> list[Cut]:
        """The cuts that are answered at a step."""
        if step not in self.answer_steps:
            return []
        return self.singles + self.sets * (step in self.cut_steps)


def _plan(findings: Findings, batch: Batch, n_steps: int) -> Plan:
    """As many steps and cuts as there is room for."""
    singles: list[Cut] = [(), *((path,) for path in findings.paths)]
    n_asked = int(findings.task.targets.asked(batch.targets).sum())
    n_answers = max(1, len(singles) * n_asked)
    most = min(MOST_FORWARDS // len(singles), MOST_ANSWERS // n_answers)
    answer_steps = thinned(range(n_steps), most)
    sets = sets_of(findings.paths, n_asked)
    return Plan(
        singles=singles,
        sets=sets,
        answer_steps=answer_steps,
        cut_steps=_cut_steps(answer_steps, sets, n_asked),
        n_with_maps=_n_with_maps(findings, n_steps),
    )


def _cut_steps(answer_steps: list[int], sets: list[Cut], n_asked: int) -> list[int]:
    """The steps at which sets of paths are cut, the last among them."""
    if not sets:
        return []
    n_kept = n_set_steps(sets, n_asked)
    return thinned(answer_steps, n_kept) if n_kept > 1 else answer_steps[-1:]


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
    findings: Findings, step: int, n_cuts: int, count: int
) -> tuple[object, ...]:
    """The key of a snapshot, with the time of its checkpoint."""
    file = findings.run.checkpoint_path(step)
    changed = file.stat().st_mtime_ns if is_there(file) else 0
    return step, changed, n_cuts, count, *findings.followed_heads, *findings.paths


def _maps(findings: Findings, snapshots: Sequential[Snapshot]) -> Attention:
    """The attention of the followed heads, at as many of the checkpoints as there is
    room for.
    """
    count = len(snapshots[0].attention)
    kept = thinned(range(len(snapshots)), _room(findings) // count)
    maps = torch.stack([snapshots[i].attention for i in kept], dim=-1)
    return Attention(kept, count, findings.followed_heads, packed(maps))


def _sequences(
    findings: Findings, batch: Batch, snapshots: Sequential[Snapshot], plan: Plan
) -> list[schema.Sequence]:
    """The examples, with the answers and the attention along paths at all
    checkpoints.
    """
    to_one, to_sets = _answers(snapshots, plan)
    sequences = list[schema.Sequence]()
    for i in range(len(batch.inputs)):
        along = torch.stack([shot.along[i] for shot in snapshots])
        example = batch.part(slice(i, i + 1))
        told = [[answers.of(i) for answers in steps] for steps in (to_one, to_sets)]
        sequences.append(_sequence(findings, example, told, along))
    return sequences


def _answers(
    snapshots: Sequential[Snapshot], plan: Plan
) -> tuple[list[Answers], list[Answers]]:
    """The answers to single cuts, step by step, and those to sets of them."""
    n_singles = len(plan.singles)
    to_one = list[Answers]()
    to_sets = list[Answers]()
    for i, shot in enumerate(snapshots):
        if shot.answers is not None:
            to_one.append(shot.answers.part(slice(n_singles)))
        if shot.answers is not None and i in plan.cut_steps:
            to_sets.append(shot.answers.part(slice(n_singles, None)))
    return to_one, to_sets


@torch.no_grad()
def _look(
    findings: Findings,
    batch: Batch,
    cells: Cells,
    step: int,
    cuts: list[Cut],
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
    answers = answers_to(findings.task, batch, model, cuts) if cuts else None
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

    @property
    def names(self) -> list[str]:
        """The names of answers; of very many the last stands for all others."""
        names = list(self.numbers)
        if len(names) > MOST_NAMES:
            return [*names[:MOST_NAMES], "…"]
        return names

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
    told: Sequential[Sequential[Answers]],
    along: UInt8[Tensor, "step cell"],
) -> schema.Sequence:
    """One of the examples.

    Args:
        findings: of the run.
        example: the sequence.
        told: the answers to single cuts step by step, and those to sets of them.
        along: attention along paths.
    """
    standing = Standing(findings.task, example)
    questions = _questions(findings, example, standing)
    asked = findings.task.targets.asked(example.targets)[0].nonzero()
    answers, together = (_packed_answers(standing, steps, asked) for steps in told)
    shown = findings.shown
    labels = position_labels(findings.task, example)[shown.start :]
    return schema.Sequence(
        labels=[typeset(label) for label in labels],
        places=[standing.places.get(position) for position in shown],
        chains=[standing.chains.get(position) for position in shown],
        questions=questions,
        names=standing.names,
        answers=answers,
        together=together,
        along=packed(along),
    )


def _questions(
    findings: Findings, example: Batch, standing: Standing
) -> list[Question]:
    """The questions of a sequence, with what is right."""
    task = findings.task
    of_tokens = isinstance(task.targets, Tokens)
    first = task.length - task.n_read - findings.shown.start
    questions = list[Question]()
    for query, hop in task.targets.asked(example.targets)[0].nonzero().tolist():
        right = int(example.targets[0, query, hop]) if of_tokens else query
        questions.append(Question(first + query, hop, standing.number(right, hop)))
    return questions


def _packed_answers(
    standing: Standing, steps: Sequential[Answers], asked: Int[Tensor, "question two"]
) -> schema.Answers:
    """The answers [cut, step, question] to all questions of a sequence, and their
    probabilities.
    """
    if not steps:
        return schema.Answers("", "")
    queries, hops = asked.cpu().unbind(1)
    given = torch.stack([answers.given for answers in steps], dim=1)
    numbers = _numbered(standing, given[..., queries, hops], hops.tolist())
    known = [answers.chances for answers in steps if answers.chances is not None]
    if not known:
        return schema.Answers(packed(numbers), "")
    chances = torch.stack(known, dim=1)[..., queries, hops]
    return schema.Answers(packed(numbers), packed(chances.contiguous()))


def _numbered(
    standing: Standing, told: Int[Tensor, "cut step question"], hops: list[int]
) -> UInt8[Tensor, "cut step question"]:
    """The numbers of the names of answers to questions about some hops."""
    numbered = torch.zeros_like(told, dtype=torch.uint8)
    for i, hop in enumerate(hops):
        column = told[..., i]
        numbers = [standing.number(answer, hop) for answer in column.flatten().tolist()]
        numbered[..., i] = torch.tensor(numbers, dtype=torch.uint8).view_as(column)
    return numbered


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
