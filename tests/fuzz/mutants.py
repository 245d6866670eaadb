"""Planted faults: `make fuzz-mutants` plants each in a copy of the package, and a check
must fail.

A check is a part of what `make fuzz` tries, or a test. It must pass without the fault.
"""

import multiprocessing
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = CHECKOUT / "src" / "headway"
AT_A_TIME = 2
PATIENCE = 300
"""Seconds that a check may take."""

FORKING = multiprocessing.get_context("forkserver")
PRELOADED = [
    "beartype.door",
    "filelock",
    "hypothesis.strategies",
    "jaxtyping",
    "numpy",
    "pydantic",
    "pytest",
    "safetensors.torch",
    "scipy.special",
    "torch",
]
"""What all tests need but the package itself: imported once, in the process that those
of tests are forked from, as it takes most of a check's time."""


class Mutant(NamedTuple):
    """A planted fault.

    Attributes:
        what: it does.
        file: of the package.
        old: text that stands once in the file.
        new: text in its place.
    """

    what: str
    file: str
    old: str
    new: str

    @property
    def planted(self) -> str:
        """The file's text with the fault.

        Raises:
            ValueError: if the text to be replaced does not stand there just once.
            SyntaxError: if the file is no Python with it.
        """
        text = (PACKAGE / self.file).read_text()
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.what}: {self.old!r} stands {text.count(self.old)} times"
            )
        text = text.replace(self.old, self.new)
        compile(text, self.file, "exec")  # else any check would notice
        return text


LISTED = Path(__file__).with_name("mutants.toml")
Faults = dict[str, tuple[str, str]]


def planted_faults() -> dict[tuple[str, str], Faults]:
    """The faults of `mutants.toml` by what must notice them, areas of `fuzzing.py` with
    their options or tests, and by file: what each does, the text that it replaces, and
    the
    text in its place."""
    faults = dict[tuple[str, str], Faults]()
    for fault in tomllib.loads(LISTED.read_text("utf-8"))["fault"]:
        of_check = faults.setdefault((fault["check"], fault["file"]), {})
        of_check[fault["what"]] = fault["old"], fault["new"]
    return faults


MUTANTS = planted_faults()


Planted = tuple[str, Mutant]
"""A check, and a fault that it must notice."""


def chosen(words: str) -> list[Planted]:
    """The faults of the table whose text has these words; all if there are none."""
    return [
        (check, Mutant(what, file, old, new))
        for (check, file), several in MUTANTS.items()
        for what, (old, new) in several.items()
        if words in what
    ]


def outdated(faults: Iterable[Planted]) -> Iterator[str]:
    """What is wrong with faults that can no longer be planted, a line each."""
    for _, mutant in faults:
        try:
            mutant.planted  # noqa: B018
        except (ValueError, SyntaxError, OSError) as error:
            yield f"{mutant.file}: {error}"


@contextmanager
def copied(package: Path, mutant: Mutant | None = None) -> Iterator[Path]:
    """A folder with a copy of a package, with a fault planted if one is given.

    What was compiled of the package is copied, too, but for the file with the fault:
    that takes half of a check's time.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / package.name
        shutil.copytree(package, copy)
        if mutant is not None:
            file = copy / mutant.file
            file.write_text(mutant.planted)
            for compiled in file.parent.glob(f"__pycache__/{file.stem}.*"):
                compiled.unlink()
        yield Path(folder)


def settled(folder: Path, trained: Path) -> dict[str, str]:
    """The environment of a check that tries the package in a folder.

    Args:
        folder: with the package.
        trained: where tests leave the run that they share, or find it.
    """
    paths = [folder, CHECKOUT / "tests", CHECKOUT / "tests" / "report"]
    return {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "HEADWAY_TESTS_TRAINED": str(trained),
    }


def run_tests(check: str, environment: dict[str, str]) -> NoReturn:
    """Ends this process with the exit code of tests."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    os.chdir(CHECKOUT)
    os.environ.update(environment)
    # Whatever the user has set: to compile all anew takes long.
    sys.dont_write_bytecode = False
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    sys.argv = ["pytest"]
    import pytest

    known = "ignore::pytest.PytestAssertRewriteWarning"  # of what was imported before
    # to prepare that takes long
    unchecked = "--jaxtyping-packages=nothing,array_checks.checked"
    options = ["-x", "-p", "no:cacheprovider", "-W", known, unchecked]
    sys.exit(pytest.main([*options, *shlex.split(check)]))


def ended(check: str, environment: dict[str, str]) -> int | None:
    """The exit code of a check, an area of `fuzzing.py` or tests; None if it took too
    long.
    """
    if check.startswith("tests/"):
        process = FORKING.Process(target=run_tests, args=(check, environment))
        process.start()
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
            return None
        return process.exitcode
    words = [sys.executable, "tests/fuzzing.py", "--areas", *check.split()]
    settings = {**os.environ, **environment}
    try:
        done = subprocess.run(
            words,
            cwd=CHECKOUT,
            env=settings,
            timeout=PATIENCE,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def main() -> None:
    """Plant every fault, or those whose text has the words given, and print who
    noticed.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    FORKING.set_forkserver_preload(PRELOADED)
    faults = chosen(" ".join(sys.argv[1:]))
    if lines := list(outdated(faults)):
        raise SystemExit("\n".join(lines))
    checks = list(dict.fromkeys(check for check, _ in faults))
    missed = 0
    with copied(PACKAGE) as folder, ThreadPoolExecutor(AT_A_TIME) as pool:
        package = folder / PACKAGE.name
        trained = folder / "trained"

        def without_fault(check: str) -> int | None:
            return ended(check, settled(folder, trained))

        def with_fault(planted: Planted) -> int | None:
            check, mutant = planted
            with copied(package, mutant) as other:
                return ended(check, settled(other, trained))

        sound = dict[str, int | None]()
        for check, code in zip(checks, pool.map(without_fault, checks), strict=True):
            sound[check] = code
            told = "passes" if code == 0 else f"FAILS with exit code {code}"
            print(
                f"without a fault, {len(sound)} of {len(checks)}: {check} {told}",
                flush=True,
            )
        print("| fault | check | noticed |", "|---|---|---|", sep="\n", flush=True)
        for (check, mutant), code in zip(
            faults, pool.map(with_fault, faults), strict=True
        ):
            fine = sound[check] == 0 and code == 1
            told = (
                "yes"
                if fine
                else f"no: exit code {code}, and {sound[check]} without it"
            )
            print(
                f"| {mutant.what} | {check.rpartition('/')[2]} | {told} |", flush=True
            )
            missed += not fine
    print(f"{len(faults) - missed} of {len(faults)} faults are noticed")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
