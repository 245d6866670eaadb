"""Programs of models whose circuit and program are known."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from headway.errors import HeadwayError
from headway.programs import program
from headway.programs.expressions import Expression
from headway.programs.find import read_program
from headway.programs.forced import Forcing
from headway.programs.sample import Sample
from headway.replace import Bench, Circuit
from headway.replace.heads import name_of
from headway.replace.mechanism import NOTHING
from headway.training import held_out
from headway_experiments.arena.compiled import compiled

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
