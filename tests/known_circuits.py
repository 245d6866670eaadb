"""The circuit that a known model has by construction, and that model with nothing but
its tap.
"""

from headway.relations.paths import AttentionPath
from headway.replace import Circuit, Uniform
from headway_experiments.arena import Known


def true_circuit(known: Known, *more: AttentionPath) -> Circuit:
    layers, heads = known.model.n_layers, known.model.n_heads
    circuit = Circuit({(i, h): Uniform() for i in range(layers) for h in range(heads)})
    for path in (*known.required, *more):
        circuit = circuit.adding(path)
    return circuit


class Foreign:
    """A model of which nothing is known but its tap."""

    def __init__(self, model):
        self.model, self.n_layers, self.n_heads = model, model.n_layers, model.n_heads

    def __call__(self, inputs, tap=None):
        return self.model(inputs, tap)
