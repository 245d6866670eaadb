"""The tap in families of language models at random weights, against what the library says."""

import copy

import pytest
import torch
import transformers as hf

from headway.models import tapped

SIZES = {
    "vocab_size": 31,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.3,
}
WIDE = {**SIZES, "intermediate_size": 48}
GROUPED = {**WIDE, "num_key_value_heads": 2}
EIGHT = {**GROUPED, "head_dim": 8}
GEMMA = {**EIGHT, "sliding_window": 6}
BOTH = ("eager", "sdpa")
# The name of a family's classes, its config, the end of the output projection's name, and the ways
# in which the library computes it.
FAMILIES = {
    "GPT2LMHeadModel": (hf.GPT2Config(**SIZES), "attn.c_proj", BOTH),
    "LlamaForCausalLM": (hf.LlamaConfig(**GROUPED), "o_proj", BOTH),
    "GPTNeoXForCausalLM": (hf.GPTNeoXConfig(**WIDE), "attention.dense", BOTH),
    "Gemma2ForCausalLM": (hf.Gemma2Config(**GEMMA), "o_proj", ("eager",)),
    "Gemma3ForCausalLM": (hf.Gemma3TextConfig(**GEMMA), "o_proj", BOTH),
    "MistralForCausalLM": (hf.MistralConfig(**GROUPED, sliding_window=5), "o_proj", BOTH),
    "MixtralForCausalLM": (hf.MixtralConfig(**GROUPED, num_local_experts=10), "o_proj", BOTH),
    "Qwen3ForCausalLM": (hf.Qwen3Config(**EIGHT), "o_proj", BOTH),
    "OPTForCausalLM": (
        hf.OPTConfig(**SIZES, ffn_dim=48, word_embed_proj_dim=32, init_std=0.3),
        "out_proj",
        BOTH,
    ),
    "BloomForCausalLM": (hf.BloomConfig(**SIZES), "self_attention.dense", ("eager",)),
    "FalconForCausalLM": (hf.FalconConfig(**SIZES), "self_attention.dense", BOTH),
    "PhiForCausalLM": (hf.PhiConfig(**GROUPED), "self_attn.dense", BOTH),
    "BertForMaskedLM": (hf.BertConfig(**WIDE), "attention.output.dense", BOTH),
    "DebertaV2ForMaskedLM": (
        hf.DebertaV2Config(**WIDE, relative_attention=True, pos_att_type=["c2p", "p2c"]),
        "attention.output.dense",
        ("eager",),
    ),
    "DeepseekV3ForCausalLM": (
        hf.DeepseekV3Config(
            **WIDE | {"num_key_value_heads": 4, "moe_intermediate_size": 16},
            **{"q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4},
            **{"v_head_dim": 8, "n_routed_experts": 4, "n_group": 2, "topk_group": 1},
            **{"num_experts_per_tok": 2, "first_k_dense_replace": 1},
        ),
        "o_proj",
        BOTH,
    ),
    "GptOssForCausalLM": (
        hf.GptOssConfig(**EIGHT, num_local_experts=4, sliding_window=5),
        "o_proj",
        ("eager",),
    ),
}
QUICK = ("GPT2LMHeadModel", "LlamaForCausalLM")
CASES = [
    pytest.param(name, how, marks=() if name in QUICK else pytest.mark.slow)
    for name, (_, _, hows) in FAMILIES.items()
    for how in hows
]
LAYER, HEAD, WIDTH = 1, 2, 8


@pytest.mark.parametrize(("name", "how"), CASES)
@pytest.mark.parametrize("length", [10, WIDTH])  # the second is a head's width, too
def test_family(name, how, length):
    model = made(name, how)
    ids = torch.randint(3, 31, (3, length))
    with torch.no_grad():
        wrapped = tapped(model, ids)
        assert (wrapped.n_layers, wrapped.n_heads) == (3, 4)
        seen = []
        found = wrapped(ids, lambda _, pattern: seen.append(pattern) or pattern.clone())
        expected = model(ids).logits
        close(found, expected)
        for pattern in seen:
            torch.testing.assert_close(pattern.sum(-1), torch.ones(3, 4, length))
        patterns = made(name, "eager")(ids, output_attentions=True).attentions
        for pattern, known in zip(seen, patterns, strict=True):
            # A sink is the last key, which the library leaves out.
            torch.testing.assert_close(pattern[..., :length], known, atol=1e-5, rtol=0)
            assert known.std() > 0.05
        found = wrapped(ids, without_pattern)
        expected = without_head(model, name)(ids).logits
        close(found, expected)
        assert (found - model(ids).logits).abs().max() > 0.01 * found.abs().max()


def made(name, how):
    torch.manual_seed(0)
    config = copy.deepcopy(FAMILIES[name][0])
    return getattr(hf, name)._from_config(config, attn_implementation=how).eval()


def without_pattern(layer, pattern):
    return pattern.index_fill(1, torch.tensor(HEAD), 0) if layer == LAYER else pattern


def without_head(model, name):
    """The model with the head's columns of the output projection at zero."""
    cut = copy.deepcopy(model)
    end = FAMILIES[name][1]
    maps = [module for path, module in cut.named_modules() if path.endswith(end)]
    assert len(maps) == 3
    weight = maps[LAYER].weight
    columns = weight.T if name.startswith("GPT2") else weight  # its maps are transposed
    columns[:, HEAD * WIDTH : (HEAD + 1) * WIDTH] = 0
    return cut


def close(found, expected):
    """Equal to 1e-5 of the largest output."""
    size = expected.abs().max().clamp(min=1)
    torch.testing.assert_close(found / size, expected / size, atol=1e-5, rtol=0)
