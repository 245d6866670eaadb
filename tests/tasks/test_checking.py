"""A user's task that does not keep its word is told so, in one line that names the
attribute.
"""

import json

import pytest
from wrong_tasks import GOOD, WRONG

from commands import python
from headway.tasks import KINDS, check_task
from headway_experiments import tasks
from headway_experiments.arena import Labelled

PROGRAM = """
import json, sys
from headway import check_task
from headway.tasks import KINDS
from headway.userfile import load
told = {}
for name, file in json.load(sys.stdin).items():
    KINDS.pop("pairs", None)
    load(file)
    found = check_task(KINDS["pairs"])
    told[name] = [f"{'doubt' if one.doubt else 'error'} {one}" for one in found]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict[str, list[str]]:
    """The words on every task, as users meet it: without the shape checks of the test
    suite.
    """
    folder = tmp_path_factory.mktemp("tasks")
    files = {}
    for i, (name, changes) in enumerate({"good": (), **WRONG}.items()):
        text = GOOD
        for old, new in changes:
            assert old in text, name
            text = text.replace(old, new)
        file = folder / f"task_{i}.py"
        file.write_text(text)
        files[name] = str(file)
    return json.loads(python(PROGRAM, input=json.dumps(files)))


def test_nothing_is_wrong_with_a_task_that_keeps_its_word(told):
    assert told["good"] == []


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_told_with_its_attribute(told, words):
    assert any(line.startswith(words) for line in told[words]), told[words]
    for line in told[words]:
        assert "\n" not in line


def test_what_is_raised_is_told_with_its_line(told):
    line = 1 + GOOD[: GOOD.index("device = generator.device")].count("\n")
    (raised,) = (
        lines for words, lines in told.items() if "it raised AttributeError" in words
    )
    assert raised[0].endswith(f", line {line}")


OURS = [cls for cls in KINDS.values() if cls.__module__.startswith("headway.")]
EXPERIMENTS = [getattr(tasks, name) for name in tasks.__all__]


@pytest.mark.parametrize("cls", [*OURS, *EXPERIMENTS])
def test_our_own_tasks_keep_their_word(cls):
    assert not [str(one) for one in check_task(cls()) if not one.doubt]


def test_a_task_is_tried_with_its_own_fields():
    assert check_task(Labelled(depth=1, n_chains=2)) == []
    (told,) = check_task(Labelled(depth=1, n_chains=1))
    assert "the answer to x_1 is the vector at position 1 in 100% of" in told.what


def test_a_constant_is_told_of_a_class_that_annotates_nothing():
    constant = type("More", (Labelled,), {"n_more": 3}, registered=False)
    assert "n_more: it has no type" in " ".join(map(str, check_task(constant(depth=1))))
