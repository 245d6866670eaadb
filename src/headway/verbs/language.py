"""Verbs that put the same questions to language models."""

import sys
from pathlib import Path

from tyro.conf import Positional


def prompts(
    formulation: Positional[str],
    depth: int | None = None,
    chains: int = 4,
    n: int = 500,
    seed: int = 0,
    out: Path | None = None,
) -> None:
    """Questions of a formulation, one JSON object a line.

    Each has its prompt, the correct answer, the acceptable ones, and the relations that a head can
    follow: pairs of spans of characters, by name, those of the chain that is asked about first.

    Args:
        formulation: equations, lives-with, kingdoms, functions or relatives.
        depth: look-ups to the answer; none means those of the paper's example.
        chains: that are interleaved.
        n: how many questions.
        seed: of all of them.
        out: a file to write; none means standard output.
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
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    write_whole(out, "".join(f"{line}\n" for line in lines).encode())
    terminal.say(f"{n} questions written to {out}")
