"""Verdicts: seven in one order, each with what it holds for, why, and what to type next."""

from dataclasses import fields, replace

import pytest

from headway import Circuit, discover, every_circuit
from headway.circuits import (
    Discovery,
    MinimalCircuits,
    Tabled,
    Timeline,
    Uniform,
    Yardstick,
    verdicts,
)
from headway.circuits.evidence import Necessity, Pair, Trial
from headway.circuits.text import of_discovery
from headway.circuits.verdicts import to_type
from headway.errors import HeadwayError
from headway.relations.paths import AttentionPath
from headway.relations.shares import Rival
from headway_experiments.arena import compiled
from known_circuits import true_circuit

NAMES = ("faithful", "the model's own", "necessary", "minimal", "unique", "stable", "feasible")
OPEN = {"faithful": False, "necessary": None, "minimal": None}
SPARE = {"necessary": False, "minimal": False}
OWN = "the model's own"


@pytest.fixture(scope="module")
def known():
    return compiled(1)


@pytest.fixture(scope="module")
def found(known):
    return discover(known.model, known.task, sequences=16, workers=1)


def held(found, every=None):
    return {one.name: one.holds for one in verdicts(found, every)}


def test_a_right_circuit_has_all_but_what_nobody_asked(found, known):
    given = verdicts(found)
    assert tuple(one.name for one in given) == NAMES
    assert held(found) == {**dict.fromkeys(NAMES, True), "unique": None}
    assert [one.next for one in given if one.next] == ["headway circuit RUN --sequences 16 --all"]
    assert "next: headway.every_circuit(model, task, found," in str(found)
    assert "headway circuit runs/a --sequences 16 --all" in of_discovery(found, "runs/a")
    every = every_circuit(known.model, known.task, found, sequences=16, workers=1)
    assert held(found, every) == dict.fromkeys(NAMES, True)
    assert {"verdicts", "seconds"}.isdisjoint(found.to_json())
    assert all(one.because in str(found).replace("\n" + " " * 22, " ") for one in given[:1])


def test_a_circuit_that_was_given_is_measured_again(known, found):
    given = discover(known.model, known.task, circuit=found.circuit, sequences=16, workers=1)
    (line,) = (one.next for one in verdicts(given) if one.next)
    assert to_type(line) == "headway.every_circuit(model, task, found, sequences=16)"
    kept = "runs/a/circuit_given.json"
    assert (
        to_type(line, "runs/a") == f"headway circuit runs/a --circuit {kept} --sequences 16 --all"
    )
    again = line.removesuffix(" --all")
    assert to_type(again) == "headway.discover(model, task, circuit=found.circuit, sequences=16)"


STORED = [field.name for field in fields(Discovery) if field.name != "seconds"]


@pytest.mark.parametrize("name", STORED)
def test_a_file_that_lacks_a_field_is_no_discovery(found, name):
    data = found.to_json()
    assert Discovery.from_json(data) == found
    del data[name]
    with pytest.raises(HeadwayError, match=rf"circuit\.json: {name} is missing"):
        Discovery.from_json(data)


def without(loss, free):
    return lambda paths: {"necessity": [Necessity(paths[0], 0.9, loss, free)]}


@pytest.mark.parametrize(
    ("changes", "holds", "next_"),
    [
        (lambda _: {"replaced": {"x_1": 0.05}}, OPEN, "--ablation"),
        (lambda _: {"interval": (0.0, 0.06)}, {}, "--sequences 64"),
        (without(0.04, 0.045), SPARE, "discover(model, task, circuit=found.circuit.without("),
        (without(0.04, 0.9), {}, None),
        (without(0.04, 0.05), {}, None),
        (lambda paths: {"droppable": [Pair(*paths, 0.0412)]}, {"minimal": False}, "--all"),
        (lambda paths: {"trials": [Trial(paths, 0.9)]}, {"stable": False}, "--seq"),
        (lambda p: {"trials": [Trial(p, 1.0), Trial(p, 0.9)]}, {"stable": False}, "--seq"),
        (lambda _: {"trials": []}, {"stable": None}, "--trials"),
        (lambda paths: {"infeasible": paths[-1:]}, {"feasible": False}, "headway theory RUN"),
        (lambda _: {"infeasible": None, "minimum": None}, {"feasible": None}, None),
        (lambda _: {"infeasible": [], "minimum": None}, {"feasible": False}, None),
    ],
)
def test_what_fails_is_named_and_so_is_what_helps(found, changes, holds, next_):
    changed = replace(found, evidence=replace(found.evidence, **changes(found.circuit.paths)))
    expected = {**dict.fromkeys(NAMES, True), "unique": None, **holds}
    assert held(changed) == expected
    properties = {name: getattr(changed, name) for name in OPEN}
    assert properties == {name: expected[name] for name in OPEN}
    lines = [one.next for one in verdicts(changed) if one.next and one.name != "unique"]
    assert (next_ is None and not lines) or any(str(next_) in line for line in lines)


def test_a_path_between_positions_that_share_nothing_by_then_is_not_feasible():
    """The query holds nothing of the pair before the first layer, so that it cannot find it."""
    known = compiled(2)
    circuit = true_circuit(known, AttentionPath.of(0, 0, "s0←s2"))
    found = discover(known.model, known.task, circuit=circuit, sequences=8, trials=False, workers=1)
    feasible = verdicts(found)[-1]
    assert (feasible.name, feasible.holds) == ("feasible", False)
    assert feasible.because.startswith("along L0.H0 s0←s2 the two positions hold nothing in common")
    assert "3 useful heads in 3 layers, flow minimum 3" in feasible.because


@pytest.mark.parametrize(
    ("layers", "holds"),
    [((0.9,), True), ((0.89,), False), ((), True), ((0.95, 0.5, 1.0), False), ((1.0, 0.9), True)],
)
def test_the_model_must_go_on_from_what_the_circuit_computed(found, layers, holds):
    likeness = replace(found.evidence.likeness, layerwise=layers)
    changed = replace(found, evidence=replace(found.evidence, likeness=likeness))
    assert held(changed)[OWN] is holds


def with_all(found, mechanism):
    circuit = Circuit(dict.fromkeys(found.circuit.mechanisms, mechanism))
    return replace(found, circuit=circuit, evidence=replace(found.evidence, necessity=[]))


def test_without_paths_there_is_nothing_to_drop(found):
    empty = with_all(found, Uniform())
    unknown = {name for name, holds in held(empty).items() if holds is None}
    assert unknown == {OWN, "necessary", "minimal", "unique", "feasible"}


def test_tables_are_judged_as_a_whole(found):
    """A head that attends by table has no path to cut, so what was judged are paths of others."""
    tables = with_all(found, Tabled())
    every = MinimalCircuits(0.05, 16, (), tables.circuit, ((),), (0.0,), 1, 2, (), 100)
    assert held(tables, every)[OWN]
    unknown = [one for one in verdicts(tables, every) if one.holds is None]
    assert [one.name for one in unknown] == ["necessary", "minimal", "unique", "feasible"]
    assert all("L0.H0" in one.because and one.next for one in unknown[:3])
    assert "upper heads free" not in str(tables)


NOTHING_CUT = ("complement", "rows without a path", "back-ups", "again", "cut:")


@pytest.mark.parametrize(
    ("mechanism", "brought"),
    [
        (Tabled(), "attention brings what tables of tokens and places say (L0.H0 and L1.H0)"),
        (Uniform(), "what attention brings is not needed, or from the same places in all seq"),
    ],
)
def test_without_paths_no_stability_and_one_line_on_what_attention_brings(
    found, mechanism, brought
):
    plain = with_all(found, mechanism)
    trials = [Trial([], 1.0), Trial([], 1.0)]
    plain = replace(plain, evidence=replace(plain.evidence, trials=trials))
    assert held(plain)["stable"] is None
    said = " ".join(str(plain).split())
    assert said.count("no head has a path") == 1
    assert brought in said
    assert "the rest is computed position by position, in MLPs" in said
    assert not [words for words in NOTHING_CUT if words in said]


def test_of_an_unfaithful_circuit_it_is_not_said_what_attention_brings(found):
    plain = with_all(found, Tabled())
    plain = replace(plain, evidence=replace(plain.evidence, replaced={"x_1": 9.0}))
    assert "no head has a path" not in str(plain)


def test_where_other_samples_have_paths_a_circuit_without_is_not_stable(found):
    plain = with_all(found, Tabled())
    trials = [Trial(found.circuit.paths, 0.0)]
    plain = replace(plain, evidence=replace(plain.evidence, trials=trials))
    assert held(plain)["stable"] is False


def test_a_circuit_with_paths_says_nothing_of_heads_without(found):
    assert "no head has a path" not in str(found)


def test_a_timeline_without_paths_has_no_table():
    timeline = Timeline([0, 10], [1.0, 0.1], [], {"answer": 5.0}, 8)
    assert str(timeline).splitlines() == [
        "the circuit has no path to date",
        "partial loss below 0.5 at step:  answer 5",
    ]


@pytest.mark.parametrize(
    ("others", "searched", "holds"), [([], 2, True), ([], 1, None), ([0], 2, False)]
)
def test_a_circuit_is_unique_if_exhaustion_finds_no_other(found, others, searched, holds):
    own = tuple(found.circuit.paths)
    circuits = (own, *((own[i],) for i in others))
    every = MinimalCircuits(
        *(0.05, 16, own, found.circuit, circuits, (0.0,) * len(circuits)),
        *(3, searched, own, 9),
    )
    assert held(found, every)["unique"] is holds
    asks = any("--most 90" in (one.next or "") for one in verdicts(found, every))
    assert asks is (holds is None)


@pytest.mark.parametrize(
    ("measure", "like", "holds"),
    [("agreement", 0.9, True), ("agreement", 0.89, False), ("r2", 0.8, True), ("r2", 0.79, False)],
)
def test_by_the_gap_answers_must_agree_too(found, measure, like, holds):
    circuit = replace(found.evidence.likeness.circuit, **{measure: like})
    likeness = replace(found.evidence.likeness, circuit=circuit)
    gap = replace(
        found,
        yardstick=Yardstick(None, "mean", measure),
        evidence=replace(found.evidence, likeness=likeness),
    )
    assert held(gap)["faithful"] is holds
    assert replace(gap, yardstick=found.yardstick).faithful


@pytest.mark.parametrize(
    ("changes", "next_"),
    [
        ({"explained": 0.29}, "headway report RUN  # Look inside, L0.H0"),
        ({"explained": 0.3}, None),
        ({"rivals": [("3 back", 0.6, 0.1, 0.7)]}, ".adding('L0.H0 3 back')"),
        ({"rivals": [("3 back", 0.6, 0.02, 0.2)]}, "circuit=found.circuit.without('L0.H0 s2←s1'))"),
        ({"rivals": [("3 back", 0.6, 0.4, 0.6)]}, None),
        ({"rivals": [("3 back", 0.96, 0.0, 1.0)]}, None),
    ],
)
def test_a_head_that_does_not_follow_its_path_is_not_the_models_own(found, changes, next_):
    relation = str(found.circuit.paths[0].relation)
    rivals = [Rival(relation, *one) for one in changes.pop("rivals", [])]
    look = replace(found.looks[0], **changes, rivals=rivals)
    changed = replace(found, looks=[look, *found.looks[1:]])
    own = verdicts(changed)[1]
    assert own.holds is (next_ is None)
    assert next_ is None or next_ in str(own.next)
