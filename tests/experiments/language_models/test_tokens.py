"""Words of a question are found among the tokens of any tokenizer."""

import pytest
from odd_tokenizers import ACROSS, llama, save
from tiny_model import save_tiny_model
from transformers import ByT5Tokenizer

from headway.errors import HeadwayError
from headway.language import LocalModel, questions
from headway_experiments.language_models.knockout import Trial, answers_without
from headway_experiments.language_models.tokens import reading


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


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_where_answers_change_the_prompts_last_token_the_prompt_ends_before_it(tmp_path, form):
    model = LocalModel(str(save_tiny_model(tmp_path, merges=ACROSS[form])), form)
    (question,) = questions("equations", 1, count=1)
    before = model.tokenizer(model.text(question.prompt))["input_ids"]
    exact = model.answers(question)
    (intact,) = answers_without(model, question, [Trial("none", 0, frozenset())])
    assert intact.said == pytest.approx(exact.said, abs=1e-4)
    told = reading(model, question)
    assert told.ids.tolist() == before[:-1]
    assert len(told.spans) == len(told.ids)
