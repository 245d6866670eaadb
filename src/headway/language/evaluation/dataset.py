"""The questions of an evaluation as samples of Inspect AI."""

from inspect_ai.dataset import MemoryDataset, Sample

from headway.errors import require
from headway.language.adapters.depths import Depths, depths_of
from headway.language.formulations import formulation
from headway.language.sampling import questions


def samples(name: str, d: Depths, n: int, chains: int, seed: int) -> MemoryDataset:
    """So many questions of every depth.

    What is right is the target; `metadata` has `depth`, `chains`, the `acceptable` answers and, if
    these are fewer, those `nearer` to what is asked about. Identifiers say depth and number.

    Args:
        name: of the formulation.
        d: depths; by default that of the paper's example.
        n: questions of every depth.
        chains: that are interleaved.
        seed: of all of them.

    Raises:
        HeadwayError: if there is no such formulation, its names run out, or a value is none.
    """
    for field, value in (("n", n), ("chains", chains), ("seed", seed)):
        require(type(value) is int, field, value, "a whole number")
    wanted = depths_of(d, formulation(name).default_depth)
    asked = [list(enumerate(questions(name, depth, chains, n, seed))) for depth in wanted]
    told = [
        Sample(
            input=question.prompt,
            target=question.correct,
            id=f"D{question.depth}-{number}",
            metadata={
                "depth": question.depth,
                "chains": question.chains,
                "acceptable": list(question.acceptable),
                "nearer": list(question.nearer),
            },
        )
        for cell in asked
        for number, question in cell
    ]
    return MemoryDataset(told, name=name)
