"""Texts to go on with are the tokens of running text."""

import pytest
from odd_tokenizers import llama, said_in_full, save
from tiny_texts import TEXTS

from headway.language import LocalModel
from headway_experiments.truncation.odds import Completer


def test_texts_to_go_on_with_have_nothing_behind_them_either(tmp_path):
    made = llama(add_bos_token=True, add_eos_token=True)
    model = LocalModel(save(tmp_path, made), "completion")
    text = TEXTS[0]
    (odds,) = Completer(model, [text])()
    ids = [made(text.after(told))["input_ids"][:-1] for told in ("", text.answer)]
    start = len(ids[0]) - 1  # the space that `after` puts there
    assert ids[1][:start] == ids[0][:start]
    assert odds.answer_whole == pytest.approx(said_in_full(model, ids[1], start), abs=1e-4)
