import re
import shutil
from pathlib import Path

import pytest

from commands import refused
from headway.errors import HeadwayError
from headway.terminal import cli
from headway_experiments.reproduce import experiments_of
from in_process import swept_here

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"


def copied(folder, *edit):
    """The file of a new experiment in a folder, with its .toml beside it, perhaps
    edited.
    """
    for ending in ("py", "toml"):
        text = (EXAMPLES / f"own_experiment.{ending}").read_text("utf-8")
        (folder / f"chains.{ending}").write_text(
            text.replace(*edit) if edit else text, "utf-8"
        )
    return str(folder / "chains.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A new experiment, run once."""
    folder = tmp_path_factory.mktemp("own")
    file = copied(folder)
    with swept_here():
        cli.main(["reproduce", file, "--scale", "smoke", "--folder", str(folder)])
    return folder


def test_a_new_experiment_takes_one_short_file_and_one_of_claims(folder, capsys):
    assert len((EXAMPLES / "own_experiment.py").read_text().splitlines()) <= 60
    assert (folder / "figures" / "own.svg").exists()
    results = ["--results", str(folder / "results"), "--scale", "smoke"]
    cli.main(["claims", "--document", str(folder / "chains.py"), *results])
    said = capsys.readouterr().out
    assert "losses end below 1" in said
    assert "own, section 1" in said
    assert "not measured" in said  # nothing is learnt at this scale
    assert "n=2)" in said


def test_the_page_of_the_docs_shows_parts_of_these_files():
    page = (ROOT / "docs/experiments/your-own-experiment.md").read_text(
        encoding="utf-8"
    )
    for ending, language in (("py", "python"), ("toml", "toml")):
        text = (EXAMPLES / f"own_experiment.{ending}").read_text(encoding="utf-8")
        shown = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
        assert shown
        for part in shown:
            assert part in text


def test_its_runs_have_pages(folder, undrawn):
    run = folder / "own" / "chains=2,seed=1"
    cli.main(["report", str(run)])
    assert "chains" in (run / "report.html").read_text(encoding="utf-8")


def test_it_goes_on_where_it_was(folder, capsys):
    file = str(folder / "chains.py")
    cli.main(
        [
            "reproduce",
            file,
            "own",
            "--scale",
            "smoke",
            "--folder",
            str(folder),
            "--dry-run",
        ]
    )
    said = " ".join(capsys.readouterr().out.split())
    assert "own: 2 of 2 done" in said


def test_its_seeds_can_be_fresh(folder):
    (group,) = experiments_of(str(folder / "chains.py"))["own"].groups
    names = list(group.configs("fresh"))
    assert names == ["chains=2,seed=10001", "chains=3,seed=10001"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "EXPERIMENTS must be"),
        ("EXPERIMENTS = (1,)", "EXPERIMENTS must be"),
        ("1 / 0", "line 1.*division by zero"),
    ],
)
def test_a_file_without_experiments_is_told(tmp_path, text, complaint):
    file = tmp_path / "odd.py"
    file.write_text(text)
    with pytest.raises(HeadwayError, match=complaint):
        experiments_of(str(file))


def test_an_unknown_document_is_told():
    with pytest.raises(
        HeadwayError, match=r"document = tlak.*paper, talk, or FILE\.py"
    ):
        experiments_of("tlak")


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (("own.own_loss", "own.los"), "measure = 'los'.*own_loss"),
        (("[own", "[oen"), r"there is no table \[own\] of claims, only: oen"),
        (("every < 1", "every in 5..1"), r"rule = 'every in 5\.\.1'"),
        (('paper = "', 'papr = "'), "papr is not a field.*paper"),
        (("lines = {name", "lines = {nmae"), r"chains\.py.*line.*nmae"),
    ],
)
def test_what_is_wrong_is_told_on_one_line(folder, tmp_path, edit, complaint):
    asked = [
        "reproduce",
        copied(tmp_path, *edit),
        "--scale",
        "smoke",
        "--folder",
        folder,
    ]
    with swept_here():
        assert re.search(complaint, refused(*asked))


def test_fresh_seeds_need_names_that_tell_them_and_a_file_of_claims(tmp_path):
    file = copied(tmp_path, '"chains={n},seed=1": RunConfig', '"chains={n}": RunConfig')
    (group,) = experiments_of(file)["own"].groups
    with pytest.raises(HeadwayError, match=r"'chains=2': its name must tell seed=1"):
        group.configs("fresh")
    alone = shutil.copy(file, tmp_path / "alone.py")
    with pytest.raises(HeadwayError, match=r"alone\.toml is missing"):
        experiments_of(str(alone))


def test_claims_without_results_are_told(tmp_path):
    assert "no results of paper are there" in refused("claims", "--results", tmp_path)
