"""Models that keep more of a text than keys and values, or none, answer as by whole
passes.
"""

import pytest
from families import ORDINARY, RECURRENT, VOCAB, save
from tiny_model import in_full
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    LlamaTokenizer,
)

from commands import refused
from headway_experiments.language import LocalModel, questions

SLOW = ("jamba", "minimax", "recurrent_gemma")
"""Those that differ from others in what no answer depends on."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
        for name in (*RECURRENT, *ORDINARY)
    ],
)
def test_answers_are_those_of_whole_passes(tmp_path, name):
    sizes = (RECURRENT | ORDINARY)[name]
    model = LocalModel(save(tmp_path, name, sizes), "chat")
    assert model.goes_on == (name in ORDINARY and name != "openai-gpt")
    (question,) = questions("lives-with", 1, count=1)
    expected = in_full(model, question)
    for _ in range(2):  # the second time, of what was kept
        said, ended = model.answers(question)
        assert said == pytest.approx(expected[0], abs=1e-4)
        assert ended == pytest.approx(expected[1], abs=1e-4)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("bert", AutoModelForCausalLM, "does not read from left to right"),
        ("electra", AutoModelForCausalLM, "does not read from left to right"),
        (
            "bart",
            AutoModelForSeq2SeqLM,
            "one that goes on with a text: this has an encoder",
        ),
        (
            "t5",
            AutoModelForSeq2SeqLM,
            "one that goes on with a text: this has an encoder",
        ),
    ],
)
def test_what_does_not_go_on_with_texts_is_one_line(tmp_path, name, kind, said):
    LlamaTokenizer(vocab=VOCAB, merges=[]).save_pretrained(tmp_path)
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "num_layers": 2}
    own = {"num_attention_heads": 4} if name in ("bert", "electra") else sizes
    config = AutoConfig.for_model(
        name, **{**own, "vocab_size": len(VOCAB), "hidden_size": 32}
    )
    kind.from_config(config).save_pretrained(tmp_path)
    words = ("ask", "--model", tmp_path, "--n", "16", "--folder", tmp_path / "out")
    assert said in refused(*words)
    assert not (tmp_path / "out").exists()
