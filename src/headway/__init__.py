"""How stacked attention heads learn to follow a chain of facts, and when.

from headway import discover, emergence, fast, train

run = train(fast(depth=3))
circuit = discover(run)
timeline = emergence(run, circuit)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headway.notebook import show_in_notebooks

if TYPE_CHECKING:
    from headway.circuits import (
        Circuit,
        Discovery,
        Identity,
        Paths,
        Timeline,
        Uniform,
        certify,
        discover,
        emergence,
        every_circuit,
        patch,
        patch_all,
    )
    from headway.errors import HeadwayError
    from headway.models import (
        Tappable,
        Transformer,
        TransformerConfig,
        accuracy_lens,
        logit_lens,
        loss_lens,
        tapped,
    )
    from headway.notebook import widget
    from headway.paths import Path, Relation
    from headway.sweeps import depend
    from headway.tasks import (
        IGNORE_INDEX,
        NO_KEY,
        Batch,
        Conditional,
        Edges,
        Hops,
        Labelled,
        Retrieval,
        Task,
        Tokens,
        Vectors,
        check_task,
        general_relations,
        previous_token,
        sinusoid,
    )
    from headway.training import (
        Recorder,
        Run,
        RunConfig,
        TrainingConfig,
        fast,
        own,
        resume,
        train,
    )

OFFERED = {
    "headway.circuits": (
        *("Circuit", "Discovery", "Identity", "Paths", "Timeline", "Uniform"),
        *("certify", "discover", "emergence", "every_circuit"),
        *("patch", "patch_all"),
    ),
    "headway.errors": ("HeadwayError",),
    "headway.models": (
        *("Tappable", "Transformer", "TransformerConfig", "tapped"),
        *("accuracy_lens", "logit_lens", "loss_lens"),
    ),
    "headway.notebook": ("widget",),
    "headway.paths": ("Path", "Relation"),
    "headway.sweeps": ("depend",),
    "headway.tasks": (
        *("IGNORE_INDEX", "NO_KEY", "Batch", "Edges", "Task", "Tokens", "Vectors"),
        *("check_task", "general_relations", "previous_token", "sinusoid"),
        *("Conditional", "Hops", "Labelled", "Retrieval"),
    ),
    "headway.training": (
        *("Recorder", "Run", "RunConfig", "TrainingConfig"),
        *("fast", "own", "resume", "train"),
    ),
}
"""What this package offers, by where it is. A room is entered when something of it is asked for, so
that importing the package, and the command line's help, do not wait for torch."""

HOMES = {name: room for room, names in OFFERED.items() for name in names}

__all__ = list(HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    room = HOMES.get(name)
    if room is None and f"headway.{name}" in HOMES.values():
        return import_module(f"headway.{name}")
    if room is None:
        raise AttributeError(f"module 'headway' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(room), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})


show_in_notebooks()
