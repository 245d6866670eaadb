"""The questions as the data set `headway` of reasoning-gym; importing this module registers it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reasoning_gym.factory import (  # pyright: ignore[reportMissingImports]
    ProceduralDataset,
    register_dataset,
)

from headway.errors import require
from headway.language.formulations import formulation
from headway.language.matching import matched
from headway.language.question import Question
from headway.language.sampling import questions

NAME = "headway"


@dataclass
class HeadwayConfig:
    """Which questions.

    Attributes:
        formulation: equations, lives-with, kingdoms, functions or relatives.
        depth: look-ups to the answer; by default that of the paper's example.
        chains: that are interleaved.
        seed: of all questions; by default another every time.
        size: how many.
    """

    formulation: str = "equations"
    depth: int | None = None
    chains: int = 4
    seed: int | None = None
    size: int = 500

    def validate(self) -> None:
        """Checks that there are names enough.

        Raises:
            HeadwayError: if a value is out of range.
        """
        kind = formulation(self.formulation)
        kind.require(kind.default_depth if self.depth is None else self.depth, self.chains)
        require(self.size >= 1, "size", self.size, "a whole number of at least 1")


class HeadwayDataset(ProceduralDataset):
    """Questions by number: the same for the same config."""

    def __init__(self, config: HeadwayConfig):
        super().__init__(config=config, seed=config.seed, size=config.size)

    @cached_property
    def _questions(self) -> list[Question]:
        one = self.config
        return list(questions(one.formulation, one.depth, one.chains, self.size, self.seed))

    def __getitem__(self, idx: int) -> dict[str, Any]:
        question = self._questions[idx]
        return {
            "question": question.prompt,
            "answer": question.correct,
            "metadata": {
                "source_dataset": NAME,
                "source_index": idx,
                "formulation": question.formulation,
                "acceptable": list(question.acceptable),
                "difficulty": {"depth": question.depth, "chains": question.chains},
            },
        }

    def score_answer(self, answer: str | None, entry: dict[str, Any]) -> float:
        """1 if the answer is the right one (see `matched`), else 0: never in between."""
        said = matched(answer or "", entry["metadata"]["acceptable"])
        return float(said is not None and said == entry["answer"])


register_dataset(NAME, HeadwayDataset, HeadwayConfig)
