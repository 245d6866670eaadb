"""The k-hop problem: how many layers it takes (Sanford, Hsu and Telgarsky 2024, arXiv 2402.09268).

Trained nearly as the recipe `hops` trains; every sequence asks for hop_k at every place.
"""

from dataclasses import dataclass

from headway.changes import changed
from headway.papers.claims import claims_beside
from headway.papers.experiment import Configs, Experiment, Group
from headway.papers.scales import crossed
from headway.papers.talk import khop_drawings as drawings
from headway.papers.talk.measures import khop as measures
from headway.training import RunConfig
from headway.training.recipes import hops


@dataclass(frozen=True)
class Size:
    """How large the problem and the models are, at a scale.

    Attributes:
        hops: the k that are asked.
        layers: to try; the most are as many as the largest k takes.
        seeds: of every number of layers.
        steps: of training.
        symbols: that sequences are made of.
        places: symbols in a sequence.
        heads: in a layer.
        width: of the residual stream.
    """

    hops: tuple[int, ...]
    layers: tuple[int, ...]
    seeds: int
    steps: int
    symbols: int
    places: int
    heads: int
    width: int


SIZES = {
    "paper": Size(tuple(range(1, 17)), (1, 2, 3, 4, 5, 6), 5, 10_000, 4, 100, 2, 128),
    "small": Size((1, 2, 4, 8), (1, 2, 3, 4, 5), 3, 3_500, 6, 80, 4, 64),
    "smoke": Size((1, 2), (1, 3), 1, 120, 6, 16, 4, 32),
}
"""Small: of k = 1 to 16 those up to 8 that take one layer more; 80 places instead of 100; and six
symbols instead of four. With four, the places that matter are so near that a layer of four heads
gathers them, and two layers come near to solving two hops (docs/khop.md); so paper has two."""


def by_layers(scale: str) -> Configs:
    """All k in equal parts, with every number of layers."""
    size = SIZES[scale]
    return crossed(size.layers, range(size.seeds), lambda *which: config(size, *which))


def config(size: Size, layers: int, seed: int) -> RunConfig:
    """A run. Its cool-down is half of the steps: in it eight hops become exact, to its very end."""
    fields = {
        "task.n_symbols": size.symbols,
        "task.n_places": size.places,
        "model.n_layers": layers,
        "model.n_heads": size.heads,
        "model.d_model": size.width,
        "model.d_mlp": 2 * size.width,
        "training.batch_size": 32,
        "training.matrix_learning_rate": 0.01,
        "training.cooldown_steps": size.steps // 2,
        "training.stop_below": 0.0,
        "training.checkpoint_every": 0,
    }
    return changed(hops(size.hops, size.steps, seed), fields)


EXPERIMENTS = (
    Experiment(
        "khop-depth",
        "k hops against the layers that solve them",
        (Group("khop-depth", "all k at once, by layers", by_layers),),
        lambda runs: measures.by_layers(runs["khop-depth"]),
        drawings.by_layers,
        claims_beside(__file__, "khop-depth"),
    ),
)
