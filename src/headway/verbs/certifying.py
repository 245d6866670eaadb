"""The verb that judges a circuit on fresh sequences."""

import sys
from pathlib import Path

from tyro.conf import Positional

from headway.arguments import Flag, opened
from headway.errors import HeadwayError, require


def certify(
    paths: Positional[tuple[Path, ...]],
    agreement: float = 0.99,
    sequences: int | None = None,
    confidence: float = 0.95,
    step: int | None = None,
    seed: int | None = None,
    changed_task: Flag = False,
) -> None:
    """Certify on how many of all sequences circuit and model agree at least: headway certify RUN

    Fresh sequences are drawn, which nothing else uses. A sequence agrees if all answers of the
    circuit are the model's own, right or wrong. The bound is exact for a finite sample. The
    certificate of a run's own circuit is kept in its certificate.json; of a circuit in a file,
    headway certify circuit.json RUN, nothing is written, and only weights, task and circuit are
    read. The exit code is 0 if it is certified, 1 if it is not, 2 if nothing could be drawn.

    Args:
        paths: the folder of a run; before it, perhaps a file with a circuit in place of its own.
        agreement: the least share of all sequences on which they are to agree.
        sequences: how many to draw; by default enough to certify if half of the allowed share
            disagree.
        confidence: of the bound.
        step: the checkpoint whose weights are meant, with a file; by default the last.
        seed: of the sequences; by default the run's.
        changed_task: go on although the file of the run's task has changed.
    """
    from headway import terminal
    from headway.circuits.certificate import certify as certified

    if not paths:
        raise HeadwayError("Missing from headway certify: RUN, the folder of a run")
    *files, folder = paths
    allowed = "RUN, or a file with a circuit and RUN"
    require(len(files) < 2, "paths", " ".join(map(str, paths)), allowed)
    run, circuit = opened(folder, changed_task), files[0] if files else None
    count = _announced(agreement, confidence, sequences)
    how = {"agreement": agreement, "sequences": count, "confidence": confidence}
    found = certified(run, circuit=circuit, step=step, seed=seed, **how)
    terminal.say(str(found))
    if circuit is None:
        terminal.say(f"written to {run.folder / found.FILE}")
        terminal.note_older_report(run)
    if not found.holds:
        sys.exit(1)


def _announced(agreement: float, confidence: float, sequences: int | None) -> int:
    """How many sequences are drawn; prints that, and how many of them may disagree."""
    from headway import terminal
    from headway.circuits.certificate import require_sequences
    from headway.intervals import draws_for, failures_allowed

    count = require_sequences(agreement, confidence, sequences)
    least = draws_for(agreement, confidence)
    may = failures_allowed(agreement, confidence, count)
    terminal.say(
        f"agreement {agreement:g} with confidence {confidence:g} takes at least {least:,}"
        f" sequences;\ndrawing {count:,}, of which {may:,} may disagree …"
    )
    return count
