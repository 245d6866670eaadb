"""The talk's mechanisms, from the command line."""

import pytest
from known import GROUPS

from commands import refused
from headway import cli
from headway_experiments import result_files
from headway_experiments.talk import MECHANISMS
from headway_experiments.talk.induction import reading
from in_process import swept_here

NAMES = (
    *("associative-memory", "gradient-memory", "factual-recall", "factual-recall-dynamics"),
    *("induction", "three-gradient-steps", "noisy-recall", "khop-depth", "khop-curriculum"),
)


QUICK = ("gradient-memory", "khop-depth")


@pytest.fixture(scope="module", params=[QUICK, pytest.param(NAMES, marks=pytest.mark.slow)])
def smoke(request, tmp_path_factory):
    """Some mechanisms, or all, at the smallest scale, run once: the names and the folder."""
    folder = tmp_path_factory.mktemp("talk")
    with swept_here():
        cli.main(["reproduce", *request.param, "--scale", "smoke", "--folder", str(folder)])
    return request.param, folder


def test_all_are_there():
    assert tuple(MECHANISMS) == NAMES
    assert all(MECHANISMS[name].claims for name in NAMES)


def test_everything_runs_is_drawn_and_measured(smoke):
    names, folder = smoke
    figures = {path.stem for path in (folder / "figures").glob("*.svg")}
    for name in names:
        result = result_files.read(name, "smoke", folder / "results")
        assert result is not None
        assert any(figure.startswith(name) for figure in figures), name
        for claim in MECHANISMS[name].claims:
            assert claim.measure in result.measures, claim.measure


def test_a_text_of_ones_own_is_used_and_told(tmp_path):
    text = tmp_path / "own.txt"
    text.write_text("never odd or even, " * 50)

    def task(scale):
        return GROUPS["induction-one-layer"].configs(scale)["seed=0"].task

    with reading(str(text)):
        before = task("small")
        assert before.corpus == task("smoke").corpus == str(text)
        text.write_text("never odd or even; " * 50)
        assert task("small").sha256 != before.sha256
        assert MECHANISMS["noisy-recall"].texts("small") == ["text in own.txt"]
    assert task("smoke").corpus == "synthetic"
    assert not MECHANISMS["khop-depth"].texts("small")
    (told,) = MECHANISMS["three-gradient-steps"].texts("smoke")
    assert "synthetic chain of 32 tokens" in told


@pytest.mark.parametrize("content", [b"", b"\x00\x01\xff\x80"])
def test_a_text_can_be_chosen_and_is_refused_if_it_is_none(tmp_path, content):
    text = tmp_path / "own.txt"
    text.write_bytes(content)
    given = ["reproduce", "induction", "--corpus", str(text), "--folder", str(tmp_path / "runs")]
    assert "own.txt" in refused(*given)
    assert not (tmp_path / "runs").exists()
    text.write_text("never odd or even, " * 50)
    cli.main([*given, "--dry-run"])
    with reading(str(text)):
        config = GROUPS["induction-one-layer"].configs("small")["seed=0"]
    assert config.task.corpus == str(text)
    assert GROUPS["induction-one-layer"].configs("smoke")["seed=0"].task.corpus == "synthetic"
    assert "corpus = '' is not allowed" in refused(*given[:2], "--corpus", "")
