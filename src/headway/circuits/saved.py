"""Findings that were left in a run's folder."""

from typing import Any, TypeVar

from headway.training.run import Run

Kind = TypeVar("Kind")


def saved(run: Run, kind: type[Kind]) -> Kind | None:
    """A finding in a run's folder; None if there is none.

    Args:
        run: that it is about.
        kind: what it is, such as `Certificate`; its `FILE` holds what its `from_json` reads.

    Raises:
        HeadwayError: if the file is damaged.
    """
    finding: Any = kind
    data = run.read(finding.FILE)
    return None if data is None else finding.from_json(data)
