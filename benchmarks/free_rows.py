"""A circuit with the heads above free, by what stands in rows without a path.

    python benchmarks/free_rows.py RUN [RUN …] [--circuit PATH …] [--add PATH …] [--out
    FILE]

The circuit is the one in a run's folder, or that of the paths given, on every run
alike. Printed
for every way to fill rows are two losses: with every head replaced, and the worst with
the useful heads above any layer free. The same with each of some paths added, one at a
time.
"""

from pathlib import Path
from typing import Any

from frame import options, write
from headway.find.search import free_above
from headway.judge import saved_discovery
from headway.relations import AttentionPath
from headway.replace import ABLATIONS, Bench, Circuit, Uniform
from headway.training import Run, held_out

ROWS = [rows for rows in ABLATIONS if rows not in ("corrupted", "exchanged")]


def circuit_of(run: Run, paths: list[str]) -> Circuit:
    """The run's own circuit, or that of the paths with all other heads uniform."""
    if not paths:
        return saved_discovery(run).circuit
    shape = run.model()
    heads = [
        (layer, head)
        for layer in range(shape.n_layers)
        for head in range(shape.n_heads)
    ]
    named = Circuit.of(map(AttentionPath.parse, paths)).mechanisms
    return Circuit({**dict.fromkeys(heads, Uniform()), **named})


def row(run: Run, circuit: Circuit, added: list[str], sequences: int) -> dict[str, Any]:
    """One run in a few numbers."""
    model, task = run.model(), run.task
    batch = held_out(task, sequences, run.config.seed, "cpu", "certificate")
    circuits = [circuit, *map(circuit.adding, added)]
    losses: dict[str, dict[str, list[float]]] = {
        name: {} for name in ("as it is", *added)
    }
    for rows in ROWS:
        bench = Bench(model, task, batch, rows)
        for name, one in zip(losses, circuits, strict=True):
            free = [free_above(one, layer) for layer in range(model.n_layers - 1)]
            forced, *loose = bench.losses([one, *free])
            losses[name][rows] = [forced, max(loose, default=forced)]
    return {
        "run": run.folder.name,
        "intact": Bench(model, task, batch).loss(),
        "losses": losses,
    }


def main() -> None:
    given = options(__doc__, runs=[Path], circuit=(), add=(), sequences=128)
    runs = [Run.open(folder) for folder in given.runs]
    found = [
        row(run, circuit_of(run, given.circuit), given.add, given.sequences)
        for run in runs
    ]
    for one in found:
        print(f"{one['run']}: the model's own loss {one['intact']:.4f}")
    for name in found[0]["losses"]:
        for rows in ROWS:
            forced, free = (
                sorted(one["losses"][name][rows][i] for one in found) for i in (0, 1)
            )
            print(
                f"{name:16} {rows:8} replaced {forced[0]:.4f} to {forced[-1]:.4f}"
                f"  free above {free[0]:.4f} to {free[-1]:.4f}"
                f"  below 0.05: {sum(loss < 0.05 for loss in free)} of {len(free)}"
            )
    write(given, found)


if __name__ == "__main__":
    main()
