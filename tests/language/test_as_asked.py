"""Prompts and answers are the tokens of running text, whatever the tokenizer is like."""

import math
import string

import pytest
import torch
from tiny_model import save_tiny_model
from tiny_texts import TEXTS
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    ByT5Tokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaTokenizer,
    PreTrainedTokenizerFast,
)

from headway.errors import HeadwayError
from headway.intervals import wilson
from headway.language import questions
from headway.language.heads.knockout import Trial, answers_without
from headway.language.heads.tokens import reading
from headway.language.local import LocalModel, expectation
from headway.truncation.odds import Completer

LETTERS = string.digits + string.ascii_letters + " .,?()<>=[]/\n:'"
TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'user' %}"
    "<q>{{ message['content'] }}</q>{% else %}GAP{{ message['content'] }}</s>{% endif %}"
    "{% endfor %}"
)


def letters(*special):
    return {t: i for i, t in enumerate(dict.fromkeys([*special, *LETTERS]))}


def llama(**more):
    vocab = letters("<unk>", "<s>", "</s>", "▁", "▁3")
    return LlamaTokenizer(vocab=vocab, merges=[("▁", "3")], **more)


def fast(vocab, merges=(), **parts):
    """`parts` are set on the tokenizer, whose special tokens are its first."""
    made = Tokenizer(models.BPE(vocab=vocab, merges=list(merges), unk_token="[UNK]"))
    for name, part in parts.items():
        setattr(made, name, part)
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", eos_token="[SEP]")


def bert():
    vocab = letters("[UNK]", "[CLS]", "[SEP]")
    ends = processors.TemplateProcessing("[CLS] $A [SEP] [SEP]", None, [("[CLS]", 1), ("[SEP]", 2)])
    return fast(vocab, post_processor=ends, decoder=decoders.Fuse())


def byte_level():
    """A space stands in front of every text, as `add_prefix_space` asks for."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {t: i for i, t in enumerate(["[UNK]", "[CLS]", "[SEP]", *alphabet, "Ġ3"])}
    split = pre_tokenizers.ByteLevel(add_prefix_space=True)
    return fast(vocab, [("Ġ", "3")], pre_tokenizer=split, decoder=decoders.ByteLevel())


def stripping():
    """White space at both ends of a text is dropped."""
    vocab = letters("[UNK]", "[CLS]", "[SEP]")
    return fast(vocab, normalizer=normalizers.Strip(), decoder=decoders.Fuse())


def save(folder, tokenizer, template=None, **more):
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(
        **{
            "vocab_size": len(tokenizer),
            "n_positions": 2048,
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 2,
            "initializer_range": 0.3,
            "bos_token_id": None,
            "eos_token_id": None,
        }
        | more
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    return str(folder)


def said_in_full(model, ids, start):
    """Log-probability of the tokens from `start` on."""
    with torch.no_grad():
        log_p = model.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return log_p[start - 1 : -1].gather(1, torch.tensor(ids)[start:, None]).sum().item()


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


def test_texts_to_go_on_with_have_nothing_behind_them_either(tmp_path):
    made = llama(add_bos_token=True, add_eos_token=True)
    model = LocalModel(save(tmp_path, made), "completion")
    text = TEXTS[0]
    (odds,) = Completer(model, [text])()
    ids = [made(text.after(told))["input_ids"][:-1] for told in ("", text.answer)]
    start = len(ids[0]) - 1  # the space that `after` puts there
    assert ids[1][:start] == ids[0][:start]
    assert odds.answer_whole == pytest.approx(said_in_full(model, ids[1], start), abs=1e-4)


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


ACROSS = {"completion": [(":", " ")], "chat": [("=", "3"), ("=", "1")]}
"""Merges of the end of the prompt with the answer's beginning."""


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_where_answers_change_the_prompts_last_token_they_begin_with_it(tmp_path, form):
    model = LocalModel(str(save_tiny_model(tmp_path, merges=ACROSS[form])), form, keep=True)
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
    (intact,) = answers_without(model, question, [Trial("none", 0, frozenset())])
    assert intact.said == pytest.approx(exact.said, abs=1e-4)
    told = reading(model, question)
    assert told.ids.tolist() == before[:-1]
    assert len(told.spans) == len(told.ids)


def test_an_answer_may_begin_with_what_ends_one(tmp_path):
    """Here with the prompt's line break, which some answers change, and which others keep."""
    template = "{{ messages[0]['content'] + '\n' }}"
    folder = save_tiny_model(tmp_path, template=template, merges=[("\n", "3"), ("\n", "1")])
    model = LocalModel(str(folder), "chat")
    (question,) = questions("equations", 1, count=1)
    at = question.acceptable.index("2")
    assert model.options(question)[0][at][0] in model.stops
    drawn = model.sample(question, 20_000, torch.Generator().manual_seed(0))
    low, high = wilson(drawn.count("2"), len(drawn))
    assert low <= math.exp(model.answers(question).ended[at]) <= high


def test_roles_are_found_behind_the_tokens_in_front(tmp_path):
    made = llama(add_bos_token=True, add_eos_token=True)
    model = LocalModel(save(tmp_path, made), "completion")
    (question,) = questions("equations", 1, count=1)
    told = reading(model, question)
    assert told.ids[0] == 1
    for span in question.spans.values():
        word = model.tokenizer.decode(told.ids[told.tokens(span)])
        assert word.strip() == question.prompt[slice(*span)]


def test_a_tokenizer_that_does_not_tell_where_its_tokens_stand_is_one_line(tmp_path):
    model = LocalModel(save(tmp_path, ByT5Tokenizer()), "completion")
    (question,) = questions("equations", 1, count=1)
    with pytest.raises(HeadwayError, match=r"^model = .*: it must be one with a fast tokenizer$"):
        reading(model, question)


def test_draws_of_what_the_tokenizer_lacks_are_no_answers(tmp_path):
    """A model may tell more tokens apart than the tokenizer has."""
    folder = save(tmp_path, bert(), vocab_size=4000, initializer_range=0.02)
    model = LocalModel(folder, "completion")
    (question,) = questions("equations", 1, count=1)
    drawn = model.sample(question, 50, torch.Generator().manual_seed(0))
    assert drawn.count("…") > 40
    assert all(math.isfinite(said) for said in model.answers(question).said)


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


def test_a_template_that_fails_is_one_line(tmp_path):
    folder = save(tmp_path, bert(), "{{ raise_exception('no questions') }}")
    with pytest.raises(HeadwayError, match=r"^the chat template of .* no questions$"):
        LocalModel(folder)
