"""Associative memories: stored and recalled, and what is measured of them, written by hand."""

import pytest
import torch
import torch.nn.functional as F

from headway.recipes import changed
from headway.training import Run, train
from headway_experiments.talk import associative_memory as memory
from headway_experiments.talk import capacity, memories
from headway_experiments.talk.capacity import Kept


@pytest.mark.parametrize("parameters", [20.0, 400.0, 9000.0])
def test_items_take_as_many_nats_as_asked(parameters):
    n = capacity.items_for(parameters)
    assert capacity.information(n - 1) < parameters < capacity.information(n + 1)


@pytest.mark.parametrize(
    ("accuracies", "expected"),
    [
        ({10: 1.0, 20: 0.98, 40: 0.5}, 10 * 2**0.5),  # 0.99 is half way
        ({10: 1.0, 20: 0.9, 40: 0.99, 80: 0.0}, 40.0),  # behind the largest that holds
        ({10: 0.9, 20: 0.5}, None),
        ({10: 1.0, 20: 1.0}, None),
    ],
)
def test_the_capacity_is_where_accuracy_falls(accuracies, expected):
    found = capacity.capacity(accuracies)
    assert found is None if expected is None else found == pytest.approx(expected)


def test_slopes_count_bounds_as_what_is_kept():
    shapes = {"d=8": 64, "d=16": 256, "d=32": 1024}
    kept = [
        Kept(f"{shape},seed={s}", n ** (1 + 0.1 * s), True, n, 0)
        for shape, n in shapes.items()
        for s in (0, 1)
    ]
    kept += [Kept(f"d={d},seed=2", float(n), True, n, 0) for d, n in ((8, 64), (16, 256))]
    kept.append(Kept("d=32,seed=2", 64.0**0.5 * 1024**0.5, False, 1024, 0))
    slopes = capacity.slopes(kept)
    assert slopes["seed=0"] == pytest.approx(1.0)
    assert slopes["seed=1"] == pytest.approx(1.1)
    assert slopes["seed=2"] < 0.6  # it lies on the side on which the series ended
    assert capacity.slopes(kept[:1]) == {}


def planted(tmp_path, name, config, known):
    """A run whose weights recall the first `known` items by their residual, and no others."""
    run = Run.create(tmp_path / name, config)
    state = run.new_model("cpu").state_dict()
    n, d = state["embed.weight"].shape
    state["embed.weight"] = torch.eye(n, d)
    state["unembed.weight"] = torch.eye(n, d)
    state["unembed.weight"][known:] *= -1
    run.save_checkpoint(0, state)
    return run


def test_accuracies_are_of_all_items_and_capacities_of_series(tmp_path):
    plan = memories.series("linear", "small")
    base = next(config for config in plan.values() if config.model.d_model == 12)
    runs = {}
    for n, known in ((8, 8), (10, 5)):
        fields = {"task.n_items": n, "training.batch_size": n, "training.eval_examples": n}
        config = changed(base, fields)
        name = f"items={n}"
        runs[name] = planted(tmp_path, name, config, known)
    shares = [capacity.accuracy(run, memories.every_item(run)) for run in runs.values()]
    assert shares == [1.0, pytest.approx(0.5)]

    def kept(runs):
        return capacity.capacities(runs, memories.shape, memories.every_item, memories.size)

    between = pytest.approx(8 * (10 / 8) ** 0.02)
    assert kept(runs) == [Kept("d=12,seed=0", between, True, 144, 0)]
    assert kept({"a": runs["items=8"]}) == [Kept("d=12,seed=0", 8.0, False, 144, 0)]
    assert kept({"b": runs["items=10"]}) == [Kept("d=12,seed=0", 10.0, False, 144, 0)]
    same = memories.associative(runs, {}, runs)
    assert same["memories_longer"] == {"d=12,seed=0": pytest.approx(1)}
    more = {"a": runs["items=8"]}  # more may be kept than was tried
    bound = capacity.information(8) / same["linear_information"]["d=12,seed=0"]
    longer = memories.associative(runs, {}, more)["memories_longer"]
    assert longer == {"d=12,seed=0": pytest.approx(bound)}
    assert same["linear_range"] == {"largest / smallest": 1.0}
    assert same["mlp_range"] == {}


def test_shapes_have_as_many_parameters_as_are_trained(tmp_path):
    for name in ("linear", "mlp"):
        first, config = next(iter(memories.series(name, "small").items()))
        assert first.lower().startswith(name)
        run = Run.create(tmp_path / name, config)
        names = ("attn.out.weight",) if name == "linear" else ("up.weight", "down.weight")
        weights = run.new_model("cpu").named_parameters()
        assert sum(memories.size(run.config.transformer)) == sum(
            w.numel() for n, w in weights if n.endswith(names)
        )


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
def test_series_go_from_less_to_more_than_there_is_room_for(scale):
    for kind in ("linear", "mlp"):
        runs = memories.series(kind, scale)
        sizes, shares = set(), {}
        for config in runs.values():
            size = sum(memories.size(config.model))
            sizes.add(size)
            share = capacity.information(config.task.n_items) / size
            shares.setdefault((config.model.d_model, size), []).append(share)
            assert config.training.batch_size == config.task.n_items
        if scale != "smoke":
            for tried in shares.values():
                assert min(tried) < 0.5
                assert max(tried) > 1.6
            assert max(sizes) / min(sizes) >= 30
            assert len({config.seed for config in runs.values()}) >= 3


def test_a_trained_step_is_the_one_that_is_written_down(tmp_path):
    config = next(c for c in memories.one_step("smoke").values() if c.model.d_model == 64)
    run = train(config, tmp_path / "run")
    assert run.config.training.steps == 1
    assert memories._as_written(run) < 1e-5
    assert capacity.accuracy(run, memories.every_item(run)) == 1.0
    start = planted(tmp_path, "start", config, 0)
    assert memories._as_written(start) > 0.1


def test_the_lemma_is_exact():
    found = memories.exact_logits((0, 5))
    assert len(found) == 6
    assert max(found.values()) < 1e-6


def test_errors_fall_by_the_powers_that_they_have(monkeypatch):
    def errors(seeds):
        schemes = {"first": 0.5, "frequency": 0.25, "all": 0.0, "samples": 1 / 3}
        return {
            (name, 1.5, 0): {x: 0.7 * x**-power for x in (8, 16, 64)}
            for name, power in schemes.items()
        }

    monkeypatch.setattr(memories, "zipf_errors", errors)
    found = memories.zipf_exponents((0,))
    assert found["zipf_first"] == {"a=1.5,seed=0": pytest.approx(1)}
    assert found["zipf_frequency"] == {"a=1.5,seed=0": pytest.approx(1.5)}
    assert found["zipf_all"] == {"a=1.5,seed=0": pytest.approx(0, abs=1e-9)}
    assert found["zipf_samples"] == {"a=1.5,seed=0": pytest.approx(1)}
    assert found["zipf_frequency_to_first"] == {"a=1.5,seed=0": pytest.approx(0.5)}


@pytest.fixture
def few(monkeypatch):
    """Memories of a few items, of two widths, after few samples."""
    for name, value in {"WIDTHS": (8, 32), "SAMPLES": (10, 100), "N_ITEMS": 200}.items():
        monkeypatch.setattr(memories, name, value)
    memories.zipf_errors.cache_clear()
    yield
    memories.zipf_errors.cache_clear()


def test_what_is_not_trained_is_drawn_by_the_seeds_of_the_runs(tmp_path, few):
    config = next(iter(memories.one_step("smoke").values()))
    for seed in (10_000, 10_001):
        run = planted(tmp_path, f"{seed}", changed(config, {"seed": seed}), 1)
        found = memories.gradient({f"seed={seed}": run})
        assert all(found.values() for name in found if name != "gradient_accuracy_wide")
        assert all(key.endswith(f"seed={seed}") for named in found.values() for key in named)


def test_errors_are_means_over_vectors(few):
    found = memories.zipf_errors((0, 1, 2))
    assert len(found) == 4 * len(memories.EXPONENTS) * 3
    for (name, *_), curve in found.items():
        assert all(0 < error < 1 for error in curve.values())
        if name == "samples":
            assert curve[10] > curve[100]
    assert all(found["first", 1.5, s][32] < found["all", 1.5, s][32] for s in range(3))


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_memory_is_the_sum_of_its_pairs():
    values, keys = memory.random_vectors(3, 5, drawn()), memory.random_vectors(4, 6, drawn(1))
    classes, strengths = torch.tensor([2, 0, 1, 2]), torch.tensor([1.0, 0.5, 2.0, 3.0])
    expected = sum(
        strengths[z] * torch.outer(values[classes[z]], keys[z]) for z in range(len(keys))
    )
    assert torch.allclose(memory.stored(values, keys, classes, strengths), expected)
    logits = [[(values[k] @ expected @ keys[z]).item() for k in range(3)] for z in range(4)]
    assert torch.allclose(memory.logits(expected, values, keys), torch.tensor(logits), atol=1e-6)


def test_orthonormal_pairs_are_recalled_and_others_are_not():
    values, keys = (
        memory.orthonormal_vectors(6, 8, drawn()),
        memory.orthonormal_vectors(6, 9, drawn(1)),
    )
    assert torch.allclose(keys @ keys.T, torch.eye(6).double(), atol=1e-12)
    own = torch.arange(6)
    weights = memory.stored(values, keys, own, torch.ones(6).double())
    assert memory.is_recalled(weights, values, keys, own).mean() == 1.0
    moved = torch.tensor([1, 0, 2, 3, 4, 5])
    assert memory.is_recalled(weights, values, keys, moved).mean() == pytest.approx(4 / 6)
    assert memory.is_recalled(weights, values, keys, moved).tolist() == [0, 0, 1, 1, 1, 1]
    assert memory.is_recalled(-weights, values, keys, own).mean() == 0.0


@pytest.mark.parametrize("with_residual", [False, True])
def test_one_step_is_that_of_gradient_descent(with_residual):
    n, k, d = 7, 4, 5
    keys = memory.random_vectors(n, d, drawn()).double()
    values = memory.random_vectors(k, d, drawn(1)).double()
    classes, frequencies = torch.tensor([0, 1, 2, 3, 0, 0, 1]), memory.zipf(n, 1.0)
    before = keys @ values.T if with_residual else None
    weights = torch.zeros(d, d, dtype=torch.float64, requires_grad=True)
    told = keys @ weights.T @ values.T
    told = told if before is None else told + before
    loss = (frequencies * F.cross_entropy(told, classes, reduction="none")).sum()
    loss.backward()
    assert weights.grad is not None
    found = memory.one_step(values, keys, classes, frequencies, 3.0, before)
    assert torch.allclose(found, -3.0 * weights.grad, atol=1e-12)


def test_schemes_keep_what_they_say():
    frequencies = memory.zipf(40, 2.0)
    assert frequencies.sum().item() == pytest.approx(1)
    assert (frequencies[0] / frequencies[9]).item() == pytest.approx(100)
    assert memory.scheme("all", frequencies, 16).tolist() == [1.0] * 40
    assert memory.scheme("first", frequencies, 16).tolist() == [1.0] * 2 + [0.0] * 38
    by_frequency = memory.scheme("frequency", frequencies, 16)
    assert torch.allclose(by_frequency, frequencies / frequencies[0])


def test_errors_count_by_frequency():
    keys = values = torch.eye(3)
    classes, frequencies = torch.arange(3), torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    weights = memory.stored(values, keys, classes, torch.tensor([1.0, 0.0, 1.0]))
    weights[0, 1] = 1.0
    assert memory.error(weights, values, keys, classes, frequencies) == pytest.approx(0.3)


def test_what_was_not_sampled_is_missed_as_often_as_expected():
    frequencies = memory.zipf(50, 1.5)
    expected = (frequencies * (1 - frequencies) ** 20).sum().item()
    generator = drawn()
    found = [memory.unseen(frequencies, 20, generator) for _ in range(400)]
    assert sum(found) / len(found) == pytest.approx(expected, rel=0.05)
    assert memory.unseen(frequencies, 1, drawn()) < 1.0
