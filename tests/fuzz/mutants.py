"""Planted faults: `make fuzz-mutants` plants each in a copy of the package, and a check must fail.

A check is a part of what `make fuzz` tries, or a test. It must pass without the fault.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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


FILES, FOLDER, RUN = "training/files.py", "training/folder.py", "training/run.py"
READING, FIELDS, TRAINER = "reading.py", "fields.py", "training/loop.py"
USERFILE = "userfile.py"
PAGE, SERVER = "report/page.py", "report/server.py"
OWN_TASK, RESUME = "tests/training/test_own_task.py", "tests/training/test_resume.py"
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "power --cuts 120": (
        Mutant(
            "a file is not flushed",
            FILES,
            "fsync(file.fileno())\n            os",
            "stat('.')\n            os",
        ),
        Mutant(
            "an evaluation is not flushed",
            FILES,
            "fsync(file.fileno())\n        if",
            "stat('.')\n        if",
        ),
        Mutant(
            "a file's folder is not flushed",
            FILES,
            "sync_folder(path.parent)\n        finally",
            "pass\n        finally",
        ),
        Mutant("a new run's folder is not flushed", RUN, "sync_folder(folder.parent)", "pass"),
    ),
    "calls --calls 250": (
        Mutant(
            "a disk's error is a traceback",
            FILES,
            'except OSError as error:\n        raise HeadwayError(f"cannot {doing}',
            'except BlockingIOError as error:\n        raise HeadwayError(f"cannot {doing}',
        ),
    ),
    "crashes --every 2": (
        Mutant(
            "a file is written in place",
            FILES,
            "os.replace(draft, path)",
            "path.write_bytes(content)",
        ),
        Mutant(
            "optimisers forget at a resume", TRAINER, "trainer.optimisers.load(tensors)", "pass"
        ),
    ),
    "altered --altered 300": (
        Mutant("half a line counts", FILES, 'split(b"\\n")[:-1]', "splitlines()"),
        Mutant("evaluations may be in any order", FOLDER, "require(step > last,", "require(True,"),
        Mutant("an outcome need not agree", FOLDER, "if found != outcome[name]", "if False"),
        Mutant("a lost evaluation is passed over", TRAINER, "if missing:", "if False:"),
        Mutant(
            "a checksum is ignored",
            FILES,
            "expected not in (None, checksum(tensors, about))",
            "False",
        ),
        Mutant("a checksum must be there", FILES, "not in (None, ", "not in ("),
        Mutant(
            "numbers may be texts",
            FIELDS,
            "validate_json(to_json(data), strict=True)",
            "validate_json(to_json(data))",
        ),
        Mutant("an unknown setting is passed over", FIELDS, "if name not in hints):", "if False):"),
    ),
    "tests/test_reading.py": (
        Mutant(
            "JSON may be of any depth",
            READING,
            "data = from_json(",
            "return __import__('json').loads(content)\n        data = from_json(",
        ),
        Mutant(
            "NaN is a number",
            READING,
            "data = from_json(",
            "return from_json(content.decode())\n        data = from_json(",
        ),
        Mutant(
            "numbers need not be finite",
            READING,
            "json.dumps(data, allow_nan=False)",
            "json.dumps(data)",
        ),
        Mutant("files may have 2 GiB", READING, "MOST = 256 * 2**20", "MOST = 2 * 2**30"),
        Mutant("large files are refused", READING, "MOST = 256 * 2**20", "MOST = 2**20"),
        Mutant(
            "pipes and devices are read", READING, "if not stat.S_ISREG", "if 0 and stat.S_ISREG"
        ),
    ),
    "tests/training/test_files.py": (
        Mutant("drafts are left on a full disk", FILES, "draft.unlink(missing_ok=True)", "pass"),
    ),
    "tests/training/test_durable.py": (
        Mutant(
            "drafts of killed writers are left", FOLDER, "remove_drafts(self.folder / name)", "pass"
        ),
        Mutant("drafts beside a run are left", RUN, "glob.escape(folder.name)", "''"),
        Mutant("a new file's folder is not flushed", FILES, "if is_new:", "if False:"),
    ),
    "tests/training/test_run.py": (
        Mutant("no lock is taken", FILES, "lock.acquire()", "pass"),
        Mutant(
            "a rewound run keeps later checkpoints", FOLDER, "self.drop_checkpoint(after)", "pass"
        ),
    ),
    f"{RESUME}::test_what_was_found_in_weights_that_are_trained_on_is_forgotten": (
        Mutant("a rewound run keeps its circuit", FOLDER, "self.remove(name)", "pass"),
    ),
    "tests/training/test_data.py": (
        Mutant("a batch ignores its step", "training/data.py", '"step", step))', '"step"))'),
    ),
    "tests/test_cli_runs.py::test_an_interrupted_run_can_be_resumed": (
        Mutant(
            "an interrupted run has failed",
            "training/loop.py",
            "stop.add_note(",
            "run.end('') or stop.add_note(",
        ),
    ),
    "tests/test_trust.py": (
        Mutant(
            "a file that a folder names is executed",
            USERFILE,
            "known = _named | _lent | listed()",
            "known = Source.of(Path(file)).entries(builder)",
        ),
        Mutant(
            "a trusted file is executed although it has changed",
            USERFILE,
            'if (where, f"sha256:{source.sha256}") not in known:',
            "if False:",
        ),
        Mutant(
            "any function of a trusted file may build a model",
            USERFILE,
            'where = file if builder is None else f"{file}:{builder}"',
            "where = file",
        ),
    ),
    "tests/models/test_tapped_kinds.py": (
        Mutant(
            "attention that is not seen is passed over",
            "models/trial.py",
            "if found.is_joint:",
            "if False:",
        ),
        Mutant(
            "positions may stand anywhere in a pattern",
            "models/trial.py",
            "return bool(differs.any()) and self._is_alone(rows)",
            "return True or self._is_alone(rows)",
        ),
    ),
    OWN_TASK: (
        Mutant(
            "a digest is not compared",
            "tasks/registry.py",
            'defined.get("sha256") == now.sha256',
            "True",
        ),
    ),
    "tests/test_elsewhere.py": (
        Mutant("a model stays on the CPU", RUN, "        ).to(place)", "        )"),
        Mutant(
            "a module of one's own stays on the CPU",
            RUN,
            "self._loaded(plain(built), step, load_weights).to(self.device)",
            "self._loaded(plain(built), step, load_weights)",
        ),
        Mutant("a rotation stays on the CPU", "tasks/retrieval.py", ".Q.to(device)", ".Q"),
        Mutant(
            "hops are asked on the CPU",
            "tasks/hops.py",
            "torch.tensor(self.asked, device=which.device)",
            "torch.tensor(self.asked)",
        ),
        Mutant(
            "places are counted on the CPU",
            "models/transformer.py",
            "torch.arange(inputs.shape[1], device=inputs.device)",
            "torch.arange(inputs.shape[1])",
        ),
        Mutant(
            "a set is drawn on the CPU",
            "training/data.py",
            'generator_for(self.device, self.seed, "set")',
            'generator_for("cpu", self.seed, "set")',
        ),
    ),
    "tests/report/test_hostile_names.py": (
        Mutant(
            "text is put into a page as it is",
            PAGE,
            "escape(plain(page.title))",
            "plain(page.title)",
        ),
        Mutant(
            "data are put into a page as they are",
            "report/schema.py",
            'return text.replace("<", "\\\\u003c")',
            "return text",
        ),
    ),
    "tests/report/test_run_page.py::test_the_page_is_whole_and_runs_its_own_script_only": (
        Mutant(
            "a page may run any script",
            PAGE,
            "script-src 'sha256-{digest}'",
            "script-src 'unsafe-inline'",
        ),
    ),
    "tests/report/test_serve_security.py": (
        Mutant("a page may ask anybody", PAGE, "default-src 'none'", "default-src *"),
        Mutant("any host is answered", SERVER, "if len(hosts) != 1 or", "if False and"),
    ),
    "tests/test_output.py::test_names_do_not_command_the_terminal": (
        Mutant(
            "control characters are printed as they are",
            "terminal/output.py",
            "else plain(text)",
            "else text",
        ),
    ),
}
"""Faults, by what must notice them: areas of `fuzzing.py` with their options, or tests."""


@contextmanager
def copied(mutant: Mutant | None) -> Iterator[Path]:
    """A folder with a copy of the package, with a fault planted if one is given."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "headway"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            (package / mutant.file).write_text(mutant.planted)
        yield Path(folder)


def ended(check: str, mutant: Mutant | None = None) -> int | None:
    """The exit code of a check, with a fault planted if one is given; None if it took too long."""
    if check.startswith("tests/"):
        words = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", check]
    else:
        words = ["tests/fuzzing.py", "--areas", *check.split()]
    with copied(mutant) as folder:
        paths = os.pathsep.join([str(folder), "tests", "tests/report"])
        settings = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                [sys.executable, *words], cwd=CHECKOUT, env=settings, timeout=PATIENCE,
                capture_output=True, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
    return done.returncode


def main() -> None:
    """Plants every fault, or those whose text has the words given, and prints who noticed."""
    words = " ".join(sys.argv[1:])
    planted = [(c, one) for c, several in MUTANTS.items() for one in several if words in one.what]
    checks = list(dict.fromkeys(check for check, _ in planted))
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        sound = dict(zip(checks, pool.map(ended, checks), strict=True))
        codes = pool.map(ended, *zip(*planted, strict=True))
        print("| fault | check | noticed |", "|---|---|---|", sep="\n", flush=True)
        missed = 0
        for (check, mutant), code in zip(planted, codes, strict=True):
            fine = sound[check] == 0 and code == 1
            told = "yes" if fine else f"no: exit code {code}, and {sound[check]} without it"
            print(f"| {mutant.what} | {check.rpartition('/')[2]} | {told} |", flush=True)
            missed += not fine
    print(f"{len(planted) - missed} of {len(planted)} faults are noticed")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
