"""Discovery: from a trained model to its circuit (Musat 2024, section 8 and appendix E).

The paper took its circuits apart by hand: look at a head's attention, guess a mechanism, keep the
simplest guess that leaves the loss small, until every head has one. Here the guesses come from
the attention along relations. Heads share what may be lost between the model's own loss and the
threshold, so that the first cannot spend it all (`propose`); then all that can still go goes
(`simplify`). The search sees one held-out sample, the evidence is measured on another.

One trap is built into replacing all heads at once. A head that joins the tokens of a pair serves
the heads above it: it lets them find where to attend. Once their attention is replaced as well,
they no longer look, and the head below seems useless (the paper sees it too: made uniform, its
first layer costs only 0.05 to 0.10). So a mechanism must serve twice: with every head replaced,
and with the useful heads of the layers above it attending freely.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headway.circuits.ablation import Bench, attention_along
from headway.circuits.mechanism import Circuit, Head, Identity, Mechanism, Paths, Uniform
from headway.errors import HeadwayError, require
from headway.models import Transformer, attention_patterns
from headway.tasks import Task
from headway.training.data import held_out
from headway.training.files import clear_content_errors
from headway.training.run import Run

ABLATION = "one-hot paths; rows without a path are zero"
CANDIDATE_ATTENTION = (0.3, 0.1)
THRESHOLD = 0.05
"""The loss below which a circuit must stay with every head replaced (appendix E)."""


@dataclass(frozen=True)
class Necessity:
    """What happens to the circuit when one of its paths is cut.

    Attributes:
        path: layer, head and relation.
        attention: the model's own mean attention along the relation.
        loss: with the whole circuit in place but this path.
        free: the same, with the useful heads of the layers above attending freely.
        uniform: with this path's head uniform instead, as the paper tests its first layer.
    """

    path: tuple[int, int, str]
    attention: float
    loss: float
    free: float
    uniform: float


@dataclass(frozen=True)
class Discovery:
    """A circuit and the evidence for it. All losses are mean squared errors on held-out data.

    Attributes:
        circuit: a mechanism for every head.
        threshold: the loss that the circuit was to stay below.
        intact: the partial losses of the model as it is.
        replaced: the partial losses with every head replaced by its mechanism.
        necessity: for every path, the loss when it alone is cut.
        attention: mean attention along every relation, [layer][head], by relation.
        sequences: how many held-out sequences the losses are over.
        forwards: forward passes over these sequences that the search took.
        seconds: wall time that the search took.
    """

    circuit: Circuit
    threshold: float
    intact: dict[str, float]
    replaced: dict[str, float]
    necessity: list[Necessity]
    attention: dict[str, list[list[float]]]
    sequences: int
    forwards: int
    seconds: float

    @property
    def intact_loss(self) -> float:
        """The loss of the model as it is."""
        return sum(self.intact.values()) / len(self.intact)

    @property
    def replaced_loss(self) -> float:
        """The loss with every head replaced."""
        return sum(self.replaced.values()) / len(self.replaced)

    @property
    def faithful(self) -> bool:
        """Whether the circuit alone does what the model does, at the threshold."""
        return self.replaced_loss < self.threshold

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, as in `circuit.json`."""
        return {
            "threshold": self.threshold,
            "ablation": ABLATION,
            "sequences": self.sequences,
            "loss": {"intact": self.intact_loss, "replaced": self.replaced_loss},
            "partial": {"intact": self.intact, "replaced": self.replaced},
            "faithful": self.faithful,
            "useful_heads": len(self.circuit.useful_heads),
            "useful_layers": len(self.circuit.useful_layers),
            "heads": self.circuit.to_json(),
            "necessity": [
                {
                    "layer": n.path[0],
                    "head": n.path[1],
                    "relation": n.path[2],
                    "attention": n.attention,
                    "loss_without": n.loss,
                    "rise": n.loss - self.replaced_loss,
                    "loss_without_free_above": n.free,
                    "loss_uniform": n.uniform,
                }
                for n in self.necessity
            ],
            "attention": self.attention,
            "forwards": self.forwards,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Discovery":
        """What `to_json` wrote.

        Raises:
            HeadwayError: if a field is missing or not what it should be.
        """
        with clear_content_errors("circuit.json"):
            if not data["heads"] or not data["partial"]["intact"]:
                raise ValueError("no heads or no losses")
            return cls(
                circuit=Circuit.from_json(data["heads"]),
                threshold=data["threshold"],
                intact=data["partial"]["intact"],
                replaced=data["partial"]["replaced"],
                necessity=[
                    Necessity(
                        (n["layer"], n["head"], n["relation"]),
                        n["attention"],
                        n["loss_without"],
                        n["loss_without_free_above"],
                        n["loss_uniform"],
                    )
                    for n in data["necessity"]
                ],
                attention=data["attention"],
                sequences=data["sequences"],
                forwards=data["forwards"],
                seconds=data["seconds"],
            )


def discover(
    run: Run | Transformer,
    task: Task | None = None,
    *,
    threshold: float = THRESHOLD,
    sequences: int = 128,
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    seed: int | None = None,
) -> Discovery:
    """Finds a mechanism for every head of a trained model.

    Given a run, takes its last checkpoint and leaves the findings in its `circuit.json`.

    Args:
        run: a run, or a model together with its task.
        task: the model's task, if a model is given.
        threshold: the loss that the model must stay below with every head replaced (the paper's
            0.05).
        sequences: how many held-out sequences to search on, and as many others to judge on.
        candidate_attention: a head may use the paths along which it sends at least this much of
            its attention on average; tried in order until a circuit stays below the threshold,
            else the one with the least loss is taken.
        seed: of the held-out sequences; none means the run's.

    Raises:
        HeadwayError: if the model's own loss is not below the threshold: then it has not learnt
            the task well enough for there to be a circuit to find; or if an argument is out of
            range.
    """
    require(0 < threshold < float("inf"), "threshold", threshold, "a positive number")
    require(sequences >= 1, "sequences", sequences, "a whole number of at least 1")
    if isinstance(run, Run):
        seed = run.config.seed if seed is None else seed
        with run.writing(), run.computing():
            found = _discover(
                run.model(), run.task, threshold, sequences, candidate_attention, seed
            )
            # What was dated before may not be this circuit.
            run.remove("emergence.json")
            step = run.checkpoint_steps()[-1]
            run.write("circuit.json", {"step": step, "seed": seed, **found.to_json()})
        return found
    if task is None:
        raise HeadwayError("task = None is not allowed: a model is studied together with its task")
    return _discover(run, task, threshold, sequences, candidate_attention, seed or 0)


def saved_discovery(run: Run) -> Discovery:
    """The discovery that was left in a run's `circuit.json`.

    Raises:
        HeadwayError: if there is none.
    """
    data = run.read("circuit.json")
    if data is None:
        raise HeadwayError(
            f"{run.folder}: no circuit yet; find it with: headway circuit {run.folder}"
        )
    return Discovery.from_json(data)


def _discover(
    model: Transformer,
    task: Task,
    threshold: float,
    sequences: int,
    candidate_attention: Sequence[float],
    seed: int,
) -> Discovery:
    started = time.perf_counter()
    device = str(next(model.parameters()).device)
    bench = Bench(model, task, held_out(task, sequences, seed, device, "circuit"))
    intact = bench.losses()
    if not intact.mean() < threshold:
        partial = ", ".join(
            f"{hop} {x:.3f}" for hop, x in zip(task.hop_names, intact.tolist(), strict=True)
        )
        raise HeadwayError(
            f"there is no circuit to find at threshold {threshold:g}: the model's own loss is"
            f" {intact.mean():.3f} ({partial})"
        )
    attention = relation_attention(bench)
    tried: list[tuple[float, int, Circuit]] = []
    for least in candidate_attention:
        names = candidate_paths(bench, attention, least)
        circuit = simplify(bench, propose(bench, names, threshold), threshold)
        tried.append((bench.loss(circuit), len(tried), circuit))
        if tried[-1][0] < threshold:
            break
    circuit = min(tried)[2]
    forwards = bench.forwards
    bench = Bench(model, task, held_out(task, sequences, seed, device, "certificate"))
    intact, replaced = bench.losses(), bench.losses(circuit)
    necessity = [
        Necessity(
            path,
            attention[path[2]][path[0]][path[1]],
            bench.loss(circuit.without(path)),
            bench.loss(free_above(circuit.without(path), path[0])),
            bench.loss(circuit.replacing(path[:2], Uniform())),
        )
        for path in circuit.paths
    ]
    return Discovery(
        circuit=circuit,
        threshold=threshold,
        intact=dict(zip(task.hop_names, intact.tolist(), strict=True)),
        replaced=dict(zip(task.hop_names, replaced.tolist(), strict=True)),
        necessity=necessity,
        attention=attention,
        sequences=sequences,
        forwards=forwards + bench.forwards,
        seconds=round(time.perf_counter() - started, 3),
    )


def candidate_paths(
    bench: Bench, attention: dict[str, list[list[float]]], least: float
) -> dict[Head, list[str]]:
    """For every head, the paths along which it attends at least so much, the strongest first."""

    def along(name: str, head: Head) -> float:
        return attention[name][head[0]][head[1]]

    names = bench.task.path_names
    return {
        head: sorted(
            (name for name in names if along(name, head) >= least),
            key=lambda name: -along(name, head),
        )
        for head in bench.heads
    }


@torch.no_grad()
def relation_attention(bench: Bench) -> dict[str, list[list[float]]]:
    """Mean attention along every relation of the task, [layer][head], by relation."""
    patterns = attention_patterns(bench.model, bench.batch.inputs)
    relations = bench.task.relations(bench.batch)
    return {
        name: attention_along(patterns, relation).tolist() for name, relation in relations.items()
    }


def free_above(circuit: Circuit, layer: int) -> dict[Head, Mechanism]:
    """The mechanisms of a circuit without those of useful heads in the layers above `layer`."""
    return {
        head: mechanism
        for head, mechanism in circuit.mechanisms.items()
        if head[0] <= layer or not isinstance(mechanism, Paths)
    }


def propose(bench: Bench, candidates: dict[Head, list[str]], threshold: float) -> Circuit:
    """A mechanism for every head, each the simplest that serves.

    First the heads without use, those whose loss does the least damage first: a head stays
    uniform, or else identity, if the others, attending freely, keep the loss within the head's
    share. Then the useful heads, from the first layer up, each with the fewest paths, in order of
    their attention, that keep the loss within its share while the heads above attend freely.

    The n-th of N heads may spend n/N of the way from the model's own loss to the threshold. Where
    no number of paths is within that, the one with the least loss is taken.
    """
    own, total = bench.loss(), len(bench.heads)
    damage = {head: bench.loss({head: Uniform()}) for head in bench.heads}
    chosen: dict[Head, Mechanism] = {}

    def share() -> float:
        return own + (threshold - own) * (len(chosen) + 1) / total

    for head in sorted(bench.heads, key=lambda h: damage[h]):
        for idle in (Uniform(), Identity()):
            if bench.loss({**chosen, head: idle}) < share():
                chosen[head] = idle
                break
    for head in (h for h in bench.heads if h not in chosen):
        losses: dict[Mechanism, float] = {}
        for count in range(1, len(candidates[head]) + 1):
            paths = Paths(frozenset(candidates[head][:count]))
            losses[paths] = bench.loss({**chosen, head: paths})
            if losses[paths] < share():
                break
        chosen[head] = min(losses, key=lambda m: losses[m], default=Uniform())
    return Circuit(chosen)


def simplify(bench: Bench, circuit: Circuit, threshold: float) -> Circuit:
    """Takes away all that can be taken away below the threshold, the least missed first.

    A head with paths may become uniform or identity, or lose one path, if the loss stays below
    the threshold both with every head replaced and with the useful heads above it free. All
    such steps are tried alone, then taken in the order of their losses as long as they are still
    possible together; and so on until nothing more can go. Then every path is necessary, given
    all the others.
    """

    def loss_after(simpler: Circuit, layer: int) -> float:
        loss = bench.loss(simpler)
        return loss if loss >= threshold else max(loss, bench.loss(free_above(simpler, layer)))

    while True:
        losses = {step: loss_after(step.taken(circuit), step.head[0]) for step in steps(circuit)}
        possible = sorted((s for s in losses if losses[s] < threshold), key=lambda s: losses[s])
        if not possible:
            return circuit
        circuit = possible[0].taken(circuit)
        for step in possible[1:]:
            if step in steps(circuit):
                simpler = step.taken(circuit)
                if loss_after(simpler, step.head[0]) < threshold:
                    circuit = simpler


@dataclass(frozen=True)
class Step:
    """One simplification: a head that had paths gets a plain mechanism, or loses one path."""

    head: Head
    to: Uniform | Identity | str

    def taken(self, circuit: Circuit) -> Circuit:
        """The circuit after the step."""
        if isinstance(self.to, str):
            return circuit.without((*self.head, self.to))
        return circuit.replacing(self.head, self.to)


def steps(circuit: Circuit) -> list[Step]:
    """Every step that makes a circuit simpler."""
    found: list[Step] = []
    for head, mechanism in circuit.mechanisms.items():
        if isinstance(mechanism, Paths):
            found += [Step(head, name) for name in sorted(mechanism.relations)]
            if mechanism.relations:
                found += [Step(head, Uniform()), Step(head, Identity())]
    return found
