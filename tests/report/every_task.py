"""A task of every kind, and a run of each that takes a moment."""

from pathlib import Path

from tiny_runs import ANY_LOSS, path_names, tiny_config

from headway.circuits import Circuit, Paths, discover, emergence
from headway.tasks import Conditional, Hops, Retrieval, Task, task_in
from headway.training import Run, train
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
    """A run that learnt nothing, with a circuit of two paths that was given, and its dates."""
    run = train(tiny_config(task, causal=False), folder)
    if task.length == 1:
        return run
    first, *_, last = path_names(task)
    circuit = Circuit({(0, 0): Paths(frozenset({first})), (1, 0): Paths(frozenset({last, first}))})
    found = discover(run, circuit=circuit, threshold=ANY_LOSS, sequences=8)
    run.write("circuit.json", found.to_json())
    emergence(run, found, sequences=4)
    return run
