"""The data of a page: one JSON object, which Python gathers and the app in the browser draws.

The object is a `RunPage`, `ComparisonPage`, `SweepPage` or `ListPage`, told apart by `kind`. Steps
are optimiser steps, losses are those of the task's targets (MSE, or cross-entropy in nats),
attention is a share from 0 to 1, and layers, heads, positions and places are counted from 0. Names
are plain text as the code writes them; a `label` is the same with subscripts. A number that was not
finite is null.
"""

import json
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

Cell = str | bool | int | float | None
"""Of a table: text, a verdict, a count, a measured number, or nothing."""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        title: its title.
        head: the names of its columns.
        rows: its cells, row by row.
        keys: for every row what it is about, `path:KEY` or `run:NUMBER`, to be found elsewhere on
            the page; empty if the rows are about neither.
        note: what the columns mean, in sentences; perhaps empty.
    """

    title: str
    head: list[str]
    rows: list[list[Cell]]
    keys: list[str]
    note: str


@dataclass(frozen=True)
class Section:
    """Sentences and tables about one question, for the closed part of a page.

    Attributes:
        name: a short name, for an address.
        title: the question.
        sentences: the answer, perhaps none.
        tables: what it rests on, perhaps none.
    """

    name: str
    title: str
    sentences: list[str]
    tables: list[Table]


@dataclass(frozen=True)
class Fact:
    """A key number, as text, with a note on it."""

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class Hop:
    """Something that a query must predict.

    Attributes:
        name: as in the code.
        label: as it is printed.
        judged: whether it can be predicted without error, so that circuits are judged by it.
        learnt: the step at which its loss first passes below `BIRTH`; None if it never does.
        colour: 0 to 6, that of the symbol that it asks for.
    """

    name: str
    label: str
    judged: bool
    learnt: float | None
    colour: int


@dataclass(frozen=True)
class Place:
    """A role of one chain, as a column of the circuit; in the order of the sequence.

    Attributes:
        role: its name.
        symbol: what stands there; empty if the task does not say.
        label: the symbol, or else the role, as it is printed.
        group: the number of its pair, fact or row.
        colour: of its symbol, 0 to 6; 0 where none is known.
    """

    role: str
    symbol: str
    label: str
    group: int
    colour: int


@dataclass(frozen=True)
class Task:
    """What was learnt.

    Attributes:
        kind: the name of the task.
        reading: how to read a sequence, in sentences.
        loss: what losses are, such as `MSE`.
        vocabulary: how many tokens there are, which are known by their numbers; None for vectors.
        length: positions in a sequence.
        hops: what is asked for, in chain order.
        references: losses of predictors that follow no chain, by what they predict.
    """

    kind: str
    reading: str
    loss: str
    vocabulary: int | None
    length: int
    hops: list[Hop]
    references: dict[str, float]


@dataclass(frozen=True)
class CircuitPath:
    """A head that attends along a relation.

    Attributes:
        key: by which all else on the page names it.
        name: the head, `L1.H0`.
        layer: of the head.
        head: its number in the layer.
        relation: along which it attends.
        label: head and relation as they are printed.
        query: the place that attends; None if the relation is not one between roles.
        attended: the place attended to; None likewise.
        colour: 0 to 6, of the symbol carried that is nearest to the answer, or of the head where no
            symbols are known; -1 if the path brings nothing new.
        dashes: 0 to 5, which tells apart curves of one colour.
        carries: the symbols that it brings, as they are printed; empty if none are known.
        cells: where it leads in every example: pairs of positions, query and key; of very many the
            last.
        attention: mean attention along it, at every step of the page, None where it was not
            measured; empty if the path was not dated.
        without: the loss of the model of that step with this attention set to zero; likewise.
        born: the step at which its attention first passes `BIRTH`; None if it never does.
        needed: the step from which the loss depends on it; None if it never does.
        cut: the loss of the circuit without it, None if that was not measured.
        free: the same with the useful heads of the layers above attending freely.
        lost: the keys of the paths that then do not find their key, by the flow of information.
        answers: the labels of the hops that the query then lacks, likewise.
    """

    key: str
    name: str
    layer: int
    head: int
    relation: str
    label: str
    query: int | None
    attended: int | None
    colour: int
    dashes: int
    carries: list[str]
    cells: list[list[tuple[int, int]]]
    attention: list[float | None]
    without: list[float | None]
    born: float | None
    needed: float | None
    cut: float | None
    free: float | None
    lost: list[str]
    answers: list[str]


@dataclass(frozen=True)
class IdleHead:
    """A head without a path, and what it does instead, such as `uniform`."""

    layer: int
    head: int
    does: str


@dataclass(frozen=True)
class Circuit:
    """What the heads of a model do.

    Attributes:
        layers: of the model.
        heads: of every layer.
        places: the roles of one chain; empty if the task has none.
        joined: whether all paths lead from place to place, so that places can be columns.
        paths: in the order in which information flows.
        idle: the heads without a path.
        stream: for the stream before the first layer and after each, and every place, the labels of
            the symbols that stand there if heads copy all that they find; empty if not known.
        loss: with every head replaced.
        intact: of the model as it is.
        threshold: that the loss was to stay below.
        ablation: what stands in rows without a path, in words.
        faithful: whether the loss is below the threshold.
    """

    layers: int
    heads: int
    places: list[Place]
    joined: bool
    paths: list[CircuitPath]
    idle: list[IdleHead]
    stream: list[list[list[str]]]
    loss: float
    intact: float
    threshold: float
    ablation: str
    faithful: bool


@dataclass(frozen=True)
class Verdict:
    """Whether a circuit has a property.

    Attributes:
        name: of the property.
        holds: whether it has it; None if that cannot be said.
        because: why, in sentences.
        next: what would help, as a command or a sentence; None if nothing would.
    """

    name: str
    holds: bool | None
    because: str
    next: str | None


@dataclass(frozen=True)
class Question:
    """Something that a sequence asks for.

    Attributes:
        position: where it is asked.
        hop: the number of the hop.
        chain: the number of the chain whose role stands there; None if none does.
        answer: the right answer, as an index into the names of the sequence.
    """

    position: int
    hop: int
    chain: int | None
    answer: int


@dataclass(frozen=True)
class Sequence:
    """A held-out sequence. Positions are counted from the first that is shown.

    Attributes:
        labels: what stands at every position, as it is printed.
        places: the place that each of them plays in its chain; None where it plays none.
        chains: the number of that chain; None likewise.
        questions: what is asked for.
        names: what is right or was answered, as it is printed; of very many, the last stands for
            all others.
        answers: one byte an answer, an index into the names, [variant, step, question]; by gzip, as
            base64. The first variant is the model as it is, then comes one for every path of the
            circuit, the model with the attention along that path at zero; steps are the answer
            steps of the page. 255 where a vector is nowhere near the only one that it could be.
        along: attention along paths, one byte a value, in hundredths, [step, cell], at every step
            of the page, the cells of the first path first; by gzip, as base64.
    """

    labels: list[str]
    places: list[int | None]
    chains: list[int | None]
    questions: list[Question]
    names: list[str]
    answers: str
    along: str


@dataclass(frozen=True)
class FollowedHead:
    """A head whose attention the page shows.

    Attributes:
        layer: of the head.
        head: its number in the layer.
        useful: whether it is in the circuit, or none is known.
        does: its mechanism in the circuit, in words; empty without one.
    """

    layer: int
    head: int
    useful: bool
    does: str


@dataclass(frozen=True)
class Stray:
    """Strong attention, at the last step, that no path of the circuit stands for.

    Attributes:
        head: its number among the followed heads; None if it is not followed.
        label: head and relation as they are printed.
        attention: along the relation, averaged over sequences and rows.
        rise: of the model's loss with this attention at zero.
        needed: whether that rise is large enough to matter.
        cells: where it leads in every example: pairs of positions, query and key.
    """

    head: int | None
    label: str
    attention: float
    rise: float
    needed: bool
    cells: list[list[tuple[int, int]]]


@dataclass(frozen=True)
class Attention:
    """The attention of heads on the examples, through training.

    Attributes:
        steps: for which it is kept, as indices into the steps of the page.
        sequences: of how many examples, from the first.
        heads: the heads.
        packed: one byte a value, in hundredths, rounded to even ones, [sequence, head, query, key,
            step]; by gzip, as base64.
        strays: the strongest attention that is no path, the strongest first.
    """

    steps: list[int]
    sequences: int
    heads: list[FollowedHead]
    packed: str
    strays: list[Stray]


@dataclass(frozen=True)
class Losses:
    """Losses on held-out sequences by step, and what training itself saw.

    Attributes:
        steps: of the evaluations.
        validation: the mean over hops.
        training: on the batch of that step.
        hops: of one hop alone, by its name.
    """

    steps: list[int]
    validation: list[float | None]
    training: list[float | None]
    hops: dict[str, list[float | None]]


@dataclass(frozen=True)
class EvidenceRow:
    """What a path is needed for.

    Attributes:
        key: of the path.
        attention: the model's own along it, at its last step.
        cut: the loss with every head replaced and this path cut.
        free: the same, while the useful heads of the layers above attend as they like.
        alone: the loss with this path's head alone replaced by what it does.
        needed: whether the worse of the two losses is at or above the threshold; None if the
            circuit is not faithful.
    """

    key: str
    attention: float
    cut: float
    free: float
    alone: float | None
    needed: bool | None


@dataclass(frozen=True)
class Minimum:
    """The least number of layers by the theory.

    Attributes:
        layers: that are enough; None if no number is, or it is not known.
        used: layers with a useful head; None without a circuit.
        sentences: in words.
        query: after every number of layers, from none on, the labels of the symbols that the query
            holds at best, and along the circuit (None without one).
    """

    layers: int | None
    used: int | None
    sentences: list[str]
    query: list[tuple[list[str], list[str] | None]]


@dataclass(frozen=True)
class Missing:
    """Why a part of a run's page is not there, in sentences with the command that would help; None
    if it is there."""

    evaluations: str | None
    circuit: str | None
    births: str | None
    attention: str | None


@dataclass(frozen=True)
class PageBase:
    """What every page has.

    Attributes:
        name: of the folder; with it the names of files begin that are kept.
        title: what the page is about, in a few words.
        headline: what came out, in a sentence or two.
        summary: the same and more in plain lines, for readers without scripts.
        live: the version of what is shown if the page is served, and is to follow changes; else
            empty.
    """

    name: str
    title: str
    headline: str
    summary: list[str]
    live: str


@dataclass(frozen=True)
class CurvesPage(PageBase):
    """What a page with curves has.

    Attributes:
        setting: what decides the run, or what all runs have in common, in parts.
        facts: key numbers.
        birth: the loss at which a hop is learnt, and the attention at which a path counts as born.
        threshold: the loss below which a task counts as solved.
        until: the last step worth showing at first.
        end: the last step that there is.
    """

    setting: list[str]
    facts: list[Fact]
    birth: float
    threshold: float
    until: float
    end: float


@dataclass(frozen=True)
class RunPage(CurvesPage):
    """A run.

    Attributes:
        kind: `run`, or `widget` in a notebook.
        warning: why the page may be of another task or model than the run's; None if it is not.
        status: `done`, `failed`, `running` or `stopped`.
        seed: of the run.
        versions: of Python and the main packages it was computed with, by name.
        commands: that find and show what is on this page, to be run on the folder.
        python: code that trains the run again.
        config: of the run, as JSON text.
        task: what was learnt.
        steps: at which the model is shown, in order; empty without a checkpoint.
        losses: by step.
        circuit: None if none is known.
        model: the loss at every step of the page, on the sequences of the paths' losses; empty if
            the paths were not dated.
        first: the position in a sequence at which the examples begin: of long ones, the end is
            shown, and positions are counted from there.
        answer_steps: for which answers are kept, as indices into the steps.
        sequences: examples; empty where the model cannot be run.
        attention: on the examples; None where there is none to show.
        verdicts: on the circuit.
        evidence: path by path.
        minimum: of layers.
        story: the way to the answer, in sentences.
        details: all else that was measured.
        missing: why parts are not there.
    """

    kind: Literal["run", "widget"]
    warning: str | None
    status: str
    seed: int
    versions: dict[str, str]
    commands: list[str]
    python: str
    config: str
    task: Task
    steps: list[int]
    losses: Losses
    circuit: Circuit | None
    model: list[float | None]
    first: int
    answer_steps: list[int]
    sequences: list[Sequence]
    attention: Attention | None
    verdicts: list[Verdict]
    evidence: list[EvidenceRow]
    minimum: Minimum
    story: list[str]
    details: list[Section]
    missing: Missing


@dataclass(frozen=True)
class Member:
    """One of several runs that are compared.

    Attributes:
        number: from 1 on.
        name: its folder's, with those above it as far as they are not common to all.
        link: the address of its own page; None if there is none.
        status: `done`, `failed`, `running` or `stopped`.
        note: what it lacks, in sentences; perhaps empty.
        hops: with the steps at which they were learnt.
        in_order: whether hops were learnt in chain order; None if there is nothing to compare.
        losses: by step.
        circuit: without examples and curves; None if none is known.
    """

    number: int
    name: str
    link: str | None
    status: str
    note: str
    hops: list[Hop]
    in_order: bool | None
    losses: Losses
    circuit: Circuit | None


@dataclass(frozen=True)
class ComparisonPage(CurvesPage):
    """Several runs side by side.

    Attributes:
        kind: `comparison`.
        varies: the fields that vary.
        members: the runs.
        runs: a row for every run.
        shared: what the circuits of each task have in common, with tables by relation and of how
            alike every two are.
        learnt: when hops were learnt, run by run.
    """

    kind: Literal["comparison"]
    varies: list[str]
    members: list[Member]
    runs: Table
    shared: list[Section]
    learnt: Table


@dataclass(frozen=True)
class Axis:
    """A field that varies by itself.

    Attributes:
        field: its dotted name.
        name: the last part of it, or all if that is ambiguous.
        values: those that occur, as text, in order.
        numbers: the same as numbers; None if one is none.
        along: the fields whose value follows from this one's.
    """

    field: str
    name: str
    values: list[str]
    numbers: list[float] | None
    along: list[str]


@dataclass(frozen=True)
class SweepRun:
    """A run of a sweep.

    Attributes:
        number: from 1 on.
        name: of its folder.
        link: the address of its own page; None if there is none.
        status: `done`, `failed`, `running` or `stopped`.
        values: on every axis, as indices into the values of the axis.
        loss: the validation loss at the end, or so far; None before the first evaluation.
        done: whether it came to its end, with a loss.
        solved: whether it is done and solved its task.
        steps: the steps of its curve.
        losses: the validation losses there.
        learnt: the steps at which hops were learnt, by hop; None where one was not.
        in_order: whether they were learnt in chain order; None if there is nothing to compare.
    """

    number: int
    name: str
    link: str | None
    status: str
    values: list[int]
    loss: float | None
    done: bool
    solved: bool
    steps: list[float]
    losses: list[float]
    learnt: dict[str, float | None]
    in_order: bool | None


@dataclass(frozen=True)
class GridCell:
    """The runs of two values.

    Attributes:
        runs: how many there are.
        done: how many of them are done.
        solved: how many of them solved the task.
        failed: how many failed.
        median: of the losses of those that are done; None if none is.
        side: whether the layers are too few by the theory (`below`), just enough (`least`) or more
            (`above`); empty if that is not known or differs.
    """

    runs: int
    done: int
    solved: int
    failed: int
    median: float | None
    side: str


@dataclass(frozen=True)
class Grid:
    """Two axes across each other.

    Attributes:
        title: the values of all other axes; empty if there are none.
        down: the number of the axis of rows.
        across: that of columns.
        cells: row by row; None where there is no run.
    """

    title: str
    down: int
    across: int
    cells: list[list[GridCell | None]]


@dataclass(frozen=True)
class SweepPage(CurvesPage):
    """All runs of a folder.

    Attributes:
        kind: `sweep`.
        axes: the fields that vary, besides the seed.
        runs: in natural order.
        panels: the number of the axis that divides curves into panels; None for one panel.
        coloured: the number of the axis that curves are coloured by; None if there is none.
        table: a row for every run.
        fields: what came out by every value of each axis, a table for each.
        grids: two axes across each other, perhaps none.
        bounds: what the theory allows and what came out, in sentences; perhaps none.
        learnt: when hops were learnt, over all runs.
        order: in how many runs hops were learnt in order, in a sentence.
        waiting: the names of runs of the plan that have not been started.
        unreadable: what could not be read, each with the reason.
    """

    kind: Literal["sweep"]
    axes: list[Axis]
    runs: list[SweepRun]
    panels: int | None
    coloured: int | None
    table: Table
    fields: list[Table]
    grids: list[Grid]
    bounds: list[str]
    learnt: Table
    order: str
    waiting: list[str]
    unreadable: list[str]


@dataclass(frozen=True)
class ListedRun:
    """A run in the list of runs.

    Attributes:
        name: of its folder.
        link: the address of its page.
        key: its name as a part of the address of a comparison, `/compare/KEY/KEY/`.
        status: `done`, `failed`, `running`, `stopped` or `unreadable`.
        message: why it failed or cannot be read; perhaps empty.
        task: its kind and size.
        model: its size, and the seed.
        step: of the last evaluation.
        steps: that its config allows; None if it was trained elsewhere.
        loss: the validation loss then, None before the first evaluation.
        solved: whether the task counts as solved.
        curve: steps and validation losses, at most 48.
        circuit: useful heads and layers, with the flow minimum, in words; perhaps empty.
        changed: when it was last written to, as in ISO 8601; None if that is not known.
    """

    name: str
    link: str
    key: str
    status: str
    message: str
    task: str
    model: str
    step: int
    steps: int | None
    loss: float | None
    solved: bool
    curve: list[tuple[float, float]]
    circuit: str
    changed: str | None


@dataclass(frozen=True)
class ListedGroup:
    """The runs of a sweep, with the address of its page; those outside of any have no name."""

    name: str
    link: str
    runs: list[ListedRun]


@dataclass(frozen=True)
class ListPage(PageBase):
    """The runs in a folder; or why something has no page.

    Attributes:
        kind: `list`.
        groups: the runs.
        threshold: the loss below which a task counts as solved.
        why: why there is nothing to show; None if there is.
        back: the address of the list of all runs; None on that list itself.
    """

    kind: Literal["list"]
    groups: list[ListedGroup]
    threshold: float
    why: str | None
    back: str | None


Page = Annotated[RunPage | ComparisonPage | SweepPage | ListPage, Field(discriminator="kind")]
ADAPTER: TypeAdapter[Any] = TypeAdapter(Page)


def json_schema() -> dict[str, Any]:
    """The JSON schema of a page."""
    return ADAPTER.json_schema(mode="serialization")


def to_json(page: Page) -> str:
    """A page's data as JSON that can stand in a `<script>`."""
    data = _finite(ADAPTER.dump_python(page, mode="json"))
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _finite(data: Any) -> Any:
    """The data with None in the place of numbers that are not finite, which no page could read."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, list | tuple) else data
