"""Programs of models that others trained, from the circuits that were read of them."""

from pathlib import Path

import pytest

from headway import userfile
from headway.programs import program
from headway.replace import Circuit

STRANGERS = Path(__file__).parents[3] / "shared" / "strangers"
LARGER = "smallest larger token, else smallest smaller token"
CIRCUITS = {
    "unique_copy": {
        "L0.H0": ["previous token"],
        "L1.H0": ["after same token, else position 1"],
    },
    "sort": {"L0.H0": [LARGER]},
    "count": {
        "L0.H0": ["position 2"],
        "L0.H1": ["all so far"],
        "L0.H2": ["every 2 back"],
        "L0.H3": "zero",
    },
    "majority": {f"L0.H{head}": "uniform" for head in range(4)},
    "palindromes": {
        "L0.H0": ["mirror position if the same token, else own position"],
        "L0.H1": ["all so far"],
        "L1.H0": ["earliest token unlike its mirror"],
        "L1.H1": ["all so far"],
    },
    "sorted_list": {"L0.H0": ["smallest larger token"], "L0.H1": [LARGER]},
    "cumulative_sum": {"L0.H0": ["all so far"]},
}
TOKENS_ARE = {
    "sort": "ordered",
    "count": "ordered",
    "sorted_list": "ordered",
    "cumulative_sum": "numbers",
}
FOR_THE_TASK = "a program for the task, not the model's"
SAID = {
    "unique_copy": [FOR_THE_TASK, "L1H0 = otherwise(match(seen, v0, t), "],
    "sort": ["(v0 == 150), 152, v0)"],
    "count": [FOR_THE_TASK, "(t + 1)"],
    "majority": ["the model's program", "mode(L0H0, t)"],
    "palindromes": [FOR_THE_TASK],
    "sorted_list": ["the model's program", "take(L0H1, t)"],
    "cumulative_sum": ["the model's program", "total(L0H0, 5 - t)"],
}
MATCHES = {"sort": 0.9}


@pytest.fixture(scope="module")
def strangers():
    if not STRANGERS.is_dir():
        pytest.skip(f"{STRANGERS.name}: models that others trained are not here")
    return userfile.load(STRANGERS / "strangers.py")


SLOW = ("count", "unique_copy", "sort", "majority")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
        for name in CIRCUITS
    ],
)
def test_a_strangers_model_has_a_program(strangers, name):
    build, task = strangers.MODELS[name]
    circuit = Circuit.from_json(CIRCUITS[name])
    tokens_are = TOKENS_ARE.get(name, "symbols")
    found = program(build(), task, circuit, tokens_are=tokens_are, seed=5)
    assert found.matches >= MATCHES.get(name, 0.98)
    for words in SAID[name]:
        assert words in str(found)
