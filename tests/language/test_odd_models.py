"""Models that answer with no numbers are refused; models' names are whole."""

import math
from pathlib import Path

import pytest
import torch
from test_asking import asked
from tiny_model import save_tiny_model

from headway.errors import HeadwayError
from headway.language import LocalModel, ask, place_of, short_name


def test_answers_that_are_not_finite_are_refused_before_anything_is_written(tmp_path):
    model = LocalModel(str(save_tiny_model(tmp_path)))
    next(model.model.parameters()).data.fill_(torch.nan)
    place = tmp_path / "out"
    with pytest.raises(HeadwayError, match=r"^the model answers with values that are not finite"):
        ask(asked(tmp_path), model, place)
    assert not place.exists()
    ledger = asked(tmp_path).ledger(place)
    with ledger.writing("cpu"):
        ledger.add({"fine": 1.0})
        for value in (math.nan, -math.inf):
            with pytest.raises(HeadwayError, match="not finite"):
                ledger.add({"said": [0.0, value]})
        assert ledger.lines() == [{"fine": 1.0}]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("smollm2", "smollm2"),
        ("models/tiny-2.5-0B", "tiny-2.5-0B"),
        ("models/tiny-2.5-0B/", "tiny-2.5-0B"),
        ("models/Tiny-2.5.Q4_1.gguf", "Tiny-2.5.Q4_1"),
    ],
)
def test_a_models_name_is_not_cut_at_a_dot(model, name):
    assert short_name(model) == name
    assert place_of("ask", model, None) == Path(f"runs/ask-{name}")
