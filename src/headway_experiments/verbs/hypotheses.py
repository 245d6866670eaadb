"""The verb that tests hypotheses about a circuit."""

from pathlib import Path

from headway.arguments import opened


def hypotheses(
    run: Path,
    /,
    circuit: Path | None = None,
    level: float = 0.05,
    epsilon: float = 0.1,
    quantile: float = 0.9,
    sequences: int = 128,
    random_circuits: int = 100,
    step: int | None = None,
    seed: int | None = None,
    file: Path | None = None,
    changed_task: bool = False,
) -> None:
    """Test a run's circuit as Shi et al. (2024) do, on fresh sequences.

    Equivalence, independence, minimality, sufficiency and partial necessity, each with its p-value.

    Args:
        run: the run's folder.
        circuit: a file with a circuit in place of the run's own.
        level: p-values up to this reject.
        epsilon: how far from 1/2 the share of sequences in which the circuit is better may be if
            both are equivalent.
        quantile: the share of random paths and circuits that the circuit's own must beat.
        sequences: how many to draw.
        random_circuits: how many random paths, and random circuits, to compare with.
        step: the checkpoint whose weights are meant, with a circuit; by default the last.
        seed: of the sequences and of all that is drawn; by default the run's.
        file: where to write what is found, as JSON.
        changed_task: go on although the file of the run's task has changed.
    """
    from headway import terminal
    from headway.files import write_json
    from headway_experiments.hypotheses.testing import hypotheses, require_enough

    require_enough(level, epsilon, quantile, sequences, random_circuits)
    if file is not None:
        terminal.require_file(file, (".json",))
    found = hypotheses(
        opened(run, changed_task),
        circuit=circuit,
        level=level,
        epsilon=epsilon,
        quantile=quantile,
        sequences=sequences,
        random_circuits=random_circuits,
        step=step,
        seed=seed,
    )
    terminal.say(str(found))
    if file is not None:
        write_json(file, found.to_json())
        terminal.say(f"written to {file}")
