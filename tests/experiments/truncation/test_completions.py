"""Texts to go on with: how likely a model finds their answers, and the files they come
from.
"""

import pytest
import torch
from odd_tokenizers import llama, said_in_full
from tiny_model import save_model, save_tiny_model
from tiny_texts import TEXTS, write

from commands import refused
from headway.errors import HeadwayError
from headway_experiments.language import LocalModel, common_start
from headway_experiments.truncation.models import Completer
from headway_experiments.truncation.texts import (
    KINDS,
    Completion,
    completions,
    read_completions,
)


def test_the_odds_are_those_of_whole_texts(model):
    """Text by text, without filling up, against the model's own loss."""
    found = Completer(model, TEXTS)()
    for text, odds in zip(TEXTS, found, strict=True):
        start = len(model.tokenizer(text.prompt)["input_ids"])
        answer = model.tokenizer(text.after(text.answer))["input_ids"]
        generic = model.tokenizer(text.after(text.generic))["input_ids"]
        differ = next(i for i in range(start, 99) if answer[i] != generic[i])
        for way, token in ((answer, odds.answer), (generic, odds.generic)):
            with torch.no_grad():
                logits = model.model(torch.tensor([way])).logits[0]
            log_p = logits[differ - 1].log_softmax(-1)
            assert token == pytest.approx(log_p[way[differ]].item(), abs=1e-4)
            assert odds.top == pytest.approx(log_p.max().item(), abs=1e-4)


def test_texts_to_go_on_with_have_nothing_behind_them(tmp_path):
    made = llama(add_bos_token=True, add_eos_token=True)
    model = LocalModel(save_model(tmp_path, made), "completion")
    (odds,) = Completer(model, TEXTS[:1])()
    one = made(TEXTS[0].after(TEXTS[0].answer))["input_ids"]
    other = made(TEXTS[0].after(TEXTS[0].generic))["input_ids"]
    start = common_start([one, other])
    in_full = said_in_full(model, one[: start + 1], start)
    assert odds.answer == pytest.approx(in_full, abs=1e-4)


def test_words_go_where_a_space_belongs():
    assert TEXTS[0].after("Spain") == "Madrid is located in Spain"
    assert TEXTS[2].after("the") == "Lima is the"
    assert TEXTS[5].after(" 4") == "It is 4"


def test_there_are_enough_texts_of_every_kind_and_none_answers_itself():
    for kind in KINDS:
        texts = completions((kind,))
        assert len(texts) == len({text.prompt for text in texts}) >= 20
        assert {text.kind for text in texts} == {kind}
    for text in completions(("places", "capitals")):
        assert text.answer not in text.prompt
    for text in completions(("fictional", "moved", "names")):
        assert text.answer in text.prompt
    for text in completions(("moved",)):
        assert text.generic not in text.prompt
    assert completions(("all",)) == completions(KINDS)


def test_a_file_of_ones_own(tmp_path):
    path = write(
        tmp_path / "mine.jsonl",
        '{"prompt": "Oslo is in", "answer": "Norway", "generic": "the"}',
        "",
        '{"prompt": "Bonn is in", "answer": "Germany", "generic": "the", "kind": '
        '"towns", "n": 1}',
    )
    oslo, bonn = completions((str(path),))
    assert oslo == Completion("mine", "Oslo is in", "Norway", "the")
    assert bonn == Completion("towns", "Bonn is in", "Germany", "the")


GOOD = '{"prompt": "Oslo is in", "answer": "Norway", "generic": "the"}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is not valid JSON: "),
        ("[1]", "line 2 = [1] is not allowed: it must be an object"),
        ('{"prompt": "a", "answer": "b"}', "line 2: generic is missing"),
        ('{"answer": "b", "generic": "c"}', "line 2: prompt is missing"),
        (
            '{"prompt": "a", "answer": 3, "generic": "c"}',
            "line 2: answer = 3 is not allowed",
        ),
        (
            '{"prompt": " ", "answer": "b", "generic": "c"}',
            "line 2: prompt = ' ' is not allowed",
        ),
        (
            '{"prompt": "a", "answer": "b", "generic": "c", "kind": 1}',
            "line 2: kind = 1 is not al",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(tmp_path, line, said, folder):
    path = write(tmp_path / "mine.jsonl", GOOD, line)
    assert f"{path}, {said}" in refused(
        "truncate", "--model", folder, "--prompts", path
    )


def test_files_without_texts_are_refused(tmp_path):
    with pytest.raises(HeadwayError, match="it must be a file with at least one line"):
        read_completions(write(tmp_path / "empty.jsonl", "", " "))
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(HeadwayError, match=r"bytes\.jsonl, line 1 is not valid JSON"):
        read_completions(tmp_path / "bytes.jsonl")


def test_a_text_that_does_not_fit_is_told(tmp_path):
    model = LocalModel(str(save_tiny_model(tmp_path, positions=24)), "completion")
    with pytest.raises(
        HeadwayError, match=r"^a text of 26 tokens, 'Madrid is .*into the 24 of"
    ):
        Completer(model, TEXTS)


def test_answers_that_are_one_are_told(model):
    with pytest.raises(
        HeadwayError, match=r"^the tokens of .* do not tell 'b' from ' b'"
    ):
        Completer(model, [Completion("one", "a", "b", " b")])
