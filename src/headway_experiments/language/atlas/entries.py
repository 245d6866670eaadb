"""Atlases of language models, as data: what every head does on ordinary text."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import Tensor

from headway.replace import name_of
from headway.text import aligned
from headway_experiments.language.atlas.costs import Rise
from headway_experiments.language.atlas.scores import Score, with_interval

TELLING = 2.0
"""A weight is told if it is at least so large, or so small an inverse."""


@dataclass(frozen=True)
class Entry:
    """A head in the atlas.

    Attributes:
        head: its layer and number.
        kind: `rest`, or what its first relation is about: `place`, `word`,
            `punctuation`, `class`; `plain` without a relation.
        first: its share on the first position, on average.
        further: its share on further sinks.
        weights: of `nearer` (the power of the distance), and of what it looks at beside
            that: factors, 1 for what makes no difference.
        relations: those among them that were chosen for this head.
        iou: of its words on texts to judge by.
        iou_off: likewise, off the sinks.
        cost: in nats a token, if it alone were replaced; to first order.
    """

    head: tuple[int, int]
    kind: str
    first: float
    further: float
    weights: dict[str, float]
    relations: tuple[str, ...]
    iou: float
    iou_off: float
    cost: float

    @property
    def name(self) -> str:
        """The head as heads are written, `L0.H1`."""
        return name_of(self.head)

    @property
    def _told(self) -> list[str]:
        """The names in the sentence: of chosen relations, then of weights, the largest
        change first.
        """
        named_anyway = ("nearer", "sink", *self.relations)
        sizes = {}
        for name, weight in self.weights.items():
            if name not in named_anyway:
                sizes[name] = abs(math.log(weight))
        least = math.log(TELLING)
        large = [name for name, size in sizes.items() if size >= least]
        large.sort(key=lambda name: -sizes[name])
        return [*self.relations, *large]

    def __str__(self):
        rest = f"{self.first:.2f} on the first position"
        if self.further >= 0.005:
            rest += f", {self.further:.2f} on further sinks"
        power = self.weights["nearer"]
        near = "the nearer the more" if power > 0 else "the farther the more"
        looks = [f"{near} (distance to the power of {-power:.1f})"]
        looks += [f"{name} ×{self.weights[name]:.2g}" for name in self._told]
        fits = f"IoU {self.iou:.2f}, off the sinks {self.iou_off:.2f}"
        return f"{self.name} rests: {rest}. Else {', '.join(looks)}. {fits}."


@dataclass(frozen=True)
class Shown:
    """A text with attention, as a page shows it.

    Attributes:
        tokens: of the text.
        attention: of the model, [layer, head, query, key].
        told: by words.
    """

    tokens: list[str]
    attention: Tensor
    told: Tensor


@dataclass(frozen=True)
class Atlas:
    """The atlas of a model.

    Attributes:
        model: its name.
        source: of the texts, with their licence where it is known.
        texts: for each purpose.
        tokens: of every text.
        seed: of the draw of texts.
        sinks: tokens whose first occurrence is a sink, and how many times the usual
            attention they get from afar.
        heads: by layer and number.
        scores: of words, and of what stands beside them, on texts to judge by.
        rises: of perplexity there, by what replaces which heads.
        own_loss: of the model there, in nats a token.
        shown: texts for a page.
    """

    model: str
    source: str
    texts: int
    tokens: int
    seed: int
    sinks: dict[str, float]
    heads: list[Entry]
    scores: dict[str, Score]
    rises: dict[str, Rise]
    own_loss: float
    shown: list[Shown]

    def __str__(self):
        rows = [["", "IoU (95 %)", "off the sinks"]]
        for name, each in self.scores.items():
            whole = with_interval(each.whole, each.interval)
            off = with_interval(each.off, each.off_interval)
            rows.append([name, whole, off])
        costs = [["replaced", "perplexity (95 %)"]]
        costs += [[name, str(rise)] for name, rise in self.rises.items()]
        listed = ", ".join(repr(text) for text in self.sinks) or "none"
        title = (
            f"{self.model}: {len(self.heads)} heads on {self.texts} unseen texts of "
            f"{self.tokens} tokens ({self.source}; seed {self.seed})\n"
            f"further sinks, the first occurrence of: {listed}"
        )
        scores = "\n".join(aligned(rows, "<<<"))
        rises = "\n".join(aligned(costs, "<<"))
        return "\n\n".join([title, scores, rises])

    def to_json(self) -> dict[str, Any]:
        """Everything but the texts of the page, as JSON data."""
        data = asdict(replace(self, shown=[], heads=[]))
        del data["shown"]
        for each in data["scores"].values():
            del each["heads"]
        return data | {
            "heads": [
                {**asdict(entry), "head": entry.name, "sentence": str(entry)}
                for entry in self.heads
            ]
        }
