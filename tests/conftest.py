"""Small configs and a run that learnt, shared by all tests."""

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from hypothesis import settings

import array_checks
from headway.models import TransformerConfig
from headway.sweeps import Engine
from headway.tasks import KINDS, Retrieval
from headway.training import Run, RunConfig, TrainingConfig, train

os.fsync = lambda file: None  # in these processes: no test cuts the power
# A shell's background job ignores interrupts, and so would every program that the tests
# interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

if dtype := os.environ.get("HEADWAY_TESTS_DTYPE"):
    # As a user may have done (see test_settings.py).
    torch.set_default_dtype(getattr(torch, dtype))

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

CORE = ("tasks", "models", "training", "replace", "judge", "find", "dynamics", "theory")
"""The rooms in whose tests every array that functions take and give is checked, its
shape and type; in all tests that would take much of the time."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check arrays in a core room's tests, and in no others."""
    array_checks.check(item.path.relative_to(Path(__file__).parent).parts[0] in CORE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Begin to count anew: what fixtures called does not count."""
    pytest_runtest_setup(item)


LONG = (
    "test_blind",
    "test_browser",
    "test_contest",
    "test_elsewhere",
    "test_evaluation",
    "test_every_task",
    "test_every_verb",
    "test_examples",
    "test_fuzz",
    "test_golden",
    "test_benchmarks",
    "test_hostile_names",
    "test_local",
    "test_pipeline",
    "test_printed",
    "test_ray",
    "test_recorded",
    "test_reproduce",
    "test_strangers",
    "test_trust",
)
"""Files of tests that take longest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that processes that share the tests end
    together.
    """
    items.sort(key=lambda item: item.path.stem not in LONG)


def pytest_collection_finish() -> None:
    """Keep what is imported: nobody need look through it for garbage again and
    again.
    """
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to run the browser tests, if there was no browser to run them."""
    skipped = terminalreporter.stats.get("skipped", [])
    without = sum("there is no browser" in str(report.longrepr) for report in skipped)
    if without:
        terminalreporter.write_line(
            f"{without} tests of pages were skipped, as there is no browser:"
            " apt-get install chromium, or playwright install chromium"
        )


@pytest.fixture(scope="session", autouse=True)
def data_home(tmp_path_factory) -> Iterator[Path]:
    """The home of the user's data, such as the list of trusted files: one of the tests'
    own.
    """
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("data")
        patch.setenv("XDG_DATA_HOME", str(place))
        yield place


@pytest.fixture(scope="session")
def tiny() -> RunConfig:
    """A run of a second or less that learns nothing much."""
    return RunConfig(
        task=Retrieval(depth=2, n_chains=2),
        model=TransformerConfig(n_layers=2, d_model=16, act_fn="relu", init="fan_in"),
        training=TrainingConfig(
            steps=12,
            batch_size=8,
            train_examples=None,
            optimizer="muon",
            warmup_steps=3,
            cooldown_steps=4,
            eval_every=2,
            eval_examples=16,
            checkpoint_every=4,
            save_every=2,
        ),
        seed=5,
    )


@pytest.fixture(scope="session")
def solved(tmp_path_factory) -> Run:
    """A small model that solved one hop between two chains, with its checkpoints.

    It is trained by the first of the processes that the tests run in; those that a test
    starts are told where it is.
    """
    config = RunConfig(
        task=Retrieval(depth=1, n_chains=2, position_base=None),
        model=TransformerConfig(n_layers=3, d_model=32, act_fn="relu", init="fan_in"),
        training=TrainingConfig(
            steps=500,
            batch_size=128,
            train_examples=None,
            optimizer="muon",
            learning_rate=3e-3,
            betas=(0.9, 0.95),
            weight_decay=0.0,
            warmup_steps=20,
            cooldown_steps=200,
            eval_every=20,
            eval_examples=256,
            checkpoint_every=20,
        ),
        seed=1,
    )
    own = tmp_path_factory.mktemp("runs") / "solved"
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "trained"
    trained = Path(os.environ.setdefault("HEADWAY_TESTS_TRAINED", str(place)))
    with FileLock(trained.with_suffix(".lock")):
        if not trained.exists():
            train(config, base / "training" / "solved").folder.rename(trained)
    shutil.copytree(trained, own)
    return Run.open(own)


@pytest.fixture(scope="session")
def engine():
    """An engine with one worker at a time."""
    return Engine(1)


@pytest.fixture
def with_training():
    """Change fields of a config's training section."""

    def change(config: RunConfig, **fields) -> RunConfig:
        return replace(config, training=replace(config.training, **fields))

    return change


@pytest.fixture
def undrawn(monkeypatch):
    """Verbs draw no figures for papers, as where matplotlib is missing: these take
    seconds.
    """
    monkeypatch.setattr("headway.report.find_spec", lambda name: None)


@pytest.fixture
def kinds():
    """The tasks that are known; a test meets those of its own files for the first
    time.
    """
    before = dict(KINDS)
    yield KINDS
    KINDS.clear()
    KINDS.update(before)


@pytest.fixture(scope="module")
def browser():
    """One browser a file of tests: an open one would be in the way of others' event
    loops.
    """
    from browser import browsing

    with browsing() as found:
        if found is None:
            pytest.skip(
                "there is no browser: install chromium, or `playwright install "
                "chromium`"
            )
        yield found


@pytest.fixture
def visit(browser):
    """Open a page's file; at the end of the test, no page may have complained of
    anything.
    """
    from browser import Visit

    visits: list[Visit] = []

    def opened(page, **context) -> Visit:
        file = page if isinstance(page, Path) else page.file
        visits.append(Visit(browser, file, **context))
        return visits[-1]

    yield opened
    for one in visits:
        one.settle()
        one.context.close()
        assert not one.complaints
