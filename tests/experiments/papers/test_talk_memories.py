"""Associative memories: stored and recalled, and what is measured of them, written by
hand.
"""

import pytest
import torch
import torch.nn.functional as F

from headway.recipes import changed
from headway.training import Run, train
from headway_experiments.talk import associative_memory as memory
from headway_experiments.talk import capacity, memories
from headway_experiments.talk.capacity import Kept
from sampling import seeded


@pytest.mark.parametrize("parameters", [20.0, 400.0, 9000.0])
def test_items_take_as_many_nats_as_asked(parameters):
    n = capacity.items_for(parameters)
    assert capacity.information(n - 1) < parameters < capacity.information(n + 1)


@pytest.mark.parametrize(
    ("accuracies", "expected"),
    [
        ({10: 1.0, 20: 0.98, 40: 0.5}, 10 * 2**0.5),  # 0.99 is half way
        ({10: 1.0, 20: 0.9, 40: 0.99, 80: 0.0}, 40.0),  # behind the largest that holds
    ],
)
def test_the_capacity_is_where_accuracy_falls(accuracies, expected):
    assert capacity.capacity(accuracies) == pytest.approx(expected)


@pytest.mark.parametrize("accuracies", [{10: 0.9, 20: 0.5}, {10: 1.0, 20: 1.0}])
def test_where_accuracy_does_not_fall_no_capacity_is_known(accuracies):
    assert capacity.capacity(accuracies) is None


def kept_by(d, seed, items, bounded=True):
    """What a model of some width keeps."""
    return Kept(f"d={d},seed={seed}", items, bounded, d**2, 0)


def test_slopes_are_of_what_is_kept_by_parameters():
    widths = (8, 16, 32)
    kept = [kept_by(d, 0, float(d**2)) for d in widths]
    kept += [kept_by(d, 1, d**2.2) for d in widths]
    slopes = capacity.slopes(kept)
    assert slopes["seed=0"] == pytest.approx(1.0)
    assert slopes["seed=1"] == pytest.approx(1.1)
    assert capacity.slopes(kept[:1]) == {}


def test_slopes_count_bounds_as_what_is_kept():
    kept = [kept_by(8, 2, 64.0), kept_by(16, 2, 256.0)]
    between = 8.0 * 32.0
    kept.append(kept_by(32, 2, between, bounded=False))
    slopes = capacity.slopes(kept)
    assert slopes["seed=2"] < 0.6  # it lies on the side on which the series ended


@pytest.fixture
def associations(tmp_path):
    """Two runs of one width: all of 8 items are recalled, and half of 10."""
    plan = memories.series("linear", "small")
    base = next(config for config in plan.values() if config.model.d_model == 12)
    runs = {}
    for n, known in ((8, 8), (10, 5)):
        fields = {
            "task.n_items": n,
            "training.batch_size": n,
            "training.eval_examples": n,
        }
        config = changed(base, fields)
        name = f"items={n}"
        runs[name] = planted(tmp_path, name, config, known)
    return runs


def test_accuracies_are_of_all_items(associations):
    shares = [
        capacity.accuracy(run, memories.every_item(run))
        for run in associations.values()
    ]
    assert shares == [1.0, pytest.approx(0.5)]


def test_capacities_are_of_series(associations):
    def kept(*names):
        runs = {name: associations[name] for name in names}
        return capacity.capacities(
            runs, memories.shape, memories.every_item, memories.size
        )

    shape = "d=12,seed=0"
    between = pytest.approx(8 * (10 / 8) ** 0.02)
    assert kept("items=8", "items=10") == [Kept(shape, between, True, 144, 0)]
    assert kept("items=8") == [Kept(shape, 8.0, False, 144, 0)]
    assert kept("items=10") == [Kept(shape, 10.0, False, 144, 0)]


def test_longer_training_is_held_against_the_shorter(associations):
    same = memories.associative(associations, {}, associations)
    assert same["memories_longer"] == {"d=12,seed=0": pytest.approx(1)}
    assert same["linear_range"] == {"largest / smallest": 1.0}
    assert same["mlp_range"] == {}


def test_longer_training_may_keep_more_than_was_tried(associations):
    more = {"a": associations["items=8"]}
    measured = memories.associative(associations, {}, more)
    bound = capacity.information(8) / measured["linear_information"]["d=12,seed=0"]
    assert measured["memories_longer"] == {"d=12,seed=0": pytest.approx(bound)}


TRAINED_WEIGHTS = {"linear": ("attn.out.weight",), "mlp": ("up.weight", "down.weight")}


def planted(tmp_path, name, config, known):
    """A run whose weights recall the first `known` items by their residual, and no
    others.
    """
    run = Run.create(tmp_path / name, config)
    state = run.new_model("cpu").state_dict()
    n, d = state["embed.weight"].shape
    state["embed.weight"] = torch.eye(n, d)
    state["unembed.weight"] = torch.eye(n, d)
    state["unembed.weight"][known:] *= -1
    run.save_checkpoint(0, state)
    return run


@pytest.mark.parametrize("kind", TRAINED_WEIGHTS)
def test_shapes_have_as_many_parameters_as_are_trained(tmp_path, kind):
    plan = memories.series(kind, "small")
    first = next(iter(plan))
    assert first.lower().startswith(kind)
    run = Run.create(tmp_path / kind, plan[first])
    trained = 0
    for name, weight in run.new_model("cpu").named_parameters():
        if name.endswith(TRAINED_WEIGHTS[kind]):
            trained += weight.numel()
    assert sum(memories.size(run.config.transformer)) == trained


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_every_item_is_in_a_batch(scale, kind):
    for config in memories.series(kind, scale).values():
        assert config.training.batch_size == config.task.n_items


@pytest.mark.parametrize("scale", ["small", "paper"])
@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_series_go_from_less_to_more_than_there_is_room_for(scale, kind):
    shares = {}
    configs = memories.series(kind, scale).values()
    for config in configs:
        size = sum(memories.size(config.model))
        share = capacity.information(config.task.n_items) / size
        shares.setdefault((config.model.d_model, size), []).append(share)
    for tried in shares.values():
        assert min(tried) < 0.5
        assert max(tried) > 1.6
    sizes = [size for _, size in shares]
    assert max(sizes) / min(sizes) >= 30
    seeds = {config.seed for config in configs}
    assert len(seeds) >= 3


def test_a_trained_step_is_the_one_that_is_written_down(tmp_path):
    plan = memories.one_step("smoke")
    config = next(config for config in plan.values() if config.model.d_model == 64)
    run = train(config, tmp_path / "run")
    assert run.config.training.steps == 1
    assert memories._as_written(run) < 1e-5
    assert capacity.accuracy(run, memories.every_item(run)) == 1.0
    start = planted(tmp_path, "start", config, 0)
    assert memories._as_written(start) > 0.1


def test_the_lemma_is_exact():
    errors = memories.exact_logits((0, 5))
    assert len(errors) == 6
    assert max(errors.values()) < 1e-6


POWERS = {"first": 0.5, "frequency": 0.25, "all": 0.0, "samples": 1 / 3}


EXPONENTS = {
    "first": 1,
    "frequency": 1.5,
    "all": 0,
    "samples": 1,
    "frequency_to_first": 0.5,
}


def test_errors_fall_by_the_powers_that_they_have(monkeypatch):
    def errors(seeds):
        curves = {}
        for name, power in POWERS.items():
            curves[name, 1.5, 0] = {x: 0.7 * x**-power for x in (8, 16, 64)}
        return curves

    monkeypatch.setattr(memories, "zipf_errors", errors)
    exponents = memories.zipf_exponents((0,))
    for name, exponent in EXPONENTS.items():
        measured = exponents[f"zipf_{name}"]
        assert measured == {"a=1.5,seed=0": pytest.approx(exponent, abs=1e-9, rel=1e-6)}


@pytest.fixture
def few(monkeypatch):
    """Memories of a few items, of two widths, after few samples."""
    monkeypatch.setattr(memories, "WIDTHS", (8, 32))
    monkeypatch.setattr(memories, "SAMPLES", (10, 100))
    monkeypatch.setattr(memories, "N_ITEMS", 200)
    memories.zipf_errors.cache_clear()
    yield
    memories.zipf_errors.cache_clear()


@pytest.mark.parametrize("seed", [10_000, 10_001])
def test_what_is_not_trained_is_drawn_by_the_seeds_of_the_runs(tmp_path, few, seed):
    config = next(iter(memories.one_step("smoke").values()))
    run = planted(tmp_path, f"{seed}", changed(config, {"seed": seed}), 1)
    measures = memories.gradient({f"seed={seed}": run})
    for name, measured in measures.items():
        assert measured or name == "gradient_accuracy_wide"
        for key in measured:
            assert key.endswith(f"seed={seed}")


def test_errors_are_means_over_vectors(few):
    errors = memories.zipf_errors((0, 1, 2))
    assert len(errors) == 4 * len(memories.EXPONENTS) * 3
    for (name, *_), curve in errors.items():
        for error in curve.values():
            assert 0 < error < 1
        if name == "samples":
            assert curve[10] > curve[100]
    for seed in range(3):
        first = errors["first", 1.5, seed]
        every = errors["all", 1.5, seed]
        assert first[32] < every[32]


def drawn(seed=0):
    return seeded(seed)


def test_a_memory_is_the_sum_of_its_pairs():
    values = memory.random_vectors(3, 5, drawn())
    keys = memory.random_vectors(4, 6, drawn(1))
    classes = torch.tensor([2, 0, 1, 2])
    strengths = torch.tensor([1.0, 0.5, 2.0, 3.0])
    expected = torch.zeros(5, 6)
    for item, key in enumerate(keys):
        value = values[classes[item]]
        expected += strengths[item] * torch.outer(value, key)
    stored = memory.stored(values, keys, classes, strengths)
    assert torch.allclose(stored, expected)
    logits = memory.logits(expected, values, keys)
    by_hand = [[(value @ expected @ key).item() for value in values] for key in keys]
    assert torch.allclose(logits, torch.tensor(by_hand), atol=1e-6)


def test_orthonormal_pairs_are_recalled_and_others_are_not():
    values = memory.orthonormal_vectors(6, 8, drawn())
    keys = memory.orthonormal_vectors(6, 9, drawn(1))
    assert torch.allclose(keys @ keys.T, torch.eye(6).double(), atol=1e-12)
    own = torch.arange(6)
    strengths = torch.ones(6).double()
    weights = memory.stored(values, keys, own, strengths)
    assert memory.is_recalled(weights, values, keys, own).mean() == 1.0
    assert memory.is_recalled(-weights, values, keys, own).mean() == 0.0
    moved = torch.tensor([1, 0, 2, 3, 4, 5])
    recalled = memory.is_recalled(weights, values, keys, moved)
    assert recalled.mean() == pytest.approx(4 / 6)
    assert recalled.tolist() == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("with_residual", [False, True])
def test_one_step_is_that_of_gradient_descent(with_residual):
    d = 5
    keys = memory.random_vectors(7, d, drawn()).double()
    values = memory.random_vectors(4, d, drawn(1)).double()
    classes = torch.tensor([0, 1, 2, 3, 0, 0, 1])
    frequencies = memory.zipf(7, 1.0)
    before = keys @ values.T if with_residual else None
    weights = torch.zeros(d, d, dtype=torch.float64, requires_grad=True)
    logits = keys @ weights.T @ values.T
    if before is not None:
        logits = logits + before
    losses = F.cross_entropy(logits, classes, reduction="none")
    (frequencies * losses).sum().backward()
    assert weights.grad is not None
    step = memory.one_step(values, keys, classes, frequencies, 3.0, before)
    assert torch.allclose(step, -3.0 * weights.grad, atol=1e-12)


def test_schemes_keep_what_they_say():
    frequencies = memory.zipf(40, 2.0)
    assert frequencies.sum().item() == pytest.approx(1)
    ratio = frequencies[0] / frequencies[9]
    assert ratio.item() == pytest.approx(100)
    every = memory.scheme("all", frequencies, 16)
    assert every.tolist() == [1.0] * 40
    first = memory.scheme("first", frequencies, 16)
    assert first.tolist() == [1.0] * 2 + [0.0] * 38
    by_frequency = memory.scheme("frequency", frequencies, 16)
    assert torch.allclose(by_frequency, frequencies / frequencies[0])


def test_errors_count_by_frequency():
    keys = values = torch.eye(3)
    classes = torch.arange(3)
    frequencies = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    strengths = torch.tensor([1.0, 0.0, 1.0])
    weights = memory.stored(values, keys, classes, strengths)
    weights[0, 1] = 1.0
    error = memory.error(weights, values, keys, classes, frequencies)
    assert error == pytest.approx(0.3)


def test_what_was_not_sampled_is_missed_as_often_as_expected():
    frequencies = memory.zipf(50, 1.5)
    missed = frequencies * (1 - frequencies) ** 20
    generator = drawn()
    shares = [memory.unseen(frequencies, 20, generator) for _ in range(400)]
    assert sum(shares) / len(shares) == pytest.approx(missed.sum().item(), rel=0.05)
    assert memory.unseen(frequencies, 1, drawn()) < 1.0
