"""A folder with a model of somebody's is data: no program in it runs."""

import json

import pytest
from tiny_model import save_tiny_model

from headway.errors import HeadwayError
from headway.language.local import LocalModel

EVIL = """
from pathlib import Path
Path(__file__).with_name("ran").write_text("")
Path({mark!r}).write_text("")
from transformers import GPT2Config as Config, GPT2LMHeadModel as Model
"""


def test_the_python_of_a_models_folder_is_not_run(tmp_path, monkeypatch):
    folder, mark = tmp_path / "model", tmp_path / "ran"
    folder.mkdir()
    save_tiny_model(folder)
    (folder / "evil.py").write_text(EVIL.format(mark=str(mark)))
    config = json.loads((folder / "config.json").read_text())
    auto = {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"}
    (folder / "config.json").write_text(
        json.dumps({**config, "model_type": "evil", "auto_map": auto})
    )
    asked = []
    monkeypatch.setattr("builtins.input", lambda *words: asked.append(words) or "y")
    with pytest.raises(HeadwayError, match="cannot be loaded"):
        LocalModel(str(folder))
    assert not asked
    assert not mark.exists()


def test_pickled_weights_are_not_loaded(tmp_path):
    save_tiny_model(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(HeadwayError, match="cannot be loaded"):
        LocalModel(str(tmp_path))
