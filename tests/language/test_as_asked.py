"""Prompts and answers are the tokens of running text, whatever the tokenizer is like."""

import math
import string

import pytest
import torch
from odd_tokenizers import (
    ACROSS,
    TEMPLATE,
    bert,
    byte_level,
    fast,
    llama,
    said_in_full,
    save,
    stripping,
)
from tiny_model import save_tiny_model
from tokenizers import decoders
from transformers import (
    ByT5Tokenizer,
)

from headway.errors import HeadwayError
from headway.intervals import wilson
from headway.language import LocalModel, expectation, questions


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
    """What the tokenizer puts in front stays."""
    model = LocalModel(save(tmp_path, made), "completion")
    (question,) = questions("equations", 1, count=1)
    text = f"{question.prompt}\nAnswer:"
    bare = made(text, add_special_tokens=False)["input_ids"]
    assert made(text)["input_ids"] == [*front, *bare, *behind]  # else nothing is tried
    assert model.prompt(question).tolist() == [*front, *bare]
    options, _ = model.options(question)
    for option, answer, said in zip(
        options, question.acceptable, model.answers(question).said, strict=True
    ):
        ids = [*front, *made(f"{text} {answer}", add_special_tokens=False)["input_ids"]]
        start = len(front) + len(bare)
        assert option == ids[start:]
        assert said == pytest.approx(said_in_full(model, ids, start), abs=1e-4)


@pytest.mark.parametrize("form", ["chat", "completion"])
@pytest.mark.parametrize("gap", ["", " "])
@pytest.mark.parametrize("made", [llama, bert, byte_level, stripping, ByT5Tokenizer])
def test_an_answers_tokens_are_those_that_follow_the_prompt(tmp_path, form, gap, made):
    """Those of the whole text, with the white space that the template puts before an answer."""
    tokenizer = made()
    model = LocalModel(save(tmp_path, tokenizer, TEMPLATE.replace("GAP", gap)), form)
    (question,) = questions("equations", 1, count=1)
    assert {"3", "0"} <= set(question.acceptable)
    lead = gap if form == "chat" else " "
    text = f"<q>{question.prompt}</q>" if form == "chat" else f"{question.prompt}\nAnswer:"
    prompt, told = model.prompt(question).tolist(), model.answers(question).said
    for answer, option, said in zip(
        question.acceptable, model.options(question)[0], told, strict=True
    ):
        whole = tokenizer(f"{text}{lead}{answer}", add_special_tokens=False)["input_ids"]
        assert prompt + option == model.front + whole
        assert said == pytest.approx(said_in_full(model, prompt + option, len(prompt)), abs=1e-4)


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_where_answers_change_the_prompts_last_token_they_begin_with_it(tmp_path, form):
    model = LocalModel(str(save_tiny_model(tmp_path, merges=ACROSS[form])), form)
    (question,) = questions("equations", 1, count=1)
    text = model.text(question.prompt)
    before = model.tokenizer(text)["input_ids"]
    assert model.prompt(question).tolist() == before[:-1]
    exact = model.answers(question)
    for answer, option, said in zip(
        question.acceptable, model.options(question)[0], exact.said, strict=True
    ):
        whole = model.tokenizer(f"{text}{model.lead}{answer}")["input_ids"]
        assert [*before[:-1], *option] == whole
        expected = said_in_full(model, whole, len(before) - 1)
        assert said == pytest.approx(expected, abs=1e-4)
    if form == "completion":  # in the chat form, `=`, `3` says the same in other tokens
        drawn = model.sample(question, 20_000, torch.Generator().manual_seed(0))
        kept = [text for text in drawn if text in question.acceptable]
        low, high = wilson(len(kept), len(drawn))
        assert low <= sum(map(math.exp, exact.ended)) <= high
        low, high = wilson(kept.count(question.correct), len(kept))
        assert low <= expectation(exact, question) <= high


def test_a_tokenizer_with_more_tokens_than_the_model_is_one_line(tmp_path):
    folder = save(tmp_path, bert(), vocab_size=40)
    with pytest.raises(HeadwayError, match=r"^token = \d+ is not allowed: it must be below 40"):
        LocalModel(folder, "completion")


def test_answers_that_are_the_same_tokens_are_one_line(tmp_path):
    vocab = {t: i for i, t in enumerate(["[UNK]", "[CLS]", "[SEP]", *string.ascii_letters, " .:"])}
    model = LocalModel(save(tmp_path, fast(vocab, decoder=decoders.Fuse())), "completion")
    (question,) = questions("equations", 1, count=1)
    with pytest.raises(HeadwayError, match=r"^the tokens of .* do not tell the answers apart$"):
        model.answers(question)
