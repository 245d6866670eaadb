"""All figures of a run, drawn from its folder and kept in it."""

from pathlib import Path

from matplotlib.figure import Figure

from headway.circuits.roles import block_starts, position_labels
from headway.report.figures.attention import draw_attention
from headway.report.figures.circuit_drawing import draw_circuit
from headway.report.figures.emergence_plot import draw_emergence
from headway.report.figures.loss import draw_losses
from headway.report.figures.style import png_bytes, svg_bytes
from headway.report.findings import Findings
from headway.report.page.dependence_svg import dependence_svg
from headway.text import rounded
from headway.training import Run
from headway.training.files import clear_io_errors, write_whole


def save_figures(run: Run) -> dict[str, Path]:
    """Draws every figure that the folder has data for into its `figures/`, as SVG and PNG.

    Drawing again from the same folder gives the same bytes.

    Returns: the SVG of every figure by its name (`losses`, `circuit`, `emergence`, `attention`,
        `dependence`); the PNG stands beside it, except for the last, which is drawn as SVG only.

    Raises:
        HeadwayError: if a file of the folder is corrupted or the disk does not take the figures.
    """
    findings = Findings.of(run)
    folder = run.folder / "figures"
    with clear_io_errors(folder, "make"):
        folder.mkdir(exist_ok=True)
    saved = {}
    for name, (title, figure) in draw_figures(findings).items():
        saved[name] = folder / f"{name}.svg"
        write_whole(saved[name], svg_bytes(figure, title))
        write_whole(saved[name].with_suffix(".png"), png_bytes(figure))
    if findings.dependence is not None:
        saved["dependence"] = folder / "dependence.svg"
        write_whole(saved["dependence"], dependence_svg(findings.dependence).encode())
    return saved


def save_figure(figure: Figure, path: Path, title: str) -> None:
    """Writes a figure, as SVG or PNG by the file's ending.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    content = svg_bytes(figure, title) if path.suffix == ".svg" else png_bytes(figure)
    write_whole(path, content)


def save_both(figure: Figure, stem: Path, title: str) -> Path:
    """Saves a figure as SVG and as PNG.

    Args:
        figure: that is drawn.
        stem: its file, without the ending.
        title: what it shows, for readers who cannot see it.

    Returns:
        The SVG file.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    for ending in ("png", "svg"):
        save_figure(figure, stem.with_name(f"{stem.name}.{ending}"), title)
    return stem.with_name(f"{stem.name}.svg")


def draw_figures(findings: Findings) -> dict[str, tuple[str, Figure]]:
    """The title of every figure that there is data for, and the figure, by name."""
    task, discovery = findings.task, findings.discovery
    drawn: dict[str, tuple[str, Figure]] = {}
    if findings.metrics:
        losses = findings.metrics, task.hops, task.references(), task.targets.loss_name
        figure = draw_losses(*losses)
        drawn["losses"] = "Training, validation and partial losses against the step", figure
    if discovery is not None:
        circuit = discovery.circuit
        title = (
            f"Circuit: {len(circuit.useful_heads)} of {len(circuit.mechanisms)} heads,"
            f" loss {rounded(discovery.replaced_loss)} (model {rounded(discovery.intact_loss)})"
        )
        drawn["circuit"] = title, draw_circuit(discovery, task, title)
    if findings.timeline is not None:
        figure = draw_emergence(findings.timeline, findings.metrics)
        drawn["emergence"] = "Attention along every path, and partial losses, by step", figure
    if findings.no_maps is None:
        batch = findings.example
        figure = draw_attention(
            findings.example_attention(),
            position_labels(task, batch),
            findings.useful_heads,
            block_starts(task, batch),
        )
        drawn["attention"] = "Attention of every head on one held-out sequence", figure
    return drawn
