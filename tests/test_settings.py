"""What a user has set in torch changes nothing, and stays set."""

import copy
import os
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from headway import discover, emergence, every_circuit, patch_all, train
from headway.models import Transformer, TransformerConfig
from headway.replace import Bench, Paths
from headway.settings import users_factories, usual_factories, usual_settings
from headway.tasks import Batch, Conditional, Hops, Retrieval, Vectors, check_task
from headway.tasks.base import Task
from sampling import seeded
from two_back import LENGTH, TOKENS, LooksBack, TwoBackTold

FEW = {"sequences": 16}


@contextmanager
def default_dtype(dtype):
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def default_device():
    torch.set_default_device("meta")  # there need not be any other
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextmanager
def flushed():
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextmanager
def several():
    """Several settings at once."""
    with ExitStack() as stack:
        for name in (
            "float64",
            "device of a block",
            "deterministic",
            "anomalies",
            "inference",
        ):
            stack.enter_context(SETTINGS[name]())
        yield


SETTINGS = {
    "float64": lambda: default_dtype(torch.float64),
    "bfloat16": lambda: default_dtype(torch.bfloat16),
    "device": default_device,
    "device of a block": lambda: torch.device("meta"),
    "deterministic": deterministic,
    "anomalies": lambda: torch.autograd.set_detect_anomaly(True),
    "inference": torch.inference_mode,
    "no gradients": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "denormals": flushed,
}


def settings_now():
    return (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.get_num_threads(),
        torch.is_anomaly_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


ALONE = [
    pytest.param(one, id=name, marks=pytest.mark.slow) for name, one in SETTINGS.items()
]


@pytest.fixture(params=[pytest.param(several, id="several"), *ALONE])
def set_by_user(request):
    with request.param():
        before = settings_now()
        yield
        assert settings_now() == before


def found_in(model):
    """What the verbs find in a model: paths, losses, dates."""
    task = TwoBackTold()
    found = discover(model, task, trials=False, workers=2, **FEW)
    every = every_circuit(model, task, found, **FEW)
    dates = emergence({0: model, 1: model}, found, task, sequences=8)
    costs = [cost.most for cost in found.evidence.judgement.paths.values()]
    losses = [found.intact_loss, found.replaced_loss, *costs]
    curves = [*dates.loss, *dates.paths[0].attention, *dates.paths[0].loss_without]
    return found.circuit.paths, every.circuits, losses + curves


@pytest.fixture(scope="module")
def as_usual():
    return found_in(LooksBack().eval())


MODEL = LooksBack().eval()


def test_what_is_found_is_the_same(as_usual, set_by_user):
    paths, circuits, numbers = found_in(MODEL)
    assert (paths, circuits) == as_usual[:2]
    assert numbers == pytest.approx(as_usual[2], abs=1e-5)


def test_what_is_found_does_not_depend_on_threads(as_usual):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = discover(MODEL, TwoBackTold(), trials=False, **FEW)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert found.circuit.paths == as_usual[0]
    assert [found.intact_loss, found.replaced_loss] == pytest.approx(
        as_usual[2][:2], abs=1e-5
    )


def test_a_model_made_under_other_types_is_found_the_same(as_usual):
    with default_dtype(torch.float64):
        model = LooksBack().eval()
        paths, circuits, numbers = found_in(model)
    assert model.out.weight.dtype == torch.float64
    assert (paths, circuits) == as_usual[:2]
    assert numbers == pytest.approx(as_usual[2], abs=1e-4)


def weights_of(config, folder):
    run = train(config, folder)
    return run.transformer().state_dict(), run.metrics()[-1]["partial"]


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory):
    return weights_of(tiny, tmp_path_factory.mktemp("usual") / "run")


def test_training_is_the_same_to_the_last_bit(tiny, trained, set_by_user, tmp_path):
    weights, losses = weights_of(tiny, tmp_path / "run")
    assert losses == trained[1]
    for name, weight in trained[0].items():
        assert torch.equal(weights[name], weight)
        assert weights[name].dtype == torch.float32


@dataclass(frozen=True)
class Doubles(Task):
    """Vectors as the user's default type has them."""

    def draw(self, count, generator):
        return (
            torch.rand(count, LENGTH, 3, generator=generator, device=generator.device),
        )

    def assemble(self, draws):
        return Batch(draws[0], draws[0][:, -1:, None])

    def relations(self, batch):
        return {}


SMALL = Hops(n_places=16, n_symbols=4)
TASKS = [
    Retrieval(depth=1, n_chains=2),
    SMALL,
    Conditional(n_chains=1),
    TwoBackTold(),
    Doubles(),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
def test_tasks_are_sound(task, set_by_user):
    assert [one for one in check_task(task) if not one.doubt] == []


@pytest.mark.parametrize("task", TASKS[:3], ids=lambda task: task.kind)
def test_headways_tasks_draw_the_same(task):
    expected = task.sample(4, seeded(0))
    with default_dtype(torch.float64):
        found = copy.copy(task).sample(4, seeded(0))
    assert torch.equal(found.inputs, expected.inputs)
    assert found.inputs.dtype == expected.inputs.dtype


class VectorsBack(TwoBackTold):
    """The same with vectors in the place of tokens; the answer is the vector two
    back.
    """

    vocabulary = None

    @property
    def targets(self):
        return Vectors(TOKENS)

    def assemble(self, draws):
        vectors = torch.nn.functional.one_hot(draws[0], TOKENS).to(
            torch.get_default_dtype()
        )
        return Batch(vectors, vectors[:, :-2, None])


class ReadsVectors(LooksBack):
    def forward(self, vectors):
        x = vectors @ self.token.weight + self.place.weight
        return self.out(self.layer(x, 0)) / self.out.weight.max()


def test_vectors_are_read_in_the_type_of_the_weights():
    with default_dtype(torch.float64):
        model = ReadsVectors().eval()
        found = discover(model, VectorsBack(), trials=False, **FEW)
    assert [str(path) for path in found.circuit.paths] == ["L0.H0 two back"]


class Relying(LooksBack):
    """It makes tensors of the default type, on the default device, and multiplies
    them.
    """

    def layer(self, x, at):
        assert torch.get_default_dtype() == torch.float64
        return super().layer(torch.eye(LENGTH) @ x, at)


def test_a_module_may_rely_on_what_its_user_has_set():
    with default_dtype(torch.float64):
        found = discover(Relying().eval(), TwoBackTold(), trials=False, **FEW)
        assert torch.get_default_dtype() == torch.float64
    assert [str(path) for path in found.circuit.paths] == ["L0.H0 two back"]


def test_settings_are_nested_and_come_back_after_an_error():
    with default_dtype(torch.float64):
        with usual_factories():
            assert torch.zeros(1).dtype == torch.float32
            with users_factories():
                assert torch.zeros(1).dtype == torch.float64
                with usual_factories():
                    assert torch.zeros(1).dtype == torch.float32
                assert torch.zeros(1).dtype == torch.float64
            with users_factories():
                assert torch.zeros(1).dtype == torch.float64
            assert torch.zeros(1).dtype == torch.float32
        with pytest.raises(ValueError, match="within"), usual_factories():
            raise ValueError("within")
        assert torch.zeros(1).dtype == torch.float64
    with users_factories():
        assert torch.zeros(1).dtype == torch.float32


class Deterministic(LooksBack):
    """It has no other algorithms."""

    def layer(self, x, at):
        assert torch.are_deterministic_algorithms_enabled()
        return super().layer(x, at)


def test_algorithms_are_deterministic_if_the_user_wants_them_so():
    with deterministic():
        found = discover(Deterministic().eval(), TwoBackTold(), trials=False, **FEW)
    assert [str(path) for path in found.circuit.paths] == ["L0.H0 two back"]


def test_of_two_threads_the_last_puts_back_what_the_user_has_set():
    first_entered = threading.Event()
    second_entered = threading.Event()
    first_left = threading.Event()
    seen_by_second = []

    def first():
        with usual_settings():
            first_entered.set()
            assert second_entered.wait(20)
        first_left.set()

    def second():
        assert first_entered.wait(20)
        with usual_settings():
            second_entered.set()
            assert first_left.wait(20)
            seen_by_second.append(
                (torch.get_default_dtype(), torch.is_anomaly_enabled())
            )

    with default_dtype(torch.float64), torch.autograd.set_detect_anomaly(True):
        before = settings_now()
        threads = [threading.Thread(target=run) for run in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert settings_now() == before
    assert seen_by_second == [(torch.float32, False)]


def test_paths_are_patched_the_same(set_by_user):
    task = TwoBackTold()
    generator = seeded(0)
    with usual_factories():
        clean = task.sample(8, generator)
        corrupted = task.sample(8, generator)
    effects = patch_all(MODEL, task, clean, corrupted, at=["L0.H0 two back"])
    assert effects.normalised.item() == pytest.approx(1.0, abs=1e-3)


def test_a_bench_under_other_types_gives_the_same_losses():
    task = Retrieval(depth=1, n_chains=2)
    config = TransformerConfig(n_layers=2, d_model=16)

    def loss():
        size = task.d_input, task.d_target, task.length, task.n_chains
        model = Transformer(config, *size).eval()
        bench = Bench(model, task, task.sample(8, seeded(0)))
        return bench.loss(
            dict.fromkeys(bench.heads, Paths(frozenset({"s0←s0"}), "uniform"))
        )

    usual = loss()
    with default_dtype(torch.float64):
        assert loss() == usual


QUICK = ("replace/test_mechanism", "judge/test_yardstick")
"""Tests of the core that take little time."""


@pytest.mark.slow
def test_the_cores_quick_tests_pass_where_numbers_are_of_double_precision():
    files = [str(Path(__file__).parent / f"{name}.py") for name in QUICK]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
            *files,
        ],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "HEADWAY_TESTS_DTYPE": "float64"},
        check=False,
    )
    assert done.returncode == 0, done.stdout
