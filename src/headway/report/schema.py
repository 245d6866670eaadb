"""The data of a page: one JSON object, which Python gathers and the app in the browser
draws.

The object is a `RunPage` or a `RunsPage`, told apart by `kind`. Steps are optimiser
steps, losses are those of the task's targets (MSE, or cross-entropy in nats), attention
is a share from 0 to 1, and layers, heads, positions and places are counted from 0. A
`label` is a name as it is printed, with subscripts. A number that was not finite is
null.
"""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from headway.judge import THRESHOLD

Cell = str | bool | int | float | None
"""Of a table: text, a verdict, a count, a measured number, or nothing."""


@dataclass(frozen=True)
class Table:
    """A table."""

    title: str  #: its title; perhaps empty
    head: list[str]  #: the names of its columns
    rows: list[list[Cell]]  #: its cells, row by row
    #: for every row the key of its path or run; empty if the rows are about neither
    keys: list[str] = field(default_factory=list)
    #: for every row the address of its run's page, None without one; empty if it is
    #: about no run
    links: list[str | None] = field(default_factory=list)
    link: str = ""  #: the address of a page about all rows; empty without one
    note: str = ""  #: what the columns mean, in sentences; perhaps empty
    #: how strongly cells are tinted, row by row, from 0 to 1; empty if none is
    shares: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A part of a page: its title, sentences, tables, and text as the terminal prints
    it.
    """

    title: str
    sentences: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True)
class Program:
    """A program that gives the model's answers without it."""

    verdict: str  #: on it, in words
    holds: bool  #: whether it matches and follows the model
    code: str  #: its lines
    measured: list[str]  #: how often it matches, and which heads it follows
    source: str  #: its file, in Python


@dataclass(frozen=True)
class Curve:
    """Something that is measured through training."""

    name: str  #: as it is printed
    key: str  #: of its path or run; empty if it is of neither
    #: -2 to 6; -1 is for what stays in the background, -2 for what is compared with
    colour: int
    dashes: int  #: 0 to 5, which tells apart curves of one colour
    points: list[
        tuple[float, float]
    ]  #: steps and values, without those that were not finite
    #: the step and value at which something happens that is marked on it; None if it
    #: never does
    mark: tuple[float, float] | None = None


@dataclass(frozen=True)
class Hop:
    """Something that a query must predict."""

    label: str  #: as it is printed
    colour: int  #: 0 to 6, that of the symbol that it asks for; 0 if none is known


@dataclass(frozen=True)
class Place:
    """A role of one chain, as a column of the circuit; in the order of the sequence."""

    role: str  #: its name
    label: str  #: the symbol that stands there, or else the role, as it is printed
    colour: int  #: of its symbol, 0 to 6; 0 where none is known


@dataclass(frozen=True)
class Task:
    """The task of a run."""

    reading: str  #: how to read a sequence, in sentences
    of_tokens: bool  #: whether a position holds a token, rather than a vector
    loss: str  #: what losses are, such as `MSE`
    hops: list[Hop]  #: what is asked for, in chain order
    references: dict[
        str, float
    ]  #: losses of predictors that follow no chain, by what they predict


@dataclass(frozen=True)
class CircuitPath:
    """A head that attends along a relation."""

    key: str  #: by which all else on the page names it
    layer: int  #: of the head
    head: int  #: its number in the layer
    label: str  #: head and relation as they are printed
    #: what stands at its arrow: its head if the layer has several, and its relation
    #: unless that joins two places; perhaps empty
    name: str
    #: 0 to 6, of the symbol carried that is nearest to the answer, or of the head where
    #: no symbols are known; -1 if the path brings nothing new
    colour: int
    carries: list[
        str
    ]  #: the symbols that it brings, as they are printed; empty if none are known
    #: where it leads in every example: pairs of positions, query and key; of very many
    #: the last. Without examples of the chain of places; empty if a path joins no two
    #: of them
    cells: list[list[tuple[int, int]]]
    #: the keys of the paths that, without it, do not find their key, by the flow of
    #: information
    lost: list[str]
    answers: list[str]  #: the labels of the hops that the query then lacks, likewise


@dataclass(frozen=True)
class Circuit:
    """The heads of a model, and their mechanisms."""

    layers: int  #: of the model
    places: list[Place]  #: the roles of one chain; empty if the task has none
    paths: list[CircuitPath]  #: in the order in which information flows
    tables: list[
        tuple[int, int]
    ]  #: the layers and numbers of heads that attend by table


@dataclass(frozen=True)
class Question:
    """Something that a sequence asks for."""

    position: int  #: where it is asked
    hop: int  #: the number of the hop
    answer: int  #: the right answer, as an index into the names of the sequence


@dataclass(frozen=True)
class Answers:
    """Answers in one sequence, one byte each, [cut, step, question].

    By gzip, as base64; empty if there are none.
    """

    #: indices into the names of the sequence; 255 where a vector is nowhere near the
    #: only one that it could be
    given: str
    #: the probabilities of these answers, in hundredths; empty of vectors, which have
    #: none
    chances: str


@dataclass(frozen=True)
class Sequence:
    """A held-out sequence. Positions are counted from the first that is shown."""

    labels: list[str]  #: what stands at every position, as it is printed
    #: the place that each of them plays in its chain; None where it plays none
    places: list[int | None]
    chains: list[int | None]  #: the number of that chain; None likewise
    questions: list[Question]  #: what is asked for
    #: what is right or was answered, as it is printed; of very many, the last stands
    #: for all others
    names: list[str]
    #: of the model as it is, and then with the attention along every path of the
    #: circuit at zero, at the answer steps of the page
    answers: Answers
    #: with the attention along all paths of a set at zero, for every set of `cuts` of
    #: the page, at its `cut_steps`
    together: Answers
    #: attention along paths, one byte a value, in hundredths, [step, cell], at every
    #: step of the page, the cells of the first path first; by gzip, as base64
    along: str


@dataclass(frozen=True)
class Attention:
    """The attention of heads on the examples, through training."""

    steps: list[int]  #: for which it is kept, as indices into the steps of the page
    sequences: int  #: of how many examples, from the first
    heads: list[
        tuple[int, int]
    ]  #: layer and number of each, those of the circuit first
    #: one byte a value, in hundredths, rounded to even ones, [sequence, head, query,
    #: key, step]; by gzip, as base64
    packed: str


@dataclass(frozen=True)
class Grid:
    """The attention of a head by table, over many sequences."""

    layer: int  #: of the head
    head: int  #: its number in the layer
    by: str  #: what a row and a column are: `token` or `position`
    names: list[str]  #: of rows and columns, as they are printed
    left_out: int  #: the number of others, which are attended to less
    #: the attention of the row to the column, as shares, if every column stood there
    #: once
    values: list[list[float]]
    told: float  #: the share of the head's attention that follows from these


@dataclass(frozen=True)
class Verdict:
    """A verdict on the circuit."""

    name: str  #: what the circuit is, or is not
    holds: bool | None  #: None if that cannot be said
    because: str  #: the reason, with its numbers
    next: str | None  #: a line to type that helps on; None if there is none
    is_close: bool  #: the cost that decides is close to the limit


@dataclass(frozen=True)
class PageBase:
    """The part that every page has."""

    name: str  #: of the folder; with it the names of files begin that are kept
    title: str  #: what the page is about, in a few words
    summary: list[str]  #: what came out, in plain lines; the first is the headline
    #: the version of what is shown if the page is served, and is to follow changes;
    #: else empty
    live: str


@dataclass(frozen=True)
class RunPage(PageBase):
    """A run."""

    kind: Literal["run", "widget"]  #: `run`, or `widget` in a notebook
    #: why the page may be of another task or model than the run's; None if it is not
    warning: str | None
    #: the loss at which a hop is learnt, and the attention at which a path counts as
    #: emerged
    emerges_at: float
    end: float  #: the last step that there is
    task: Task  #: what was learnt
    steps: list[int]  #: of the checkpoints
    #: by the step of the evaluation: on training's own batch, then held out, hop by
    #: hop; marked where a hop's loss first passes below `emerges_at`
    losses: list[Curve]
    #: shares of right answers, held out, hop by hop, and then on the fixed training
    #: set, which the last names end with; empty unless there are both
    accuracies: list[Curve]
    #: mean attention along every path of the circuit, at the steps of the page; marked
    #: where it first passes `emerges_at`; empty if paths were not dated
    along: list[Curve]
    #: the loss of the model of that step with the attention along each path at zero;
    #: marked from where the loss depends on it; at last with nothing cut; empty
    #: likewise
    without: list[Curve]
    circuit: Circuit | None  #: what the heads do; None if that is not known
    answer_steps: list[int]  #: for which answers are kept, as indices into the steps
    #: sets of several paths that can be cut at once, each by the numbers of its paths;
    #: empty if the paths are too many
    cuts: list[list[int]]
    cut_steps: list[int]  #: for which these are answered, as indices into the steps
    sequences: list[Sequence]  #: the examples
    first: int  #: the first position of a sequence that is shown
    attention: Attention | None  #: of heads on them; None if there is none to show
    grids: list[Grid]  #: what heads that attend by table look at
    verdicts: list[Verdict]  #: on the circuit
    program: Program | None  #: of the circuit; None if it was not asked for
    evidence: Table | None  #: what every path is needed for, a row per path
    heads: Table | None  #: what every head does
    #: the symbols at every place after every layer, if heads copy all that they find;
    #: None if they are not known
    stream: Table | None
    minimum: Section | None  #: the least number of layers by the theory
    details: list[Section]  #: all else that was measured
    #: why a part is not there, with the command that would help, of `evaluations`,
    #: `circuit`, `emergence` and `attention`
    missing: dict[str, str]
    again: str  #: the commands that make the run and this page again
    bibtex: str  #: how to cite the program
    config: str  #: of the run, as JSON


@dataclass(frozen=True)
class Varied:
    """A field that varies over runs, by which their curves can be told apart."""

    name: str  #: as it is printed
    values: list[str]  #: those that occur, in order; at most six
    of: list[int]  #: for every curve the number of its run's value


@dataclass(frozen=True)
class RunsPage(PageBase):
    """Several runs: those that were named, those of a sweep, or the list of all in a
    folder.

    Of the list there are tables only. What has no page has one without tables, whose
    summary tells why.
    """

    #: a row for every run; in the list, a table for every sweep and one for what is in
    #: none
    tables: list[Table] = field(default_factory=list)
    #: by the keys of runs, without examples and curves; empty if the runs are many
    circuits: dict[str, Circuit] = field(default_factory=dict)
    #: what came out, field by field and hop by hop; what circuits share
    sections: list[Section] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)  #: what is not there, and why
    curves: list[Curve] = field(default_factory=list)  #: losses through training
    #: fields by which these are coloured; empty if every run has a colour of its own
    fields: list[Varied] = field(default_factory=list)
    threshold: float = THRESHOLD  #: the loss below which a task counts as solved
    end: float = 1  #: the last step that there is
    kind: Literal["runs"] = "runs"


Page = Annotated[RunPage | RunsPage, Field(discriminator="kind")]
ADAPTER: TypeAdapter[Any] = TypeAdapter(Page)


def to_json(page: Page) -> str:
    """A page's data as JSON that can stand in a `<script>`; what is not finite becomes
    null.
    """
    text = json.dumps(ADAPTER.dump_python(page, mode="json"))
    finite = json.loads(text, parse_constant=lambda _: None)
    return json.dumps(finite, separators=(",", ":"), allow_nan=False).replace(
        "<", "\\u003c"
    )
