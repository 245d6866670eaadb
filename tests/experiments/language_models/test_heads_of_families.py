"""Heads of models that keep more of a text than keys and values are studied, or refused."""

import pytest
import torch
from families import RECURRENT, VOCAB, save
from transformers import AutoConfig, AutoModelForCausalLM, LlamaTokenizer

from headway import cli
from headway.errors import HeadwayError
from headway.language import LocalModel, questions
from headway_experiments.language_models.knockout import Trial, answers_without
from headway_experiments.language_models.study import Study, look
from headway_experiments.language_models.tap import tapped

WITH_PATTERNS = {"falcon_h1"}
"""Families whose every layer has attention, beside other parts."""


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


@pytest.mark.parametrize("name", ["bert", "electra"])
def test_what_does_not_go_on_with_texts_is_one_line(tmp_path, capsys, name):
    LlamaTokenizer(vocab=VOCAB, merges=[]).save_pretrained(tmp_path)
    sizes = {"num_attention_heads": 4, "vocab_size": len(VOCAB), "hidden_size": 32}
    config = AutoConfig.for_model(name, **sizes)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main(
            ["heads", "--model", str(tmp_path), "--n", "16", "--folder", str(tmp_path / "out")]
        )
    assert stop.value.code == 2
    (complaint,) = capsys.readouterr().err.strip().splitlines()
    assert "does not read from left to right" in complaint
    assert not (tmp_path / "out").exists()
