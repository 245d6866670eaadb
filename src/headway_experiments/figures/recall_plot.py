"""How factual recall is learnt: the losses of the relation, and of the subject."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from headway.report.figures.style import DASHES, FAINT, INK, PALETTE, styled


@dataclass(frozen=True)
class Course:
    """One run.

    Attributes:
        name: its name.
        steps: of its checkpoints.
        relation: its relation loss at each, in nats.
        subject: its subject loss at each, in nats.
        stage: from which step to which the relation is known and the subject is not, if ever.
    """

    name: str
    steps: Sequence[int]
    relation: Sequence[float]
    subject: Sequence[float]
    stage: tuple[int, int] | None


@styled
def draw_courses(courses: Sequence[Course], level: float) -> Figure:
    """A panel per run: its losses against the step, the stage in between shaded.

    Args:
        courses: at least one.
        level: the loss of a guess among the answers of the relation, in nats.
    """
    columns = min(3, len(courses))
    rows = -(-len(courses) // columns)
    figure = Figure(figsize=(0.6 + 2.6 * columns, 0.5 + 2.0 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten()
    for axes, course in zip(grid, courses, strict=False):
        total = [a + b for a, b in zip(course.relation, course.subject, strict=True)]
        if course.stage is not None:
            axes.axvspan(*course.stage, color=FAINT, alpha=0.25, lw=0, label="in between")
        axes.axhline(level, color=FAINT, lw=1, ls=(0, (2, 2)), label="ln |A_r|")
        curves = (("loss", total, INK), ("relation", course.relation, PALETTE[0]))
        for i, (name, losses, colour) in enumerate(
            (*curves, ("subject", course.subject, PALETTE[1]))
        ):
            axes.plot(course.steps, losses, color=colour, ls=DASHES[i], lw=1.3, label=name)
        axes.set_title(course.name, fontsize=8.5, weight="normal")
    for place in range(len(courses), len(grid)):
        grid[place].axis("off")
        grid[place - columns].tick_params(labelbottom=True)
    grid[0].set_ylim(bottom=0)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside right upper", fontsize=7.5)
    figure.supxlabel("step", fontsize=8.5)
    figure.supylabel("nats", fontsize=8.5)
    return figure
