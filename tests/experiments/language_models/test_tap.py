"""The tap of language models: what it hands out is the pattern, and what it is given is used."""

import pytest
import torch
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from headway.errors import HeadwayError
from headway_experiments.language_models.knockout import uniform
from headway_experiments.language_models.tap import shape, tapped

SIZES = {
    "vocab_size": 31,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GPT2 = {"vocab_size": 31, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}
FAMILIES = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES)),
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(**GPT2, bos_token_id=1, eos_token_id=2)),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES)),
    "gemma3": lambda: Gemma3ForCausalLM(
        Gemma3TextConfig(**SIZES, head_dim=8, sliding_window=6, attn_logit_softcapping=5.0)
    ),
}
IDS = torch.arange(3, 23).reshape(2, 10)


@pytest.fixture(params=FAMILIES)
def model(request):
    torch.manual_seed(0)
    made = FAMILIES[request.param]().eval()
    made.set_attn_implementation("eager")
    return made


def logits(model, **more):
    with torch.no_grad():
        return model(input_ids=IDS, **more)


def test_looking_changes_nothing_and_sees_every_pattern(model):
    before = logits(model, output_attentions=True)
    seen = {}
    with tapped(model, lambda layer, pattern: seen.setdefault(layer, pattern)):
        after = logits(model)
    assert torch.equal(after.logits, before.logits)
    assert shape(model) == (3, 4)
    assert sorted(seen) == [0, 1, 2]
    for layer, pattern in enumerate(before.attentions):
        assert pattern.shape == (2, 4, 10, 10)
        assert torch.equal(seen[layer], pattern)
    assert torch.equal(logits(model).logits, before.logits)  # and nothing is left of it


def test_a_head_without_a_pattern_adds_nothing(model):
    """Against a reference that knows nothing of patterns: what the head gives is cut out."""
    layer, head, width = 1, 2, 8

    def cut(module, given):
        kept = given[0].clone()
        kept[..., head * width : (head + 1) * width] = 0
        return (kept, *given[1:])

    modules = dict(model.named_modules())
    (out,) = [
        module
        for name, module in modules.items()
        if f".{layer}." in name and name.endswith(("self_attn.o_proj", "attn.c_proj"))
    ]
    handle = out.register_forward_pre_hook(cut)
    expected = logits(model).logits
    handle.remove()

    def without(at, pattern):
        return pattern.index_fill(1, torch.tensor(head), 0) if at == layer else pattern

    with tapped(model, without):
        found = logits(model).logits
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, logits(model).logits, atol=1e-5)


def test_an_edit_that_gives_the_same_pattern_changes_next_to_nothing(model):
    with tapped(model, lambda _, pattern: pattern.clone()):
        found = logits(model).logits
    torch.testing.assert_close(found, logits(model).logits)


def test_the_tap_is_taken_out_whatever_happens(model):
    before = logits(model).logits

    def fail(layer, pattern):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), tapped(model, fail):
        logits(model)
    assert model.config._attn_implementation == "eager"
    assert torch.equal(logits(model).logits, before)


def test_uniform_attention_goes_as_far_as_the_query():
    whole = uniform(torch.zeros(1, 1, 3, 3))
    assert whole.tolist() == [[1, 0, 0], [0.5, 0.5, 0], [pytest.approx(1 / 3)] * 3]
    assert uniform(torch.zeros(2, 4, 1, 5)).tolist() == [[pytest.approx(0.2)] * 5]


def test_a_model_without_a_tap_is_told_of():
    sizes = {"vocab_size": 31, "hidden_size": 16, "n_layer": 1, "n_head": 2}
    with (
        pytest.raises(HeadwayError, match="the attention of BloomForCausalLM cannot be seen"),
        tapped(BloomForCausalLM(BloomConfig(**sizes)), lambda _, pattern: pattern),
    ):
        pass
    mamba = MambaForCausalLM(MambaConfig(vocab_size=31, hidden_size=16, num_hidden_layers=1))
    with pytest.raises(HeadwayError, match="the attention of MambaForCausalLM cannot be seen"):
        shape(mamba)
