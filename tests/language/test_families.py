"""Models that keep more of a text than keys and values, or none, answer as by whole passes."""

import string

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    LlamaTokenizer,
)

from headway import cli
from headway.errors import HeadwayError
from headway.language import questions
from headway.language.heads.knockout import Trial, answers_without
from headway.language.heads.study import Study, look
from headway.language.local import LocalModel
from headway.language.tap import tapped

TEMPLATE = "Answer with one word, as short as you can.\n{{ messages[0]['content'] }}\n"
"""Its beginning, longer than sliding windows here, is read once for all prompts."""

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
MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 4, "mamba_expand": 2}
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
    "mamba2": {**SIZES, **STATE, "num_heads": 4, "head_dim": 16, "n_groups": 1},
    "falcon_mamba": {**SIZES, **STATE},
    "rwkv": {**SIZES, "attention_hidden_size": 32},
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
    "bamba": {**ATTENTION, **MAMBA, "mamba_n_groups": 1, "attn_layer_indices": [1]},
    "zamba2": {
        **ATTENTION,
        "mamba_d_state": 4,
        "mamba_ngroups": 1,
        "n_mamba_heads": 4,
        "mamba_headdim": 16,
        "layers_block_type": ["mamba", "hybrid"],
    },
    "lfm2": {**ATTENTION, "block_multiple_of": 8, "layer_types": ["conv", "full_attention"]},
    "qwen3_next": {**ATTENTION, **EXPERTS, **LINEAR},
    "olmo_hybrid": {**ATTENTION, **LINEAR},
    "falcon_h1": {**ATTENTION, **MAMBA, "mamba_d_ssm": 64, "mamba_n_groups": 1},
}
WITH_PATTERNS = {"falcon_h1"}
"""Families whose every layer has attention, beside other parts."""
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


def in_full(model, question):
    """What is said and ended, by a pass of a model of its own for every answer."""
    fresh = AutoModelForCausalLM.from_pretrained(model.name).eval()
    prompt = model.prompt(question).tolist()
    said, ended = [], []
    for option in model.options(question)[0]:
        with torch.no_grad():
            ids = torch.tensor([prompt + option])
            log_p = fresh(input_ids=ids, use_cache=False).logits[0].log_softmax(-1)
        own = log_p[len(prompt) - 1 : -1].gather(1, ids[0, len(prompt) :, None]).sum()
        said.append(own.item())
        ended.append((own + log_p[-1, model.stops].logsumexp(0)).item())
    return said, ended


@pytest.mark.parametrize("name", [*RECURRENT, *ORDINARY])
def test_answers_are_those_of_whole_passes(tmp_path, name):
    sizes = (RECURRENT | ORDINARY)[name]
    model = LocalModel(save(tmp_path, name, sizes), "chat", keep=True)
    assert model.goes_on == (name in ORDINARY and name != "openai-gpt")
    (question,) = questions("lives-with", 1, count=1)
    expected = in_full(model, question)
    for _ in range(2):  # the second time, of what was kept
        answers = model.answers(question)
        assert answers.said == pytest.approx(expected[0], abs=1e-4)
        assert answers.ended == pytest.approx(expected[1], abs=1e-4)
    drawn = model.sample(question, 20, torch.Generator().manual_seed(0))
    assert all(text.endswith("…") or text in question.acceptable for text in drawn if text)


def test_a_cache_that_tells_otherwise_than_the_text_is_not_gone_on_from(tmp_path, monkeypatch):
    def repeat(layer, count):
        layer.keys = layer.keys.repeat_interleave(count, dim=0)
        layer.values = layer.values.repeat_interleave(count, dim=0).flip(2)

    monkeypatch.setattr("transformers.cache_utils.DynamicLayer.batch_repeat_interleave", repeat)
    model = LocalModel(save(tmp_path, "llama", ATTENTION), "completion", keep=True)
    assert not model.goes_on
    (question,) = questions("equations", 1, count=1)
    assert model.answers(question).said == pytest.approx(in_full(model, question)[0], abs=1e-4)


@pytest.mark.parametrize("name", RECURRENT)
def test_heads_of_hybrid_models_are_studied_or_one_line(tmp_path, name):
    folder = save(tmp_path / "model", name, RECURRENT[name])
    model, place = LocalModel(folder, "completion"), tmp_path / "out"
    study = Study(folder, "equations", 1, n=16, top=(1,), random=1)
    if name not in WITH_PATTERNS:
        said = rf"^the attention of {type(model.model).__name__} cannot be seen"
        with pytest.raises(HeadwayError, match=said):
            look(study, model, place)
        assert not place.exists()
        return
    look(study, model, place)
    (question,) = questions("equations", 1, count=1)
    tried = [Trial("none", 0, frozenset()), Trial("top", 1, frozenset({(0, 1)}))]
    intact, without = answers_without(model, question, tried)
    assert intact.said == pytest.approx(model.answers(question).said, abs=1e-4)

    def cut(layer, pattern):
        return pattern.index_fill(1, torch.tensor(1), 0) if layer == 0 else pattern

    with tapped(model.model, cut):
        expected = model.answers(question)
    assert without.said == pytest.approx(expected.said, abs=1e-4)
    assert without.said != pytest.approx(intact.said, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("bert", AutoModelForCausalLM, "does not read from left to right"),
        ("electra", AutoModelForCausalLM, "does not read from left to right"),
        ("bart", AutoModelForSeq2SeqLM, "one that goes on with a text: this has an encoder"),
        ("t5", AutoModelForSeq2SeqLM, "one that goes on with a text: this has an encoder"),
    ],
)
@pytest.mark.parametrize("verb", ["ask", "heads"])
def test_what_does_not_go_on_with_texts_is_one_line(tmp_path, capsys, verb, name, kind, said):
    LlamaTokenizer(vocab=VOCAB, merges=[]).save_pretrained(tmp_path)
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "num_layers": 2}
    own = {"num_attention_heads": 4} if name in ("bert", "electra") else sizes
    config = AutoConfig.for_model(name, **{**own, "vocab_size": len(VOCAB), "hidden_size": 32})
    kind.from_config(config).save_pretrained(tmp_path)
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main([verb, "--model", str(tmp_path), "--n", "16", "--folder", str(tmp_path / "out")])
    assert stop.value.code == 2
    (complaint,) = capsys.readouterr().err.strip().splitlines()
    assert said in complaint
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "length", "context"), [("llama", 512, 512), ("bloom", None, 2**31)]
)
def test_models_without_ids_of_their_own_or_a_longest_text_are_asked(
    tmp_path, monkeypatch, name, length, context
):
    own = {"eos_token_id": None, "bos_token_id": None, "num_attention_heads": 4, "n_head": 4}
    monkeypatch.setattr("transformers.PreTrainedModel.can_generate", classmethod(lambda _: False))
    sizes = {**SIZES, **own, "max_position_embeddings": length}
    model = LocalModel(save(tmp_path, name, sizes), "completion")
    assert getattr(model.model, "generation_config", None) is None
    assert model.context == context
    (question,) = questions("equations", 1, count=1)
    assert model.answers(question).said == pytest.approx(in_full(model, question)[0], abs=1e-4)
