"""Programs of models whose circuit and program are known."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from headway import userfile
from headway.errors import HeadwayError
from headway.programs import prelude, program
from headway.programs.expressions import Expression
from headway.programs.find import read_program
from headway.programs.forced import Forcing
from headway.programs.judged import judged
from headway.programs.sample import Sample
from headway.replace import Bench, Circuit
from headway.replace.heads import name_of
from headway.replace.mechanism import NOTHING, Paths
from headway.tasks import KINDS
from headway.training import held_out
from headway_experiments.arena.compiled import compiled

EXAMPLES = Path(__file__).parents[2] / "examples"
ModularAddition = userfile.load(EXAMPLES / "grokking.py").ModularAddition
del KINDS[ModularAddition.kind]  # other tests load the example, too

BY_HAND = [
    ("doubling", 1),
    ("doubling", 2),
    ("doubling", 3),
    ("sequential", 3),
    ("passing", 2),
]


def circuit_of(known) -> Circuit:
    layers, heads = range(known.model.n_layers), range(known.model.n_heads)
    idle = {(layer, head): NOTHING for layer in layers for head in heads}
    return Circuit.of(known.required, idle)


@pytest.mark.parametrize(("how", "depth"), BY_HAND)
def test_a_compiled_models_program_matches_follows_and_has_no_spare_line(how, depth):
    known = compiled(depth, how)
    found = program(known.model, known.task, circuit_of(known), sequences=100)
    assert found.verdict == "the model's program"
    assert found.matches >= 0.99
    heads = [name for one in found.follows for name in one.heads]
    assert sorted(heads) == sorted({name_of(path.at) for path in known.required})
    for one in found.follows:
        assert one.share is not None, one
        assert one.share >= 0.99, one
    assert not found.spare
    assert not found.program.unread
    assert f"follows {found.follows[0].heads[0]}: 1.000 of" in str(found)
    assert len(found.program.lines) <= 12


def sample_of(known, purpose: str) -> Sample:
    batch = held_out(known.task, 100, 0, "cpu", purpose)
    return Sample.of(Bench(known.model, known.task, batch, shared=False))


def test_a_program_that_takes_elsewhere_does_not_follow():
    known = compiled(2)
    read = read_program(sample_of(known, "program"), circuit_of(known), "symbols", "")
    *others, last = read.selects
    first = others[1]
    swapped = {first: last, last: first}

    def mutated(expression: Expression) -> Expression:
        if expression.form.startswith("take("):
            select, value = expression.parts
            parts = (swapped.get(select, select), value)
            return replace(expression, parts=parts)
        return expression

    hops = {hop: mutated(one) for hop, one in read.program.hops.items()}
    wrong = replace(read.program, hops=hops)
    forcing = Forcing(wrong, read.selects, sample_of(known, "fresh"), 0)
    assert not (forcing.told == forcing.own)[forcing.sample.asked].all()


def test_a_programs_file_runs_without_torch_and_gives_the_same_answers(tmp_path):
    known = compiled(2)
    found = program(known.model, known.task, circuit_of(known), sequences=40)
    fresh = sample_of(known, "file")
    file, inputs, outputs = (tmp_path / name for name in ("p.py", "x.npy", "y.npy"))
    found.save(file)
    np.save(inputs, fresh.inputs)
    check = f"import sys, runpy; sys.argv = ['p', '{inputs}', '{outputs}']; "
    check += f"runpy.run_path('{file}', run_name='__main__'); "
    check += "assert not {'torch', 'headway'} & set(sys.modules)"
    subprocess.run([sys.executable, "-I", "-c", check], check=True)
    symbols = found.program(fresh.inputs)
    told = np.load(outputs)
    width = found.program.how.width
    sequence, position, hop = np.nonzero(fresh.asked)
    places = symbols[sequence, position, hop]
    wanted = fresh.inputs[sequence, places, :width]
    assert np.array_equal(told[sequence, position, hop], wanted.astype(told.dtype))


def test_a_circuit_of_fewer_heads_is_refused():
    known = compiled(1)
    with pytest.raises(HeadwayError, match="of every head of the model"):
        program(known.model, known.task, Circuit.of(list(known.required)[:1]))


class Adder:
    """Reads `a b =` and looks at a and b alike: what it answers is their sum."""

    n_layers = n_heads = 1

    def __init__(self, p: int):
        self.p = p

    def __call__(self, inputs, tap=lambda layer, pattern: pattern):
        rows = torch.tensor([[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]])
        pattern = rows.expand(len(inputs), 1, 3, 3)
        mean = tap(0, pattern)[:, 0] @ inputs.float()[..., None]
        total = (2 * mean).round().long() % self.p
        return torch.nn.functional.one_hot(total[..., 0], self.p + 1) * 20.0


def test_a_head_that_looks_at_two_places_is_read_as_a_sum_that_follows():
    task = ModularAddition(p=7)
    model = Adder(7)
    found, fresh = (
        Sample.of(Bench(model, task, held_out(task, 100, 0, "cpu", purpose)))
        for purpose in ("program", "fresh")
    )
    circuit = Circuit({(0, 0): Paths(frozenset({"all before"}))})
    read = read_program(found, circuit, "numbers", "")
    told = judged(read, fresh, 0)
    assert "% 7" in told.program.text
    assert "(v0 + v1)" in told.program.text
    assert told.verdict == "the model's program"
    assert [one.share for one in told.follows] == [1.0, 1.0]


class Blurred:
    """A model whose upper head looks everywhere in some sequences."""

    def __init__(self, model):
        self.model = model
        self.n_layers, self.n_heads = model.n_layers, model.n_heads

    def __call__(self, inputs, tap=lambda layer, pattern: pattern):
        is_blurred = inputs[:, 0, 0] > 1

        def blurred(layer, pattern):
            visible = (pattern > 0).to(pattern.dtype)
            even = visible / visible.sum(-1, keepdim=True)
            is_even = is_blurred[:, None, None, None] & (layer == 1)
            return tap(layer, torch.where(is_even, even, pattern))

        return self.model(inputs, blurred)


def test_a_head_that_is_blurred_repairs_the_model_when_it_is_made_hard():
    known = compiled(1)
    read = read_program(sample_of(known, "program"), circuit_of(known), "symbols", "")
    blurred = replace(known, model=Blurred(known.model))
    found = judged(read, sample_of(blurred, "fresh"), 0)
    assert found.matches < 0.95
    shares = {one.heads: one.share for one in found.repairs}
    assert shares[("L1.H0",)] == 1.0
    assert shares[("L0.H0",)] < 0.5
    assert "where they part, L1.H0 made hard gives the program's answer" in str(found)


def test_no_query_sees_padding():
    tokens = np.array([[1, 2, 4, 4]])
    *_, seen = prelude.frame(tokens, ahead=True, padding=4)
    assert seen.shape == (1, 4, 4)
    assert (seen == [True, True, False, False]).all()
