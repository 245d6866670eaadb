"""Language models with weights cut to low rank: matrices, replays, resuming, and
effects.
"""

import math

import pytest
import torch
from tiny_model import LETTERS
from tiny_texts import TEXTS
from torch.testing import assert_close
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
from sampling import seeded


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
    layers = named_matrices(layers_of(model.model))
    assert len(layers) == 2
    for layer in layers:
        assert list(layer) == ["query", "key", "value", "output", "up", "down"]


def test_matrices_of_a_llama_are_views_of_its_own():
    llama = tiny_llama()
    layers = named_matrices(layers_of(llama))
    assert len(layers) == 3
    for layer in layers:
        assert list(layer) == ["query", "key", "value", "output", "gate", "up", "down"]
    middle = layers[1]
    assert middle["key"].shape == (8, 16)
    middle["gate"].zero_()
    assert not llama.model.layers[1].mlp.gate_proj.weight.any()


@pytest.fixture
def neox():
    """A model that keeps query, key and value in one matrix, head by head."""
    config = GPTNeoXConfig(
        vocab_size=9,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    return GPTNeoXForCausalLM(config)


def test_matrices_that_are_mixed_by_head_are_left_out(neox):
    first, _ = named_matrices(layers_of(neox))
    assert list(first) == ["output", "up", "down"]


def test_a_model_whose_layers_are_not_found_is_refused(neox):
    neox.config.num_hidden_layers = 5
    with pytest.raises(
        HeadwayError, match=r"^model = 'GPTNeoXForCausalLM' is not allowed"
    ):
        layers_of(neox)


def test_packed_columns_of_gpt2_are_what_they_are_called(model):
    layers = layers_of(model.model)
    packed = layers[0].attn.c_attn
    truncation = Truncation(named_matrices(layers))
    x = torch.randn(5, 32, generator=seeded(0))
    with torch.no_grad():
        query, key, _ = packed(x).split(32, dim=-1)
        with truncation.applied(Cut((0,), "value", 0.0)):
            same_query, same_key, value = packed(x).split(32, dim=-1)
    assert_close(same_query, query, atol=1e-5, rtol=1e-5)
    assert_close(same_key, key, atol=1e-5, rtol=1e-5)
    assert torch.equal(value, packed.bias[64:].expand(5, 32))


def asked(folder, **more):
    given = {"layers": None, "weights": ("mlp",), "fractions": (0.0, 0.5, 1.0)}
    return Truncating(str(folder), Cuts(**{**given, **more}), TEXTS)


def test_a_truncation_that_stops_goes_on_where_it_was(model, folder, tmp_path):
    what = asked(folder, layers=(0, 1))
    whole = truncate_model(what, lambda: model, tmp_path / "whole")
    assert next(iter(whole)) == INTACT
    assert len(whole) == 1 + 3 * 2

    def stop(done, _):
        if done == 3:
            raise KeyboardInterrupt

    parts = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        truncate_model(what, lambda: model, parts, stop)
    path = parts / "truncation.jsonl"
    kept = path.read_text()
    assert kept.count("\n") == 3
    with path.open("a") as file:
        file.write('{"layers": [1], "wei')  # as a kill leaves it
    assert what.kept(parts) is None
    done = []
    rest = truncate_model(
        what, lambda: model, parts, lambda *counts: done.append(counts)
    )
    assert done == [(4, 7), (5, 7), (6, 7), (7, 7)]
    assert path.read_text().startswith(kept)
    assert rest == whole
    assert what.kept(parts) == whole


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


GENERIC = math.log(0.3)


def test_effects_are_means_with_paired_intervals():
    """Every text moves by the same, so that the change has no width and the mean
    has.
    """
    texts = [Completion("k", str(i), "a", "b") for i in range(25)]
    shares = [0.105 + i / 100 for i in range(25)]
    before = [Odds(math.log(share), GENERIC, -0.1) for share in shares]
    after = [Odds(math.log(share) + 0.7, GENERIC, -0.1) for share in shares]
    odds = {INTACT: tuple(before), Cut((1,), "mlp", 0.0): tuple(after)}
    intact, cut_off = effects(texts, odds)["k"].values()
    mean = cut_off["log_odds"]
    assert mean.change == pytest.approx(0.7)
    assert mean.change_low == pytest.approx(0.7)
    assert mean.change_high == pytest.approx(0.7)
    assert mean.low < mean.value - 0.05 < mean.value + 0.05 < mean.high
    assert intact["answer"].value == pytest.approx(0.225)
    assert intact["log_odds"].change == 0
    assert intact["log_odds"].change_high == 0
    assert intact["prefers"].value == 5 / 25
    assert cut_off["prefers"].value == 20 / 25


def test_the_interval_of_a_mean_is_the_bootstraps():
    """Close to the normal one where that holds."""
    draws = torch.randn(400, generator=seeded(0))
    texts = [Completion("k", str(i), "a", "b") for i in range(400)]
    odds = tuple(Odds(drawn - 9, -9.0, 0.0) for drawn in draws.tolist())
    mean = effects(texts, {INTACT: odds})["k"][INTACT]["log_odds"]
    half = 1.96 * draws.std().item() / 20
    assert mean.high - mean.value == pytest.approx(half, rel=0.1)
    assert mean.value - mean.low == pytest.approx(half, rel=0.1)
