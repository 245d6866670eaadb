"""Language models with weights cut to low rank: matrices, replays, resuming, and
effects.
"""

import math

import pytest
import torch
from tiny_model import LETTERS
from tiny_texts import TEXTS
from transformers import (
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
)

from headway.errors import HeadwayError
from headway_experiments.truncation.cuts import INTACT, Cut, Cuts, Truncation
from headway_experiments.truncation.effects import effects
from headway_experiments.truncation.models import Odds, Truncating, truncate_model
from headway_experiments.truncation.texts import Completion
from headway_experiments.truncation.weights import layers_of, named_matrices


def tiny_llama():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(LETTERS) + 1,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=3,
        num_attention_heads=2,
        num_key_value_heads=1,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config).eval()


def test_matrices_are_found_by_the_fields_names(model):
    assert [list(layer) for layer in named_matrices(layers_of(model.model))] == [
        ["query", "key", "value", "output", "up", "down"]
    ] * 2
    llama = tiny_llama()
    found = named_matrices(layers_of(llama))
    assert [list(layer) for layer in found] == [
        ["query", "key", "value", "output", "gate", "up", "down"]
    ] * 3
    assert found[1]["key"].shape == (8, 16)
    found[1]["gate"].zero_()
    assert not llama.model.layers[1].mlp.gate_proj.weight.any()
    neox = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=9, hidden_size=8, intermediate_size=8, num_hidden_layers=2,
            num_attention_heads=2,
        )
    )  # fmt: skip
    assert list(named_matrices(layers_of(neox))[0]) == ["output", "up", "down"]
    neox.config.num_hidden_layers = 5
    with pytest.raises(
        HeadwayError, match=r"^model = 'GPTNeoXForCausalLM' is not allowed"
    ):
        layers_of(neox)


def test_packed_columns_of_gpt2_are_what_they_are_called(model):
    layers = layers_of(model.model)
    weight, bias = layers[0].attn.c_attn.weight, layers[0].attn.c_attn.bias
    x = torch.randn(5, 32, generator=torch.Generator().manual_seed(0))
    with (
        torch.no_grad(),
        Truncation(named_matrices(layers)).applied(Cut((0,), "value", 0.0)),
    ):
        query, key, value = layers[0].attn.c_attn(x).split(32, dim=-1)
        assert torch.allclose(query, x @ weight[:, :32] + bias[:32], atol=1e-5)
        assert torch.allclose(key, x @ weight[:, 32:64] + bias[32:64], atol=1e-5)
        assert torch.equal(value, bias[64:].expand(5, 32))


def asked(folder, **more):
    given = {"layers": None, "weights": ("mlp",), "fractions": (0.0, 0.5, 1.0)}
    return Truncating(str(folder), Cuts(**{**given, **more}), TEXTS)


def test_a_truncation_that_stops_goes_on_where_it_was(model, folder, tmp_path):
    whole = truncate_model(
        asked(folder, layers=(0, 1)), lambda: model, tmp_path / "whole"
    )
    assert next(iter(whole)) == INTACT
    assert len(whole) == 1 + 3 * 2

    def stop(done, _):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        truncate_model(
            asked(folder, layers=(0, 1)), lambda: model, tmp_path / "parts", stop
        )
    path = tmp_path / "parts" / "truncation.jsonl"
    kept = path.read_text()
    assert kept.count("\n") == 3
    with path.open("a") as file:
        file.write('{"layers": [1], "wei')  # as a kill leaves it
    assert asked(folder, layers=(0, 1)).kept(tmp_path / "parts") is None
    done = []
    rest = truncate_model(
        asked(folder, layers=(0, 1)), lambda: model, tmp_path / "parts",
        lambda *counts: done.append(counts),
    )  # fmt: skip
    assert done == [(4, 7), (5, 7), (6, 7), (7, 7)]
    assert path.read_text().startswith(kept)
    assert rest == whole
    assert asked(folder, layers=(0, 1)).kept(tmp_path / "parts") == whole


def test_a_folder_holds_one_truncation(model, folder, tmp_path):
    truncate_model(asked(folder), lambda: model, tmp_path)
    with pytest.raises(
        HeadwayError, match=r"^fractions = .*, as in .*truncation\.json, or"
    ):
        truncate_model(asked(folder, fractions=(0.5,)), lambda: model, tmp_path)
    with pytest.raises(
        HeadwayError, match=r"^model = 'other' is not allowed: it must be"
    ):
        asked("other").kept(tmp_path)
    (tmp_path / "truncation.jsonl").write_text('{"layers": []}\n')
    with pytest.raises(HeadwayError, match=r"truncation\.jsonl is corrupted"):
        asked(folder).kept(tmp_path)


def test_one_process_truncates_into_a_folder(model, folder, tmp_path):
    what = asked(folder)
    with (
        what.ledger(tmp_path).writing("cpu"),
        pytest.raises(HeadwayError, match="another process"),
    ):
        truncate_model(what, lambda: model, tmp_path)
    assert what.kept(tmp_path) is None
    assert truncate_model(what, lambda: model, tmp_path) == what.kept(tmp_path)


def test_effects_are_means_with_paired_intervals():
    """Every text moves by the same, so that the change has no width and the mean
    has.
    """
    texts = [Completion("k", str(i), "a", "b") for i in range(25)]
    before = [Odds(math.log(0.105 + i / 100), math.log(0.3), -0.1) for i in range(25)]
    after = [Odds(one.answer + 0.7, one.generic, -0.1) for one in before]
    cut = Cut((1,), "mlp", 0.0)
    intact, cut_off = effects(texts, {INTACT: tuple(before), cut: tuple(after)})[
        "k"
    ].values()
    mean = cut_off["log_odds"]
    assert mean.change == pytest.approx(0.7)
    assert mean.change_low == pytest.approx(0.7)
    assert mean.change_high == pytest.approx(0.7)
    assert mean.low < mean.value - 0.05 < mean.value + 0.05 < mean.high
    assert intact["answer"].value == pytest.approx(0.225)
    assert intact["log_odds"].change == intact["log_odds"].change_high == 0
    assert intact["prefers"].value == 5 / 25
    assert cut_off["prefers"].value == 20 / 25


def test_the_interval_of_a_mean_is_the_bootstraps():
    """Close to the normal one where that holds."""
    generator = torch.Generator().manual_seed(0)
    draws = torch.randn(400, generator=generator).tolist()
    texts = [Completion("k", str(i), "a", "b") for i in range(400)]
    lines = {INTACT: tuple(Odds(x - 9, -9.0, 0.0) for x in draws)}
    mean = effects(texts, lines)["k"][INTACT]["log_odds"]
    half = 1.96 * torch.tensor(draws).std().item() / 20
    assert mean.high - mean.value == pytest.approx(half, rel=0.1)
    assert mean.value - mean.low == pytest.approx(half, rel=0.1)
