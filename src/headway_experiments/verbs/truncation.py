"""The verb that cuts weights of a language model to low rank."""

from collections import Counter
from functools import partial
from itertools import product
from pathlib import Path


def truncate(
    model: str = "smollm2",
    layers: str | None = None,
    weights: str = "mlp",
    rank: str = "0,0.1,0.2,0.5,1",
    prompts: tuple[str, ...] = ("all",),
    folder: Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
) -> None:
    """Cut weights of a language model to low rank, and see what changes.

    Every weight is decomposed once (SVD); a rank is a fraction of the full one, rounded
    up: 1 is the intact weight, 0 none of it. Layers are truncated each alone, and each
    with those above it. Measured is how probable an answer of content is against a
    generic word, as in "Madrid is located in", Spain or the. Results are kept, and the
    command goes on where it was.

    Args:
        model: smollm2, gemma3, a GGUF file, or a folder of Transformers.
        layers: a number, a range (20..29) or a list; by default the upper third.
        weights: sets of weights, separated by commas: mlp, attention, query, key,
            value, output, gate, up, down; weights joined by + are truncated together.
        rank: fractions of the full rank, separated by commas.
        prompts: places, capitals, fictional, moved, names, all, or a JSONL file with
            prompt, answer and generic on every line.
        folder: of the results; by default runs/truncate-MODEL.
        device: cpu, cuda or mps.
        threads: on a CPU; by default as many as PyTorch takes.
    """
    from headway import terminal
    from headway.fields import values_of
    from headway.training.files import write_json
    from headway_experiments.figures import can_draw
    from headway_experiments.language import LocalModel, compute_on, place_of
    from headway_experiments.truncation.cuts import Axes, Cuts
    from headway_experiments.truncation.effects import effects, to_json
    from headway_experiments.truncation.models import Truncating, truncate_model
    from headway_experiments.truncation.texts import completions
    from headway_experiments.truncation.views import draw_effects, print_effects

    chosen = None if layers is None else tuple(values_of("layers", layers, int))
    sets = dict.fromkeys(part.strip() for part in weights.split(","))
    fractions = dict.fromkeys(values_of("rank", rank, float))
    cuts = Cuts(chosen, tuple(sets), tuple(fractions))
    asked = Truncating(model, cuts, tuple(completions(prompts)))
    place = place_of("truncate", model, folder)
    compute_on(device, threads)
    lines = asked.kept(place)
    if lines is None:
        with terminal.counting("cut") as watch:
            load = partial(LocalModel, model, "completion", device, print)
            lines = truncate_model(asked, load, place, watch)
    measured = effects(asked.texts, lines)
    counts = Counter(text.kind for text in asked.texts)
    print_effects(measured, counts)
    about = asked.ledger(place).about()
    del about["texts"]
    write_json(place / "effects.json", to_json(measured, counts, about))
    print(f"truncation.jsonl and effects.json are in {place}")
    if can_draw():
        from headway.report.figures.style import save_all

        axes = Axes.of(lines)
        title = f"{Path(model).name} with weights cut to"
        for names, span in product(axes.weights, axes.spans):
            figure = draw_effects(measured, names, span)
            stem = place / f"{names}-{span}"
            print(f"drawn in {save_all(figure, stem, f'{title} low rank')}")
