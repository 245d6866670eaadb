"""The verb that scores searches for circuits on models whose circuits are known."""

from pathlib import Path

from headway.errors import require


def arena(
    families: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    first: int | None = None,
    planted: str = "4000..4059",
    depth: int = 5,
    strangers: Path | None = None,
    workers: int = 1,
    out: Path = Path("runs/arena"),
) -> None:
    """Score methods that look for circuits on models whose circuits are known: one
    table.

    Results are kept in the folder: the command goes on where it was. It leaves
    scores.jsonl and arena.md there, and the runs of the models that it trains.

    Args:
        families: of models: tracr (compiled by Tracr, if it is installed), siit
            (trained to such a program), trained, compiled, planted, strangers. By
            default all.
        methods: headway, blind, EAP, EAP-IG, ACDC, "EAP corrupted", "EAP-IG corrupted",
            "ACDC corrupted", GIM, PEAP, "head ablation", naming, attention, random. By
            default all.
        first: how many models of every family; by default all.
        planted: seeds of the models that are built at random.
        depth: the depth up to which models are built by hand.
        strangers: a folder of others' models, whose circuits are not known; it has a
            strangers.py with MODELS, by name a function that builds a model, and its
            task.
        workers: processes, each on one core.
        out: the folder.
    """
    from headway.fields import values_of
    from headway.training.files import clear_content_errors, write_whole
    from headway_experiments.arena.contest import FILE, contest
    from headway_experiments.arena.families import families as known
    from headway_experiments.arena.table import markdown, print_row

    require(1 <= depth <= 16, "depth", depth, "from 1 to 16")
    seeds = values_of("planted", planted, int)
    for seed in seeds:
        require(0 <= seed < 2**31, "planted", seed, "from 0 to 2,147,483,647")
    known_families = known(seeds, depth, strangers)
    for name in families:
        require(
            name in known_families,
            "family",
            name,
            f"one of {', '.join(known_families)}",
        )
    chosen = families or [
        name for name, family in known_families.items() if family.missing is None
    ]
    asked = {name: known_families[name] for name in chosen}
    rows = contest(out, asked, methods, first, workers, print_row)
    with clear_content_errors(out / FILE):
        page = markdown(rows)
    for name, family in known_families.items():
        if name not in asked and not families:
            print(f"without the family {name}: {family.missing}")
    write_whole(out / "arena.md", page.encode())
    print(f"written to {out / 'arena.md'} and {out / FILE}")
