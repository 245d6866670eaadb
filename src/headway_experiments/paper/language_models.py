"""Figure 2 (section 4): the language models that are asked, and what their answers
say.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from headway import terminal
from headway.sweeps import Engine
from headway_experiments.experiment import Cost, Drawn, Experiment, Group, Measures
from headway_experiments.figures import Panel, Series, draw_panels, numbered
from headway_experiments.language import (
    FORMULATIONS,
    Asked,
    Cell,
    answered,
    ask_local,
    cells,
    places,
)

Answers = Mapping[str, Sequence[Cell]]
"""The answers to the questions, by model."""

DEPTHS = range(1, 6)


WHERE = places(("all",), DEPTHS, 4)
ASKED: Mapping[str, Mapping[str, Asked]] = {
    scale: {name: Asked(name, None, WHERE, n=n) for name in ("smollm2", "gemma3") if n}
    for scale, n in {"smoke": 0, "fresh": 0, "small": 200, "paper": 500}.items()
}
"""The models that packages carry, by scale, and what is asked (the paper: 500 a
formulation).
"""


class Questions(Group):
    """Questions to language models in place of runs."""

    def costs(self, scale: str, folder: Path) -> list[Cost]:
        """The questions to every model."""
        costs = []
        for name, asked in ASKED[scale].items():
            done = len(answered(asked, folder / self.name / name))
            costs.append((f"questions to {name}", asked.total, done, 0))
        return costs

    def obtain(self, scale: str, folder: Path, engine: Engine | None) -> None:
        """Asks what is not answered, if there is an engine and the extra `llm`."""
        for name, asked in (
            ASKED[scale].items() if engine and find_spec("transformers") else ()
        ):
            with terminal.counting("asked") as watch:
                ask_local(asked, folder / self.name / name, watch, say=print)

    def found(self, scale: str, folder: Path) -> Answers:
        """The answers so far."""
        cells_of = {}
        for name, asked in ASKED[scale].items():
            lines = answered(asked, folder / self.name / name)
            if lines:
                cells_of[name] = cells(lines)
        return cells_of

    def gaps(self, scale: str, folder: Path) -> list[str]:
        """The questions that are not answered."""
        if not ASKED[scale]:
            return [f"no language models are asked at scale {scale}"]
        gaps = []
        for name, asked in ASKED[scale].items():
            known = len(answered(asked, folder / self.name / name))
            if known < asked.total:
                gaps.append(f"{name} has answered {known} of {asked.total} questions")
        if gaps and find_spec("transformers") is None:
            gaps.append(
                "transformers is not installed: pip install 'headway-interp[llm]'"
            )
        return gaps


def measured(answers: Answers) -> Measures:
    """The lead over guessing by its protocol, and the share of right answers, in
    expectation.
    """
    above = {}
    accuracy = dict[str, float]()
    equations = dict[str, float]()
    for model, its_cells in answers.items():
        for cell in its_cells:
            default = FORMULATIONS[cell.formulation].default_depth
            if cell.depth == min(default, max(DEPTHS)):
                name = f"{model}, {cell.formulation}, D={cell.depth}"
                above[name] = cell.expectation - cell.chance
                accuracy[name] = cell.expectation
            if cell.formulation == "equations":
                equations[f"{model}, D={cell.depth}"] = cell.expectation
    return {
        "llm_above_random": above,
        "llm_accuracy": accuracy,
        "llm_equations": equations,
    }


def drawn(answers: Answers) -> Drawn:
    """Figure 2: the accuracies against depth, by formulation, model and kind, and
    chance.
    """
    panels = []
    for name, lines in _by_formulation(answers).items():
        series = []
        for i, (label, points) in enumerate(lines.items()):
            x, y, ends = zip(*sorted(points), strict=True)
            look = numbered(i, True, ms=4)
            series.append(Series(x, y, look, label, ends))
        panels.append(Panel(name, series, "depth", "accuracy"))
    figure = draw_panels(panels, len(panels), shared=True)
    return {"fig2": ("Accuracy of language models by formulation and depth", figure)}


Point = tuple[int, float, tuple[float, float]]
"""A depth, a share, and the ends of its interval."""


def _by_formulation(answers: Answers) -> dict[str, dict[str, list[Point]]]:
    """Points by formulation and label: of every model, what it says and what guessing
    gives.
    """
    lines_of: dict[str, dict[str, list[Point]]] = {}
    for model, its_cells in answers.items():
        whose = f"{model}, " if len(answers) > 1 else ""
        for cell in its_cells:
            lines = lines_of.setdefault(cell.formulation, {})
            for kind in ("chance", "argmax", "expectation"):
                share = getattr(cell, kind)
                ends = (share, share) if kind == "chance" else cell.interval(kind)
                points = lines.setdefault(f"{whose}{kind}", [])
                points.append((cell.depth, share, ends))
    return lines_of


QUESTIONS = Questions("asked", "language models", lambda scale: {})
TITLE = "language models on five formulations (section 4)"
EXPERIMENTS = (Experiment(__file__, "fig2", TITLE, (QUESTIONS,), measured, drawn),)
