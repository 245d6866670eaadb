"""Ground truth: a transformer together with the circuit that it has by construction."""

from dataclasses import dataclass

from headway.models.transformer import Transformer
from headway.paths import Path
from headway.tasks import Task


@dataclass(frozen=True)
class Known:
    """A transformer built by hand together with the circuit it has by construction.

    A path counts if the model attends along it. Some serve only the attention of heads above, and
    are needed as long as those heads attend freely: a circuit in which every head's attention is
    replaced can do without them (see `headway.circuits.search`).

    Attributes:
        model: the transformer.
        task: what it solves.
        required: the paths that every faithful circuit needs.
        alternatives: of each group exactly one option, a set of paths, is needed, any one.
        decoys: paths attended along, strongly, to no effect.
    """

    model: Transformer
    task: Task
    required: frozenset[Path]
    alternatives: tuple[tuple[frozenset[Path], ...], ...] = ()
    decoys: frozenset[Path] = frozenset()
