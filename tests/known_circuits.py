"""The circuit that a known model has by construction, and that model with nothing but
its tap.
"""

from headway.judge.verdict import verdicts
from headway.relations.paths import AttentionPath
from headway.replace import Bench, Circuit, Paths, Uniform
from headway.training import held_out
from headway_experiments.arena import Known


def true_circuit(known: Known, *more: AttentionPath) -> Circuit:
    layers = known.model.n_layers
    heads = known.model.n_heads
    circuit = Circuit({(i, h): Uniform() for i in range(layers) for h in range(heads)})
    for path in (*known.required, *more):
        circuit = circuit.adding(path)
    return circuit


def bench_of(known: Known, count: int, rows: str = "zero") -> Bench:
    """A known model on sequences of its task."""
    batch = held_out(known.task, count, 0, "cpu", "circuit")
    return Bench(known.model, known.task, batch, rows)


def along(*relations: str, rows: str | None = None) -> Paths:
    """A head that attends along some relations."""
    return Paths(frozenset(relations), rows)


def words_of(circuit: Circuit) -> list[str]:
    """The paths of a circuit, as they are written."""
    return [str(path) for path in circuit.paths]


def holds(found) -> list[bool | None]:
    """What the three verdicts on a discovery say."""
    return [verdict.holds for verdict in verdicts(found)]


class Foreign:
    """A model of which nothing is known but its tap."""

    def __init__(self, model):
        self.model = model
        self.n_layers = model.n_layers
        self.n_heads = model.n_heads

    def __call__(self, inputs, tap=None):
        return self.model(inputs, tap)
