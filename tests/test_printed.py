"""Every block of output in README.md and docs/ is what its command prints."""

import contextlib
import io
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest

from headway.tasks import KINDS
from headway.terminal import cli
from in_process import forget_files

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN_WHOLE = {"docs/everyday.md"}
"""Pages whose every snippet is run elsewhere (test_everyday.py)."""

CODE = {"sh", "bash", "python", "toml", "json", "html"}
"""Languages of blocks that are typed, not printed."""

OWN_LOOP = "python own_loop.py"
DEMO = "headway demo seed=1"
PRINTED = {
    ("README.md", 0): OWN_LOOP,
    ("README.md", 1): DEMO,
    ("docs/quickstart.md", 0): "headway check token_task.py",
    ("docs/quickstart.md", 1): "headway circuit runs/lookup --ablation mean",
    ("docs/emergence.md", 0): "headway emergence runs/lookup",
    ("docs/relations.md", 0): OWN_LOOP,
    ("docs/programs.md", 0): (
        "headway circuit runs/lookup --ablation mean --program lookup_program.py"
    ),
}
"""The command that prints a block, by the page and the block's number on it."""

STEPS = {DEMO, "headway emergence runs/lookup"}
"""Commands that print steps of training, which depend on the processor, as whole
numbers.
"""


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """The language and the text of every fenced block."""
    text = page.read_text("utf-8")
    return re.findall(r"^ *```(\w*)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)


def printed_blocks() -> dict[tuple[str, int], str]:
    """Every block of output, by its page and its number there."""
    blocks = {}
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        outputs = [text for language, text in blocks_of(page) if language not in CODE]
        if name not in RUN_WHOLE:
            blocks |= {(name, number): text for number, text in enumerate(outputs)}
    return blocks


def quickstart() -> list[str]:
    """The commands of the quickstart's first block, in order."""
    _, block = blocks_of(ROOT / "docs/quickstart.md")[0]
    lines = [line.partition("#")[0].strip() for line in block.splitlines()]
    return [line for line in lines if line.startswith("headway")]


NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def words_of(text: str) -> list[str]:
    """Numbers, marks and words; white space, times and memory do not count."""
    text = re.sub(r"(\d+ min )?[\d.]+ s\b", "# s", text)
    text = re.sub(r"[\d.]+ GB", "# GB", text)
    text = re.sub(r"[▁▂▃▄▅▆▇█]+", "▁", text)
    return re.findall(rf"{NUMBER}|[,;:()]|[^\s\d,;:()]+", text)


def is_alike(said: str, printed: str, steps: bool) -> bool:
    """Tell whether two words are the same, or numbers that differ as processors differ.

    Whole numbers are equal, but steps of training: these differ by a third at most.
    Losses far below one differ by a factor of ten at most, other numbers by 0.05 or a
    fifth, not by 5.
    """
    if said == printed:
        return True
    if not (re.fullmatch(NUMBER, said) and re.fullmatch(NUMBER, printed)):
        return False
    first = float(said)
    second = float(printed)
    apart = abs(first - second)
    if said.isdigit() and printed.isdigit():
        return steps and apart <= max(first, second) / 3
    if "e-" in said + printed:
        return max(first, second) <= 10 * min(first, second)
    return apart <= max(0.05, min(first / 5, 5)) or (steps and apart <= first / 2)


def begins(words: list[str], said: list[str], steps: bool) -> bool:
    """Tell whether words begin with those that are said."""
    pairs = zip(said, words, strict=False)
    return len(said) <= len(words) and all(is_alike(*pair, steps) for pair in pairs)


def unlike(said: str, printed: str, steps: bool = False) -> str | None:
    """What a block says that is not printed; `…` in it stands for anything."""
    left = words_of(printed)
    parts = [words_of(part) for part in said.split("…")]
    for number, part in enumerate(parts):
        is_first = number == 0
        is_last = number == len(parts) - 1
        starts = [0] if is_first else [*range(len(left) + 1)]
        if is_last:
            starts = [start for start in starts if start == len(left) - len(part)]
        fitting = (start for start in starts if begins(left[start:], part, steps))
        if (start := next(fitting, None)) is None:
            return f"{' '.join(part)}\n  is said, and printed is\n{' '.join(left)}"
        left = left[start + len(part) :]
    return None


class Workshop:
    """A copy of examples/ in which commands are typed, each once."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.known: dict[str, str] = {}

    def printed(self, command: str) -> str:
        """What a command prints; those before it in the quickstart are typed first."""
        listed = quickstart()
        before = listed[: listed.index(command)] if command in listed else []
        for one in (*before, command):
            if one not in self.known:
                self.known[one] = self._typed(one)
        return self.known[command]

    def _typed(self, command: str) -> str:
        program, *words = shlex.split(command)
        printed = io.StringIO()
        progress = io.StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(progress),
        ):
            if program == "python":
                runpy.run_path(words[0], run_name="__main__")
            else:
                cli.main(words)
        return printed.getvalue()


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workshop")
    known = dict(KINDS)
    for path in EXAMPLES.glob("*.py"):
        shutil.copy(path, folder)
    yield Workshop(folder)
    forget_files()
    KINDS.clear()
    KINDS.update(known)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(
            block,
            id=f"{block[0]} {block[1]}",
            marks=pytest.mark.slow if PRINTED.get(block) == DEMO else (),
        )
        for block in printed_blocks()
    ],
)
def test_a_block_is_what_its_command_prints(block, workshop):
    assert block in PRINTED, "name the command that prints it"
    command = PRINTED[block]
    said = printed_blocks()[block]
    difference = unlike(said, workshop.printed(command), command in STEPS)
    assert difference is None, difference


def test_every_command_prints_a_block_and_is_told_on_a_page():
    assert PRINTED.keys() <= printed_blocks().keys()
    told = "".join(page.read_text("utf-8") for page in PAGES)
    for command in PRINTED.values():
        name = command.replace("python ", "examples/")
        assert name.replace(DEMO, "make demo") in told


SAID = "L0.H0: 2 back: 1.00 of it\nloss 1.5e-07, 3 paths\ntable …\nlast 100.0 %, 40 s\n"


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ("1.00", "0.98"),
        ("1.5e-07", "4.0e-07"),
        ("100.0", "99.2"),
        ("40 s", "1 min 50.5 s"),
        ("table …", "table 1\n 2 3 yes"),
        (" of it\nloss", "\n  of it loss"),
    ],
)
def test_what_depends_on_the_processor_may_differ(change, to):
    assert unlike(SAID, SAID.replace(change, to)) is None


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ("1.00", "0.06"),
        ("1.5e-07", "1.6e-06"),
        ("100.0", "90.0"),
        ("3 paths", "4 paths"),
        ("L0.H0", "L1.H0"),
        ("back", "ahead"),
        ("last", "last but one"),
        ("40 s", "40 s, more"),
        ("L0", "first\nL0"),
        ("table …\nlast 100.0 %, 40 s\n", "table …"),
    ],
)
def test_what_is_not_printed_is_seen(change, to):
    assert unlike(SAID, SAID.replace(change, to)) is not None


def test_steps_of_training_may_differ_by_a_third():
    assert unlike("from step 90", "from step 70", steps=True) is None
    assert unlike("from step 90", "from step 50", steps=True) is not None
    assert unlike("from step 90", "from step 70") is not None
