"""Verdicts: three in one order, each with what it holds for, why, and what to type
next.
"""

import re
from dataclasses import fields, replace

import pytest

from headway import Circuit, discover
from headway.dynamics import Timeline
from headway.errors import HeadwayError
from headway.judge import Discovery, Yardstick, verdicts
from headway.judge.evidence import Trial
from headway.judge.judgement import LIMIT, MOVED, Beside, Cost
from headway.judge.text import of_discovery
from headway.judge.verdict import VERDICTS, Next
from headway.relations.paths import AttentionPath
from headway.replace import Mean, Tabled, Uniform
from headway_experiments.arena import compiled
from known_circuits import Foreign, true_circuit

FREE = Cost(0.0, 0.0, 0.0, 0.0)
JUST_COSTS = Cost(0.03, 0.2, LIMIT, 0.0)
ALMOST = Cost(0.0, 0.0, 0.0, 0.999 * LIMIT)


@pytest.fixture(scope="module")
def known():
    return compiled(2)


@pytest.fixture(scope="module")
def found(known):
    return discover(known.model, known.task, sequences=16, workers=1)


def held(found):
    return {one.name: one.holds for one in verdicts(found)}


def with_judgement(found, **changes):
    """The discovery with other costs in its judgement."""
    judgement = replace(found.evidence.judgement, **changes)
    return replace(found, evidence=replace(found.evidence, judgement=judgement))


def measured(known, circuit):
    return discover(
        known.model, known.task, circuit=circuit, sequences=32, trials=False, workers=1
    )


def test_a_right_circuit_gets_three_yeses_and_nothing_to_type(found):
    given = verdicts(found)
    names = [verdict.name for verdict in given]
    assert names == ["enough", "complete", "nothing spare"]
    assert held(found) == dict.fromkeys(names, True)
    assert not [one.next for one in given if one.next]
    assert {"verdicts", "seconds"}.isdisjoint(found.to_json())
    said = " ".join(str(found).split())
    for one in given:
        assert one.because in said


def test_a_circuit_that_was_given_is_measured_again(known, found):
    given = measured(known, found.circuit)
    given = with_judgement(given, enough={"all else exchanged": JUST_COSTS})
    unharmed = dict.fromkeys(given.evidence.alone, 0.0)
    given = replace(given, evidence=replace(given.evidence, alone=unharmed))
    (again,) = (one.next for one in verdicts(given) if one.next)
    kept = "runs/a/circuit_given.json"
    told = f"headway circuit runs/a --circuit {kept} --sequences 128"
    assert again.in_shell("runs/a") == told
    called = "headway.discover(model, task, circuit=found.circuit, sequences=128)"
    assert again.in_python() == called


STORED = [field.name for field in fields(Discovery) if field.name != "seconds"]


@pytest.mark.parametrize("name", STORED)
def test_a_file_that_lacks_a_field_is_no_discovery(found, name):
    data = found.to_json()
    assert Discovery.from_json(data) == found
    del data[name]
    with pytest.raises(HeadwayError, match=rf"circuit\.json: {name} is missing"):
        Discovery.from_json(data)


@pytest.mark.parametrize("at", ["paths", "heads", "rows"])
def test_a_judgement_of_another_circuit_is_refused(found, at):
    strange = {
        "paths": {AttentionPath.of(7, 0, "s0←s2"): FREE},
        "heads": [Beside((7, 0), "not needed", FREE)],
        "rows": {(7, 0): FREE},
    }
    with pytest.raises(HeadwayError, match=f"evidence.judgement.{at}"):
        with_judgement(found, **{at: strange[at]})


@pytest.mark.parametrize(("cost", "holds"), [(ALMOST, True), (JUST_COSTS, False)])
def test_enough_is_judged_by_the_change_that_costs_most(found, cost, holds):
    tried = dict.fromkeys(found.evidence.judgement.enough, FREE)
    changed = with_judgement(found, enough={**tried, "up to layer 1": cost})
    assert held(changed) == {"enough": holds, "complete": True, "nothing spare": True}
    enough = verdicts(changed)[0]
    assert "with up to layer 1, " in enough.because
    assert f"{cost.most:.3f} (limit 0.05)" in enough.because


def test_where_it_is_not_enough_the_head_is_named_that_its_mechanism_serves_least(
    found,
):
    tried = {"all else exchanged": JUST_COSTS}
    changed = with_judgement(found, enough=tried)
    alone = dict.fromkeys(found.evidence.alone, found.intact_loss + 0.1)
    alone[1, 0] = found.intact_loss + 0.7
    changed = replace(changed, evidence=replace(changed.evidence, alone=alone))
    enough = verdicts(changed)[0]
    assert "replacing L1.H0 alone takes the loss from" in enough.because
    assert enough.next == Next("report", look=(1, 0))
    unharmed = dict.fromkeys(found.evidence.alone, 0.0)
    changed = replace(changed, evidence=replace(changed.evidence, alone=unharmed))
    assert verdicts(changed)[0].next == Next("circuit", {"sequences": 64})


@pytest.mark.parametrize(
    ("role", "holds"),
    [
        ("not needed", True),
        ("by place", True),
        ("the same in all sequences", True),
        ("votes too", False),
    ],
)
def test_only_a_head_that_votes_too_leaves_a_circuit_incomplete(found, role, holds):
    cost = FREE if holds else JUST_COSTS
    changed = with_judgement(found, heads=[Beside((1, 0), role, cost)])
    assert held(changed) == {"enough": True, "complete": holds, "nothing spare": True}
    assert f"{role}: L1.H0" in str(changed)
    if not holds:
        complete = verdicts(changed)[1]
        assert complete.because.startswith("L1.H0, which has no path, votes too")
        assert complete.next == Next("report", look=(1, 0))


@pytest.mark.parametrize(("cost", "holds"), [(ALMOST, True), (JUST_COSTS, False)])
def test_rows_without_a_path_that_cost_leave_a_circuit_incomplete(found, cost, holds):
    changed = with_judgement(found, rows={(0, 0): FREE, (1, 0): cost})
    assert held(changed) == {"enough": True, "complete": holds, "nothing spare": True}
    assert holds or "the rows of L1.H0 without a path" in verdicts(changed)[1].because


@pytest.mark.parametrize(("cost", "holds"), [(ALMOST, False), (JUST_COSTS, True)])
def test_a_path_that_costs_nothing_is_spare_and_named(found, cost, holds):
    costs = dict.fromkeys(found.circuit.paths, JUST_COSTS)
    spare = found.circuit.paths[-1]
    changed = with_judgement(found, paths={**costs, spare: cost})
    assert held(changed) == {"enough": True, "complete": True, "nothing spare": holds}
    if not holds:
        verdict = verdicts(changed)[2]
        assert f"exchanging or cutting {spare} costs" in verdict.because
        assert verdict.next == Next("circuit", without=spare)


@pytest.mark.parametrize(
    ("cost", "is_close"), [(0.03, False), (0.041, True), (0.06, True), (0.07, False)]
)
def test_a_verdict_that_is_close_to_the_limit_says_so(found, cost, is_close):
    """In all three, whether they hold or not."""
    costs = replace(FREE, rise=cost)
    changed = with_judgement(
        found,
        enough={"all else exchanged": costs},
        rows={(0, 0): costs},
        paths=dict.fromkeys(found.circuit.paths, costs),
    )
    for verdict in verdicts(changed):
        assert verdict.is_close == is_close
    told = " ".join(str(changed).split())
    assert told.count("close to the limit: other sequences") == 3 * is_close


def test_a_path_dropped_from_the_right_circuit_is_noticed():
    known = compiled(1)
    right = true_circuit(known)
    for path in right.paths:
        holds = held(measured(known, right.without(path)))
        assert False in (holds["enough"], holds["complete"])


@pytest.mark.parametrize("extra", ["L1.H0 s2←s4", "L2.H0 s4←s3"])
def test_a_path_too_many_is_spare(known, extra):
    judged = verdicts(measured(known, true_circuit(known, AttentionPath.parse(extra))))
    assert [one.holds for one in judged] == [True, True, False]
    assert extra in judged[2].because


def test_what_cannot_be_exchanged_gets_no_verdict_and_a_reason(known):
    found = discover(
        Foreign(known.model), known.task, sequences=8, trials=False, workers=1
    )
    assert found.faithful
    assert held(found) == dict.fromkeys(VERDICTS)
    assert {one.because for one in verdicts(found)} == {found.evidence.unjudged}
    assert "model = Foreign is not allowed" in found.evidence.unjudged
    assert Discovery.from_json(found.to_json()) == found


def test_a_path_between_positions_that_share_nothing_by_then_is_noted(known):
    """The query holds nothing of the pair before the first layer, so that it cannot
    find it.
    """
    circuit = true_circuit(known, AttentionPath.of(0, 0, "s0←s2"))
    said = " ".join(str(measured(known, circuit)).split())
    assert (
        "flow: along L0.H0 s0←s2 the two positions hold nothing in common by then"
        in said
    )
    assert "3 useful heads in 3 layers, flow minimum 3" in said


def test_an_unknown_flow_is_noted(found):
    unknown = replace(
        found, evidence=replace(found.evidence, infeasible=None, minimum=None)
    )
    assert "flow: not known of this task" in str(unknown)


def with_all(found, mechanism):
    """The discovery of a circuit whose heads all have one mechanism, which has no
    path.
    """
    circuit = Circuit(dict.fromkeys(found.circuit.mechanisms, mechanism))
    judgement = replace(found.evidence.judgement, paths={}, rows={})
    evidence = replace(found.evidence, necessity=[], judgement=judgement)
    return replace(found, circuit=circuit, evidence=evidence)


@pytest.mark.parametrize("mechanism", [Uniform(), Mean(), Tabled()])
def test_without_paths_nothing_can_be_spare(found, mechanism):
    assert held(with_all(found, mechanism))["nothing spare"] is None


@pytest.mark.parametrize(
    ("mechanism", "brought"),
    [
        (
            Tabled(),
            "attention brings what tables of tokens and places say (L0.H0, L1.H0 "
            "and L2.H0",
        ),
        (
            Uniform(),
            "what attention brings is not needed, or from the same places in all seq",
        ),
    ],
)
def test_without_paths_one_line_says_what_attention_brings(found, mechanism, brought):
    plain = with_all(found, mechanism)
    trials = [Trial([], 1.0), Trial([], 1.0)]
    plain = replace(plain, evidence=replace(plain.evidence, trials=trials))
    said = " ".join(str(plain).split())
    assert said.count("no head has a path") == 1
    assert brought in said
    assert "the rest is computed position by position, in MLPs" in said
    assert not re.search(r"\b(complement|again|cut:)(\s|$)", said)


def test_of_an_unfaithful_circuit_it_is_not_said_what_attention_brings(found):
    plain = with_all(found, Tabled())
    plain = replace(
        plain, evidence=replace(plain.evidence, replaced={"x_1": 9.0, "x_2": 9.0})
    )
    assert "no head has a path" not in str(plain)


def test_a_circuit_with_paths_says_nothing_of_heads_without(found):
    assert "no head has a path" not in str(found)


def test_a_timeline_without_paths_has_no_table():
    timeline = Timeline([0, 10], [1.0, 0.1], [], {"answer": 5.0}, 8)
    assert str(timeline).splitlines() == [
        "the circuit has no path to date",
        "partial loss below 0.5 at step:  answer 5",
    ]


@pytest.mark.parametrize(
    ("measure", "like", "holds"),
    [
        ("agreement", 0.9, True),
        ("agreement", 0.89, False),
        ("r2", 0.8, True),
        ("r2", 0.79, False),
    ],
)
def test_by_the_gap_answers_must_agree_for_a_circuit_to_be_faithful(
    found, measure, like, holds
):
    circuit = replace(found.evidence.likeness.circuit, **{measure: like})
    likeness = replace(found.evidence.likeness, circuit=circuit)
    gap = replace(
        found,
        yardstick=Yardstick(None, "mean", measure),
        evidence=replace(found.evidence, likeness=likeness),
    )
    assert gap.faithful is holds
    assert replace(gap, yardstick=found.yardstick).faithful


def test_a_loss_just_at_the_threshold_is_not_faithful(found):
    assert found.faithful
    assert not replace(found, threshold=found.replaced_loss).faithful


def test_lines_to_type_are_of_the_run_or_of_python(found):
    changed = with_judgement(found, enough={"all else exchanged": JUST_COSTS})
    unharmed = dict.fromkeys(found.evidence.alone, 0.0)
    changed = replace(changed, evidence=replace(changed.evidence, alone=unharmed))
    assert "next: headway.discover(model, task, sequences=64)" in str(changed)
    assert "next: headway circuit runs/a --sequences 64" in of_discovery(
        changed, "runs/a"
    )


def test_a_head_by_place_is_named_and_its_cost_is_no_bound(found):
    placed = Beside((1, 0), "by place", JUST_COSTS)
    changed = with_judgement(found, heads=[placed, Beside((0, 0), "not needed", FREE)])
    complete = verdicts(changed)[1]
    assert complete.holds
    costs = "costs at most 0.000 (limit 0.05); L1.H0 attends by place"
    assert costs in complete.because


def test_a_vote_says_which_change_tells(found):
    moved = Beside((1, 0), "votes too", JUST_COSTS, MOVED)
    complete = verdicts(with_judgement(found, heads=[moved]))[1]
    assert "votes too: given what it carries in another layout it" in complete.because


def test_a_verdict_is_no_where_something_breaks_it(found):
    heads = [Beside((1, 0), "votes too", JUST_COSTS)]
    paths = dict.fromkeys(found.circuit.paths, ALMOST)
    changed = with_judgement(
        found, enough={"all else exchanged": JUST_COSTS}, heads=heads, paths=paths
    )
    broken = changed.evidence.judgement.broken
    assert [*broken] == [*VERDICTS]
    assert held(changed) == dict.fromkeys(VERDICTS, False)


def test_costs_are_held_against_the_limit_of_the_judge(found):
    paths = dict.fromkeys(found.circuit.paths, JUST_COSTS)
    changed = with_judgement(found, paths=paths, limit=2 * JUST_COSTS.most)
    assert held(changed)["nothing spare"] is False
    assert "(limit 0.1" in verdicts(changed)[2].because
