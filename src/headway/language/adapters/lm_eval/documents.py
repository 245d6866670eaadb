"""What the YAML files name as `custom_dataset`: questions as documents of lm-evaluation-harness."""

from collections.abc import Callable
from functools import partial
from typing import Any

from headway.language.adapters.depths import Depths, depths_of
from headway.language.formulations import formulation
from headway.language.sampling import questions

Documents = dict[str, Any]
"""A `datasets.Dataset` by the name of its split."""


def documents(
    name: str, d: Depths = None, n: int = 500, chains: int = 4, seed: int = 0, **_: Any
) -> Documents:
    """The questions of a formulation, every one with its acceptable answers and which is right.

    Args:
        name: of the formulation.
        d: depths; by default that of the paper's example.
        n: questions of every depth.
        chains: that are interleaved.
        seed: of all of them.
        _: what else the harness passes on, such as the arguments of the model.

    Raises:
        HeadwayError: if the names of the formulation run out, or a value is not allowed.
    """
    from datasets import Dataset  # pyright: ignore[reportMissingImports]

    told = [
        {
            "prompt": question.prompt,
            "acceptable": list(question.acceptable),
            "rank": question.acceptable.index(question.correct),
            "depth": depth,
            "number": number,
        }
        for depth in depths_of(d, formulation(name).default_depth)
        for number, question in enumerate(questions(name, depth, chains, n, seed))
    ]
    return {"test": Dataset.from_list(told)}


equations: Callable[..., Documents] = partial(documents, "equations")
lives_with: Callable[..., Documents] = partial(documents, "lives-with")
kingdoms: Callable[..., Documents] = partial(documents, "kingdoms")
functions: Callable[..., Documents] = partial(documents, "functions")
relatives: Callable[..., Documents] = partial(documents, "relatives")
