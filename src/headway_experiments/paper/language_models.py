"""Figure 2 (section 4): the language models that are asked, and what their answers say."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headway.language import FORMULATIONS, Asked, Cell, answered, cells, places
from headway_experiments.claims import Measures, claims_beside
from headway_experiments.experiment import Drawn, Experiment

Answers = Mapping[str, Sequence[Cell]]
"""The answers to the questions, by model."""

DEPTHS = range(1, 6)


def _models(n: int, sampled: int) -> dict[str, Asked]:
    wanted = places(("all",), DEPTHS, 4)
    return {
        "smollm2": Asked("smollm2", None, wanted, n=n, sampled=sampled),
        "gemma3": Asked("gemma3", None, wanted, n=n),
    }


ASKED: Mapping[str, Mapping[str, Asked]] = {
    "smoke": {},
    "fresh": {},
    "small": _models(200, 50),
    "paper": _models(500, 500),
}
"""The models that packages carry, by scale, and what each is asked; the paper asks each 500
questions per formulation."""


def askable(scale: str) -> Mapping[str, Asked]:
    """What every model is asked at a scale; empty if the extra `llm` is not installed."""
    return ASKED[scale] if find_spec("transformers") else {}


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
    """How much better than guessing the paper's protocol is in its five examples, and how often it
    is right, in exact expectation."""
    shown = {
        (model, cell.formulation, cell.depth): cell
        for model, all_cells in answers.items()
        for cell in all_cells
    }
    examples = {
        f"{model}, {name}, D={depth}": cell
        for (model, name, depth), cell in shown.items()
        if depth == min(FORMULATIONS[name].default_depth, max(DEPTHS))
    }
    return {
        "llm_above_random": {n: cell.expectation - cell.chance for n, cell in examples.items()},
        "llm_accuracy": {n: cell.expectation for n, cell in examples.items()},
        "llm_equations": {
            f"{model}, D={depth}": cell.expectation
            for (model, name, depth), cell in shown.items()
            if name == "equations"
        },
    }


def accuracy_curves(answers: Answers) -> Any:
    """The accuracies as curves against depth, by formulation and kind.

    Args:
        answers: to the questions, by model.

    Returns: for every formulation the points of every curve; see `draw_accuracy`.
    """
    from headway.figures import Point

    found: dict[str, dict[str, list[Point]]] = {}
    for model, all_cells in answers.items():
        whose = f"{model}, " if len(answers) > 1 else ""
        for cell in all_cells:
            for kind in ("argmax", "expectation", "sampled"):
                interval = cell.interval(kind)
                if interval is not None:
                    point = Point(cell.depth, getattr(cell, kind), *interval, cell.chance)
                    lines = found.setdefault(cell.formulation, {})
                    lines.setdefault(f"{whose}{kind}", []).append(point)
    return found


def drawn(answers: Answers) -> Drawn:
    """Figure 2."""
    from headway.figures import draw_accuracy

    title = "Accuracy of language models by formulation and depth"
    return {"fig2": (title, draw_accuracy(accuracy_curves(answers)))}


EXPERIMENTS = (
    Experiment(
        "fig2",
        "language models on five formulations (section 4)",
        (),
        measured,
        drawn,
        claims_beside(__file__, "fig2"),
        asks=True,
    ),
)
