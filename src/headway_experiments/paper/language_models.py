"""Figure 2 (section 4): the language models that are asked, and what their answers say."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from headway.language import FORMULATIONS, Asked, Cell, answered, cells, places
from headway_experiments.claims import Measures
from headway_experiments.experiment import Drawn, Experiment

Answers = Mapping[str, Sequence[Cell]]
"""The answers to the questions, by model."""

DEPTHS = range(1, 6)


def _models(n: int) -> dict[str, Asked]:
    wanted = places(("all",), DEPTHS, 4)
    return {name: Asked(name, None, wanted, n=n) for name in ("smollm2", "gemma3")}


ASKED: Mapping[str, Mapping[str, Asked]] = {
    "smoke": {},
    "fresh": {},
    "small": _models(200),
    "paper": _models(500),
}
"""The models that packages carry, by scale, and what is asked (the paper: 500 a formulation)."""


def askable(experiments: Sequence[Experiment], scale: str) -> Mapping[str, Asked]:
    """The questions of experiments at a scale, by model; empty without the extra `llm`."""
    asks = any(one.asks for one in experiments) and find_spec("transformers")
    return ASKED[scale] if asks else {}


def gathered(scale: str, folder: Path) -> tuple[Answers, str]:
    """The answers so far, and what is missing, in words.

    Raises:
        HeadwayError: if a file is damaged.
    """
    if not ASKED[scale]:
        return {}, f"no language models are asked at scale {scale}"
    found, gaps = {}, []
    for name, asked in ASKED[scale].items():
        lines = answered(asked, folder / name)
        if lines:
            found[name] = cells(lines)
        if len(lines) < asked.total:
            gaps.append(f"{name} has answered {len(lines)} of {asked.total} questions")
    if gaps and find_spec("transformers") is None:
        gaps.append("transformers is not installed: pip install 'headway[llm]'")
    return found, "; ".join(gaps)


def measured(answers: Answers) -> Measures:
    """The lead over guessing by its protocol, and the share of right answers, in expectation."""
    found: Measures = {"llm_above_random": {}, "llm_accuracy": {}, "llm_equations": {}}
    for model, cell in ((model, cell) for model, some in answers.items() for cell in some):
        if cell.depth == min(FORMULATIONS[cell.formulation].default_depth, max(DEPTHS)):
            name = f"{model}, {cell.formulation}, D={cell.depth}"
            found["llm_above_random"][name] = cell.expectation - cell.chance
            found["llm_accuracy"][name] = cell.expectation
        if cell.formulation == "equations":
            found["llm_equations"][f"{model}, D={cell.depth}"] = cell.expectation
    return found


def drawn(answers: Answers) -> Drawn:
    """Figure 2: the accuracies against depth, by formulation, model and kind, and chance."""
    from headway_experiments.figures import Panel, Series, draw_panels, numbered

    found: dict[str, dict[str, list[tuple[int, float, tuple[float, float]]]]] = {}
    for model, cell in ((model, cell) for model, some in answers.items() for cell in some):
        lines, whose = found.setdefault(cell.formulation, {}), f"{model}, " * (len(answers) > 1)
        for kind in ("chance", "argmax", "expectation"):
            share = getattr(cell, kind)
            ends = (share, share) if kind == "chance" else cell.interval(kind)
            lines.setdefault(f"{whose}{kind}", []).append((cell.depth, share, ends))
    panels = list[Panel]()
    for name, lines in found.items():
        series = []
        for i, (label, points) in enumerate(lines.items()):
            x, y, ends = zip(*sorted(points), strict=True)
            series.append(Series(x, y, numbered(i, True, ms=4), label, ends))
        panels.append(Panel(name, series, "depth", "accuracy"))
    figure = draw_panels(panels, len(panels), shared=True)
    return {"fig2": ("Accuracy of language models by formulation and depth", figure)}


TITLE = "language models on five formulations (section 4)"
EXPERIMENTS = (Experiment(__file__, "fig2", TITLE, (), measured, drawn, asks=True),)
