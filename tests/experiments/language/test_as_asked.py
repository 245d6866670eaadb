"""Prompts and answers are the tokens of running text, whatever the tokenizer is
like.
"""

import string

import pytest
from odd_tokenizers import ACROSS, TEMPLATE, bert, byte_level, fast, llama, stripping
from tiny_model import in_full, save_model, save_tiny_model
from tokenizers import decoders
from transformers import ByT5Tokenizer

from headway.errors import HeadwayError
from headway_experiments.language import LocalModel, questions


@pytest.mark.parametrize(
    ("made", "front", "behind"),
    [
        (llama(add_bos_token=True, add_eos_token=True), [1], [2]),
        (llama(add_bos_token=False, add_eos_token=True), [], [2]),
        (llama(add_bos_token=True, add_eos_token=False), [1], []),
        (bert(), [1], [2, 2]),
        (ByT5Tokenizer(), [], [1]),
    ],
)
def test_nothing_stands_behind_a_prompt(tmp_path, made, front, behind):
    """The tokens that a tokenizer puts in front stay."""
    model = LocalModel(save_model(tmp_path, made), "completion")
    (question,) = questions("equations", 1, count=1)
    text = f"{question.prompt}\nAnswer:"
    bare = made(text, add_special_tokens=False)["input_ids"]
    assert made(text)["input_ids"] == [*front, *bare, *behind]  # else nothing is tried
    assert model.cut(question)[0].tolist() == [*front, *bare]
    options = model.cut(question)[1]
    for option, answer in zip(options, question.acceptable, strict=True):
        ids = made(f"{text} {answer}", add_special_tokens=False)["input_ids"]
        assert option == ids[len(bare) :]
    assert model.answers(question)[0] == pytest.approx(
        in_full(model, question)[0], abs=1e-4
    )


@pytest.mark.parametrize("form", ["chat", "completion"])
@pytest.mark.parametrize("gap", ["", " "])
@pytest.mark.parametrize("made", [llama, bert, byte_level, stripping, ByT5Tokenizer])
def test_an_answers_tokens_are_those_that_follow_the_prompt(tmp_path, form, gap, made):
    """Those of the whole text, with the white space that the template puts before an
    answer.
    """
    tokenizer = made()
    model = LocalModel(
        save_model(tmp_path, tokenizer, TEMPLATE.replace("GAP", gap)), form
    )
    (question,) = questions("equations", 1, count=1)
    assert {"3", "0"} <= set(question.acceptable)
    lead = gap if form == "chat" else " "
    text = (
        f"<q>{question.prompt}</q>" if form == "chat" else f"{question.prompt}\nAnswer:"
    )
    prompt = model.cut(question)[0].tolist()
    for answer, option in zip(question.acceptable, model.cut(question)[1], strict=True):
        whole = tokenizer(f"{text}{lead}{answer}", add_special_tokens=False)[
            "input_ids"
        ]
        assert prompt + option == model.front + whole
    assert model.answers(question)[0] == pytest.approx(
        in_full(model, question)[0], abs=1e-4
    )


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_where_answers_change_the_prompts_last_token_they_begin_with_it(tmp_path, form):
    model = LocalModel(str(save_tiny_model(tmp_path, merges=ACROSS[form])), form)
    (question,) = questions("equations", 1, count=1)
    text = model.text(question.prompt)
    before = model.tokenizer(text)["input_ids"]
    assert model.cut(question)[0].tolist() == before[:-1]
    said, _ = model.answers(question)
    for answer, option in zip(question.acceptable, model.cut(question)[1], strict=True):
        whole = model.tokenizer(f"{text}{model.lead}{answer}")["input_ids"]
        assert [*before[:-1], *option] == whole
    assert said == pytest.approx(in_full(model, question)[0], abs=1e-4)


def test_answers_that_are_the_same_tokens_are_one_line(tmp_path):
    vocab = {
        t: i
        for i, t in enumerate(["[UNK]", "[CLS]", "[SEP]", *string.ascii_letters, " .:"])
    }
    model = LocalModel(
        save_model(tmp_path, fast(vocab, decoder=decoders.Fuse())), "completion"
    )
    (question,) = questions("equations", 1, count=1)
    with pytest.raises(
        HeadwayError, match=r"^the tokens of .* do not tell the answers apart$"
    ):
        model.answers(question)
