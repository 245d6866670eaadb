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
from headway.models import attention_patterns
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
    steps, memory = thinned(findings.checkpoints, MOST_STEPS), {} if memory is None else memory
    if findings.no_maps is not None:
        return Examples(steps)
    run, paths, heads = findings.run, findings.paths, findings.followed_heads
    batch = findings.sequences.part(slice(EXAMPLES))
    cells = leads(findings, batch, paths)
    answers_each = (1 + len(paths)) * int(findings.task.targets.asked(batch.targets).sum())
    most = min(MOST_FORWARDS // (1 + len(paths)), MOST_ANSWERS // max(1, answers_each))
    answer_steps = thinned(range(len(steps)), most)
    one = len(heads) * len(findings.shown) ** 2
    room, count = max(FEW_CELLS, min(MOST_CELLS, MANY * one)) // one, EXAMPLES
    while count > 1 and room // count < min(ENOUGH, len(steps)):
        count //= 2
    seen = list[Snapshot]()
    for i, step in enumerate(steps):
        file, answered = run.checkpoint_path(step), i in answer_steps
        changed = file.stat().st_mtime_ns if is_there(file) else 0
        name = step, changed, answered, count, *heads, *paths
        if name not in memory:
            memory[name] = _look(findings, batch, cells, step, answered, count)
        seen.append(memory[name])
    answers = torch.stack([one.answers for one in seen if one.answers is not None], dim=1)
    kept = thinned(range(len(steps)), room // count)
    maps = torch.stack([seen[i].attention for i in kept], dim=-1)
    return Examples(
        steps=steps,
        cells=cells,
        answer_steps=answer_steps,
        sequences=[
            _sequence(findings, batch, i, answers[:, :, i], [one.along[i] for one in seen])
            for i in range(len(batch.inputs))
        ],
        attention=schema.Attention(kept, count, heads, packed(maps)),
    )


@torch.no_grad()
def _look(
    findings: Findings, batch: Batch, cells: Cells, step: int, with_answers: bool, count: int
) -> Snapshot:
    """Looks at the examples with the eyes of one checkpoint; `count` of them have maps."""
    start, size, paths = findings.shown.start, findings.task.length, findings.paths
    model = findings.run.model(step)
    layers, heads = [list(each) for each in zip(*findings.followed_heads, strict=True)]
    patterns = attention_patterns(model, batch.inputs)[..., start:, start:size]
    along = []
    for i, pattern in enumerate(hundredths(patterns)):
        here = [(*p.at, *cell) for p in paths for cell in cells[p.relation][i]]
        at = torch.tensor(here, dtype=torch.long).reshape(-1, 4).unbind(1)
        along.append(pattern[at])
    answers = None
    if with_answers:
        bench = Bench(with_tap(model, findings.task), findings.task, batch)
        cut = [{path.at: KnockOut(frozenset({path.relation}))} for path in paths]
        parts = [bench.outputs([{}, *cut], part) for part in bench.parts]
        outputs = torch.cat(parts, dim=1)
        answers = torch.stack([_answers(findings.task, batch, each) for each in outputs])
    kept = 2 * (50 * patterns[:count, layers, heads]).round()
    return Snapshot(hundredths(kept / 100), along, answers)


def _answers(
    task: Task, batch: Batch, outputs: Float[Tensor, "sequence query output"]
) -> Int[Tensor, "sequence query hop"]:
    """The answers in some outputs (see `Snapshot`)."""
    targets, wanted = task.targets, batch.targets
    chosen = targets.answers(outputs, wanted)
    if isinstance(targets, Tokens):
        return chosen[..., 0].long().cpu()
    nearest = (chosen[:, :, None] == wanted[:, None].nan_to_num(1e9)).all(-1).int().argmax(2)
    alone = (targets.asked(wanted).sum(1, keepdim=True) < 2).expand(nearest.shape)
    astray = alone & ~(targets.each(outputs, wanted) < EMERGES_AT)
    return nearest.masked_fill(astray, -1).cpu()


def hundredths(shares: Float[Tensor, "..."]) -> UInt8[Tensor, "..."]:
    """Shares between 0 and 1, rounded."""
    return (100 * shares).round().clamp(0, 100).to(torch.uint8).cpu()


def packed(values: UInt8[Tensor, "..."]) -> str:
    """Bytes by gzip, as base64."""
    return base64.b64encode(gzip.compress(values.numpy().tobytes(), 9, mtime=0)).decode()


def _sequence(
    findings: Findings,
    batch: Batch,
    number: int,
    answers: Int[Tensor, "variant step query hop"],
    along: Sequential[UInt8[Tensor, " cell"]],
) -> schema.Sequence:
    """One of the examples."""
    task, shown, example = findings.task, findings.shown, batch.part(slice(number, number + 1))
    plays: dict[int, tuple[int, int]] = {}
    for place_number, place in enumerate(places(task)):
        row = example.roles[0, task.roles.index(place.role)].tolist()
        plays |= {position: (place_number, chain) for chain, position in enumerate(row)}
    where = [plays.get(position, (None, None)) for position in range(task.length)]
    first, of_tokens = task.length - task.n_read, isinstance(task.targets, Tokens)

    def name(answer: int, hop: int) -> str:
        """An answer as it is printed."""
        if answer < 0:
            return str(answer)
        if of_tokens:
            return task.token_name(answer)
        chain, symbol = where[first + answer][1], task.hops[hop]
        letter = chain_letter(answer if chain is None else chain)
        end = symbol.partition("_")[2]
        return typeset(f"{letter}{end}" if end.isdigit() else f"{symbol} {letter}")

    asked = task.targets.asked(example.targets)[0].nonzero().tolist()
    right = [int(example.targets[0, q, h]) if of_tokens else q for q, h in asked]
    wanted = [name(answer, h) for answer, (_, h) in zip(right, asked, strict=True)]
    given = [[name(a, h) for a in answers[..., q, h].flatten().tolist()] for q, h in asked]
    names = list(dict.fromkeys([*wanted, *(n for each in given for n in each if n != "-1")]))
    index = {n: min(i, MOST_NAMES) for i, n in enumerate(names)} | {"-1": NO_ANSWER}
    coded = torch.tensor([[index[n] for n in each] for each in given], dtype=torch.uint8)
    return schema.Sequence(
        labels=[typeset(label) for label in position_labels(task, example)[shown.start :]],
        places=[where[position][0] for position in shown],
        chains=[where[position][1] for position in shown],
        questions=[
            schema.Question(first + q - shown.start, h, index[n])
            for n, (q, h) in zip(wanted, asked, strict=True)
        ],
        names=[*names[:MOST_NAMES], *(["…"] if len(names) > MOST_NAMES else [])],
        answers=packed(coded.T.contiguous()),
        along=packed(torch.stack(list(along))),
    )


def leads(findings: Findings, batch: Batch, paths: Sequential[AttentionPath]) -> Cells:
    """The cells of paths' relations in every example, as far as it is shown."""
    found = findings.task.edges(batch, not findings.causal)
    cells: Cells = {path.relation: [] for path in paths}
    for name in cells:
        edges = found[name]
        queries = edges.queries[..., None].expand_as(edges.keys)
        pairs = torch.stack([queries, edges.keys], -1) - findings.shown.start
        for cell, there in zip(pairs, edges.there, strict=True):
            inside = [(q, k) for q, k in cell[there].tolist() if q >= 0 and k >= 0]
            cells[name].append(inside[-MOST_LEADS:])
    return cells
