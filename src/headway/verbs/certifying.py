"""Verbs that judge a circuit on fresh sequences: one certifies it, one tests hypotheses."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from headway.arguments import Flag, opened
from headway.errors import HeadwayError, require

if TYPE_CHECKING:
    from headway.training import Run


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

    run, which = _named("certify", paths, changed_task, step, seed)
    count = _announced(agreement, confidence, sequences)
    found = certified(run, agreement=agreement, sequences=count, confidence=confidence, **which)
    _tell(found, run, None if which["circuit"] else found.FILE)
    if which["circuit"] is None:
        terminal.note_older_report(run)
    if not found.holds:
        sys.exit(1)


def hypotheses(
    paths: Positional[tuple[Path, ...]],
    level: float = 0.05,
    epsilon: float = 0.1,
    quantile: float = 0.9,
    sequences: int = 128,
    random_circuits: int = 100,
    step: int | None = None,
    seed: int | None = None,
    changed_task: Flag = False,
) -> None:
    """Test a circuit as Shi et al. (2024) do, on fresh sequences: headway hypotheses RUN

    Equivalence, independence, minimality, sufficiency and partial necessity, each with its p-value.
    The findings on a run's own circuit are kept in its hypotheses.json; of a circuit in a file,
    headway hypotheses circuit.json RUN, nothing is written.

    Args:
        paths: the folder of a run; before it, perhaps a file with a circuit in place of its own.
        level: p-values up to this reject.
        epsilon: how far from 1/2 the share of sequences in which the circuit is better may be if
            both are equivalent.
        quantile: the share of random paths and circuits that the circuit's own must beat.
        sequences: how many to draw.
        random_circuits: how many random paths, and random circuits, to compare with.
        step: the checkpoint whose weights are meant, with a file; by default the last.
        seed: of the sequences and of all that is drawn; by default the run's.
        changed_task: go on although the file of the run's task has changed.
    """
    from headway.circuits.hypotheses import hypotheses as tested
    from headway.circuits.hypotheses import require_enough

    require_enough(level, epsilon, quantile, sequences, random_circuits)
    run, which = _named("hypotheses", paths, changed_task, step, seed)
    how = {"level": level, "epsilon": epsilon, "quantile": quantile}
    found = tested(run, **how, sequences=sequences, random_circuits=random_circuits, **which)
    _tell(found, run, None if which["circuit"] else found.FILE)


def _named(
    verb: str, paths: Sequence[Path], changed_task: bool, step: int | None, seed: int | None
) -> tuple["Run", dict[str, Any]]:
    """The run that is meant, and which circuit, checkpoint and seed, as arguments."""
    if not paths:
        raise HeadwayError(f"Missing from headway {verb}: RUN, the folder of a run")
    allowed = "RUN, or a file with a circuit and RUN"
    require(len(paths) < 3, "paths", " ".join(map(str, paths)), allowed)
    file = paths[0] if len(paths) == 2 else None
    return opened(paths[-1], changed_task), {"circuit": file, "step": step, "seed": seed}


def _tell(found: object, run: "Run", file: str | None) -> None:
    """Prints the findings, and the file of the run that keeps them."""
    from headway import terminal

    terminal.say(str(found))
    if file is not None:
        terminal.say(f"written to {run.folder / file}")


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
