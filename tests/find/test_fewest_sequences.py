"""The fewest sequences are told, and asked for before any model is loaded."""

import re
from functools import partial

import pytest

import array_checks
from commands import refused
from headway.dynamics import emergence
from headway.errors import HeadwayError
from headway.find import discover, every_circuit
from headway.judge import certify
from headway.tasks import Retrieval

FEWEST = {discover: 8, every_circuit: 8, certify: 299, emergence: 1}


class NeverCalled:
    """A model that must not be called, nor asked for its layers."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} of the model was asked for")


@pytest.mark.parametrize("function", FEWEST)
def test_the_fewest_sequences_are_told(function):
    said = " ".join(function.__doc__.split())
    about = said[said.index("sequences: how many") :]
    assert "at least" in about[:160]
    assert f" {FEWEST[function]}" in about[:160]


@pytest.mark.parametrize("function", FEWEST)
def test_too_few_sequences_are_refused_before_a_model_is_asked_anything(function):
    array_checks.check(False)  # as where nobody tests
    model = NeverCalled()
    task = Retrieval()
    count = FEWEST[function] - 1
    given = (partial(function, "no run"), partial(function, model, task=task))
    if function is emergence:
        given = (partial(function, "no run"), partial(function, {0: model}, task=task))
    for called in given:
        with pytest.raises(
            HeadwayError, match=f"^sequences = {count} is not allowed"
        ) as refusal:
            called(sequences=count)
        assert re.search(rf"(from|at least) {FEWEST[function]}\b", str(refusal.value))


@pytest.mark.parametrize(
    ("words", "fewest"),
    [
        (("circuit", "--sequences", 7), 8),
        (("circuit", "--all", "--sequences", 7), 8),
        (("circuit", "--certify", "--sequences", 298), 299),
        (("circuit", "--certify", "--agreement", 0.9, "--sequences", 28), 29),
        (("circuit", "--sequences", 10**9), 8),
    ],
)
def test_the_command_line_refuses_them_before_it_opens_a_run(words, fewest, tmp_path):
    (tmp_path / "config.json").write_text("no config")
    verb, *options = words
    said = refused(verb, tmp_path, *options)
    assert re.search(rf"sequences = .*(from|at least) {fewest}\b", said)
