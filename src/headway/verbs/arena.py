"""The verb that lets methods compete on models whose circuits are known."""

from pathlib import Path


def arena(
    families: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    budget: int = 2_000,
    first: int | None = None,
    workers: int = 1,
    out: Path = Path("runs/arena"),
) -> None:
    """Score methods that look for circuits on models whose circuits are known: one table.

    Results are kept in the folder: the command goes on where it was. It leaves scores.jsonl
    and arena.md there, and the runs of the models that it trains.

    Args:
        families: of models: tracr (compiled by Tracr, if it is installed), trained, compiled,
            planted. By default all.
        methods: headway, EAP, EAP-IG, ACDC, "edge pruning", "head ablation", attention, random.
            By default all.
        budget: forward and backward passes that EAP-IG, ACDC and edge pruning may make on a model
            (at least 2 are made); the other methods make the passes that they need.
        first: how many models of every family; by default all.
        workers: processes, each on one core.
        out: the folder.
    """
    from headway import terminal
    from headway.arena.contest import FILE, contest, require_contest
    from headway.arena.families import families as known
    from headway.arena.table import markdown
    from headway.training.files import clear_content_errors, write_text

    require_contest(families, methods, budget, first, workers)
    for name, family in known().items():
        if family.missing is not None and not families:
            terminal.say(f"without the family {name}: {family.missing}")
    rows = contest(out, families, methods, budget, first, workers, terminal.print_row)
    with clear_content_errors(out / FILE):
        page = markdown(rows)
    terminal.print_arena(rows)
    write_text(out / "arena.md", page)
    terminal.say(f"written to {out / 'arena.md'} and {out / FILE}")
