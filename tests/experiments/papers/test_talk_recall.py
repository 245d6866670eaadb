"""Measures of factual recall, on weights and losses that are written by hand."""

import math

import pytest
from torch import nn

from headway.recipes import changed
from headway.training import Run, train
from headway_experiments.reading import by_run
from headway_experiments.talk import MECHANISMS, capacity, recall
from headway_experiments.talk.capacity import Kept
from headway_experiments.talk.recall import Losses


def one_of(configs):
    return next(iter(configs.values()))


def with_bias_alone(folder, config, answer_of, size):
    """A run whose model says the same of everything: one answer is likelier."""
    run = Run.create(folder, config)
    model = run.new_model("cpu")
    for weight in model.parameters():
        nn.init.zeros_(weight)
    state = model.state_dict()
    state["unembed.bias"][answer_of(run.task)] = size
    run.save_checkpoint(0, state)
    return run


@pytest.fixture(scope="module")
def indifferent(tmp_path_factory):
    config = changed(one_of(recall.dynamics("smoke")), {"training.steps": 1})
    folder = tmp_path_factory.mktemp("indifferent") / "run"
    return with_bias_alone(folder, config, lambda task: task.answers()[0, 0], 2.0)


def test_every_fact_is_asked_for(indifferent):
    batch = recall.every_fact(indifferent)
    assert len(batch.inputs) == 16 * 4
    facts = indifferent.task.facts()
    assert batch.targets.flatten().tolist() == facts.flatten().tolist()


def test_the_losses_are_the_relations_and_the_subjects(indifferent):
    """They follow from what the model says."""
    task = indifferent.task
    (losses,) = recall.course(indifferent)
    likelier = math.exp(2)
    total = task.d_target - 1 + likelier
    of_its_relation = math.log(total / (7 + likelier))
    of_others = math.log(total / 8)
    relation = (16 * of_its_relation + 48 * of_others) / 64
    assert losses.relation == pytest.approx(relation, rel=1e-5)
    is_said = task.facts() == task.answers()[0, 0]
    whole = math.log(total) - 2.0 * is_said
    assert losses.total == pytest.approx(whole.mean().item(), rel=1e-5)


def test_a_model_that_says_the_same_of_everything_is_indifferent(indifferent):
    assert recall.indifference(indifferent, 0) == pytest.approx(0, abs=1e-6)


def test_what_depends_on_the_subject_is_told(tmp_path):
    run = train(recall.dynamics("smoke")["seed=0"], tmp_path / "run")
    steps = run.checkpoint_steps()
    assert recall.indifference(run, steps[0]) < 1e-3
    losses = recall.course(run)
    assert losses[0].total == pytest.approx(math.log(run.task.d_target), rel=0.02)
    assert losses[-1].total < losses[0].total
    assert losses[-1].relation < 0.1
    late = recall.indifference(run, steps[-1])
    assert late > 0.1  # by then it has begun to say what depends on the subject
    measured = by_run({"seed=0": run}, recall.learning)
    assert measures_of("factual-recall-dynamics") <= measured.keys()
    drawn = recall.EXPERIMENTS[1].draw({"seed=0": run})
    assert list(drawn) == ["factual-recall-dynamics"]


def measures_of(name):
    """The measures that an experiment's claims are of."""
    return {claim.measure for claim in MECHANISMS[name].claims}


LEVEL = math.log(8)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        (
            [
                (0, 2.0, 2.1),
                (10, 0.05, 2.0),
                (20, 0.0, 1.9),
                (30, 0.0, 0.1),
                (40, 0.0, 2.0),
            ],
            [10, 20],
        ),
        (
            [(0, 2.0, 2.1), (10, 0.5, 2.0), (20, 0.0, 1.0)],
            [],
        ),  # the relation is not known
        ([(0, 2.0, 2.1), (10, 0.0, 0.84 * LEVEL), (20, 0.0, 0.0)], []),  # more is known
        ([(0, 2.0, 2.1), (10, 0.0, 0.86 * LEVEL)], [10]),
        ([(0, 0.09, 1.16 * LEVEL - 0.09)], []),
    ],
)
def test_the_stage_in_between_is_found_or_not(losses, expected):
    found = recall.stage([Losses(*each) for each in losses], 8)
    assert [each.step for each in found] == expected


def kept(law, **sizes):
    """Items that shapes of some sizes keep by a law, with two seeds."""
    items = []
    for shape, size in sizes.items():
        count = law(*size)
        items += [Kept(f"{shape},seed={seed}", count, True, *size) for seed in (0, 1)]
    return items


def straight(a, m):
    return 0.05 * a + 0.2 * m


def test_rates_are_those_that_a_frontier_was_made_of():
    made = kept(straight, a=(1000, 0), b=(500, 400), c=(2000, 100))
    assert recall.rates(made) == pytest.approx((0.05, 0.2))


def bent(a, m):
    return 0.1 * math.hypot(a, m)


def foretold_by(law):
    """Ratios to what is foretold of traded shapes, and the rates that foretell them."""
    known = kept(law, a=(1000, 0), b=(2000, 0), c=(600, 600), d=(1200, 1200))
    traded = kept(law, much_mlp=(200, 1800), little=(1800, 200))
    return recall.foretold(known, traded)


def test_traded_shapes_are_foretold_by_the_others_if_the_frontier_is_straight():
    ratios, rates = foretold_by(straight)
    assert list(ratios.values()) == pytest.approx([1.0] * 4)
    assert rates["attention,seed=1"] == pytest.approx(0.05)
    assert rates["MLP,seed=0"] == pytest.approx(0.2)


def test_traded_shapes_keep_more_than_is_foretold_if_the_frontier_is_bent():
    ratios, _ = foretold_by(bent)
    assert len(ratios) == 4
    for seed in (0, 1):
        assert ratios[f"much_mlp,seed={seed}"] > 1.25


def test_without_both_kinds_of_shapes_nothing_is_foretold():
    known = kept(straight, a=(1000, 0))
    traded = kept(straight, b=(500, 400))
    ratios, rates = recall.foretold(known, traded)
    assert ratios == {}
    assert rates == {}


def test_a_loss_is_halved_between_checkpoints():
    assert recall.halved([0, 10, 20], [2.0, 1.5, 0.5]) == pytest.approx(15)
    assert recall.halved([0, 10], [2.0, 1.5]) is None


def test_parameters_are_those_that_are_trained(tmp_path):
    config = one_of(recall.series("mlp", "smoke"))
    model = Run.create(tmp_path / "run", config).new_model("cpu")
    inside = model.blocks.parameters()
    expected = sum(weight.numel() for weight in inside if weight.ndim == 2)
    assert sum(capacity.trained_numbers(config.model)) == expected


def planted(folder, config, share):
    """A run that knows the facts of one answer by its bias: the share of them is what
    it knows.
    """
    run = with_bias_alone(folder, config, lambda task: task.facts()[0, 0], 1.0)
    accuracy = capacity.accuracy(run, recall.every_fact(run))
    assert accuracy == pytest.approx(share)
    return run


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Of models of three sizes, of which each knows one fact of one, or of four."""
    # One fact has one answer, so that a bias alone knows it: no task to train on.
    monkeypatch.setattr("headway.training.size.require_sound", lambda task: None)
    base = one_of(recall.series("mlp", "smoke"))
    planted_runs = {}
    for heads in (1, 2, 3):
        for n in (1, 2):
            fields = {"task.n_subjects": n, "task.n_relations": n}
            fields |= {"task.n_answers": 1, "model.n_heads": heads}
            name = f"{heads} {n}"
            config = changed(base, fields)
            planted_runs[name] = planted(tmp_path / name, config, 1 / n)
    return planted_runs


def test_capacities_are_measured(runs):
    for capacity_of_size in recall.kept(runs):
        assert capacity_of_size.is_bracketed
        assert capacity_of_size.count == pytest.approx(4**0.02)
    assert len(recall.kept(runs)) == 3
    measured = recall.facts_kept(runs, runs, runs)
    assert measures_of("factual-recall") <= measured.keys()
    slope = measured["recall_attention_slope"]
    assert slope == {"seed=0": pytest.approx(0, abs=1e-9)}


def test_capacities_are_drawn(runs):
    assert "factual-recall" in recall.EXPERIMENTS[0].draw(runs, runs, runs)
