"""An experiment, as data: which runs it takes, what is measured, what is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headway.papers.claims import Measures
from headway.papers.drawings import Drawn


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper, one study, or one mechanism of the talk.

    Attributes:
        name: what `headway reproduce`, or `headway mechanism`, calls it.
        title: what it shows.
        groups: the runs it takes (see `setups`).
        measure: the numbers that its claims are judged by, from its runs by group and name, or
            from answers by model.
        draw: its figures, from the same.
        asks: whether it asks language models (see `asking`).
        texts: in words, the texts that its sequences are drawn from, at a scale.
    """

    name: str
    title: str
    groups: Sequence[str]
    measure: Callable[[Any], Measures]
    draw: Callable[[Any], Drawn]
    asks: bool = False
    texts: Callable[[str], Sequence[str]] = lambda _: ()
