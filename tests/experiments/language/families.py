"""Small models of many families, those that keep more of a text than keys and values
among them.
"""

import string

import torch
from transformers import AutoConfig, AutoModelForCausalLM, LlamaTokenizer

TEMPLATE = "Answer with one word, as short as you can.\n{{ messages[0]['content'] }}\n"
"""Its beginning is longer than sliding windows here."""

VOCAB = {t: i for i, t in enumerate(["<unk>", "<s>", "</s>", "▁", *string.printable])}
SIZES = {
    "vocab_size": len(VOCAB),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "max_position_embeddings": 1024,
    "pad_token_id": None,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
ATTENTION = {
    **SIZES,
    "intermediate_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}
STATE = {"state_size": 4, "expand": 2}
EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16}
LINEAR = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
}
RECURRENT = {
    "mamba": {**SIZES, **STATE},
    "recurrent_gemma": {
        **ATTENTION,
        "lru_width": 32,
        "attention_window_size": 8,
        "block_types": ["recurrent", "attention"],
    },
    "jamba": {
        **ATTENTION,
        **EXPERTS,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "mamba_d_state": 4,
        "mamba_dt_rank": 4,
    },
    "qwen3_next": {**ATTENTION, **EXPERTS, **LINEAR},
}
ORDINARY = {
    "llama": ATTENTION,
    "gemma3_text": {**ATTENTION, "sliding_window": 8},
    "minimax": {**ATTENTION, "num_local_experts": 2, "num_experts_per_tok": 1},
    "openai-gpt": {**SIZES, "num_attention_heads": 4},
}


def save(folder, name, sizes, **more):
    tokenizer = LlamaTokenizer(vocab=VOCAB, merges=[])
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = AutoConfig.for_model(name, **{**sizes, **more})
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return str(folder)
