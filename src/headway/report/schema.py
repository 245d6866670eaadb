"""The data of a page: one JSON object, which Python gathers and the app in the browser draws.

The object is a `RunPage`, `RunsPage` or `ListPage`, told apart by `kind`. Steps are optimiser
steps, losses are those of the task's targets (MSE, or cross-entropy in nats), attention is a share
from 0 to 1, and layers, heads, positions and places are counted from 0. A `label` is a name as it
is printed, with subscripts. A number that was not finite is null.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from headway.circuits.verdicts import Verdict

Cell = str | bool | int | float | None
"""Of a table: text, a verdict, a count, a measured number, or nothing."""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        title: its title; perhaps empty.
        head: the names of its columns.
        rows: its cells, row by row.
        keys: for every row the key of its path or run; empty if the rows are about neither.
        note: what the columns mean, in sentences; perhaps empty.
        shares: how strongly cells are tinted, row by row, from 0 to 1; empty if none is.
    """

    title: str
    head: list[str]
    rows: list[list[Cell]]
    keys: list[str] = field(default_factory=list)
    note: str = ""
    shares: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A part of a page: its title, sentences, tables, and text as the terminal prints it."""

    title: str
    sentences: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True)
class Hop:
    """Something that a query must predict.

    Attributes:
        name: as in the code.
        label: as it is printed.
        learnt: the step at which its loss first passes below `birth`; None if it never does.
        colour: 0 to 6, that of the symbol that it asks for.
    """

    name: str
    label: str
    learnt: float | None
    colour: int


@dataclass(frozen=True)
class Place:
    """A role of one chain, as a column of the circuit; in the order of the sequence.

    Attributes:
        role: its name.
        label: the symbol that stands there, or else the role, as it is printed.
        colour: of its symbol, 0 to 6; 0 where none is known.
    """

    role: str
    label: str
    colour: int


@dataclass(frozen=True)
class Task:
    """What was learnt.

    Attributes:
        reading: how to read a sequence, in sentences.
        loss: what losses are, such as `MSE`.
        hops: what is asked for, in chain order.
        references: losses of predictors that follow no chain, by what they predict.
    """

    reading: str
    loss: str
    hops: list[Hop]
    references: dict[str, float]


@dataclass(frozen=True)
class CircuitPath:
    """A head that attends along a relation.

    Attributes:
        key: by which all else on the page names it.
        layer: of the head.
        head: its number in the layer.
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
        born: the step at which its attention first passes `birth`; None if it never does.
        needed: the step from which the loss depends on it; None if it never does.
        lost: the keys of the paths that, without it, do not find their key, by the flow of
            information.
        answers: the labels of the hops that the query then lacks, likewise.
    """

    key: str
    layer: int
    head: int
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
    lost: list[str]
    answers: list[str]


@dataclass(frozen=True)
class Circuit:
    """What the heads of a model do.

    Attributes:
        layers: of the model.
        places: the roles of one chain; empty if the task has none.
        joined: whether all paths lead from place to place, so that places can be columns.
        paths: in the order in which information flows.
    """

    layers: int
    places: list[Place]
    joined: bool
    paths: list[CircuitPath]


@dataclass(frozen=True)
class Question:
    """Something that a sequence asks for.

    Attributes:
        position: where it is asked.
        hop: the number of the hop.
        answer: the right answer, as an index into the names of the sequence.
    """

    position: int
    hop: int
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
    """A head whose attention the page shows, whether it is of use, and what it does in the circuit;
    without a circuit it may be of use, and does nothing that is known."""

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
        rise: of the model's loss with this attention at zero.
        needed: whether that rise is large enough to matter.
        cells: where it leads in every example: pairs of positions, query and key.
    """

    head: int | None
    label: str
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
    """Losses by the step of the evaluation: mean over hops, on training's own batch, and by hop."""

    steps: list[int]
    validation: list[float | None]
    training: list[float | None]
    hops: dict[str, list[float | None]]


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
class RunPage(PageBase):
    """A run.

    Attributes:
        kind: `run`, or `widget` in a notebook.
        warning: why the page may be of another task or model than the run's; None if it is not.
        birth: the loss at which a hop is learnt, and the attention at which a path counts as born.
        until: the last step worth showing at first.
        end: the last step that there is.
        task: what was learnt.
        steps: of the checkpoints.
        losses: by the step of the evaluation.
        circuit: what the heads do; None if that is not known.
        model: its loss at every step, on the sequences that paths were dated on; empty if they were
            not.
        answer_steps: for which answers are kept, as indices into the steps.
        sequences: the examples.
        attention: of heads on them; None if there is none to show.
        verdicts: on the circuit.
        evidence: what every path is needed for, a row per path.
        heads: what every head does.
        stream: the symbols at every place after every layer, if heads copy all that they find; None
            if they are not known.
        minimum: the least number of layers by the theory.
        details: all else that was measured.
        missing: why a part is not there, with the command that would help, of `evaluations`,
            `circuit`, `births` and `attention`.
        again: the commands that make the run and this page again.
        bibtex: how to cite the program.
        config: of the run, as JSON.
    """

    kind: Literal["run", "widget"]
    warning: str | None
    birth: float
    until: float
    end: float
    task: Task
    steps: list[int]
    losses: Losses
    circuit: Circuit | None
    model: list[float | None]
    answer_steps: list[int]
    sequences: list[Sequence]
    attention: Attention | None
    verdicts: list[Verdict]
    evidence: Table | None
    heads: Table | None
    stream: Table | None
    minimum: Section
    details: list[Section]
    missing: dict[str, str]
    again: str
    bibtex: str
    config: str


@dataclass(frozen=True)
class Curve:
    """A run's validation loss by step.

    Attributes:
        name: of the run, or the value that it is coloured by.
        key: of the run.
        colour: 0 to 6.
        dashes: 0 to 5.
        points: steps and losses.
    """

    name: str
    key: str
    colour: int
    dashes: int
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """Curves on axes of their own."""

    title: str
    curves: list[Curve]


@dataclass(frozen=True)
class Member:
    """One of several runs.

    Attributes:
        key: by which all else on the page names it.
        name: its folder's, with those above it as far as they are not common to all.
        link: the address of its own page; None if there is none.
        note: its status if it is not done, and what it lacks, in sentences; perhaps empty.
        hops: with the steps at which they were learnt.
        circuit: without examples and curves; None if none is known, or the runs are many.
    """

    key: str
    name: str
    link: str | None
    note: str
    hops: list[Hop]
    circuit: Circuit | None


@dataclass(frozen=True)
class RunsPage(PageBase):
    """Several runs side by side: those that were named, or all of a folder.

    Attributes:
        kind: `runs`.
        setting: what all runs have in common, and what varies.
        members: the runs.
        table: a row for every run.
        sections: what came out, field by field, and what circuits share.
        panels: losses through training.
        learnt: when hops were learnt.
        threshold: the loss below which a task counts as solved.
        until: the last step worth showing at first.
        end: the last step that there is.
        notes: what could not be read, and what has not been started.
    """

    kind: Literal["runs"]
    setting: list[str]
    members: list[Member]
    table: Table
    sections: list[Section]
    panels: list[Panel]
    learnt: Section
    threshold: float
    until: float
    end: float
    notes: list[str]


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
        circuit: useful heads and layers, with the flow minimum, in words; or why there is none;
            perhaps empty.
        changed: when it was last written to, as in ISO 8601; None if that is not known.
    """

    name: str
    link: str
    key: str
    status: str
    message: str = ""
    task: str = ""
    model: str = ""
    step: int = 0
    steps: int | None = None
    loss: float | None = None
    solved: bool = False
    curve: list[tuple[float, float]] = field(default_factory=list)
    circuit: str = ""
    changed: str | None = None


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


Page = Annotated[RunPage | RunsPage | ListPage, Field(discriminator="kind")]
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
