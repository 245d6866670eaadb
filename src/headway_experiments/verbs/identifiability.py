"""The verb that counts the minimal circuits of small models."""

from pathlib import Path

from headway.errors import HeadwayError, require


def identifiability(
    first: int | None = None,
    most: int = 2_000,
    others: Path | None = None,
    table_only: bool = False,
    out: Path = Path("runs/identifiability"),
) -> None:
    """Count the minimal circuits of small models under five ablations: a table and a figure.

    Counts are kept in the folder: the command goes on where it was. It leaves counts.jsonl,
    identifiability.md and a figure there, and the runs of the models that it trains.

    Args:
        first: how many models; families take turns, and by default all are studied.
        most: sets of paths that are judged at most, a model and ablation.
        others: a Python file with more models: MODELS, a dictionary that has by name a function
            which makes a module, and its task.
        table_only: count nothing; table and figure of the counts that there are.
        out: the folder.
    """
    from headway import terminal
    from headway.files import write_whole
    from headway_experiments.identifiability.counting import Count, counted
    from headway_experiments.identifiability.models import models
    from headway_experiments.identifiability.table import draw, markdown

    def watch(one: Count) -> None:
        told = one.refused or f"{len(one.circuits)} circuits of {one.candidates} paths"
        more = "" if one.complete else ", not complete"
        terminal.say(f"{one.model}, {one.ablation}: {told}{more}")

    require(first is None or first >= 1, "first", first, "a whole number of at least 1")
    chosen = [] if table_only else models(others)[:first]
    counts = counted(out, chosen, most, watch)
    if not counts:
        raise HeadwayError(f"{out}: no counts are there")
    write_whole(out / "identifiability.md", markdown(counts).encode())
    terminal.say(f"written to {out / 'identifiability.md'} and {out / 'counts.jsonl'}")
    if terminal.can_draw():
        from headway.figures import save_both

        title = "Minimal circuits of small models, by ablation"
        terminal.say(f"drawn in {save_both(draw(counts), out / 'identifiability', title)}")
