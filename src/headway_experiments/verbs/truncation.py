"""The verb that cuts weights to low rank, in a run's model or in a language model."""

from collections import Counter
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from headway.errors import HeadwayError
from headway.verbs import opened

if TYPE_CHECKING:
    from headway_experiments.truncation.cuts import Cuts
    from headway_experiments.truncation.models import Truncating


def truncate(
    run: Path | None = None,
    /,
    model: str | None = None,
    layers: str | None = None,
    weights: str = "mlp",
    rank: str = "0,0.1,0.2,0.5,1",
    sequences: int | None = None,
    step: int | None = None,
    prompts: tuple[str, ...] = (),
    folder: Path | None = None,
    device: str | None = None,
    threads: int | None = None,
) -> None:
    """Cut weights of a run's model, or of a language model, to low rank, and see what changes.

    Every weight is decomposed once (SVD); a rank is a fraction of the full one, rounded up: 1 is
    the intact weight, 0 none of it. Layers are truncated each alone, and each with those above it.
    For a run: held-out losses, hop by hop. For a language model: how probable an answer of content
    is against a generic word, as in "Madrid is located in", Spain or the; results are kept, and the
    command goes on where it was.

    Args:
        run: the run's folder, where truncation.json is left.
        model: instead of a run: smollm2, gemma3, a GGUF file, or a folder of Transformers.
        layers: a number, a range (20..29) or a list; by default all of a run's, the upper third of
            a language model's.
        weights: sets of weights, separated by commas: mlp, attention, query, key, value, output,
            gate, up, down; weights joined by + are truncated together.
        rank: fractions of the full rank, separated by commas.
        sequences: of a run: held-out sequences to average over; by default 512.
        step: of a run: the checkpoint; by default the last.
        prompts: of a language model: places, capitals, fictional, moved, names, all, or a JSONL
            file with prompt, answer and generic on every line; by default all.
        folder: of a language model's results; by default runs/truncate-MODEL.
        device: of a language model: cpu, cuda or mps; by default cpu.
        threads: of a language model: on a CPU; by default as many as PyTorch takes.
    """
    from headway.fields import values_of
    from headway.language import place_of
    from headway_experiments.truncation.cuts import Cuts
    from headway_experiments.truncation.models import Truncating
    from headway_experiments.truncation.texts import completions

    chosen = None if layers is None else tuple(values_of("layers", layers, int))
    sets = tuple(dict.fromkeys(part.strip() for part in weights.split(",")))
    cuts = Cuts(chosen, sets, tuple(dict.fromkeys(values_of("rank", rank, float))))
    if (run is None) == (model is None):
        raise HeadwayError(
            "headway truncate takes RUN, the folder of a run, or --model with a language model"
            " (smollm2, gemma3, a GGUF file or a folder):"
            f" {'neither is' if run is None else 'both are'} given"
        )
    of_model = {"prompts": prompts or None, "folder": folder, "device": device, "threads": threads}
    of_run = {"sequences": sequences, "step": step}
    for name, value in (of_model if model is None else of_run).items():
        if value is not None:
            whose = "--model" if model is None else "a RUN"
            raise HeadwayError(f"--{name} is an option of {whose}")
    if run is not None:
        return _of_run(run, cuts, 512 if sequences is None else sequences, step)
    assert model is not None
    asked = Truncating(model, cuts, tuple(completions(prompts or ("all",))))
    _of_model(asked, place_of("truncate", model, folder), device or "cpu", threads)


def _of_run(run: Path, cuts: "Cuts", sequences: int, step: int | None) -> None:
    from headway import terminal
    from headway.files import clear_io_errors
    from headway_experiments.truncation.printing import print_losses
    from headway_experiments.truncation.runs import FILE, truncate_run

    its = opened(run)
    with terminal.counting("cut") as watch:
        found = truncate_run(its, cuts, sequences, step, watch)
    print_losses(found)
    terminal.say(f"written to {its.folder / FILE}")
    if found.spans and terminal.can_draw():
        from headway.figures import save_both
        from headway_experiments.truncation.figures import draw_losses

        figures, title = its.folder / "figures", "Losses with weights cut to low rank"
        with clear_io_errors(figures, "make"):
            figures.mkdir(exist_ok=True)
        terminal.say(f"drawn in {save_both(draw_losses(found), figures / 'truncation', title)}")


def _of_model(asked: "Truncating", place: Path, device: str, threads: int | None) -> None:
    from headway import terminal
    from headway.files import write_json
    from headway.language import LocalModel, compute_on
    from headway_experiments.truncation.effects import effects, to_json
    from headway_experiments.truncation.models import truncate_model
    from headway_experiments.truncation.printing import print_effects

    compute_on(device, threads)
    lines = asked.kept(place)
    if lines is None:
        with terminal.counting("cut") as watch:
            load = partial(LocalModel, asked.model, "completion", device, terminal.say)
            lines = truncate_model(asked, load, place, watch)
    found, counts = effects(asked.texts, lines), Counter(text.kind for text in asked.texts)
    print_effects(found, counts)
    about = asked.ledger(place).about()
    del about["texts"]
    write_json(place / "effects.json", to_json(found, counts, about))
    terminal.say(f"truncation.jsonl and effects.json are in {place}")
    if terminal.can_draw():
        from headway.figures import save_both
        from headway_experiments.truncation.figures import draw_effects

        first, title = next(iter(found.values())), f"{Path(asked.model).name} with weights cut to"
        for weights, span in product(first.weights, first.spans):
            figure, stem = draw_effects(found, weights, span), place / f"{weights}-{span}"
            terminal.say(f"drawn in {save_both(figure, stem, f'{title} low rank')}")
