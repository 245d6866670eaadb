"""Models that others trained, read with no relation told: agreement, names, seconds.

python benchmarks/strangers.py FOLDER [--seed 5]; FOLDER holds strangers.py, which has
MODELS: by name a function that builds a model, and its task.
"""

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from frame import options
from headway import IGNORE_INDEX, Batch, Task, Tokens, discover, userfile
from headway.judge import Discovery
from headway.replace import Mean

A, B, BOS, EOS, PAD = 0, 1, 2, 4, 5


@dataclass(frozen=True)
class NextTokens(Task):
    """BOS and a word of a formal language; at every position, which of a, b and EOS may
    follow.

    Attributes:
        language: `dyck2`, in which every b closes an a, nested at most two deep; or
            `tomita4`, without three a in a row.
        longest: the most letters; their number is uniform from 2 on.
    """

    language: Literal["dyck2", "tomita4"] = "dyck2"
    longest: int = 20

    @property
    def tokens_are(self) -> Literal["symbols"]:
        return "symbols"

    @property
    def vocabulary(self) -> int:
        return 6

    @property
    def targets(self) -> Tokens:
        return Tokens(2, own_logits=True)

    @property
    def hops(self) -> tuple[str, ...]:
        return ("a", "b", "EOS")

    def draw(self, count, generator):
        letters = torch.rand(count, self.longest, generator=generator)
        return letters, torch.randint(
            2, self.longest + 1, (count,), generator=generator
        )

    def assemble(self, draws):
        inputs = torch.full((len(draws[0]), self.longest + 1), PAD)
        targets = torch.full((*inputs.shape, 3), IGNORE_INDEX)
        for i, (letters, count) in enumerate(
            zip(*(x.tolist() for x in draws), strict=True)
        ):
            word = [BOS]
            for letter in [*letters[:count], 0.0]:
                allowed = self.allowed(word)
                targets[i, len(word) - 1] = torch.tensor(allowed)
                word.append(A if allowed[A] and (letter < 0.5 or not allowed[B]) else B)
            inputs[i, : count + 1] = torch.tensor(word[: count + 1])
        return Batch(inputs, targets)

    def allowed(self, word: list[int]) -> tuple[bool, bool, bool]:
        """Which of a, b and EOS may follow BOS and some letters."""
        if self.language == "tomita4":
            return word[-2:] != [A, A], True, True
        depth = word.count(A) - word.count(B)
        return depth < 2, depth > 0, depth == 0


class Sets(nn.Module):
    """A model with a sigmoid for every next token, as one with two logits for a, b and
    EOS each.
    """

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        there = self.model(tokens).logits[..., [A, B, EOS]]
        return torch.stack([torch.zeros_like(there), there], -1).flatten(-2)


def loaded(folder: Path) -> dict[str, Any]:
    """The models of a folder, by name: those that it gives a task for, then formal
    languages.
    """
    module = userfile.load(folder / "strangers.py")
    formal = {
        task.language: (lambda name=task.language: Sets(module.decompiled(name)), task)
        for task in (NextTokens("dyck2"), NextTokens("tomita4"))
    }
    return module.MODELS | formal


HEADER = """\
| model | answers | sequences | beside | loss: model, circuit | gap | faithful \
| heads | s |
|---|---|---|---|---|---|---|---|---|"""


def cost_beside(found: Discovery) -> float:
    """What it costs to exchange all that is beside a circuit; not a number if nobody
    knows.
    """
    judgement = found.evidence.judgement
    if judgement is None:
        return math.nan
    return max(cost.most for cost in judgement.enough.values())


def row(name: str, model: nn.Module, task: Task, **how: Any) -> tuple[str, Discovery]:
    """A line of the table, and the circuit that it is about."""
    start = time.process_time()
    found = discover(model, task, trials=False, workers=1, **how)
    seconds, likeness = time.process_time() - start, found.evidence.likeness
    heads = [
        f"L{at}.H{head}: {'idle' if isinstance(one, Mean) else one}"
        for (at, head), one in sorted(
            found.circuit.mechanisms.items(), key=lambda x: x[0]
        )
    ]
    same, beside = likeness.circuit, cost_beside(found)
    gap = "" if same.faithfulness is None else f"{same.faithfulness:.3f}"
    return (
        f"| {name} | {same.agreement:.3f} | {same.sequence_agreement:.3f}"
        f" | {beside:.3f} | {found.intact_loss:.3f}, {found.replaced_loss:.3f}"
        f" | {gap} | {found.faithful} | {'; '.join(heads)} | {seconds:.0f} |"
    ), found


def main() -> None:
    given = options(__doc__, folder=[Path], seed=5, only=())
    print(HEADER)
    for name, (build, task) in loaded(given.folder[0]).items():
        if not given.only or name in given.only:
            print(row(name, build(), task, seed=given.seed)[0], flush=True)


if __name__ == "__main__":
    main()
