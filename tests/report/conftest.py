import shutil
from dataclasses import replace

import pytest
from pages import Written, written
from serving import serving
from tiny_runs import taken_apart, tiny_config

from headway.dynamics import emergence
from headway.find import discover
from headway.tasks import Conditional, Retrieval
from headway.training import Run, train


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Run:
    """A run with circuit and timeline; nobody may write to its folder."""
    config = tiny_config(Retrieval(depth=1, n_chains=2))
    return taken_apart(tmp_path_factory.mktemp("finished") / "run", config)


@pytest.fixture
def run(finished, tmp_path) -> Run:
    """A copy of the finished run, to do anything to."""
    return Run.open(shutil.copytree(finished.folder, tmp_path / "run"))


@pytest.fixture
def site(finished, tmp_path):
    """Three runs, two of them in a sweep, of which one has not begun."""
    for place in ("alone", "sweep/seed=2"):
        shutil.copytree(finished.folder, tmp_path / "runs" / place)
    Run.create(tmp_path / "runs" / "sweep" / "seed=10", finished.config)
    with serving(tmp_path / "runs") as site:
        yield site


@pytest.fixture(scope="session")
def unfinished(tmp_path_factory) -> Run:
    """A run of which only the training is done."""
    config = tiny_config(Retrieval(depth=1, n_chains=2))
    return train(config, tmp_path_factory.mktemp("unfinished") / "run")


@pytest.fixture(scope="session", params=["conditional", "no mask", "several heads"])
def other(request, tmp_path_factory) -> Run:
    """Finished runs of other tasks and models."""
    config = {
        "conditional": tiny_config(Conditional(n_chains=2)),
        "no mask": tiny_config(Retrieval(depth=2, n_chains=2), causal=False),
        "several heads": tiny_config(Retrieval(depth=1, n_chains=3), n_heads=2),
    }[request.param]
    return taken_apart(tmp_path_factory.mktemp("other") / "run", config)


@pytest.fixture(scope="session")
def learnt(solved, tmp_path_factory) -> Written:
    """A run that learnt a hop by the circuit that is expected, and its page."""
    folder = tmp_path_factory.mktemp("learnt")
    run = Run.open(shutil.copytree(solved.folder, folder / "run"))
    emergence(run, discover(run, sequences=64, trials=False), sequences=16)
    return written(run, folder)


@pytest.fixture(scope="session")
def two_hops(tmp_path_factory) -> Written:
    """A run that learnt nothing, evaluated at other steps than its checkpoints', and
    its page.
    """
    folder = tmp_path_factory.mktemp("two-hops")
    config = tiny_config(Retrieval(depth=2, n_chains=3))
    training = replace(config.training, steps=12, eval_every=4, checkpoint_every=3)
    return written(
        taken_apart(folder / "run", replace(config, training=training)), folder
    )
