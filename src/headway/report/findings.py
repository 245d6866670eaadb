"""The content of a run's folder, read once."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.dynamics import Timeline
from headway.dynamics.dependence import Dependence
from headway.dynamics.emergence import hop_steps, learnt_in_order
from headway.dynamics.whole import AGAIN, disagreements, heads_of
from headway.errors import HeadwayError
from headway.fields import Finding
from headway.find import MinimalCircuits
from headway.judge import THRESHOLD, Certificate, Discovery
from headway.judge.discovery import Refusal
from headway.judge.flows import least_layers
from headway.models import TransformerConfig
from headway.programs.written import WrittenProgram
from headway.relations.paths import AttentionPath as AttentionPath
from headway.relations.paths import ends_of
from headway.replace import Head
from headway.report.labels import typeset
from headway.tasks import Batch, Task
from headway.tasks.base import chains_in, cost_of, largest_field
from headway.text import command
from headway.theory.flow import Along
from headway.training import Run, held_out
from headway.training.config import flat
from headway.training.modules import Module
from headway.training.size import n_weights

SEQUENCES, EXAMPLES = 16, 8
"""Held-out sequences that are drawn, and how many of them are shown."""

MOST_COMPARED = 65_536
"""With larger training sets a page's sequences are not compared, as that would take
long.
"""

MOST_POSITIONS, MOST_CELLS = 256, 3_000_000
"""The most positions of an example, and cells of all its maps; of more the page shows
the end.
"""

MOST_NUMBERS = 2**27
"""The most numbers that are computed at once for a page: half a gigabyte."""

COPIES = 3
"""Copies of attention that are held while a page is made."""

RELATION, LAYER = 12_000, 2**20
"""Numbers that a relation and a layer count for however small they are, by the time
they take.
"""

MOST_HEADS = 64
"""With more heads than this, the page follows the useful ones only, if they are
known.
"""


@dataclass(frozen=True)
class Findings:
    """The content of a run's folder, as data.

    Attributes:
        run: the run.
        metrics: its evaluations in order, perhaps none.
        outcome: how it ended, if it did.
        sessions: where it was computed, one entry per start or resume.
        discovery: its circuit, if it was looked for.
        timeline: the emergence of the circuit's paths, if they were dated.
        circuits: every minimal circuit, if all were looked for.
        checkpoints: the steps whose weights are kept.
        dependence: which paths depend on which, if that was measured.
        certificate: that of the circuit, if it was asked for.
        program: that of the circuit, if it was asked for.
        name: of the folder, perhaps with those above it.
    """

    run: Run
    metrics: list[dict[str, Any]]
    outcome: dict[str, Any] | None
    sessions: list[dict[str, Any]]
    discovery: Discovery | None
    timeline: Timeline | None
    circuits: MinimalCircuits | None
    checkpoints: list[int]
    dependence: Dependence | None = None
    certificate: Certificate | None = None
    program: WrittenProgram | None = None
    name: str = ""

    @classmethod
    def of(cls, run: Run, name: str = "") -> "Findings":
        """Reads a run's folder.

        Args:
            run: of the folder.
            name: by default the folder's own.

        Raises:
            HeadwayError: if a file in it is corrupted.
        """
        findings: dict[type[Finding], Any] = {}
        for kind in AGAIN:
            findings[kind] = run.load(kind)
        for line in disagreements(run, findings):
            raise HeadwayError(line)
        return cls(
            run=run,
            metrics=run.metrics(),
            outcome=run.outcome(),
            sessions=run.sessions(),
            discovery=findings[Discovery],
            timeline=findings[Timeline],
            circuits=findings[MinimalCircuits],
            checkpoints=run.checkpoint_steps(),
            dependence=findings[Dependence],
            certificate=findings[Certificate],
            program=findings[WrittenProgram],
            name=name or run.folder.name,
        )

    @property
    def task(self) -> Task:
        """The task as the model answers it."""
        return self.run.task

    @property
    def last(self) -> dict[str, Any]:
        """The last evaluation; empty before the first."""
        return self.metrics[-1] if self.metrics else {}

    @property
    def loss(self) -> float | None:
        """The validation loss at the last evaluation."""
        return self.last.get("val_loss")

    @property
    def solved(self) -> bool:
        """True if the task counts as solved at the last evaluation."""
        return bool(self.metrics) and judged_loss(self.task, self.last) < THRESHOLD

    @functools.cached_property
    def hops(self) -> dict[str, float | None]:
        """The step at which each hop was learnt, None if it was not yet; empty if
        unknown.
        """
        if self.timeline is not None:
            return self.timeline.hops
        if not self.metrics:
            return {}
        return hop_steps(self.metrics, self.task.hops)

    @property
    def emerged(self) -> dict[AttentionPath, float | None]:
        """The step at which each dated path emerged, None if it did not; empty if
        unknown.
        """
        if self.timeline is None:
            return {}
        return {history.path: history.emerged for history in self.timeline.paths}

    @functools.cached_property
    def fields(self) -> dict[str, Any]:
        """The fields of the config, flat."""
        return flat(self.run.config)

    @property
    def in_chain_order(self) -> bool | None:
        """True if the hops were learnt in their order; None if there is nothing to
        compare.
        """
        if len(self.hops) < 2:
            return None
        return learnt_in_order(self.hops, self.task.hop_order)

    @functools.cached_property
    def status(self) -> str:
        """`done`, `failed`, `running` or `stopped`."""
        return self.run.status

    @property
    def done(self) -> bool:
        """True if training came to its end, with a loss."""
        return self.status == "done" and self.loss is not None

    @property
    def message(self) -> str:
        """The reason why it failed; empty if it did not."""
        return str((self.outcome or {}).get("message") or "")

    @property
    def paths(self) -> list[AttentionPath]:
        """The paths of the circuit; empty without one."""
        return [] if self.discovery is None else self.discovery.circuit.paths

    @functools.cached_property
    def along(self) -> Along | None:
        """The flow of information along the circuit's paths; None if that is not
        known.
        """
        flow = self.task.flow()
        ends = ends_of(self.paths)
        if flow is None or self.discovery is None or not ends <= {*flow.roles}:
            return None
        return flow.along(self.paths, self.causal, self.run.config.model.n_layers)

    @functools.cached_property
    def too_large(self) -> str | None:
        """The reason why no page is made of the run, with the field that decides; None
        if one is.

        Counted is what a page computes at once: sequences, relations, weights,
        attention.
        """
        where = f"{self.run.folder}/config.json: "
        try:
            numbers = numbers_at_once(self.run)
        except HeadwayError as error:
            return f"{where}{error}"
        if sum(numbers.values()) <= MOST_NUMBERS:
            return None
        named = max(numbers, key=numbers.__getitem__)
        values = flat(self.run.config)
        said = " and ".join(f"{name} = {values[name]}" for name in named)
        return (
            f"{where}{said}: a page of it would compute about "
            f"{sum(numbers.values()):,} numbers at"
            f" once, more than {MOST_NUMBERS:,}"
        )

    def require_drawable(self) -> None:
        """Raises `HeadwayError` if the run is too large for a page."""
        if self.too_large is not None:
            raise HeadwayError(self.too_large)

    @property
    def no_maps(self) -> str | None:
        """The reason why there is no attention to show, as a sentence; None if there is
        some.
        """
        if (why := no_circuit(self.run)) is not None:
            return why
        if not self.checkpoints:
            return "The run has no checkpoint yet, so there is no attention to show."
        model = self.run.config.model
        if (
            isinstance(model, Module)
            and self.run.build is None
            and model.builder is None
        ):
            return (
                "The model was recorded without a way to build it again, so it "
                "is not drawn."
            )
        return None

    @property
    def missing(self) -> dict[str, str]:
        """Reasons why parts of a page are not there, each with the command that would
        help.
        """
        lacks = {} if self.metrics else {"evaluations": "There is no evaluation yet."}
        if self.no_maps is not None:
            lacks["attention"] = self.no_maps
        if (why := no_circuit(self.run)) is not None:
            lacks["circuit"] = why
        elif self.discovery is None:
            how = command("circuit", self.run.folder)
            why = refusal(self.run)
            lacks["circuit"] = f"The circuit has not been looked for yet: {how}"
            if why is not None:
                lacks["circuit"] = f"{why} To look all the same: {how} --threshold LOSS"
        elif self.timeline is None and self.paths:
            how = command("emergence", self.run.folder)
            lacks["emergence"] = f"The circuit's paths are not dated yet: {how}"
        return lacks

    @property
    def lacks(self) -> str:
        """Sentences on how it ended if it is not done, and on what is not there;
        perhaps empty.
        """
        lines = list[str]()
        if self.status != "done":
            why = {
                "failed": f"Training failed: {self.message}.",
                "running": "Still training.",
            }
            lines.append(why.get(self.status, "Training was stopped."))
        missing = {**self.missing, "attention": ""}
        return " ".join([*lines, *filter(None, missing.values())])

    @property
    def causal(self) -> bool:
        """True if the model has the causal mask."""
        return self.run.config.model.causal

    @functools.cached_property
    def least(self) -> str:
        """The flow minimum of the run's task under the model's mask, as a table says
        it.
        """
        return least_layers(self.task.flow(), self.causal)

    @property
    def useful_heads(self) -> list[Head]:
        """The heads of the circuit; empty without one."""
        return [] if self.discovery is None else self.discovery.circuit.useful_heads

    @property
    def followed_heads(self) -> list[Head]:
        """The heads whose attention the page follows through training, the useful ones
        first.
        """
        every = heads_of(self.run)
        useful = self.useful_heads
        rest = [] if useful and len(every) > MOST_HEADS else every
        return list(dict.fromkeys([*useful, *rest]))

    @functools.cached_property
    def sequences(self) -> Batch:
        """The held-out sequences on which the page looks at attention."""
        return self.held_out(SEQUENCES)

    def held_out(self, count: int) -> Batch:
        """Sequences that are not in the training set, if that can be compared."""
        config = self.run.config
        device = self.run.device
        is_small = (config.training.train_examples or 0) <= MOST_COMPARED
        trained_by = config if is_small else None
        return held_out(self.task, count, config.seed, device, "emergence", trained_by)

    @property
    def shown(self) -> range:
        """The positions of an example that the page shows: the last ones, if there are
        many.
        """
        most = min(MOST_POSITIONS, math.isqrt(MOST_CELLS // len(self.followed_heads)))
        return range(self.task.length)[-most:]


def numbers_at_once(run: Run) -> dict[tuple[str, ...], int]:
    """About how many numbers a page of a run computes at once, by the fields that
    decide.

    Raises:
        HeadwayError: if no sequence can be laid out.
    """
    task = run.task
    model = run.config.model
    of_task = cost_of(task) * SEQUENCES // 2 + relating(task)
    of_model = 0 if isinstance(model, Module) else building(model, task)
    maps = EXAMPLES * model.n_layers * model.n_heads * task.length**2
    task_field = f"task.{largest_field(run.config.task)}"
    model_field = f"model.{largest_field(model)}"
    return {
        (task_field,): of_task,
        (model_field,): of_model,
        (task_field, model_field): COPIES * maps,
    }


def relating(task: Task) -> int:
    """About how many numbers it takes to relate all roles of a task with each other."""
    pairs = len(task.roles) ** 2
    chains = chains_in(task)
    return pairs * (RELATION + COPIES * EXAMPLES * chains**2)


def building(model: TransformerConfig, task: Task) -> int:
    """About how many numbers it takes to build a transformer and to give it its
    weights.
    """
    return 2 * n_weights(model, task) + LAYER * model.n_layers


def no_circuit(run: Run) -> str | None:
    """The reason why a run has no circuit to look for; None if there may be one."""
    if run.task.length == 1:
        return (
            "A sequence has one position, so attention has no choice: there is "
            "no circuit."
        )
    if getattr(run.config.model, "attention", "softmax") != "softmax":
        return (
            "The model's attention is linear: its scores are no shares of "
            "attention, so no"
            " circuit can be looked for."
        )
    return None


def refusal(run: Run) -> str | None:
    """The reason why a search for the run's circuit is or was refused; None if it is
    not.
    """
    why = no_circuit(run)
    if why is not None:
        return why
    refused = run.load(Refusal)
    if refused is None:
        return None
    return f"The search was refused: {typeset(refused.why)}."


def solved_at(task: Task, metrics: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The first evaluation at which the task counts as solved."""
    return next((line for line in metrics if judged_loss(task, line) < THRESHOLD), None)


def judged_loss(task: Task, line: Mapping[str, Any]) -> float:
    """The loss of an evaluation over the hops that can be predicted without error."""
    if task.judged == task.hops:
        return line["val_loss"]
    losses = [line["partial"][hop] for hop in task.judged]
    return sum(losses) / len(losses)
