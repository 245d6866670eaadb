"""The rows of a sweep's table of runs, as data."""

from collections.abc import Sequence
from typing import Any

from headway.report.comparison.members import Link
from headway.report.sweep.axes import SEED, Axis, value_of
from headway.report.sweep.entries import Gathered

FEW = 16
"""The most rows that stand on the page as they are; more scroll in a box."""


def the_runs(found: Gathered, axes: Sequence[Axis], link: Link) -> dict[str, Any]:
    """Every run with the address of its page, if it has one, and its values of what varies.

    Args:
        found: the folder.
        axes: what varies.
        link: gives the address of a run's own page.
    """
    fields = {axis.name: axis.field for axis in axes}
    if len({entry.config.seed for entry in found.entries}) > 1 or not fields:
        fields[SEED] = SEED
    rows = [
        (entry, link(entry.folder), [value_of(entry, f) for f in fields.values()])
        for entry in found.entries
    ]
    return {"fields": list(fields), "rows": rows, "few": FEW}
