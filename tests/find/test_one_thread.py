"""A model of others is called by one thread at a time: what it keeps of a pass is of
that pass.
"""

import os
import threading
import time

import pytest
import torch

from headway import discover, emergence, every_circuit
from headway.judge.verdict import verdicts
from headway.models import Transformer, TransformerConfig, tapped
from headway.replace.ablation import most_workers
from two_back import ANSWER, LENGTH, TOKENS, LooksBack, TwoBack, TwoBackTold

FEW = {"sequences": 32}


class ValueResidual(LooksBack):
    """Layer 0 leaves its values in the module; those of later layers are added to
    them.
    """

    def fill(self):
        super().fill()
        first = self.maps[0].weight.chunk(4)[2]
        last = self.maps[-1].weight.chunk(4)[2]
        first.copy_(last)
        last.zero_()

    def values(self, value, at):
        if at == 0:
            self.first = value
        return value if at == 0 else value + self.first


class Counting(LooksBack):
    """It counts its layers in an attribute, and looks up there which one is called."""

    def forward(self, tokens):
        self.at = 0
        return super().forward(tokens)

    def layer(self, x, at):
        at = self.at
        self.at += 1
        return super().layer(x, at)


class Laying(LooksBack):
    """It lays what layers give into a buffer of its own, of the batch that is read."""

    def forward(self, tokens):
        self.buffer = torch.zeros(len(tokens), LENGTH, TOKENS)
        return self.buffer + super().forward(tokens)

    def layer(self, x, at):
        x = super().layer(x, at)
        self.buffer += 0.1 * x[..., ANSWER]
        return x


class Alone(LooksBack):
    """It fails if it is called while it is called."""

    def __init__(self, *args):
        super().__init__(*args)
        self.lock = threading.Lock()

    def forward(self, tokens):
        assert self.lock.acquire(blocking=False), "two at once"
        try:
            time.sleep(0.001)
            return super().forward(tokens)
        finally:
            self.lock.release()


@pytest.mark.parametrize("make", [ValueResidual, Counting, Laying])
def test_a_module_that_keeps_something_of_a_pass_is_read_as_it_is(make):
    model = make(2).eval()
    found = discover(model, TwoBackTold(), workers=4, **FEW)
    assert [str(path) for path in found.circuit.paths] == ["L1.H0 two back"]
    assert found.intact_loss < 0.01
    assert found.faithful
    assert [one.holds for one in verdicts(found)] == [True, True, True]
    assert [trial.jaccard for trial in found.evidence.trials] == [1.0, 1.0]


def test_no_verb_calls_a_model_of_others_from_two_threads_at_once():
    model = Alone(2).eval()
    found = discover(model, TwoBackTold(), workers=4, **FEW)
    every = every_circuit(model, TwoBackTold(), found, **FEW)
    assert [list(map(str, one)) for one in every.circuits] == [["L1.H0 two back"]]
    timeline = emergence({0: model, 1: model}, found, TwoBackTold(), sequences=8)
    assert timeline.paths[0].attention == pytest.approx([1.0, 1.0], abs=1e-3)


@pytest.mark.slow
def test_nor_where_nobody_says_what_heads_may_look_at():
    found = discover(Alone(2).eval(), TwoBack(), workers=4, **FEW)
    assert [str(path) for path in found.circuit.paths] == ["L1.H0 2 back"]


def test_headways_own_model_is_called_by_as_many_as_are_asked_for():
    config = TransformerConfig(n_layers=1, d_model=16)
    own = Transformer(config, 4, 4, n_positions=5, n_read=2)
    assert most_workers(own, "cpu", 3) == 3
    assert most_workers(own, "cpu") == os.cpu_count()
    assert most_workers(own, "cuda:0", 3) == 1
    assert (
        most_workers(tapped(LooksBack(), torch.zeros(2, LENGTH).long()), "cpu", 3) == 1
    )


def test_threads_to_come_have_as_many_cores_as_before():
    before = torch.get_num_threads()
    seen = []
    torch.set_num_threads(3)
    try:
        discover(LooksBack().eval(), TwoBackTold(), trials=False, **FEW)
        one = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        one.start()
        one.join()
        assert [torch.get_num_threads(), *seen] == [3, 3]
    finally:
        torch.set_num_threads(before)
