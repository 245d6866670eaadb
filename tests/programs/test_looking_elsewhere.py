"""Heads that are made to look elsewhere, in models whose answers are known."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from headway import Batch, Task
from headway.programs import prelude
from headway.programs.elsewhere import Elsewhere
from headway.programs.expressions import TOKEN, Expression, Input
from headway.programs.find import read_program
from headway.programs.judged import judged
from headway.programs.printed import Program
from headway.programs.sample import Sample
from headway.replace import Bench, Circuit
from headway.replace.mechanism import Paths
from headway.tasks import KINDS
from headway.training import held_out

SYMBOLS, LENGTH = 6, 8


@dataclass(frozen=True)
class Alternate(Task):
    """Reads `a b a b a b a b`; the answers at the last two are their predecessors."""

    roles = ("query",)

    @property
    def vocabulary(self):
        return SYMBOLS

    def draw(self, count, generator):
        noise = torch.rand(count, SYMBOLS, generator=generator)
        return (noise.argsort(1)[:, :2],)

    def assemble(self, draws):
        (drawn,) = draws
        tokens = drawn.repeat(1, LENGTH // drawn.shape[1])
        queries = torch.arange(LENGTH - 2, LENGTH)
        roles = queries.expand(len(tokens), 1, 2)
        return Batch(tokens, tokens[:, -3:-1, None], roles)


@dataclass(frozen=True)
class Anything(Alternate):
    """Reads any tokens."""

    def draw(self, count, generator):
        return (torch.randint(SYMBOLS, (count, LENGTH), generator=generator),)


for task in (Alternate, Anything):
    del KINDS[task.kind]


class Votes:
    """Heads that look so many places back, one vote each, for the token there.

    Attributes:
        beside: the attention that falls on the first position.
    """

    n_layers = 1

    def __init__(self, *backs: int, beside: float = 0.0):
        self.backs, self.beside = backs, beside
        self.n_heads = len(backs)

    def __call__(self, inputs, tap=lambda layer, pattern: pattern):
        rows = torch.zeros(len(inputs), self.n_heads, LENGTH, LENGTH)
        for head, back in enumerate(self.backs):
            for query in range(LENGTH):
                rows[:, head, query, max(query - back, 0)] += 1 - self.beside
                rows[:, head, query, 0] += self.beside
        symbols = torch.nn.functional.one_hot(inputs, SYMBOLS).float()
        return (tap(0, rows) @ symbols[:, None]).sum(1)[:, -2:] * 20


def sample_of(model, purpose: str = "program", task: Task | None = None) -> Sample:
    task = task or Alternate()
    batch = held_out(task, 60, 0, "cpu", purpose)
    return Sample.of(Bench(model, task, batch))


def circuit_of(model: Votes) -> Circuit:
    words = ["previous token" if back == 1 else f"{back} back" for back in model.backs]
    heads = enumerate(words)
    return Circuit({(0, head): Paths(frozenset({word})) for head, word in heads})


def groups_of(model: Votes) -> list[list[str]]:
    sample = sample_of(model)
    read = read_program(sample, circuit_of(model), "symbols", "")
    groups = Elsewhere(read.selects, sample, 0).groups
    return [[name for select in group for name in select.heads] for group in groups]


def test_heads_of_which_none_decides_alone_look_elsewhere_together():
    assert groups_of(Votes(1, 3, 5)) == [["L0.H0", "L0.H1"], ["L0.H2"]]


def test_a_head_that_decides_alone_looks_elsewhere_alone():
    assert groups_of(Votes(1)) == [["L0.H0"]]


def test_a_program_of_redundant_heads_is_the_models():
    model = Votes(1, 3, 5)
    read = read_program(sample_of(model), circuit_of(model), "symbols", "")
    found = judged(read, sample_of(model, "fresh"), 0)
    assert found.verdict == "the model's program"
    together, third = found.follows
    assert together.heads == ("L0.H0", "L0.H1")
    assert together.share == 1.0
    assert third.share is None
    assert third.forced >= 20
    assert "follows L0.H2: hardly an answer moves (0)" in str(found)


def test_a_head_of_one_key_attends_to_nothing_beside_it():
    model = Votes(1, beside=0.4)
    sample = sample_of(model)
    read = read_program(sample, circuit_of(model), "symbols", "")
    elsewhere = Elsewhere(read.selects, sample, 0)
    (moved,) = elsewhere.moved(read.selects, 1)
    where = torch.from_numpy(moved.where)
    rows = moved.rows[0, 0][where]
    assert len(rows) > 0
    most = rows.max(-1).values
    assert most.eq(1).all()


def test_a_head_of_several_keys_takes_the_attention_of_another_query():
    sample = sample_of(Votes(2, beside=0.25))
    everything = Paths(frozenset({"all so far"}))
    circuit = Circuit({(0, 0): everything})
    read = read_program(sample, circuit, "symbols", "")
    elsewhere = Elsewhere(read.selects, sample, 0)
    (moved,) = elsewhere.moved(read.selects, 1)
    own = sample.bench.patterns.own[:, 0, 0]
    rows = moved.rows[0, 0]
    sequences, queries = np.nonzero(moved.where)
    assert len(queries) > 0
    for sequence, query in zip(sequences, queries, strict=True):
        others = [other for other in range(LENGTH) if other != query]
        assert any(rows[sequence, query].equal(own[sequence, at]) for at in others)


def test_redundant_heads_made_hard_attend_to_what_each_of_their_own_selects_says():
    sample = sample_of(Votes(1, 3, 5, beside=0.4))
    read = read_program(sample, circuit_of(Votes(1, 3, 5)), "symbols", "")
    elsewhere = Elsewhere(read.selects, sample, 0)
    together, _ = elsewhere.groups
    assert len(together) == 2
    hard = elsewhere.hard(together)
    last = LENGTH - 1
    assert hard.where[:, last].all()
    for back, rows in zip((1, 3), hard.rows.values(), strict=True):
        places = rows.argmax(2)
        assert set(places[:, last].tolist()) == {last - back}


def test_neighbours_swap_their_keys_and_those_that_look_at_themselves_do_not():
    sample = sample_of(Votes(1))
    form = "(seen & (j == i - i % 2))"
    select = Expression(form, "select", (), 1.0, ("L0.H0",))
    swapped, _ = Elsewhere([select], sample, 0).in_both_ways([select])
    swap = swapped.where.any(1)  # the query that is asked has a role of its own
    assert swap.mean() > 0.5
    keys = swapped.keys[select].argmax(2)
    for queries, of_sequence in zip(swapped.where[swap], keys[swap], strict=True):
        first, second = np.nonzero(queries)[0]
        assert first % 2 == 1
        assert second == first + 2
        assert of_sequence[[first, second]].tolist() == [second - 1, first - 1]


def test_a_condition_holds_at_no_key_where_there_is_none():
    select = np.array([[[False, False], [True, False]]])
    holds = prelude.holds(select, np.array([[True, False]]))
    assert holds.dtype == bool
    assert holds.tolist() == [[False, True]]


@pytest.mark.parametrize(
    ("hops", "names"),
    [
        (["(", ")"], ["hop_0", "hop_1"]),
        (["a b", "a-b"], ["a_b", "hop_1"]),
        (["t", "if", "take"], ["hop_t", "hop_if", "hop_take"]),
        (["1", "s1"], ["hop_1", "s1"]),
    ],
)
def test_every_hop_has_a_name_of_its_own_in_a_programs_file(hops, names):
    made = Program("", Input(), dict.fromkeys(hops, TOKEN), {})
    assert made.names == names
    assert f"np.broadcast_arrays({', '.join(names)}, t)" in made.source
    compile(made.source, "program", "exec")
