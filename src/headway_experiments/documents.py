"""The documents that claims come from: the paper, the talk, or a user's own file of experiments."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from headway.errors import HeadwayError
from headway.userfile import called, load
from headway_experiments.experiment import Experiment
from headway_experiments.paper import FIGURES
from headway_experiments.talk import MECHANISMS

DOCUMENTS: Mapping[str, Mapping[str, Experiment]] = {"paper": FIGURES, "talk": MECHANISMS}


def experiments_of(document: str) -> Mapping[str, Experiment]:
    """The experiments of a document, by name.

    Args:
        document: `paper`, `talk`, or a Python file with `EXPERIMENTS`, a sequence of `Experiment`.

    Raises:
        HeadwayError: if it is none of these, or the file cannot be run.
    """
    if not document.endswith(".py"):
        if document not in DOCUMENTS:
            allowed = ", ".join(DOCUMENTS)
            raise HeadwayError(f"document = {document}: it must be one of {allowed}, or FILE.py")
        return DOCUMENTS[document]
    found = getattr(load(document), "EXPERIMENTS", ())
    is_whole = isinstance(found, tuple | list) and all(isinstance(e, Experiment) for e in found)
    if not found or not is_whole:
        raise HeadwayError(
            f"{document}: EXPERIMENTS must be a sequence of Experiment (headway_experiments)"
        )
    path = Path(document)
    return {
        one.name: replace(
            one,
            measure=partial(called, path, one.measure),
            draw=partial(called, path, one.draw),
        )
        for one in found
    }
