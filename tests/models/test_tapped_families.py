"""The tap in families of language models, and in the options of x-transformers, at random weights,
against what the library says."""

import copy

import pytest
import torch
import transformers as hf

from headway.errors import HeadwayError
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
SLIDING = {**GROUPED, "sliding_window": 5}
BOTH = ("eager", "sdpa")
# The name of a family's classes, the options of its config, the end of the output projection's
# name, and the ways in which the library computes it.
FAMILIES = {
    "GPT2LMHeadModel": (SIZES, "attn.c_proj", BOTH),
    "LlamaForCausalLM": (GROUPED, "o_proj", BOTH),
    "GPTNeoXForCausalLM": (WIDE, "attention.dense", BOTH),
    "Gemma2ForCausalLM": (GEMMA, "o_proj", ("eager",)),
    "Gemma3ForCausalLM": (GEMMA, "o_proj", BOTH),
    "MistralForCausalLM": (SLIDING, "o_proj", BOTH),
    "MixtralForCausalLM": ({**GROUPED, "num_local_experts": 10}, "o_proj", BOTH),
    "Qwen3ForCausalLM": (EIGHT, "o_proj", BOTH),
    "OPTForCausalLM": (
        {**SIZES, "ffn_dim": 48, "word_embed_proj_dim": 32, "init_std": 0.3},
        "out_proj",
        BOTH,
    ),
    "BloomForCausalLM": (SIZES, "self_attention.dense", ("eager",)),
    "FalconForCausalLM": (SIZES, "self_attention.dense", BOTH),
    "PhiForCausalLM": (GROUPED, "self_attn.dense", BOTH),
    "BertForMaskedLM": (WIDE, "attention.output.dense", BOTH),
    "DebertaV2ForMaskedLM": (
        {**WIDE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
        "attention.output.dense",
        ("eager",),
    ),
    "DeepseekV3ForCausalLM": (
        {
            **{**WIDE, "num_key_value_heads": 4, "moe_intermediate_size": 16},
            **{"q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4},
            **{"v_head_dim": 8, "n_routed_experts": 4, "n_group": 2, "topk_group": 1},
            **{"num_experts_per_tok": 2, "first_k_dense_replace": 1},
        },
        "o_proj",
        BOTH,
    ),
    "GptOssForCausalLM": (
        {**EIGHT, "num_local_experts": 4, "sliding_window": 5},
        "o_proj",
        ("eager",),
    ),
}
GPT2 = {"vocab_size": 31, "n_positions": 64, "n_embd": 32, "n_layer": 3, "n_head": 4}
GPT2 |= {"bos_token_id": 1, "eos_token_id": 2}
LOCAL = {"attention_types": [[["global", "local", "global"], 1]], "window_size": 5}
# The name of a family's classes, and the options of its config.
MORE = {
    "GPTNeoForCausalLM": {**SIZES, **LOCAL, "num_layers": 3, "num_heads": 4},
    "GPTJForCausalLM": {**GPT2, "rotary_dim": 4},
    "CodeGenForCausalLM": {**GPT2, "rotary_dim": 4},
    "GPTBigCodeForCausalLM": GPT2,
    "Qwen2MoeForCausalLM": {**GROUPED, "num_experts": 4}
    | dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("GemmaForCausalLM", "HeliumForCausalLM", "GlmForCausalLM"), EIGHT),
    **dict.fromkeys(("Qwen2ForCausalLM", "StableLmForCausalLM", "CohereForCausalLM"), GROUPED),
    **dict.fromkeys(("OlmoForCausalLM", "Olmo2ForCausalLM", "GraniteForCausalLM"), GROUPED),
    **dict.fromkeys(("Starcoder2ForCausalLM", "Phi3ForCausalLM", "SmolLM3ForCausalLM"), GROUPED),
    "NemotronForCausalLM": GROUPED,
    "Cohere2ForCausalLM": SLIDING,
    **dict.fromkeys(("PersimmonForCausalLM", "BioGptForCausalLM"), WIDE),
    "RobertaForMaskedLM": {**WIDE, "pad_token_id": 1},
    "ElectraForMaskedLM": {**WIDE, "embedding_size": 32},
    "RoFormerForMaskedLM": {**WIDE, "embedding_size": 32},
    "AlbertForMaskedLM": {**WIDE, "embedding_size": 16},
    "ModernBertForMaskedLM": {**WIDE, "local_attention": 6, "cls_token_id": 1, "sep_token_id": 2},
}
SMALL = {"vocab_size": 31, "hidden_size": 32}
QUICK = {"GPT2LMHeadModel", "LlamaForCausalLM", "GPTNeoForCausalLM", "Qwen2ForCausalLM"}
QUICK |= {"DiffLlamaForCausalLM", "OlmoeForCausalLM", "BartForConditionalGeneration"}
QUICK.add("attn_cog_signed")


def marked(name, *more):
    return pytest.param(name, *more, marks=() if name in QUICK else pytest.mark.slow)


CASES = [marked(name, how) for name, (_, _, hows) in FAMILIES.items() for how in hows]
LAYER, HEAD, WIDTH = 1, 2, 8


@pytest.mark.parametrize(("name", "how"), CASES)
@pytest.mark.parametrize("length", [10, WIDTH])  # the second is a head's width, too
def test_family(name, how, length):
    model = made(name, how)
    ids = torch.randint(3, 31, (3, length))
    with torch.no_grad():
        sink = int(name == "GptOssForCausalLM")
        seen = seen_as_it_is(model, ids, 3, lambda: model(ids).logits, sink)
        patterns = made(name, "eager")(ids, output_attentions=True).attentions
        for pattern, known in zip(seen, patterns, strict=True):
            # A sink is the last key, which the library leaves out.
            torch.testing.assert_close(pattern[..., :length], known, atol=1e-5, rtol=0)
            assert known.std() > 0.05
        found = tapped(model, ids)(ids, without_pattern)
        expected = without_head(model, name)(ids).logits
        close(found, expected)
        assert (found - model(ids).logits).abs().max() > 0.01 * found.abs().max()


def made(name, how=None, options=None):
    torch.manual_seed(0)
    family = getattr(hf, name)
    config = family.config_class(**options or FAMILIES[name][0])
    return family._from_config(config, **({"attn_implementation": how} if how else {})).eval()


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


def seen_as_it_is(model, ids, n_layers, plain, beside=0):
    """The tap changes nothing, sees whole rows, and reaches the output."""
    wrapped, seen = tapped(model, ids), []
    assert (wrapped.n_layers, wrapped.n_heads, wrapped.mixers) == (n_layers, 4, ())
    close(wrapped(ids, lambda _, own: seen.append(own) or own.clone()), plain())
    length = ids.shape[1]
    for own in seen:
        assert own.shape == (len(ids), 4, length, length + beside)
        torch.testing.assert_close(own.sum(-1), torch.ones(len(ids), 4, length))
    cut = wrapped(ids, lambda layer, own: own * (layer != n_layers - 1))
    assert (cut - plain()).abs().max() > 1e-3 * plain().abs().max()
    return seen


@pytest.mark.parametrize("name", [marked(name) for name in MORE])
def test_more_families(name):
    model = made(name, options=MORE[name])
    ids = torch.randint(3, 31, (3, 10))
    with torch.no_grad():
        seen_as_it_is(model, ids, 3, lambda: model(ids).logits)


TWO = {**EIGHT, "num_hidden_layers": 2, "sliding_window": 5}
EXPERTS = {**TWO, "moe_intermediate_size": 16, "shared_intermediate_size": 16}
for count in ("num_experts", "num_local_experts", "n_routed_experts"):
    EXPERTS[count] = 4
for count in ("n_group", "topk_group", "n_shared_experts"):
    EXPERTS[count] = 1
for count in ("first_k_dense_replace", "decoder_sparse_step"):
    EXPERTS[count] = 1
EXPERTS["num_experts_per_tok"] = 2
LATENT = {"num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 8, "v_head_dim": 8}
LATENT |= {"qk_rope_head_dim": 4, "qk_nope_head_dim": 4}
MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 4, "mamba_n_groups": 1}
MAMBA["mamba_chunk_size"] = 4
BERT = {**WIDE, "num_hidden_layers": 2, "embedding_size": 32}
PAIR = {"vocab_size": 31, "d_model": 32, "max_position_embeddings": 64, "init_std": 0.3}
for side in ("encoder", "decoder"):
    PAIR[f"{side}_layers"] = 2
    PAIR[f"{side}_attention_heads"] = 4
    PAIR[f"{side}_ffn_dim"] = 48
PAIR |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
PAIR |= {"decoder_start_token_id": 2, "forced_eos_token_id": None}
T5 = {"vocab_size": 31, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
T5 |= {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
# Two calls a pattern, norms of queries and keys, windows, soft caps, sparse masks, other blocks.
DECODERS = """DiffLlama Apertus NanoChat HunYuanDenseV1 Olmo3 Exaone4 Cwm VaultGemma Doge Arcee
    Ernie4_5 Glm4 SeedOss"""
MIXTURES = """GraniteMoe Phimoe Olmoe Qwen3Moe FlexOlmo Afmoe Ernie4_5_Moe HunYuanMoEV1
    MiniMaxM2"""
ENCODERS = "MPNet Deberta Esm Ernie XLMRobertaXL NomicBert IBert"
ENCODERS_AND_DECODERS = "Bart Pegasus Blenderbot"
T5S = "T5 UMT5"
ALIKE = {"DeepseekV2ForCausalLM": {**EXPERTS, **LATENT}, "MarianMTModel": PAIR}
ALIKE["XGLMForCausalLM"] = {**PAIR, "num_layers": 2, "attention_heads": 4, "ffn_dim": 48}
ALIKE["CTRLLMHeadModel"] = {**GPT2, "n_layer": 2, "dff": 48}
ALIKE["OpenAIGPTLMHeadModel"] = {**GPT2, "n_layer": 2, "initializer_range": 0.3}
XLNET = {"vocab_size": 31, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}
ALIKE["XLNetLMHeadModel"] = {**XLNET, "initializer_range": 0.3}
ALIKE |= {f"{name}ForCausalLM": TWO for name in DECODERS.split()}
ALIKE |= {f"{name}ForCausalLM": EXPERTS for name in MIXTURES.split()}
ALIKE |= {f"{name}ForMaskedLM": BERT for name in ENCODERS.split()}
ALIKE |= {f"{name}ForConditionalGeneration": PAIR for name in ENCODERS_AND_DECODERS.split()}
ALIKE |= {f"{name}ForConditionalGeneration": T5 for name in T5S.split()}


class Both(torch.nn.Module):
    """An encoder and a decoder that read the same tokens."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, decoder_input_ids=ids)


def attentions_of(output):
    """The library's patterns, in the order in which they are computed."""
    if "encoder_attentions" not in output:
        return list(output.attentions)
    pairs = zip(output.decoder_attentions, output.cross_attentions, strict=True)
    return [*output.encoder_attentions, *(pattern for pair in pairs for pattern in pair)]


@pytest.mark.parametrize("name", [marked(name) for name in ALIKE])
def test_kinds_of_families(name):
    """Every pattern is the library's own."""
    model = made(name, "eager", ALIKE[name])
    model.config.use_cache = False
    ids = torch.randint(3, 31, (3, 10))
    with torch.no_grad():
        given = {"input_ids": ids}
        if model.config.is_encoder_decoder:
            given["decoder_input_ids"] = ids
        known = attentions_of(model(**given, output_attentions=True))
        wrapped, seen = tapped(Both(model) if len(given) > 1 else model, ids[:2]), []
        found = wrapped(ids, lambda _, own: seen.append(own) or own.clone())
    assert (wrapped.n_layers, wrapped.n_heads) == (len(known), 4)
    for pattern, expected in zip(seen, known, strict=True):
        torch.testing.assert_close(pattern, expected, atol=1e-5, rtol=0)
    close(found, model(**given).logits)


HYBRIDS = {
    "BambaForCausalLM": {**TWO, **MAMBA, "attn_layer_indices": [1]},
    "GraniteMoeHybridForCausalLM": {**EXPERTS, **MAMBA, "layer_types": ["mamba", "attention"]},
    "Lfm2ForCausalLM": {**TWO, "layer_types": ["conv", "full_attention"]},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HYBRIDS)
def test_hybrids_are_seen_with_what_else_mixes_positions(name):
    model = made(name, "eager", HYBRIDS[name])
    model.config.use_cache = False
    ids = torch.randint(3, 31, (3, 10))
    with torch.no_grad():
        with pytest.warns(UserWarning, match="mixes positions by"):
            wrapped = tapped(model, ids[:2])
        seen = []
        wrapped(ids, lambda _, own: seen.append(own) or own)
        known = model(ids, output_attentions=True).attentions
    assert (wrapped.n_layers, wrapped.n_heads) == (1, 4)
    torch.testing.assert_close(seen, [x for x in known if x is not None], atol=1e-5, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("FNetForMaskedLM", SMALL, "no attention was seen"),
        ("LongformerForMaskedLM", {**WIDE, "attention_window": 4}, "einsum to"),
        ("YosoForMaskedLM", WIDE, r"another by torch.matmul to \[4, 10, 10\]"),
        ("ConvBertForMaskedLM", {**WIDE, "head_ratio": 2}, "another by torch.matmul"),
        ("MambaForCausalLM", SMALL, "no attention"),
    ],
)
def test_what_attends_in_another_way_is_refused(name, options, why):
    model = made(name, options={**options, "num_hidden_layers": 2})
    with pytest.raises(HeadwayError, match=why):
        tapped(model, torch.randint(3, 31, (3, 10)))


# The options of a Decoder, and how many keys are no position.
OPTIONS = {
    "plain": ({}, 0),
    "memory": ({"attn_num_mem_kv": 4}, 4),
    "zero key": ({"attn_add_zero_kv": True}, 1),
    "memory and zero key": ({"attn_num_mem_kv": 2, "attn_add_zero_kv": True}, 3),
    "flash": ({"attn_flash": True}, 0),
    "flash, memory": ({"attn_flash": True, "attn_num_mem_kv": 3}, 3),
    "learned sink": ({"attn_head_learned_sink": True}, 1),
    "memory tokens": ({}, 3),
    "rotary": ({"rotary_pos_emb": True}, 0),
    "alibi": ({"alibi_pos_bias": True}, 0),
    "relative": ({"rel_pos_bias": True}, 0),
    "one key head": ({"attn_one_kv_head": True}, 0),
    "gated values": ({"attn_gate_values": True}, 0),
    "heads that talk": ({"attn_pre_talking_heads": True}, 0),
    "soft clamp": ({"attn_softclamp_logits": True}, 0),
    "residual": ({"residual_attn": True}, 0),
}


def of_x_transformers(options, tokens=None):
    library = pytest.importorskip("x_transformers")
    torch.manual_seed(0)
    layers = library.Decoder(dim=32, depth=2, heads=4, attn_dim_head=16, **options)
    model = library.TransformerWrapper(
        num_tokens=31, max_seq_len=64, num_memory_tokens=tokens, attn_layers=layers
    )
    return model.eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.filterwarnings("ignore")
def test_options_of_x_transformers(name):
    options, beside = OPTIONS[name]
    model = of_x_transformers(options, beside if name == "memory tokens" else None)
    ids = torch.randint(3, 31, (3, 10))
    with torch.no_grad():
        own = seen_as_it_is(model, ids, 2, lambda: model(ids), beside)[0][..., :10]
        assert not own.triu(1).any()  # each position is where it says


SWITCHES = """attn_cog_signed attn_hard attn_qk_norm attn_l2_distance attn_selective attn_use_cope
    attn_laser attn_on_attn attn_data_dependent_alibi attn_gate_value_heads attn_head_scale
    dynamic_pos_bias sandwich_norm macaron"""
NUMBERS = {"attn_sparse_topk": 3, "attn_max_attend_past": 3, "attn_kv_heads": 2}
NUMBERS["num_residual_streams"] = 2
WEIGHED = dict.fromkeys(SWITCHES.split(), True) | NUMBERS


@pytest.mark.parametrize("option", [marked(option) for option in WEIGHED])
@pytest.mark.filterwarnings("ignore")
def test_x_transformers_own_weights(option):
    """Every pattern is what the library says of itself."""
    model = of_x_transformers({option: WEIGHED[option]})
    ids = torch.randint(3, 31, (3, 10))
    with torch.no_grad():
        expected, said = model(ids, return_intermediates=True)
        wrapped, seen = tapped(model, ids[:2]), []
        found = wrapped(ids, lambda _, own: seen.append(own) or own.clone())
    close(found, expected)
    known = [attended.post_softmax_attn for attended in said.attn_intermediates if attended]
    assert (wrapped.n_layers, wrapped.n_heads, len(known)) == (2, 4, 2)
    torch.testing.assert_close(seen, known, atol=1e-5, rtol=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_x_transformers_heads_that_talk_behind_the_softmax():
    model = of_x_transformers({"attn_post_talking_heads": True})
    talks = [m for m in model.modules() if isinstance(m, torch.nn.Conv2d)]
    ids = torch.randint(3, 31, (3, 10))
    with torch.no_grad():
        for talk in talks:
            torch.nn.init.normal_(talk.weight)
        _, said = model(ids, return_intermediates=True)
        wrapped, seen = tapped(model, ids[:2]), []
        wrapped(ids, lambda _, own: seen.append(own) or own.clone())
        pairs = zip(talks, said.attn_intermediates, strict=True)
        known = [talk(attended.post_softmax_attn) for talk, attended in pairs]
    torch.testing.assert_close(seen, known, atol=1e-5, rtol=0)
