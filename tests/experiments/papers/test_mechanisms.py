"""The talk's mechanisms, from the command line."""

import pytest

from headway.terminal import cli
from headway_experiments import result_files
from headway_experiments.talk import MECHANISMS
from in_process import swept_here

NAMES = (
    "associative-memory",
    "gradient-memory",
    "factual-recall",
    "factual-recall-dynamics",
    "induction",
    "three-gradient-steps",
    "noisy-recall",
    "khop-depth",
    "khop-curriculum",
)


QUICK = ("gradient-memory", "khop-depth")


@pytest.fixture(
    scope="module", params=[QUICK, pytest.param(NAMES, marks=pytest.mark.slow)]
)
def smoke(request, tmp_path_factory):
    """Some mechanisms, or all, at the smallest scale, run once: the names and the
    folder.
    """
    folder = tmp_path_factory.mktemp("talk")
    with swept_here():
        cli.main(
            ["reproduce", *request.param, "--scale", "smoke", "--folder", str(folder)]
        )
    return request.param, folder


def test_all_are_there():
    assert tuple(MECHANISMS) == NAMES
    for name in NAMES:
        assert MECHANISMS[name].claims


def test_everything_runs_is_drawn_and_measured(smoke):
    names, folder = smoke
    figures = {path.stem for path in (folder / "figures").glob("*.svg")}
    for name in names:
        result = result_files.read(name, "smoke", folder / "results")
        assert result is not None
        drawn = {"gradient-memory": "zipf-memory"}.get(name, name)
        if name != "three-gradient-steps":  # whose three numbers need no picture
            assert any(figure.startswith(drawn) for figure in figures), name
        for claim in MECHANISMS[name].claims:
            assert claim.measure in result.measures, claim.measure
