from dataclasses import replace

import pytest
from altered import certified

from headway.circuits import (
    ABLATIONS,
    BackUp,
    Certificate,
    Circuit,
    Discovery,
    Likeness,
    Likenesses,
    Necessity,
    Pair,
    Path,
    Trial,
    Uniform,
    saved_discovery,
)
from headway.circuits.verdicts import held, reasons
from headway.errors import HeadwayError
from headway.report import write_report
from headway.report.findings import Findings
from headway.report.page.evidence import details, verdicts
from headway.report.page.paths import path_table
from headway.training import Run


@pytest.fixture
def found(finished) -> Discovery:
    """A circuit of three paths that passes: each of them costs 1 to lose, the whole 0.03."""
    given = saved_discovery(finished)
    return certified(
        replace(given, threshold=0.05),
        intact={"x_1": 0.01},
        replaced={"x_1": 0.03},
        interval=(0.02, 0.04),
        intact_interval=(0.005, 0.02),
        variants=dict.fromkeys(ABLATIONS, 0.03),
        necessity=[Necessity(path, 0.9, 1.0, 1.5, 0.7) for path in given.circuit.paths],
        droppable=[],
        pairs=3,
        backups=[],
        trials=[Trial("stability 1", 0.05, given.circuit.paths, 1.0)],
        infeasible=[],
        minimum=2,
    )


def words(discovery, name):
    return " ".join(reasons(discovery)[name])


def shown(run: Run, discovery: Discovery) -> str:
    findings = replace(Findings.of(run), discovery=discovery)
    return verdicts(findings) + details(findings) + path_table(findings)


def without_path(discovery, relation, **losses):
    """The necessity of all paths, one of them with other losses."""
    return [
        replace(n, **losses) if n.path.relation == relation else n
        for n in discovery.evidence.necessity
    ]


def test_all_is_well(found, finished):
    assert set(held(found).values()) == {True}
    assert len(held(found)) == 5
    html = shown(finished, found)
    assert "✗" not in html
    assert html.count("✓ yes") == 3
    assert "3 pairs tried" in html
    assert "None: no other head" in html


def test_a_threshold_that_is_missed_is_said_and_leaves_the_rest_open(found, finished):
    bad = certified(found, replaced={"x_1": 0.06}, interval=(0.055, 0.07))
    assert held(bad) == {
        "faithful": False, "necessary": None, "minimal": None, "stable": True, "feasible": True,
    }  # fmt: skip
    html = shown(finished, bad)
    assert "not faithful" in html
    assert "not below the threshold 0.05" in html
    assert html.count("– open") == 3
    assert "✓ yes" not in html


def test_at_the_threshold_is_not_below_it(found):
    assert held(certified(found, replaced={"x_1": 0.05}))["faithful"] is False


def test_an_interval_across_the_threshold_is_told(found):
    assert "could change the verdict" not in words(found, "faithful")
    assert "could change the verdict" in words(certified(found, interval=(0.02, 0.06)), "faithful")


def test_one_hop_above_the_threshold_is_told_though_the_mean_is_below(found):
    hops = {"x_1": 0.001, "x_2": 0.09}
    told = words(certified(found, intact=dict.fromkeys(hops, 0.0), replaced=hops), "faithful")
    assert "alone, x_2 lies above 0.05" in told


def test_a_path_that_is_not_missed_is_marked(found, finished):
    relation = found.circuit.paths[0].relation
    spare = certified(found, necessity=without_path(found, relation, loss=0.04, free=0.045))
    assert held(spare)["necessary"] is False
    assert held(spare)["minimal"] is False
    html = shown(finished, spare)
    told = html[html.index("The loss stays below") :].partition("</dd>")[0]
    assert told.count(f'data-path="0.0.{relation}"') == 1
    assert html.count("<b>✗ no</b>") == 1
    assert html.count("✓ yes") == 2


def test_a_path_that_only_heads_above_need_counts_as_needed(found, finished):
    relation = found.circuit.paths[0].relation
    helper = certified(found, necessity=without_path(found, relation, loss=0.04, free=0.9))
    assert held(helper)["necessary"] is True
    assert shown(finished, helper).count("✓ by those above") == 1


def test_a_pair_that_can_go_is_named(found):
    first, second, third = found.circuit.paths
    loose = certified(found, droppable=[Pair(first, third, 0.0412)])
    assert held(loose)["necessary"] is True
    assert held(loose)["minimal"] is False
    told = words(loose, "minimal")
    assert "0.0412" in told
    assert first.relation in told
    assert third.relation in told
    assert second.relation not in told.replace(first.relation, "").replace(third.relation, "")


def test_back_ups_are_named(found, finished):
    path = found.circuit.paths[0]
    html = shown(
        finished, certified(found, backups=[BackUp(path, Path.of(7, 0, path.relation), 0.0333)])
    )
    assert "could be done by L7.H0 (loss " in html
    assert "0.0333" in html
    assert "None: no other head" not in html


@pytest.mark.parametrize(
    ("thresholds", "scores", "verdict"),
    [
        ([0.05, 0.05], [1.0, 1.0], True),
        ([0.05, 0.05], [1.0, 0.9], False),
        ([0.05, 0.04], [1.0, 0.5], True),
        ([0.04], [0.5], None),
        ([], [], None),
    ],
)
def test_stable_means_the_same_circuit_on_every_other_sample(found, thresholds, scores, verdict):
    paths = found.circuit.paths
    trials = [Trial("s", at, paths, j) for at, j in zip(thresholds, scores, strict=True)]
    assert held(certified(found, trials=trials))["stable"] is verdict


def test_the_trials_say_what_is_missing_and_what_is_new(found, finished):
    paths, new = found.circuit.paths, Path.of(5, 0, "s1←s0")
    trial = Trial("stability 1", 0.05, [*paths[1:], new], 0.5)
    html = shown(finished, certified(found, trials=[trial, Trial("circuit", 0.1, paths, 1.0)]))
    missing = html[html.index("without <span") :]
    assert (
        missing.index(paths[0].relation) < missing.index("also <span") < missing.index(new.relation)
    )
    assert "the same paths" in missing
    assert html.count(">50%<") == 1
    assert html.count(">100%<") == 2


def test_an_impossible_path_is_named(found):
    path = found.circuit.paths[-1]
    odd = certified(found, infeasible=[path])
    assert held(odd)["feasible"] is False
    assert f"Information cannot flow along {path}: " in words(odd, "feasible")


def test_a_task_without_a_known_flow_is_told(found):
    unknown = certified(found, infeasible=None, minimum=None)
    assert held(unknown)["feasible"] is None
    assert "must flow in this task is not known" in words(unknown, "feasible")


@pytest.mark.parametrize(
    ("minimum", "said"),
    [(1, "1 layer above it"), (2, "no layer above it"), (4, "2 layers below it")],
)
def test_layers_beyond_the_minimum_are_counted(found, minimum, said):
    assert said in words(certified(found, minimum=minimum), "feasible")


def test_without_paths_there_is_nothing_to_drop(found):
    heads = dict.fromkeys(found.circuit.mechanisms, Uniform())
    empty = certified(replace(found, circuit=Circuit(heads)), necessity=[], pairs=0)
    assert held(empty)["faithful"] is True
    assert held(empty)["necessary"] is None
    assert held(empty)["minimal"] is None
    assert held(empty)["feasible"] is None


@pytest.mark.parametrize("rows", ABLATIONS)
def test_the_ablation_is_named_wherever_there_are_losses(run, rows):
    data = run.read("circuit.json")
    data["ablation"] = rows
    run.write("circuit.json", data)
    text = write_report(run).read_text(encoding="utf-8").replace("&#39;", "'")
    assert text.count(ABLATIONS[rows]) >= 3
    for other in set(ABLATIONS) - {rows}:
        assert ABLATIONS[other] not in text
    assert text.count("(as searched)") == 1


LIKE = Likeness(0.5, {"x_1": 0.5}, 0.8765, {"x_1": 0.8765}, 0.4321, 0.75, 0.625)


def test_intact_circuit_complement_and_ablated_stand_side_by_side(found, finished):
    none = replace(LIKE, loss=1.25, agreement=0.25, sequence_agreement=0.0, r2=None)
    likeness = Likenesses(LIKE, replace(LIKE, loss=0.9), none, (0.999, 0.61))
    html = shown(finished, certified(found, likeness=likeness))
    start = html.index("circuit, complement and ablated model against")
    rows = html[start : html.index("</table>", start)].split("<tr>")[2:]
    assert [row.split("</td>")[0].rpartition(">")[2] or "circuit" for row in rows] == [
        *("model as it is", "circuit", "complement", "ablated"),
    ]
    for value, row in zip((found.intact_loss, 0.5, 0.9, 1.25), rows, strict=True):
        assert f'<data value="{value!r}">' in row
    assert '<data value="0.8765">87.6 %</data>' in rows[1]
    assert '<data value="0.4321">43.2 %</data>' in rows[1]
    assert "—" in rows[3]
    assert '<data value="0.61">61.0 %</data> of the answers' in html


@pytest.mark.parametrize(("agreeing", "mark"), [(299, "✓"), (298, "✗")])
def test_the_certificate_is_shown(found, finished, agreeing, mark):
    certificate = Certificate(
        found.circuit, found.ablation, 6, 0, 0.99, 0.95, 299, agreeing, 3, 1.0
    )
    findings = replace(Findings.of(finished), discovery=found, certificate=certificate)
    html = details(findings)
    assert f"{mark} Certificate.</b> {agreeing} of 299 fresh sequences agree" in html
    assert "Certificate" not in details(replace(findings, certificate=None))


def test_a_certificate_of_another_circuit_is_refused(run):
    found = saved_discovery(run)
    other = found.circuit.without(found.circuit.paths[0])
    certificate = Certificate(other, found.ablation, 6, 0, 0.99, 0.95, 299, 299, 3, 1.0)
    run.write("certificate.json", certificate.to_json())
    with pytest.raises(HeadwayError, match=r"certificate\.json is of another circuit"):
        Findings.of(run)


def test_nothing_is_told_by_colour_alone(found, finished):
    html = shown(finished, certified(found, infeasible=[found.circuit.paths[0]]))
    for word in ("✓</span> faithful", "✓</span> necessary", "✗</span> not feasible"):
        assert word in html


def test_every_loss_is_there(found, finished):
    variants = {kind: 0.011 * (i + 1) for i, kind in enumerate(ABLATIONS)}
    html = shown(finished, certified(found, variants=variants))
    for value in (*variants.values(), 0.01, 0.03, 1.0, 1.5, 0.7, 0.9):
        assert f'<data value="{value!r}">' in html
    assert "0.0300 (0.0200 to 0.0400), below the threshold 0.05" in html
    assert "the model as it is, 0.0100 (0.00500 to 0.0200)" in html
