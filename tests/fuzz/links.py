"""Links in runs' folders: whatever they lead to, no verb writes, deletes or makes
anything there.

A tree holds a run, a sweep and another run, and in the place of some of their files and
folders
links: to files, folders and runs elsewhere, to nothing, to themselves, to other parts
of the run. All that the verb was not told to work on is compared before and after, file
by file.
"""

import contextlib
import hashlib
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from serving import serving

from fuzz.commands import called
from fuzz.runs import CONFIG
from fuzz.tried import Tried
from headway.errors import HeadwayError
from headway.sweeps import sweep
from headway.sweeps.plan import Plan
from headway.training import Run, RunConfig, train
from headway.training.recorder import Recorder
from in_process import InThisProcess, swept_here

MOST_LINKS = 4

DRAFT = f"draft-{threading.get_native_id()}"
"""The end of the names of drafts that this thread writes."""

IN_A_RUN = (
    "figures",
    "checkpoints",
    "clamped",
    "report.html",
    "config.json",
    "outcome.json",
    ".lock",
    "circuit.json",
    "circuits.json",
    "emergence.json",
    "dependence.json",
    "certificate.json",
    "refused.json",
    "metrics.jsonl",
    "environment.json",
    "state.safetensors",
    "circuit_0000003.json",
    "checkpoints/step_0000003.safetensors",
    "figures/losses.svg",
    "figures/losses.png",
    "clamped/plan.json",
    "clamped/.lock",
    ".state.safetensors.draft-1",
    "figures/.losses.svg.draft-2",
    f".report.html.{DRAFT}",
    f".circuit.json.{DRAFT}",
    f"checkpoints/.step_0000003.safetensors.{DRAFT}",
    "clamped/L1.H0 s0←s2",
    "clamped/L1.H0 s0←s2/checkpoints",
    "clamped/L1.H0 s0←s2/outcome.json",
)
"""Places of links in a run's folder."""

IN_A_SWEEP = (
    "plan.json",
    ".lock",
    "report.html",
    "seed=0",
    "seed=1",
    f".plan.json.{DRAFT}",
    "more",
    "seed=0/checkpoints",
    "seed=0/outcome.json",
    "seed=0/metrics.jsonl",
    "seed=1/figures",
    "seed=0/.lock",
    "seed=1/checkpoints",
    f".seed=2.{DRAFT}",
    "seed=2",
)
"""Places of links in a sweep's folder."""

FOLLOWED = {
    "run": ("figures", "checkpoints", "clamped", "metrics.jsonl", ".lock"),
    "sweep": ("seed=0", "seed=1", "seed=0/checkpoints", "seed=0/metrics.jsonl"),
}
"""Places where a link would be followed by whoever writes without a look at it."""

ON_A_RUN = (
    "report {run}",
    "train --resume {run}",
    "emergence {run} --sequences 8",
    "check {run}",
    "circuit {run} --threshold 10 --sequences 8 --trials false",
    "circuit {run} --threshold 10 --sequences 8 --trials false --step 3",
    "circuit {run} --threshold 10 --sequences 8 --trials false --all --most 20",
    "circuit {run} --certify --agreement 0.5",
    "depend {run}",
    "runs {run}",
    "circuit {run} --threshold 10 --sequences 8 --trials false --circuit "
    "{run}/circuit.json",
)
ON_A_FOLDER = (
    "runs {tree}",
    "runs {tree} --table {tree}/table.csv",
    "report {tree}",
    "report {sweep}",
    "sweep {sweep}",
    "sweep {sweep} --retry-failed",
    "report {run} {other} --out {tree}/a.html",
    "runs {sweep} --table {sweep}/table.csv",
    "report {run} {sweep}/seed=0",
    "train {fast} --folder {sweep}/seed=2",
    "demo {fast} --folder {sweep}/seed=2",
)
FAST = (
    "fast depth=1 n_layers=1 d_model=8 steps=4 eval_every=2 eval_examples=4 "
    "batch_size=4"
)
FAST += " train_examples=none cooldown_steps=0 warmup_steps=0"

VERBS = (
    *ON_A_RUN,
    *ON_A_FOLDER,
    "serve {tree}",
    "record {sweep}/seed=2",
    "record {tree}/new",
)
"""What is done with a tree; a Recorder is no verb, but it writes to a run's folder,
too.
"""


@dataclass(frozen=True)
class World:
    """The surroundings of trees.

    Attributes:
        folder: that holds all.
        run: with every file, which trees are made of.
        swept: a sweep of two short runs, one of which is to go on.
        state: from which the run goes on from its middle.
    """

    folder: Path
    run: Path
    swept: Path
    state: bytes

    @property
    def outside(self) -> Path:
        """A folder of what belongs to somebody else."""
        return self.folder / "outside"

    def furnish(self) -> None:
        """Makes what lies outside, as if nothing had happened to it."""
        shutil.rmtree(self.outside, ignore_errors=True)
        shutil.copytree(self.run, self.outside / "run")
        shutil.copytree(self.swept, self.outside / "sweep")
        (self.outside / "run" / "figures").mkdir(exist_ok=True)
        home = self.outside / "home" / ".thesis.draft-2"
        home.mkdir(parents=True)
        for path in (
            home / "text",
            home.parent / "losses.svg",
            home.parent / "losses.png",
        ):
            path.write_text("precious")


def made(folder: Path, run: Run) -> World:
    """The surroundings of trees, in a new folder."""
    training = replace(CONFIG.training, steps=6)
    config = replace(CONFIG, training=training)
    plan = Plan(
        "swept", {f"seed={seed}": replace(config, seed=seed) for seed in range(2)}
    )
    swept = folder / "swept"
    sweep(plan, swept, InThisProcess())
    (swept / "seed=0" / "outcome.json").unlink()
    (swept / "seed=0" / "state.safetensors").write_bytes(
        middle(plan.runs["seed=0"], folder / "a")
    )
    world = World(folder, run.folder, swept, middle(run.config, folder / "b"))
    world.furnish()
    return world


def middle(config: RunConfig, folder: Path) -> bytes:
    """The state of a run that was interrupted in its middle."""

    def stop(run: Run, step: int, end: int, metrics: object) -> None:
        if step == end - 1:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        train(config, folder, stop)
    return (folder / "state.safetensors").read_bytes()


def planted(words: str, world: World, chance: random.Random) -> Path:
    """A tree, with links in it, most of them where the verb that is to come may
    write.
    """
    tree = world.folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(world.run, tree / "run")
    shutil.copytree(world.swept, tree / "sweep")
    shutil.copytree(world.swept / "seed=1", tree / "other")
    if chance.random() < 0.7:
        (tree / "run" / "outcome.json").unlink()  # it is to go on
        (tree / "run" / "state.safetensors").write_bytes(world.state)
    for _ in range(chance.randint(1, MOST_LINKS)):
        is_named = "sweep" in words if chance.random() < 0.8 else chance.random() < 0.5
        inside, places = ("sweep", IN_A_SWEEP) if is_named else ("run", IN_A_RUN)
        likely = FOLLOWED[inside] if chance.random() < 0.6 else places
        plant(world, tree / inside, chance.choice(likely), chance)
    return tree


def plant(world: World, folder: Path, name: str, chance: random.Random) -> None:
    """Put a link in the place of a part of a run or a sweep, if its own folder is
    one.
    """
    path = folder / name
    inside = [part for part in path.parents if part.is_relative_to(folder)]
    if any(part.is_symlink() for part in inside):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    home = world.outside / "home"
    counterpart = world.outside / folder.name / name
    targets = [home, home / "losses.svg", home / ".thesis.draft-2", *[counterpart] * 12]
    targets += [
        world.outside / "run",
        world.outside / "nothing",
        path,
        folder,
        folder.parent,
    ]
    targets += [folder / "figures", folder / "checkpoints", folder.parent / "other"]
    target = chance.choice(targets)
    is_relative = chance.random() < 0.5
    path.symlink_to(os.path.relpath(target, path.parent) if is_relative else target)


def kept(*folders: Path) -> dict[str, str]:
    """All that lies in some folders, each with its content and when it was last written
    to.

    A folder in which a file was made and removed again was written to as well.
    """
    found = dict[str, str]()
    for folder in folders:
        for place, inner, names in os.walk(folder):
            for name in (*inner, *names):
                path = os.path.join(place, name)
                about = os.lstat(path)
                if os.path.islink(path):
                    content = os.readlink(path)
                elif os.path.isdir(path):
                    content = "a folder"
                else:
                    content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
                found[path] = f"{content} {about.st_ino} {about.st_mtime_ns}"
    return found


def outside_of(words: str, world: World, tree: Path) -> list[Path]:
    """The folders that a verb was not told to write to."""
    parts = {"{run}": tree / "run", "{sweep}": tree / "sweep"}
    others = [folder for name, folder in parts.items() if name not in words]
    return [world.outside, tree / "other", *others]


def carry_out(words: str, world: World, tree: Path) -> None:
    """Do with a tree what words say; it may be refused in a line."""
    names = {
        "tree": tree,
        "run": tree / "run",
        "sweep": tree / "sweep",
        "other": tree / "other",
    }
    given = [word.format(**names) for word in words.replace("{fast}", FAST).split()]
    if given[0] == "record":
        record(Path(given[1]))
    elif given[0] == "serve":
        look_at_all(tree)
    else:
        said, code = called(given)
        assert "Traceback" not in said, said
        assert code in (0, 1, 2), f"exit code {code}: {said}"
        assert code != 2 or said.strip(), "no reason was given"


def record(folder: Path) -> None:
    """A loop of one's own is recorded, and meanwhile a link takes a place in its
    folder.
    """
    model = Run(folder, CONFIG).new_model("cpu")
    with (
        contextlib.suppress(HeadwayError),
        Recorder(folder, model, CONFIG.task) as recorder,
    ):
        recorder.save(1, 1.0)
        shutil.rmtree(folder / "checkpoints")
        (folder / "checkpoints").symlink_to(folder.parent.parent / "outside" / "run")
        recorder.save(2, 1.0)


def look_at_all(tree: Path) -> None:
    """Ask a server for the list of a tree and for every page that it links to."""
    with serving(tree) as site:
        for page in ["/", *(link for link in site.links() if link)]:
            site.page(page)


@contextlib.contextmanager
def drawn_plainly() -> Iterator[None]:
    """Within it, figures for papers are empty ones: it is where they go to that
    counts.
    """
    empty: Callable[[], Figure] = lambda: Figure((1, 1))  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "headway.report.figures.saving.drawings", lambda _: {"losses": empty}
        )
        yield


def linked_trees(
    tried: Tried,
    count: int,
    seed: int,
    folder: Path,
    run: Run,
    verbs: Sequence[str] = VERBS,
) -> None:
    """Trees with links go through every verb in turn; nothing outside is touched.

    Args:
        tried: takes note.
        count: trees.
        seed: of what is drawn.
        folder: a new one, for all that is made.
        run: with every file.
        verbs: that are taken in turn.
    """
    chance = random.Random(seed)
    folder.mkdir(parents=True)
    world = made(folder, run)
    with swept_here(), drawn_plainly():
        for number in range(count):
            words = verbs[number % len(verbs)]
            tree = planted(words, world, chance)
            places = outside_of(words, world, tree)
            before = kept(*places)
            with tried.case("linked trees", f"tree {number} of seed {seed}: {words}"):
                carry_out(words, world, tree)
                after = kept(*places)
                touched = [path for path, _ in before.items() ^ after.items()]
                assert not touched, f"touched: {sorted(set(touched))}"
            if kept(world.outside) != {
                p: x for p, x in before.items() if str(world.outside) in p
            }:
                world.furnish()
