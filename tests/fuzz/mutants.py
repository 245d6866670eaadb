"""Planted faults: `make fuzz-mutants` plants each in a copy of the package, and a check must fail.

A check is a part of what `make fuzz` tries, or a test. It must pass without the fault.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = CHECKOUT / "src" / "headway"
AT_A_TIME = 2
PATIENCE = 300
"""Seconds that a check may take."""


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
            raise ValueError(f"{self.what}: {self.old!r} stands {text.count(self.old)} times")
        text = text.replace(self.old, self.new)
        compile(text, self.file, "exec")  # else any check would notice
        return text


FILES, RUN = "training/files.py", "training/run.py"
READING, FIELDS, TRAINER = "reading.py", "fields.py", "training/loop.py"
USERFILE = "userfile.py"
PAGE, SERVER = "report/page.py", "report/server.py"
OWN_TASK, RESUME = "tests/test_cli_own_task.py", "tests/training/test_resume.py"
MUTANTS: dict[tuple[str, str], dict[str, tuple[str, str]]] = {
    ("power --cuts 120", FILES): {
        "a file is not flushed": (
            "fsync(file.fileno())\n            os",
            "stat('.')\n            os",
        ),
        "an evaluation is not flushed": (
            "fsync(file.fileno())\n        sync",
            "stat('.')\n        sync",
        ),
        "a file's folder is not flushed": (
            "sync_folder(path.parent)\n        finally",
            "pass\n        finally",
        ),
    },
    ("power --cuts 120", RUN): {
        "a new run's folder is not flushed": ("files.sync_folder(folder.parent)", "pass")
    },
    ("calls --calls 250", FILES): {
        "a disk's error is a traceback": (
            'except OSError as error:\n        raise HeadwayError(f"cannot {doing}',
            'except BlockingIOError as error:\n        raise HeadwayError(f"cannot {doing}',
        )
    },
    ("crashes --every 2", FILES): {
        "a file is written in place": ("os.replace(draft, path)", "path.write_bytes(content)")
    },
    ("crashes --every 2", TRAINER): {
        "optimisers forget at a resume": ("trainer.optimisers.load(tensors)", "pass")
    },
    ("altered --altered 300", FILES): {
        "half a line counts": ('split(b"\\n")[:-1]', "splitlines()"),
        "a checksum is ignored": ("expected not in (None, checksum(tensors, about))", "False"),
        "a checksum must be there": ("not in (None, ", "not in ("),
    },
    ("altered --altered 300", RUN): {
        "evaluations may be in any order": ("require(step > last,", "require(True,"),
        "an outcome need not agree": ('outcome["step"] != last', "False"),
    },
    ("altered --altered 300", TRAINER): {
        "a lost evaluation is passed over": (":= sorted(due - made):", ":= None:")
    },
    ("altered --altered 300", FIELDS): {
        "numbers may be texts": ("to_json(data), strict=True", "to_json(data)"),
        "an unknown setting is passed over": (" or name not in hints):", "):"),
    },
    ("tests/test_reading.py", READING): {
        "JSON may be of any depth": (
            "data = from_json(",
            "return __import__('json').loads(content)\n        data = from_json(",
        ),
        "NaN is a number": (
            "data = from_json(",
            "return from_json(content.decode())\n        data = from_json(",
        ),
        "numbers need not be finite": ("json.dumps(data, allow_nan=False)", "json.dumps(data)"),
        "files may have 2 GiB": ("MOST = 256 * 2**20", "MOST = 2 * 2**30"),
        "large files are refused": ("MOST = 256 * 2**20", "MOST = 2**20"),
        "pipes and devices are read": ("if not stat.S_ISREG", "if 0 and stat.S_ISREG"),
    },
    ("tests/training/test_files.py", FILES): {
        "drafts are left on a full disk": ("draft.unlink(missing_ok=True)", "pass")
    },
    ("tests/training/test_durable.py", RUN): {
        "drafts of killed writers are left": ("files.remove_drafts(self.folder / name)", "pass"),
        "drafts beside a run are left": ("glob.escape(folder.name)", "''"),
    },
    ("tests/training/test_durable.py", FILES): {
        "a new file's folder is not flushed": ("sync_folder(path.parent)\n\n", "pass\n\n")
    },
    ("tests/training/test_run.py", FILES): {"no lock is taken": ("lock.acquire()", "pass")},
    ("tests/training/test_run.py", RUN): {
        "a rewound run keeps later checkpoints": ("self.drop_checkpoint(after)", "pass")
    },
    (f"{RESUME}::test_what_was_found_in_weights_that_are_trained_on_is_forgotten", RUN): {
        "a rewound run keeps its circuit": ("self.remove(name)", "pass")
    },
    ("tests/training/test_data.py", "training/data.py"): {
        "a batch ignores its step": ('"step", step))', '"step"))')
    },
    ("tests/test_cli_runs.py::test_an_interrupted_run_can_be_resumed", TRAINER): {
        "an interrupted run has failed": ("stop.add_note(", "run.end('') or stop.add_note(")
    },
    ("tests/test_trust.py", USERFILE): {
        "a file that a folder names is executed": ("{*_known, *listed()}", "{line}"),
        "a trusted file is executed although it has changed": ("line not in known", "False"),
        "any function of a trusted file may build a model": (
            ' + (f":{builder}" if builder else "")',
            "",
        ),
    },
    ("tests/models/test_tapped_kinds.py", "models/trial.py"): {
        "attention that is not seen is passed over": ("if found.is_joint:", "if False:"),
        "positions may stand anywhere in a pattern": ("bool(differs.any()) and", "True or"),
    },
    (OWN_TASK, "tasks/registry.py"): {
        "a digest is not compared": ('defined.get("sha256") == now.sha256', "True")
    },
    ("tests/test_elsewhere.py", RUN): {
        "a model stays on the CPU": ("        ).to(place)", "        )"),
        "a module of one's own stays on the CPU": (
            "(plain(built), step, load_weights).to(self.device)",
            "(plain(built), step, load_weights)",
        ),
    },
    ("tests/test_elsewhere.py", "tasks/retrieval.py"): {
        "a rotation stays on the CPU": (".Q.to(device)", ".Q")
    },
    ("tests/test_elsewhere.py", "tasks/hops.py"): {
        "hops are asked on the CPU": ("self.asked, device=which.device", "self.asked")
    },
    ("tests/test_elsewhere.py", "models/transformer.py"): {
        "places are counted on the CPU": (
            "inputs.shape[1], device=inputs.device",
            "inputs.shape[1]",
        )
    },
    ("tests/test_elsewhere.py", "training/data.py"): {
        "a set is drawn on the CPU": ('(self.device, self.seed, "set"', '("cpu", self.seed, "set"')
    },
    ("tests/report/test_hostile_names.py", PAGE): {
        "text is put into a page as it is": ("escape(plain(page.title))", "plain(page.title)")
    },
    ("tests/report/test_hostile_names.py", "report/schema.py"): {
        "data are put into a page as they are": ('.replace("<", "\\\\u003c")', "")
    },
    ("tests/report/test_run_page.py::test_the_page_is_whole_and_runs_its_own_script_only", PAGE): {
        "a page may run any script": ("script-src 'sha256-{digest}'", "script-src 'unsafe-inline'")
    },
    ("tests/report/test_serve_security.py", PAGE): {
        "a page may ask anybody": ("default-src 'none'", "default-src *")
    },
    ("tests/report/test_serve_security.py", SERVER): {
        "any host is answered": ("if len(hosts) != 1 or", "if False and")
    },
    ("tests/test_output.py::test_names_do_not_command_the_terminal", "terminal/output.py"): {
        "control characters are printed as they are": ("else plain(text)", "else text")
    },
}
"""Faults by what must notice them, areas of `fuzzing.py` with their options or tests, and by file:
what each does, the text that it replaces, and the text in its place."""


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

    What was compiled of the package is copied, too, but for the file with the fault: that takes
    half of a check's time.
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


def ended(check: str, folder: Path, trained: Path) -> int | None:
    """The exit code of a check; None if it took too long.

    Args:
        check: an area of `fuzzing.py` with its options, or tests.
        folder: with the package that is tried.
        trained: where tests leave the run that they share, or find it.
    """
    if check.startswith("tests/"):
        words = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *check.split()]
    else:
        words = ["tests/fuzzing.py", "--areas", *check.split()]
    paths = os.pathsep.join([str(folder), "tests", "tests/report"])
    settings = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    settings["HEADWAY_TESTS_TRAINED"] = str(trained)
    settings.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        done = subprocess.run(
            [sys.executable, *words], cwd=CHECKOUT, env=settings, timeout=PATIENCE,
            capture_output=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def main() -> None:
    """Plant every fault, or those whose text has the words given, and print who noticed."""
    faults = chosen(" ".join(sys.argv[1:]))
    if lines := list(outdated(faults)):
        raise SystemExit("\n".join(lines))
    checks = list(dict.fromkeys(check for check, _ in faults))
    missed = 0
    with copied(PACKAGE) as folder, ThreadPoolExecutor(AT_A_TIME) as pool:
        package, trained = folder / PACKAGE.name, folder / "trained"

        def without_fault(check: str) -> int | None:
            return ended(check, folder, trained)

        def with_fault(planted: Planted) -> int | None:
            check, mutant = planted
            with copied(package, mutant) as other:
                return ended(check, other, trained)

        sound = dict[str, int | None]()
        for check, code in zip(checks, pool.map(without_fault, checks), strict=True):
            sound[check] = code
            told = "passes" if code == 0 else f"FAILS with exit code {code}"
            print(f"without a fault, {len(sound)} of {len(checks)}: {check} {told}", flush=True)
        print("| fault | check | noticed |", "|---|---|---|", sep="\n", flush=True)
        for (check, mutant), code in zip(faults, pool.map(with_fault, faults), strict=True):
            fine = sound[check] == 0 and code == 1
            told = "yes" if fine else f"no: exit code {code}, and {sound[check]} without it"
            print(f"| {mutant.what} | {check.rpartition('/')[2]} | {told} |", flush=True)
            missed += not fine
    print(f"{len(faults) - missed} of {len(faults)} faults are noticed")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
