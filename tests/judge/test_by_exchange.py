from dataclasses import dataclass

import pytest
import torch

from headway.judge.by_exchange import judge
from headway.judge.evidence import judged
from headway.relations.edges import Edges
from headway.relations.paths import AttentionPath
from headway.replace import Circuit
from headway.replace.exchange import Exchange
from headway.replace.mechanism import Mean, Tabled
from headway.replace.partners import partners
from headway.replace.subject import studied
from headway.tasks import Batch, Task, Tokens
from headway_experiments.arena import compiled, planted
from known_circuits import along
from sampling import seeded


def exchange_of(known, count=64):
    given = partners(known.task, count, seeded(77))
    return Exchange.among(known.model, known.task, given)


@pytest.fixture(scope="module")
def two_hops():
    known = compiled(2)
    return exchange_of(known), Circuit.of(sorted(known.required))


def named(head):
    layer, number = head
    return f"L{layer}.H{number}"


def test_the_circuit_of_a_compiled_model_has_three_yeses(two_hops):
    exchange, right = two_hops
    judged = judge(exchange, right)
    assert judged.broken == {}
    assert {*judged.paths} == {*right.paths}
    assert judged.passes < 40


@pytest.mark.parametrize("seed", [6100, 6101])
def test_the_circuit_of_a_planted_model_has_three_yeses(seed):
    known = planted(seed)
    options = (group[0] for group in known.alternatives)
    right = Circuit.of(sorted(known.required.union(*options)))
    assert judge(exchange_of(known), right).broken == {}


def test_a_circuit_without_one_of_its_paths_is_not_complete(two_hops):
    exchange, right = two_hops
    for path in right.paths:
        broken = judge(exchange, right.without(path)).broken
        assert "complete" in broken or "enough" in broken, path


def test_a_spare_path_is_named(two_hops):
    exchange, right = two_hops
    names = exchange.patterns.used_as("path")
    for head in right.useful_heads:
        more = [AttentionPath.of(*head, name) for name in names]
        spare = next(path for path in more if path not in right.paths)
        broken = judge(exchange, right.adding(spare)).broken
        assert broken["nothing spare"] == [str(spare)]


def test_a_needed_head_by_its_mean_is_named(two_hops):
    exchange, right = two_hops
    top = right.useful_heads[-1]
    broken = judge(exchange, right.replacing(top, Mean())).broken
    assert broken["complete"] == [named(top)]


def test_a_head_that_attends_by_place_may_be_said_to(two_hops):
    """The first head reads the token before, wherever roles stand."""
    exchange, right = two_hops
    first = right.useful_heads[0]
    stated = judge(exchange, right.replacing(first, Mean()))
    assert stated.heads[0].role == "by place"
    assert {"enough", "complete"}.isdisjoint(stated.broken)
    silent = judge(exchange, right.replacing(first, along()))
    assert silent.broken["complete"] == [named(first)]


def distances(length):
    """How far behind every query every key is."""
    place = torch.arange(length)
    return place[:, None] - place


class Backward(torch.nn.Module):
    """Heads that all look two back; of those that write, any alone puts out the right
    token.
    """

    def __init__(self, n_heads=2, n_writing=2, distance=2):
        super().__init__()
        self.distance = distance
        self.writes = torch.arange(n_heads) < n_writing

    def forward(self, tokens):
        back = distances(tokens.shape[1])
        scores = torch.where(back == self.distance, 20.0, 0.0)
        scores = scores.masked_fill(back < 0, -torch.inf)
        several = scores.expand(len(tokens), len(self.writes), -1, -1)
        values = torch.nn.functional.one_hot(tokens, 6).float()
        read = several.softmax(-1) @ values[:, None]
        return 20 * torch.einsum("bhqv,h->bqv", read, self.writes.float())


@dataclass(frozen=True)
class TwoBack(Task, registered=False):
    """Random tokens; the answer is the token two back."""

    vocabulary = 6

    def draw(self, count, generator):
        return (torch.randint(6, (count, 10), generator=generator),)

    def assemble(self, draws):
        (tokens,) = draws
        return Batch(tokens, tokens[:, :-2, None])


@dataclass(frozen=True)
class LateTwoBack(TwoBack, registered=False):
    """The same, with a relation that only the last positions have."""

    def relations(self, batch):
        count, length = batch.inputs.shape
        is_two_back = distances(length) == 2
        is_two_back[:6] = False
        return {"late": Edges.where(is_two_back.expand(count, -1, -1))}


def backward(task, **sizes):
    given = partners(task, 64, seeded(77))
    return Exchange.among(Backward(**sizes).eval(), task, given)


def test_the_shape_of_a_head_shows_when_its_twin_is_exchanged():
    exchange = backward(TwoBack())
    first = AttentionPath.of(0, 0, "2 back")
    second = AttentionPath.of(0, 1, "2 back")
    wide = AttentionPath.of(0, 1, "all so far")
    right = judge(exchange, Circuit.of([first, second]))
    assert right.broken == {}
    wrong = judge(exchange, Circuit.of([first, wide]))
    assert wrong.broken == {"enough": ["L0.H1 hard while L0.H0 is exchanged"]}


ONE_HEAD = Circuit.of([AttentionPath.of(0, 0, "2 back")])


def test_idle_heads_of_a_layer_are_exchanged_at_once():
    exchange = backward(TwoBack(), n_heads=24, n_writing=1)
    judged = judge(exchange, ONE_HEAD)
    assert judged.broken == {}
    assert {one.role for one in judged.heads} == {"not needed"}
    assert len(judged.heads) == 23
    assert judged.passes < 12


def test_a_head_that_votes_is_found_among_idle_ones_of_its_layer():
    exchange = backward(TwoBack(), n_heads=6, n_writing=2)
    judged = judge(exchange, ONE_HEAD)
    assert judged.broken["complete"] == ["L0.H1"]


LATE = Circuit.of([AttentionPath.of(0, 0, "late")])


@pytest.mark.parametrize("rows", ["mean", "uniform"])
def test_rows_without_a_path_may_be_said_to_be_by_place(rows):
    exchange = backward(LateTwoBack(), n_heads=1, n_writing=1)
    broken = judge(exchange, LATE).broken
    assert broken["complete"] == ["L0.H0, rows without a path"]
    assert judge(exchange, LATE.filled(rows)).broken == {}


@pytest.mark.parametrize(
    ("rows", "says_by_place"),
    [("mean", True), ("uniform", True), ("own", False), ("zero", False)],
)
def test_an_ablation_says_the_same_of_all_heads(rows, says_by_place):
    model = Backward(n_heads=1, n_writing=1).eval()
    with studied(model, LateTwoBack(), seed=0) as subject:
        sequences = subject.sequences(32, "certificate")
        judgement, _ = judged(subject, LATE, subject.bench(sequences, rows))
    assert ("complete" not in judgement.broken) == says_by_place


@dataclass(frozen=True)
class MostlyStill(TwoBack, registered=False):
    """All tokens but the first are the same."""

    def draw(self, count, generator):
        tokens = torch.zeros(count, 10, dtype=torch.long)
        tokens[:, :1] = torch.randint(6, (count, 1), generator=generator)
        return (tokens,)


def test_answers_that_no_exchange_changes_do_not_dilute_a_cost():
    """Of the answers from the second position on most do not vary; one does."""
    exchange = backward(MostlyStill(), n_heads=1, n_writing=1)
    judged = judge(exchange, Circuit({}))
    assert judged.enough["all else exchanged"].changed == pytest.approx(1.0)


class Length(torch.nn.Module):
    """A head that attends evenly; its mark of the first position tells how long a
    sequence is.
    """

    def forward(self, tokens):
        count, length = tokens.shape
        is_padding = tokens == Tailed.PAD
        scores = torch.zeros(count, 1, length, length)
        scores.masked_fill_(is_padding[:, None, None], -torch.inf)
        pattern = scores.softmax(-1)
        values = torch.zeros(count, length, 2)
        values[:, 0, 0] = 1.0
        values[..., 1] = tokens
        read = pattern[:, 0] @ values
        share_of_first, told = read.split(1, 2)
        its_length = 1 / share_of_first.clamp(min=0.1)
        return told - 4 * (its_length - Tailed.LENGTHS).square()


@dataclass(frozen=True)
class Tailed(Task, registered=False):
    """Some tokens, then padding; the answer everywhere is how many there are."""

    PAD = 5
    LONGEST = 8
    LENGTHS = torch.arange(LONGEST + 1)
    vocabulary = 6

    @property
    def targets(self):
        return Tokens(self.LONGEST + 1)

    def draw(self, count, generator):
        lengths = torch.randint(4, self.LONGEST + 1, (count, 1), generator=generator)
        tokens = torch.randint(5, (count, self.LONGEST), generator=generator)
        return lengths, tokens

    def assemble(self, draws):
        lengths, tokens = draws
        is_there = torch.arange(self.LONGEST) < lengths
        answers = lengths.expand(-1, self.LONGEST)[:, -1:, None]
        return Batch(tokens.where(is_there, self.PAD), answers)


def test_a_head_that_tells_of_the_layout_is_not_the_same_in_all_sequences():
    """Partners are as long, and so an exchange with them shows nothing."""
    task = Tailed()
    given = partners(task, 64, seeded(77))
    exchange = Exchange.among(Length().eval(), task, given)
    judged = judge(exchange, Circuit({}))
    assert judged.heads[0].role == "votes too"


def test_a_table_is_judged_as_it_tells():
    exchange = backward(TwoBack(), n_heads=1, n_writing=1)
    judged = judge(exchange, Circuit({(0, 0): Tabled()}))
    assert judged.broken == {}
    assert {*judged.tables} == {(0, 0)}


def test_a_table_that_tells_of_something_else_is_not_enough():
    exchange = backward(TwoBack(), n_heads=1, n_writing=1)
    one_back = backward(TwoBack(), n_heads=1, n_writing=1, distance=1)
    tables = one_back.patterns.tables
    judged = judge(exchange, Circuit({(0, 0): Tabled(tables)}))
    assert judged.broken == {"enough": ["all else exchanged and tables hard"]}


def test_a_head_by_table_that_is_not_needed_is_spare():
    exchange = backward(TwoBack(), n_heads=2, n_writing=1)
    both = dict.fromkeys([(0, 0), (0, 1)], Tabled())
    judged = judge(exchange, Circuit(both))
    assert judged.broken == {"nothing spare": ["L0.H1"]}


def test_two_tables_on_the_same_sequences_are_judged_apart():
    two_back = backward(TwoBack(), n_heads=1, n_writing=1)
    one_back = backward(TwoBack(), n_heads=1, n_writing=1, distance=1)
    own = Tabled(two_back.patterns.tables)
    others = Tabled(one_back.patterns.tables)
    right = judge(two_back, Circuit({(0, 0): own}))
    wrong = judge(two_back, Circuit({(0, 0): others}))
    assert right.broken == {}
    assert "enough" in wrong.broken
