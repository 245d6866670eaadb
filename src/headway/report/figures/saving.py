"""All figures of a run, drawn from its folder and kept in it."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from headway.errors import require
from headway.judge.roles import position_labels
from headway.models import attention_patterns
from headway.report.curves import losses
from headway.report.figures.circuits import draw_circuit
from headway.report.figures.drawing import (
    draw_attention,
    draw_emergence,
    draw_losses,
)
from headway.report.figures.style import save_all
from headway.report.findings import Findings
from headway.training import Run
from headway.training.files import clear_io_errors

TITLES = {
    "losses": "Losses in training and held out, hop by hop, against the step",
    "circuit": "Circuit",
    "emergence": "Attention along every path, and partial losses, by step",
    "attention": "Attention of every head on one held-out sequence",
}


def figure(run: Run | str | Path, name: str) -> Figure:
    """One figure of a run, as matplotlib draws it.

    Args:
        run: or its folder.
        name: `losses`, `circuit`, `emergence` or `attention`.

    Raises:
        HeadwayError: if there is no such figure, the folder lacks what it shows, or a
            file in it is corrupted.
    """
    drawn = drawings(Findings.of(Run.open(run)))
    require(
        name in drawn,
        "name",
        name,
        f"one of {', '.join(drawn)}, of which there is data",
    )
    return drawn[name]()


def save_figures(run: Run) -> dict[str, Path]:
    """Draws every figure that the folder has data for into its `figures/`, as SVG,
    PDF and PNG.

    Drawing again from the same folder gives the same bytes.

    Returns: the SVG of every figure by its name (see `figure`); the others stand
    beside it.

    Raises:
        HeadwayError: if a file of the folder is corrupted, `figures/` is a link, or the
            disk does not take the figures.
    """
    folder = run.owned("figures")
    drawn = drawings(Findings.of(run))
    with clear_io_errors(folder, "make"):
        folder.mkdir(exist_ok=True)
    saved: dict[str, Path] = {}
    for name, draw in drawn.items():
        saved[name] = save_all(draw(), folder / name, TITLES[name])
    return saved


def drawings(findings: Findings) -> dict[str, Callable[[], Figure]]:
    """The functions that draw figures, of those that there is data for, by name."""
    findings.require_drawable()
    task = findings.task
    timeline = findings.timeline
    discovery = findings.discovery
    drawn: dict[str, Callable[[], Figure]] = {}
    curves = losses(findings) if findings.metrics else []
    if curves:
        drawn["losses"] = lambda: draw_losses(curves, task)
    if discovery is not None:
        drawn["circuit"] = lambda: draw_circuit(discovery, task)
    if timeline is not None:
        drawn["emergence"] = lambda: draw_emergence(timeline, task, curves)
    if findings.no_maps is None:
        drawn["attention"] = lambda: _attention(findings)
    return drawn


def _attention(findings: Findings) -> Figure:
    """Every head's attention on one sequence, at the last checkpoint."""
    task = findings.task
    batch = findings.sequences.part(slice(1))
    patterns = attention_patterns(findings.run.model(), batch.inputs)[0].cpu()
    return draw_attention(patterns, position_labels(task, batch), findings.useful_heads)
