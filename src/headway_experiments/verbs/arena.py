"""Verbs that score searches for circuits on models whose circuits are known."""

from pathlib import Path

from headway.errors import require


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
    from headway.files import clear_content_errors, write_whole
    from headway_experiments.arena.contest import FILE, contest, require_contest
    from headway_experiments.arena.families import families as known
    from headway_experiments.arena.table import markdown
    from headway_experiments.arena.terminal import print_arena, print_row

    require_contest(families, methods, budget, first, workers)
    for name, family in known().items():
        if family.missing is not None and not families:
            terminal.say(f"without the family {name}: {family.missing}")
    rows = contest(out, families, methods, budget, first, workers, print_row)
    with clear_content_errors(out / FILE):
        page = markdown(rows)
    print_arena(rows)
    write_whole(out / "arena.md", page.encode())
    terminal.say(f"written to {out / 'arena.md'} and {out / FILE}")


def truth(planted: int = 20, first: int = 0, depth: int = 4, file: Path | None = None) -> None:
    """Score the discovery of circuits on transformers whose circuit is known by construction.

    Args:
        planted: how many random planted circuits, one per seed.
        first: the first seed.
        depth: compiled transformers up to this depth, of both constructions.
        file: where to write all scores, as JSON.
    """
    from headway import terminal
    from headway_experiments.arena.terminal import print_score, print_scores
    from headway_experiments.arena.truth import scored

    require(0 <= planted <= 1_000_000, "planted", planted, "from 0 to 1,000,000")
    require(0 <= first < 2**31, "first", first, "from 0 to 2,147,483,647")
    require(0 <= depth <= 16, "depth", depth, "from 0 to 16")
    if file is not None:
        terminal.require_file(file, (".json",))
    scores = []
    for one in scored(range(first, first + planted), range(1, depth + 1)):
        scores.append(one)
        print_score(one)
    print_scores(scores)
    if file is not None:
        from headway.files import write_json

        write_json(file, [one.to_json() for one in scores])
