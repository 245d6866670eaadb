"""The tap in families of language models, and in the options of x-transformers, at
random weights, against what the library says."""

import copy

import pytest
import torch
import transformers as hf
from torch.testing import assert_close

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
EAGER = ("eager",)
BOTH = ("eager", "sdpa")
OPT = {**SIZES, "ffn_dim": 48, "word_embed_proj_dim": 32, "init_std": 0.3}
DEBERTA = {**WIDE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
DEEPSEEK = {**WIDE, "num_key_value_heads": 4, "moe_intermediate_size": 16}
DEEPSEEK |= {"q_lora_rank": 8, "kv_lora_rank": 8, "v_head_dim": 8}
DEEPSEEK |= {"qk_rope_head_dim": 4, "qk_nope_head_dim": 4}
DEEPSEEK |= {"n_routed_experts": 4, "n_group": 2, "topk_group": 1}
DEEPSEEK |= {"num_experts_per_tok": 2, "first_k_dense_replace": 1}
GPT_OSS = {**EIGHT, "num_local_experts": 4, "sliding_window": 5}
# The name of a family's classes, the options of its config, the end of the output
# projection's name, and the ways in which the library computes it.
FAMILIES = {
    "GPT2LMHeadModel": (SIZES, "attn.c_proj", BOTH),
    "GPTNeoXForCausalLM": (WIDE, "attention.dense", BOTH),
    "OPTForCausalLM": (OPT, "out_proj", BOTH),
    "BloomForCausalLM": (SIZES, "self_attention.dense", EAGER),
    "FalconForCausalLM": (SIZES, "self_attention.dense", BOTH),
    "PhiForCausalLM": (GROUPED, "self_attn.dense", BOTH),
    "BertForMaskedLM": (WIDE, "attention.output.dense", BOTH),
    "DebertaV2ForMaskedLM": (DEBERTA, "attention.output.dense", EAGER),
}
FAMILIES |= {
    "LlamaForCausalLM": (GROUPED, "o_proj", BOTH),
    "Gemma2ForCausalLM": (GEMMA, "o_proj", EAGER),
    "Gemma3ForCausalLM": (GEMMA, "o_proj", BOTH),
    "MistralForCausalLM": (SLIDING, "o_proj", BOTH),
    "MixtralForCausalLM": ({**GROUPED, "num_local_experts": 10}, "o_proj", BOTH),
    "Qwen3ForCausalLM": (EIGHT, "o_proj", BOTH),
    "DeepseekV3ForCausalLM": (DEEPSEEK, "o_proj", BOTH),
    "GptOssForCausalLM": (GPT_OSS, "o_proj", EAGER),
}
GPT2 = {"vocab_size": 31, "n_positions": 64, "n_embd": 32, "n_layer": 3, "n_head": 4}
GPT2 |= {"bos_token_id": 1, "eos_token_id": 2}
LOCAL = {"attention_types": [[["global", "local", "global"], 1]], "window_size": 5}
SHAPED = "Gemma Helium Glm"
WITH_GROUPS = (
    "Qwen2 StableLm Cohere Olmo Olmo2 Granite Starcoder2 Phi3 SmolLM3 Nemotron"
)
# The name of a family's classes, and the options of its config.
MORE = {"GPTBigCodeForCausalLM": GPT2, "Cohere2ForCausalLM": SLIDING}
MORE["GPTNeoForCausalLM"] = {**SIZES, **LOCAL, "num_layers": 3, "num_heads": 4}
MORE |= {
    f"{name}ForCausalLM": {**GPT2, "rotary_dim": 4} for name in ("GPTJ", "CodeGen")
}
MIXED = {**GROUPED, "num_experts": 4, "moe_intermediate_size": 16}
MORE["Qwen2MoeForCausalLM"] = {**MIXED, "shared_expert_intermediate_size": 16}
MORE |= {f"{name}ForCausalLM": EIGHT for name in SHAPED.split()}
MORE |= {f"{name}ForCausalLM": GROUPED for name in WITH_GROUPS.split()}
MORE |= {f"{name}ForCausalLM": WIDE for name in ("Persimmon", "BioGpt")}
MORE["RobertaForMaskedLM"] = {**WIDE, "pad_token_id": 1}
MORE |= {
    f"{name}ForMaskedLM": {**WIDE, "embedding_size": 32}
    for name in ("Electra", "RoFormer")
}
MORE["AlbertForMaskedLM"] = {**WIDE, "embedding_size": 16}
MODERN = {**WIDE, "local_attention": 6, "cls_token_id": 1, "sep_token_id": 2}
MORE["ModernBertForMaskedLM"] = MODERN
SMALL = {"vocab_size": 31, "hidden_size": 32}
QUICK = {"GPT2LMHeadModel", "LlamaForCausalLM", "GPTNeoForCausalLM", "Qwen2ForCausalLM"}
QUICK |= {"DiffLlamaForCausalLM", "OlmoeForCausalLM", "BartForConditionalGeneration"}
QUICK.add("attn_cog_signed")


def marked(name, *more):
    marks = () if name in QUICK else pytest.mark.slow
    return pytest.param(name, *more, marks=marks)


def some_tokens(length=10):
    return torch.randint(3, 31, (3, length))


LAYER = 1
HEAD = 2
WIDTH = 8


@pytest.mark.parametrize(
    ("name", "how"),
    [marked(name, how) for name, (_, _, hows) in FAMILIES.items() for how in hows],
)
@pytest.mark.parametrize("length", [10, WIDTH])  # the second is a head's width, too
def test_family(name, how, length):
    model = made(name, how)
    ids = some_tokens(length)
    sink = int(name == "GptOssForCausalLM")
    with torch.no_grad():
        plain = model(ids).logits
        seen = seen_as_it_is(model, ids, 3, plain, sink)
        patterns = made(name, "eager")(ids, output_attentions=True).attentions
        for pattern, known in zip(seen, patterns, strict=True):
            # A sink is the last key, which the library leaves out.
            assert_close(pattern[..., :length], known, atol=1e-5, rtol=0)
            assert known.std() > 0.05
        outputs = tapped(model, ids)(ids, without_pattern)
        expected = without_head(model, name)(ids).logits
        close(outputs, expected)
        difference = (outputs - plain).abs().max()
        assert difference > 0.01 * outputs.abs().max()


def made(name, how=None, options=None):
    torch.manual_seed(0)
    family = getattr(hf, name)
    if options is None:
        options, *_ = FAMILIES[name]
    config = family.config_class(**options)
    chosen = {"attn_implementation": how} if how else {}
    model = family._from_config(config, **chosen)
    return model.eval()


def without_pattern(layer, pattern):
    if layer != LAYER:
        return pattern
    return pattern.index_fill(1, torch.tensor(HEAD), 0)


def without_head(model, name):
    """The model with the head's columns of the output projection at zero."""
    cut = copy.deepcopy(model)
    _, end, _ = FAMILIES[name]
    maps = [module for path, module in cut.named_modules() if path.endswith(end)]
    assert len(maps) == 3
    weight = maps[LAYER].weight
    columns = weight.T if name.startswith("GPT2") else weight  # its maps are transposed
    start = HEAD * WIDTH
    columns[:, start : start + WIDTH] = 0
    return cut


def close(outputs, expected):
    """Equal to 1e-5 of the largest output."""
    size = expected.abs().max().clamp(min=1)
    assert_close(outputs / size, expected / size, atol=1e-5, rtol=0)


def patterns_seen(wrapped, ids):
    """The outputs with a tap that gives copies, and the patterns that it saw."""
    seen = []

    def keep(_, own):
        seen.append(own)
        return own.clone()

    outputs = wrapped(ids, keep)
    return outputs, seen


def seen_as_it_is(model, ids, n_layers, plain, beside=0):
    """The tap changes nothing of the plain outputs, sees whole rows, and reaches the
    output.
    """
    wrapped = tapped(model, ids)
    assert wrapped.n_layers == n_layers
    assert wrapped.n_heads == 4
    assert wrapped.mixers == ()
    outputs, seen = patterns_seen(wrapped, ids)
    close(outputs, plain)
    batch, length = ids.shape
    for own in seen:
        assert own.shape == (batch, 4, length, length + beside)
        assert_close(own.sum(-1), torch.ones(batch, 4, length))
    last = n_layers - 1
    cut = wrapped(ids, lambda layer, own: own * (layer != last))
    difference = (cut - plain).abs().max()
    assert difference > 1e-3 * plain.abs().max()
    return seen


@pytest.mark.parametrize("name", [marked(name) for name in MORE])
def test_more_families(name):
    model = made(name, options=MORE[name])
    ids = some_tokens()
    with torch.no_grad():
        plain = model(ids).logits
        seen_as_it_is(model, ids, 3, plain)


TWO = {**EIGHT, "num_hidden_layers": 2, "sliding_window": 5}
EXPERTS = {**TWO, "moe_intermediate_size": 16, "shared_intermediate_size": 16}
for count in ("num_experts", "num_local_experts", "n_routed_experts"):
    EXPERTS[count] = 4
for count in ("n_group", "topk_group", "n_shared_experts"):
    EXPERTS[count] = 1
for count in ("first_k_dense_replace", "decoder_sparse_step"):
    EXPERTS[count] = 1
EXPERTS["num_experts_per_tok"] = 2
LATENT = {
    "num_key_value_heads": 4,
    "q_lora_rank": 8,
    "kv_lora_rank": 8,
    "v_head_dim": 8,
}
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
T5 = {
    "vocab_size": 31,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
}
T5 |= {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
# Two calls a pattern, norms of queries and keys, windows, soft caps, sparse masks,
# other blocks.
DECODERS = """DiffLlama Apertus NanoChat HunYuanDenseV1 Olmo3 Exaone4 Cwm VaultGemma
    Doge Arcee Ernie4_5 Glm4 SeedOss"""
MIXTURES = """GraniteMoe Phimoe Olmoe Qwen3Moe FlexOlmo Afmoe Ernie4_5_Moe HunYuanMoEV1
    MiniMaxM2"""
ENCODERS = "MPNet Deberta Esm Ernie XLMRobertaXL NomicBert IBert"
ENCODERS_AND_DECODERS = "Bart Pegasus Blenderbot"
T5S = "T5 UMT5"
ALIKE = {"DeepseekV2ForCausalLM": {**EXPERTS, **LATENT}, "MarianMTModel": PAIR}
ALIKE["XGLMForCausalLM"] = {
    **PAIR,
    "num_layers": 2,
    "attention_heads": 4,
    "ffn_dim": 48,
}
ALIKE["CTRLLMHeadModel"] = {**GPT2, "n_layer": 2, "dff": 48}
ALIKE["OpenAIGPTLMHeadModel"] = {**GPT2, "n_layer": 2, "initializer_range": 0.3}
XLNET = {"vocab_size": 31, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}
ALIKE["XLNetLMHeadModel"] = {**XLNET, "initializer_range": 0.3}
ALIKE |= {f"{name}ForCausalLM": TWO for name in DECODERS.split()}
ALIKE |= {f"{name}ForCausalLM": EXPERTS for name in MIXTURES.split()}
ALIKE |= {f"{name}ForMaskedLM": BERT for name in ENCODERS.split()}
ALIKE |= {
    f"{name}ForConditionalGeneration": PAIR for name in ENCODERS_AND_DECODERS.split()
}
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
    patterns = list(output.encoder_attentions)
    for pair in zip(output.decoder_attentions, output.cross_attentions, strict=True):
        patterns.extend(pair)
    return patterns


@pytest.mark.parametrize("name", [marked(name) for name in ALIKE])
def test_kinds_of_families(name):
    """Every pattern is the library's own."""
    model = made(name, "eager", ALIKE[name])
    model.config.use_cache = False
    ids = some_tokens()
    given = {"input_ids": ids}
    module = model
    if model.config.is_encoder_decoder:
        given["decoder_input_ids"] = ids
        module = Both(model)
    with torch.no_grad():
        output = model(**given, output_attentions=True)
        wrapped = tapped(module, ids[:2])
        outputs, seen = patterns_seen(wrapped, ids)
    known = attentions_of(output)
    assert wrapped.n_layers == len(known)
    assert wrapped.n_heads == 4
    for pattern, expected in zip(seen, known, strict=True):
        assert_close(pattern, expected, atol=1e-5, rtol=0)
    close(outputs, model(**given).logits)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("BambaForCausalLM", {**TWO, **MAMBA, "attn_layer_indices": [1]}),
        (
            "GraniteMoeHybridForCausalLM",
            {
                **EXPERTS,
                **MAMBA,
                "layer_types": ["mamba", "attention"],
            },
        ),
        ("Lfm2ForCausalLM", {**TWO, "layer_types": ["conv", "full_attention"]}),
    ],
)
def test_hybrids_are_seen_with_what_else_mixes_positions(name, fields):
    model = made(name, "eager", fields)
    model.config.use_cache = False
    ids = some_tokens()
    with torch.no_grad():
        with pytest.warns(UserWarning, match="mixes positions by"):
            wrapped = tapped(model, ids[:2])
        _, seen = patterns_seen(wrapped, ids)
        attentions = model(ids, output_attentions=True).attentions
    known = [pattern for pattern in attentions if pattern is not None]
    assert wrapped.n_layers == 1
    assert wrapped.n_heads == 4
    assert_close(seen, known, atol=1e-5, rtol=0)


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
    ids = some_tokens()
    with pytest.raises(HeadwayError, match=why):
        tapped(model, ids)


# The options of a Decoder with keys that are no position, and how many.
BESIDE = {
    "memory": ({"attn_num_mem_kv": 4}, 4),
    "zero key": ({"attn_add_zero_kv": True}, 1),
    "memory and zero key": ({"attn_num_mem_kv": 2, "attn_add_zero_kv": True}, 3),
    "flash, memory": ({"attn_flash": True, "attn_num_mem_kv": 3}, 3),
    "learned sink": ({"attn_head_learned_sink": True}, 1),
    "memory tokens": ({}, 3),
}


# Options that are on or off, whose keys are the positions.
PLAIN = {
    "flash": "attn_flash",
    "rotary": "rotary_pos_emb",
    "alibi": "alibi_pos_bias",
    "relative": "rel_pos_bias",
    "one key head": "attn_one_kv_head",
    "gated values": "attn_gate_values",
    "heads that talk": "attn_pre_talking_heads",
    "soft clamp": "attn_softclamp_logits",
    "residual": "residual_attn",
}


OPTIONS = {"plain": ({}, 0), **BESIDE}
OPTIONS |= {name: ({option: True}, 0) for name, option in PLAIN.items()}


def of_x_transformers(options, tokens=None):
    library = pytest.importorskip("x_transformers")
    torch.manual_seed(0)
    layers = library.Decoder(dim=32, depth=2, heads=4, attn_dim_head=16, **options)
    sizes = {"num_tokens": 31, "max_seq_len": 64, "num_memory_tokens": tokens}
    model = library.TransformerWrapper(**sizes, attn_layers=layers)
    return model.eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.filterwarnings("ignore")
def test_options_of_x_transformers(name):
    options, beside = OPTIONS[name]
    memory_tokens = beside if name == "memory tokens" else None
    model = of_x_transformers(options, memory_tokens)
    ids = some_tokens()
    with torch.no_grad():
        plain = model(ids)
        seen = seen_as_it_is(model, ids, 2, plain, beside)
    positions = seen[0][..., :10]
    assert not positions.triu(1).any()  # each position is where it says


def patterns_of(intermediates):
    """The patterns that x-transformers keeps of its attention."""
    return [attended.post_softmax_attn for attended in intermediates if attended]


SWITCHES = """attn_cog_signed attn_hard attn_qk_norm attn_l2_distance attn_selective
    attn_use_cope attn_laser attn_on_attn attn_data_dependent_alibi
    attn_gate_value_heads attn_head_scale dynamic_pos_bias sandwich_norm macaron"""
NUMBERS = {"attn_sparse_topk": 3, "attn_max_attend_past": 3, "attn_kv_heads": 2}
NUMBERS["num_residual_streams"] = 2
WEIGHED = dict.fromkeys(SWITCHES.split(), True) | NUMBERS


@pytest.mark.parametrize("option", [marked(option) for option in WEIGHED])
@pytest.mark.filterwarnings("ignore")
def test_x_transformers_own_weights(option):
    """Every pattern is what the library says of itself."""
    model = of_x_transformers({option: WEIGHED[option]})
    ids = some_tokens()
    with torch.no_grad():
        expected, said = model(ids, return_intermediates=True)
        wrapped = tapped(model, ids[:2])
        outputs, seen = patterns_seen(wrapped, ids)
    close(outputs, expected)
    known = patterns_of(said.attn_intermediates)
    assert wrapped.n_layers == 2
    assert wrapped.n_heads == 4
    assert len(known) == 2
    assert_close(seen, known, atol=1e-5, rtol=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_x_transformers_heads_that_talk_behind_the_softmax():
    model = of_x_transformers({"attn_post_talking_heads": True})
    talks = [
        module for module in model.modules() if isinstance(module, torch.nn.Conv2d)
    ]
    ids = some_tokens()
    with torch.no_grad():
        for talk in talks:
            torch.nn.init.normal_(talk.weight)
        _, said = model(ids, return_intermediates=True)
        wrapped = tapped(model, ids[:2])
        _, seen = patterns_seen(wrapped, ids)
        softmaxes = patterns_of(said.attn_intermediates)
        known = [talk(pattern) for talk, pattern in zip(talks, softmaxes, strict=True)]
    assert_close(seen, known, atol=1e-5, rtol=0)
