"""The talk's mechanisms, from the command line."""

import pytest

from headway import cli
from headway.papers import reproduce
from headway.papers.claims import claims
from headway.papers.talk import MECHANISMS

NAMES = (
    *("associative-memory", "gradient-memory", "factual-recall", "factual-recall-dynamics"),
    *("induction", "three-gradient-steps", "noisy-recall", "khop-depth", "khop-curriculum"),
)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """All mechanisms at the smallest scale, run once."""
    folder = tmp_path_factory.mktemp("talk")
    cli.main(["mechanism", "all", "--scale", "smoke", "--folder", str(folder)])
    return folder


def test_all_are_there():
    assert tuple(MECHANISMS) == NAMES
    assert all(claims(name) for name in NAMES)


def test_everything_runs_is_drawn_and_measured(smoke):
    figures = {path.stem for path in (smoke / "figures").glob("*.svg")}
    for name in NAMES:
        result = reproduce.read(name, "smoke", smoke / "results")
        assert result is not None
        assert any(figure.startswith(name) for figure in figures), name
        for claim in claims(name):
            assert claim.measure in result.measures, claim.id


def test_no_folder_of_this_machine_is_told_in_the_results(smoke):
    for path in (smoke / "results").rglob("*.json"):
        assert str(smoke) not in path.read_text()


def test_claims_are_judged_from_the_results(smoke, capsys):
    given = ["--document", "talk", "--scale", "smoke", "--results", str(smoke / "results")]
    cli.main(["claims", *given])
    told = capsys.readouterr().out
    assert all(name in told for name in NAMES)


def test_a_dry_run_only_tells_the_cost(tmp_path, capsys):
    cli.main(["mechanism", "all", "--scale", "paper", "--folder", str(tmp_path), "--dry-run"])
    assert "PFLOP" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ([], "Missing from headway mechanism: MECHANISM, one of associative-memory, "),
        (["nothing"], "mechanism = 'nothing' is not allowed: it must be one of associative-memory"),
        (["all", "--scale", "huge"], "invalid choice 'huge'"),
    ],
)
def test_bad_input_is_one_clear_line(args, complaint, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["mechanism", *args])
    assert stop.value.code == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1
