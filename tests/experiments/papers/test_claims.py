import json
import random
import re
from pathlib import Path

import pytest
from doc_tables import ways_of_asking
from known import CLAIMS, EXPERIMENTS, GROUPS

from headway.errors import HeadwayError
from headway.training.config import flat
from headway_experiments import paper, result_files, talk
from headway_experiments.claims import (
    FRESH,
    Claim,
    Verdict,
    claims_beside,
    mean_interval,
    read,
    supports,
)
from headway_experiments.paper import FIGURES
from headway_experiments.reproduce import judged
from headway_experiments.tables import SIDE_BY_SIDE, markdown, print_verdicts
from headway_experiments.talk import MECHANISMS

ROOT = Path(__file__).parents[3]

CLAIM = """
[fig4]
section = "7"

[fig4.loss]
claim = "losses are small"
paper = "< 0.01"
rule = "every < 0.01"
"""


@pytest.mark.parametrize(
    ("rule", "holds", "does_not"),
    [
        ("every < 0.5", [0.1, 0.4], [0.1, 0.5]),
        ("any > 0", [0.0, 2.0], [0.0, -1.0]),
        ("mean in 3.5..4.5", [3.0, 5.0], [3.0, 3.0]),
        ("median == 4", [4.0, 4.0, 9.0], [4.0, 5.0, 9.0]),
        ("share == 1", [1.0, 2.0], [1.0, 0.0]),
        ("share >= 0.5", [1.0, 0.0], [1.0, 0.0, 0.0]),
        ("mean <= -0.5", [-0.4, -0.6], [-0.4, -0.5]),
    ],
)
def test_a_rule_tells_what_bears_a_claim_out(rule, holds, does_not):
    assert supports(rule, holds)
    assert not supports(rule, does_not)


@pytest.mark.parametrize(
    "text", ["all < 1", "every << 1", "every < one", "mean in 3-4", ""]
)
def test_what_is_no_rule_is_refused(text):
    with pytest.raises(HeadwayError, match="STATISTIC OP NUMBER"):
        supports(text, [1.0])


def claim(more: str = "") -> Claim:
    return read(CLAIM + more)[0]


def test_a_scale_may_have_a_rule_of_its_own():
    adapted = claim('small = {rule = "every < 0.05", why = "shorter runs"}')
    assert adapted.rule_at("paper") == "every < 0.01"
    assert adapted.rule_at("smoke") == "every < 0.01"
    assert adapted.rule_at("small") == "every < 0.05"
    assert adapted.rule_at("fresh") == adapted.rule_at("small")
    assert adapted.note("small") == "shorter runs"
    assert adapted.note("fresh") == "shorter runs"
    assert not adapted.note("paper")
    assert Verdict(adapted, "small", {"a": 0.02}).said == "holds"
    assert Verdict(adapted, "paper", {"a": 0.02}).said == "does not hold"


@pytest.mark.parametrize("scale", ["small", "fresh"])
@pytest.mark.parametrize("value", [0.001, 0.5])
def test_runs_that_differ_too_much_are_not_comparable_whatever_was_measured(
    scale, value
):
    differs = claim('small = {why = "another optimiser"}')
    assert Verdict(differs, scale, {"a": value}).said == "not comparable"
    assert Verdict(differs, scale, {}).said == "not run"
    assert Verdict(differs, "paper", {"a": value}).said in ("holds", "does not hold")
    assert differs.note(scale) == "another optimiser"


@pytest.mark.parametrize(
    ("rule", "values", "measured"),
    [
        ("every < 1", [0.25, 0.75], "0.5 (0.25..0.75, n=2)"),
        ("median < 1", [0.25, 0.75, 9.0], "0.75 (0.25..9, n=3)"),
        ("mean < 1", [1.0, 2.0, 3.0], "mean 2 (-0.483..4.48, n=3), median 2"),
        ("share == 1", [1.0, 0.0], "1 of 2 (0.09..0.91)"),
        ("every < 1", [0.25], "0.25 (n=1)"),
        ("every < 1", [], "–"),
    ],
)
def test_a_verdict_shows_what_its_rule_judges_with_interval_and_count(
    rule, values, measured
):
    (judged,) = read(CLAIM.replace("every < 0.01", rule))
    found = {f"seed={i}": value for i, value in enumerate(values)}
    assert Verdict(judged, "paper", found).measured == measured


def test_the_interval_of_a_mean_covers_it_in_19_of_20_small_samples():
    rng = random.Random(0)
    for count in (2, 3, 5, 20):
        samples = ([rng.gauss(1, 2) for _ in range(count)] for _ in range(4000))
        ends = [mean_interval(sample) for sample in samples]
        assert 0.94 < sum(low < 1 < high for low, high in ends) / 4000 < 0.96


def test_what_cannot_fail_is_by_construction_and_not_counted_among_what_holds(capsys):
    sure = claim('by_construction = "it is a setting"')
    found = Verdict(sure, "paper", {"a": 0.001}, ran=True)
    assert found.said == "by construction"
    assert Verdict(sure, "paper", {"a": 1.0}).said == "does not hold"
    assert Verdict(sure, "paper", {}).said == "not run"
    print_verdicts(
        [{"paper": found}, {"paper": Verdict(claim(), "paper", {"a": 0.001}, ran=True)}]
    )
    counts = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["holds", "paper", "1"] in counts
    assert ["by", "construction", "paper", "1"] in counts
    assert "- `loss`: it is a setting" in markdown([{"paper": found}])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CLAIM + "odd = 1\n", "odd"),
        (CLAIM.replace('rule = "every < 0.01"\n', ""), "rule is missing"),
        (CLAIM + 'small = {rule = "every < 1"}\n', "why = "),
        (CLAIM.replace('claim = "losses are small"\n', ""), "claim is missing"),
    ],
)
def test_a_claim_with_something_wrong_is_told(text, said):
    with pytest.raises(HeadwayError, match=rf"claim fig4\.loss.*{said}"):
        read(text)


def test_a_misspelt_field_of_a_figure_is_no_claim():
    with pytest.raises(
        HeadwayError, match=r"fig4\.papr is no field .did you mean paper"
    ):
        read(
            CLAIM.replace(
                'section = "7"', 'section = "7"\npapr = "open"\nrule = "every < 1"'
            )
        )


def test_every_claim_is_of_a_figure_that_can_be_asked_for():
    assert {one.figure for one in CLAIMS} == set(EXPERIMENTS)
    found = [one.measure for one in EXPERIMENTS["fig3"].claims]
    assert found == ["neighbours_share", "reach_growth"]
    for module in (*paper.MODULES, *talk.MODULES):
        file = Path(str(module.__file__)).with_suffix(".toml")
        told = [one for each in module.EXPERIMENTS for one in each.claims]
        assert sorted(told, key=str) == sorted(
            read(file.read_text(encoding="utf-8")), key=str
        )


def test_claims_that_cannot_be_read_name_their_file(tmp_path):
    module = tmp_path / "own.py"
    with pytest.raises(HeadwayError, match=r"own\.toml"):
        claims_beside(str(module), "own")
    module.with_suffix(".toml").write_text("[claim", encoding="utf-8")
    with pytest.raises(HeadwayError, match=r"own\.toml: it is no TOML"):
        claims_beside(str(module), "own")


@pytest.mark.parametrize(
    ("document", "page", "there"),
    [("paper", "paper", FIGURES), ("talk", "mechanisms", MECHANISMS)],
)
def test_the_tables_of_claims_are_those_of_the_results(document, page, there):
    rows = judged(there.values(), SIDE_BY_SIDE, ROOT / "results")
    whole = (ROOT / f"results/claims/{document}.md").read_text(encoding="utf-8")
    assert whole.partition("\n\n")[2] == markdown(rows)
    counts = (ROOT / f"docs/experiments/{page}.md").read_text(encoding="utf-8")
    _, _, lines = counts.partition(f"| of {len(rows)} claims |")
    for line in lines.partition("\n\n")[0].splitlines()[2:]:
        said, *told = (cell.strip() for cell in line.strip("|").split("|"))
        found = [sum(row[scale].said == said for row in rows) for scale in SIDE_BY_SIDE]
        assert list(map(int, told)) == found[: len(told)]


def test_the_table_of_curricula_in_the_docs_is_that_of_the_results():
    result = result_files.read("curricula", "small", ROOT / "results")
    assert result is not None
    page = (ROOT / "docs/experiments/paper.md").read_text(encoding="utf-8")
    table = page.partition("<!-- ways -->\n")[2].partition("<!-- end -->")[0]
    assert table == ways_of_asking(result.measures)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        (
            "measures",
            {"a": {"seed=0": "much"}},
            "measures.a.seed=0 = 'much' is not allowed",
        ),
        ("measures", [], "measures = [] is not allowed"),
        ("missing", None, "missing = None is not allowed"),
        ("format", 99, "format = 99 is not allowed"),
    ],
)
def test_a_damaged_result_is_told_in_a_line(tmp_path, field, value, told):
    data = {"format": 1, "missing": "", "measures": {}, field: value}
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "fig5.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(HeadwayError, match=re.escape(told)):
        result_files.read("fig5", "small", tmp_path)


def seeds(configs) -> set[int]:
    return {config.seed for config in configs.values()}


@pytest.mark.parametrize("name", GROUPS)
def test_seeds_that_judge_are_apart_from_seeds_that_chose(name):
    group = GROUPS[name]
    small = group.configs("small")
    fresh = group.configs("fresh")
    chose = seeds(small) | seeds(group.configs("smoke"))
    assert max(chose) < FRESH <= min(seeds(fresh))
    assert len(fresh) == len(small)
    for (name_small, config), (name_fresh, renewed) in zip(
        small.items(), fresh.items(), strict=True
    ):
        assert renewed.seed == config.seed + FRESH
        assert name_fresh == name_small.replace(
            f"seed={config.seed}", f"seed={renewed.seed}"
        )
        others = {
            field
            for field, value in flat(renewed).items()
            if value != flat(config)[field]
        }
        assert others == set(group.seeded)


@pytest.mark.parametrize(
    "name", sorted(file.stem for file in (ROOT / "results/fresh").glob("*.json"))
)
def test_no_fresh_verdict_rests_on_a_seed_that_chose(name):
    result = result_files.read(name, "fresh", ROOT / "results")
    assert result is not None
    names = [name for named in result.measures.values() for name in named]
    told = [int(seed) for name in names for seed in re.findall(r"seed=(\d+)", name)]
    assert told
    assert min(told) >= FRESH
