"""A task of every kind, and a run of each that takes a moment."""

from pathlib import Path

from tiny_runs import tiny_config, trained

from headway.tasks import Conditional, Hops, Retrieval, Task, task_in
from headway.training import Run
from headway_experiments.arena import Labelled
from headway_experiments.tasks import Associations, Bigrams, Composition, Recall

OUTSIDE = Path(__file__).parents[1] / "outside"
TASKS = {
    "retrieval": lambda: Retrieval(depth=1, n_chains=2),
    "conditional": lambda: Conditional(n_chains=2),
    "labelled": lambda: Labelled(depth=1, n_chains=2),
    "hops": lambda: Hops(asked=(1, 2), n_places=9),
    "composition": lambda: Composition(asked=(1, 2), n_symbols=3),
    "bigrams": lambda: Bigrams(length=16, n_tokens=8, n_triggers=2),
    "recall": lambda: Recall(length=5),
    "associations": lambda: Associations(n_items=6),
    "assignments": lambda: task_in(str(OUTSIDE / "assignments.py"))(),
    "reassigned": lambda: task_in(str(OUTSIDE / "reassigned.py"))(),
    "sums": lambda: task_in(str(OUTSIDE / "sums.py"))(),
}


def taken_apart(task: Task, folder: Path) -> Run:
    """A run that learnt nothing, with a circuit of its task that was given."""
    return trained(folder, tiny_config(task, causal=False))
