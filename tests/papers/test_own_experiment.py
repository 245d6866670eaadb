import shutil
from pathlib import Path

import pytest

from headway import cli
from headway.errors import HeadwayError
from headway.papers.documents import experiments_of
from headway.papers.groups import plan

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A new experiment, in a file and a .toml, run once."""
    folder = tmp_path_factory.mktemp("own")
    for ending in ("py", "toml"):
        shutil.copy(HERE / f"own_experiment.{ending}", folder / f"chains.{ending}")
    file = str(folder / "chains.py")
    cli.main(["reproduce", file, "--scale", "smoke", "--folder", str(folder), "--workers", "1"])
    return folder


def test_a_new_experiment_takes_one_short_file_and_one_of_claims(folder, capsys):
    assert len((HERE / "own_experiment.py").read_text().splitlines()) <= 60
    assert (folder / "figures" / "own.svg").exists()
    results = ["--results", str(folder / "results"), "--scale", "smoke"]
    cli.main(["claims", "--document", str(folder / "chains.py"), *results])
    said = capsys.readouterr().out
    assert "losses end below five" in said
    assert "(n=2)" in said


def test_the_page_of_the_docs_shows_these_files():
    page = (HERE.parents[1] / "docs" / "your-own-experiment.md").read_text(encoding="utf-8")
    for ending in ("py", "toml"):
        assert (HERE / f"own_experiment.{ending}").read_text(encoding="utf-8").rstrip() in page


def test_its_runs_have_pages(folder):
    run = folder / "own" / "chains=2,seed=1"
    cli.main(["report", str(run)])
    assert "chains" in (run / "report.html").read_text(encoding="utf-8")


def test_it_goes_on_where_it_was(folder, capsys):
    file = str(folder / "chains.py")
    cli.main(["reproduce", file, "own", "--scale", "smoke", "--folder", str(folder), "--dry-run"])
    said = " ".join(capsys.readouterr().out.split())
    assert "own 2 2" in said


def test_its_seeds_can_be_fresh(folder):
    (group,) = experiments_of(str(folder / "chains.py"))["own"].groups
    names = list(plan(group, "fresh").runs)
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
    with pytest.raises(HeadwayError, match=r"document = tlak.*paper, talk, or FILE\.py"):
        experiments_of("tlak")
