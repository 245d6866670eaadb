"""What to do next, as data: one line for the shell, one of Python."""

import shlex
from dataclasses import replace

import pytest

from headway import discover
from headway.judge import verdicts
from headway.judge.by_exchange import LIMIT, Cost
from headway.judge.text import of_discovery
from headway.judge.verdict import Next
from headway.relations.paths import AttentionPath
from headway_experiments.arena import compiled

PATH = AttentionPath.parse("L1.H0 s0←s2")
WITHOUT = "headway.discover(model, task, circuit=found.circuit.without('L1.H0 s0←s2'))"


@pytest.mark.parametrize(
    ("step", "shell", "python"),
    [
        (
            Next("circuit", {"sequences": 64}),
            "headway circuit runs/a --sequences 64",
            "headway.discover(model, task, sequences=64)",
        ),
        (
            Next("circuit", {"threshold": 0.1, "ablation": "own"}),
            "headway circuit runs/a --threshold 0.1 --ablation own",
            "headway.discover(model, task, threshold=0.1, ablation='own')",
        ),
        (
            Next("circuit", {"circuit": "RUN/circuit_given.json"}),
            "headway circuit runs/a --circuit runs/a/circuit_given.json",
            "headway.discover(model, task, circuit=found.circuit)",
        ),
        (
            Next("circuit", {"circuit": "my files/RUN.json", "step": 200}),
            "headway circuit runs/a --circuit 'my files/RUN.json' --step 200",
            "headway.discover(model, task, circuit=found.circuit)",
        ),
        (Next("circuit", without=PATH), WITHOUT, WITHOUT),
        (
            Next("report", look=(1, 0)),
            "headway report runs/a  # Look inside, L1.H0",
            None,
        ),
    ],
)
def test_a_step_is_written_for_the_shell_and_in_python(step, shell, python):
    assert step.in_shell("runs/a") == shell
    assert step.in_python() == python


@pytest.mark.parametrize("folder", ["my runs/a", "it's", "$HOME"])
def test_a_folder_of_any_name_stays_one_word(folder):
    given = Next("circuit", {"circuit": "RUN/circuit_given.json"}).in_shell(folder)
    words = ["headway", "circuit", folder, "--circuit", f"{folder}/circuit_given.json"]
    assert shlex.split(given) == words
    look = Next("report", look=(0, 1)).in_shell(folder)
    assert shlex.split(look, comments=True) == ["headway", "report", folder]


def test_a_discovery_of_another_checkpoint_stays_with_it():
    known = compiled(1)
    found = discover(known.model, known.task, sequences=16, trials=False, workers=1)
    costly = Cost(0.03, 0.2, LIMIT, 0.0)
    judgement = replace(found.evidence.judgement, enough={"all else exchanged": costly})
    unharmed = dict.fromkeys(found.evidence.alone, 0.0)
    evidence = replace(found.evidence, judgement=judgement, alone=unharmed)
    found = replace(found, evidence=evidence, asked={"step": 200, "sequences": 16})
    told = "headway circuit 'my runs/a' --step 200 --sequences 64"
    assert verdicts(found)[0].next.in_shell("my runs/a") == told
    assert told in " ".join(of_discovery(found, "my runs/a").split())
    assert "next: headway.discover(model, task, sequences=64)" in str(found)
