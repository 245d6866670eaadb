"""Heads of models of which nobody says what they may look at."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from causal import causal_softmax
from headway import Batch, HeadwayError, Task, discover, emergence, userfile
from headway.find import blind, candidates_among
from headway.find.blind import read
from headway.judge import Discovery
from headway.judge.looks import looks, of_looks
from headway.models import attention_patterns
from headway.relations import Composed, Related
from headway.relations.shares import split_of
from headway.relations.tables import Tables
from headway.replace import Bench, Circuit, Mean, Paths
from headway.replace.heads import name_of
from headway.replace.patterns import Patterns
from headway.training import held_out

FIRST, BACK = torch.eye(9)[0].expand(9, 9), torch.eye(9).roll(1, 0)
STRANGERS = Path(__file__).parents[3] / "shared" / "strangers"


class Line(torch.nn.Module):
    """A model of one layer that adds what stands where its attention is fixed to
    lie.
    """

    n_layers = 1

    def __init__(self, scores, weights=(1.0,)):
        super().__init__()
        self.scores, self.vocabulary = scores, 8
        self.weights, self.n_heads = torch.tensor(weights), len(weights)

    def forward(self, inputs, tap=None):
        pattern = causal_softmax(self.scores(inputs))
        pattern = pattern[:, None].expand(-1, self.n_heads, -1, -1)
        pattern = pattern if tap is None else tap(0, pattern)
        attention = torch.einsum("h,bhqk->bqk", self.weights, pattern)
        values = torch.nn.functional.one_hot(inputs, self.vocabulary).float()
        return 9 * (attention @ values)


class Symbols(Task):
    """Random tokens; at each, the smallest so far."""

    @property
    def vocabulary(self):
        return 8

    def draw(self, count, generator):
        return (torch.randint(8, (count, 9), generator=generator),)

    def assemble(self, draws):
        inputs = draws[0]
        smallest = inputs.cummin(1).values
        return Batch(inputs, smallest[..., None])


SAMPLE = Symbols().sample(64, torch.Generator().manual_seed(0))


def read_on_sample(model):
    """The circuit that is read from a model of `Symbols`."""
    return read(Bench(model, Symbols(), SAMPLE))


def first_choice(mechanism):
    """What a mechanism does before its `else`."""
    return str(mechanism).split(", else ")[0]


def by_value(inputs):
    of_keys = inputs[:, None].expand(-1, inputs.shape[1], -1)
    return -3.0 * of_keys.float()


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        (lambda _: 20 * BACK, "previous token"),
        (lambda _: 20 * (BACK + FIRST), "previous token and first position"),
        (lambda _: 20 * (BACK + torch.eye(9)), "previous token and own position"),
        (
            lambda _: 20 * (BACK + torch.eye(9) + FIRST).clamp(max=1),
            "previous token and own position and first position",
        ),
        (lambda x: torch.zeros(len(x), 9, 9), "all so far"),
        (by_value, "smallest any token"),
        (
            lambda x: 40 * (x[:, :, None] < x[:, None]) - 4.0 * x[:, None],
            "smallest larger token",
        ),
        (
            lambda x: 40 * (x < 3)[:, None] + 4.0 * torch.arange(9),
            "latest token of 0–2",
        ),
        (
            lambda x: 40 * torch.where(x[..., None] < 4, BACK, FIRST),
            "first position for tokens 4–7",
        ),
    ],
)
def test_a_head_is_read(scores, name):
    model = Line(lambda inputs: scores(inputs).expand(len(inputs), 9, 9).float())
    mechanism = read_on_sample(model).mechanisms[0, 0]
    assert first_choice(mechanism) == name


class Induction(torch.nn.Module):
    """Layer 0 brings the token before; layer 1 looks where that is the query's own
    token.
    """

    n_layers, n_heads = 2, 1

    def __init__(self, sharp=40.0, astray=0.0):
        super().__init__()
        self.sharp, self.astray = sharp, astray

    def forward(self, inputs, tap=None):
        tap = tap or (lambda _, pattern: pattern)
        n = inputs.shape[1]
        tokens = torch.eye(8)[inputs]
        one_back = torch.eye(n).roll(1, 0)
        alike = (tokens @ tokens.mT)[:, None]
        scores_below = self.sharp * one_back + self.astray * alike
        below = tap(0, causal_softmax(scores_below))[:, 0]
        brought = below @ tokens
        scores_above = 80.0 * tokens @ brought.mT + 4.0 * torch.arange(n)
        above = tap(1, causal_softmax(scores_above[:, None]))[:, 0]
        return 9 * above @ tokens


@pytest.mark.parametrize("scores", [(40.0, 0.0), (5.0, 1.0)])
def test_a_head_that_only_heads_above_need_is_read_however_noisy(scores):
    mechanisms = read_on_sample(Induction(*scores)).mechanisms
    assert str(mechanisms[0, 0]) == "previous token"
    above = first_choice(mechanisms[1, 0])
    assert above in {"after same token", "after latest same token"}


class Counted(Line):
    """Says in steps how much attention the first position keeps, and hides tokens 7 as
    padding.
    """

    def __init__(self):
        super().__init__(
            lambda x: 60.0 * ((x[:, :, None] == x[:, None]) | (torch.arange(9) == 0))
        )

    def forward(self, inputs, tap=None):
        padding = (inputs == 7)[:, None]
        scores = self.scores(inputs).masked_fill(padding, -torch.inf)
        pattern = causal_softmax(scores)[:, None]
        pattern = pattern if tap is None else tap(0, pattern)
        on_first = pattern[:, 0, :, 0]
        limits = 1 / (torch.arange(8) + 1.5)
        steps = (on_first[..., None] > limits).float()
        steps_before = steps.roll(1, -1) * (torch.arange(8) > 0)
        return 9 * (steps - steps_before)


class Padded(Symbols):
    """Six tokens, the first 0; the last two are padding in half of the sequences."""

    def assemble(self, draws):
        inputs = draws[0] % 6
        inputs[:, 0] = 0
        inputs[::2, 7:] = 7
        return super().assemble((inputs,))


def all_so_far(model, batch):
    """The keys of the relation `all so far`."""
    related = Related({}, Composed(batch.inputs))
    return Patterns(model, batch, related).alone("all so far")


def test_a_head_without_a_slope_is_read_and_padding_is_no_key():
    sample = Padded().sample(64, torch.Generator().manual_seed(0))
    circuit = read(Bench(Counted(), Padded(), sample))
    name = "same token and own position and first position"
    assert str(circuit.mechanisms[0, 0]) == name
    every = all_so_far(Counted(), sample)
    assert not every[::2, :, 7:].any()
    assert every[1::2, 8, 7:].all()


def test_places_that_sharp_attention_never_reads_are_keys_all_the_same():
    sharp = Line(lambda x: 200.0 * (x == 3)[:, None].expand(-1, 9, -1))
    mechanism = read_on_sample(sharp).mechanisms[0, 0]
    assert str(mechanism).startswith("token 3")
    every = all_so_far(sharp, SAMPLE)
    assert (every[:, 8] > 0).all()


def test_where_a_relation_gives_no_key_the_else_is_read():
    def scores(x):
        earlier = torch.ones(9, 9).tril(-1).bool()
        alike = (x[:, :, None] == x[:, None]) & earlier
        first = torch.arange(9) == 0
        return 60.0 * alike + 30.0 * first

    circuit = read_on_sample(Line(scores))
    assert str(circuit.mechanisms[0, 0]) == "same token, else first position"


class Before(Symbols):
    """Random tokens; at each, the one before."""

    def assemble(self, draws):
        inputs = draws[0]
        one_before = inputs.roll(1, 1)[:, 1:]
        return Batch(inputs, one_before[..., None])


def test_a_head_that_does_the_work_of_another_is_not_left_at_its_mean():
    found = discover(
        Line(before, weights=(1.0, 1.0)), Before(), trials=False, sequences=32
    )
    assert found.faithful
    (path,) = found.circuit.paths
    assert path.relation == "previous token"


def test_heads_that_exchange_needs_are_read_though_another_does_their_work():
    twins = Line(before, weights=(1.0, 1.0))
    batch = Before().sample(64, torch.Generator().manual_seed(0))
    needed = read(Bench(twins, Before(), batch), spared=[]).mechanisms
    assert [str(mechanism) for mechanism in needed.values()] == ["previous token"] * 2


def test_heads_that_exchange_spares_are_not_read():
    twins = Line(before, weights=(1.0, 1.0))
    batch = Before().sample(64, torch.Generator().manual_seed(0))
    circuit = read(Bench(twins, Before(), batch), spared=[(0, 1)])
    assert circuit.mechanisms[0, 1] == Mean()
    assert str(circuit.mechanisms[0, 0]) == "previous token"


def test_a_head_that_changes_no_answer_is_idle():
    class Deaf(Line):
        def forward(self, inputs, tap=None):
            heard = super().forward(inputs, tap)
            own_token = torch.nn.functional.one_hot(inputs, 8).float()
            return 9 * own_token + 0 * heard

    assert read_on_sample(Deaf(by_value)).mechanisms == {(0, 0): Mean()}
    with pytest.raises(
        HeadwayError, match=r"there is no circuit to find|has not learnt the task"
    ):
        discover(Deaf(by_value), Symbols(), threshold=None)


def test_a_circuit_of_composed_names_is_given_back_and_judged_the_same():
    model = Line(by_value)
    found = discover(
        model, Symbols(), sequences=32, trials=False, threshold=9.0, workers=1
    )
    again = Circuit.from_json(found.circuit.to_json())
    given = discover(
        model, Symbols(), sequences=32, circuit=again, threshold=9.0, workers=1
    )
    assert given.evidence.replaced == found.evidence.replaced
    named_last = list(found.attention)[-1]
    (path,) = found.circuit.paths
    assert named_last == str(path.relation)


@pytest.fixture(scope="module")
def strangers():
    if not STRANGERS.is_dir():
        pytest.skip(f"{STRANGERS.name}: models that others trained are not here")
    return userfile.load(STRANGERS / "strangers.py")


PUBLISHED = {
    "unique_copy": {"L0.H0": "previous token", "L1.H0": "after same token"},
    "sort": {"L0.H0": "smallest larger token"},
    "sorted_list": {"L0.H0": "smallest larger token", "L0.H1": "smallest larger token"},
    "majority": {None: "all so far"},
    "cumulative_sum": {"L0.H0": "all so far"},
    "interleaved_majority": {"L0.H0": "every 3 back"},
    "palindromes": {"L0.H0": "mirror position if the same token"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_published_of_others_models_is_read(strangers, name):
    build, task = strangers.MODELS[name]
    found = discover(build(), task, seed=5, trials=False, workers=1)
    named = {
        name_of(head): first_choice(mechanism).split(" and ")
        for head, mechanism in found.circuit.mechanisms.items()
    }
    for head, relation in PUBLISHED[name].items():
        of_that_head = [named[head]] if head else named.values()
        assert any(relation in parts for parts in of_that_head), named


class RunsOfSymbols(Symbols):
    """Tokens of which most are like the one before."""

    def assemble(self, draws):
        where = torch.arange(9) - (torch.arange(9) % 4)
        return super().assemble((draws[0][:, where],))


def before(inputs):
    return 40.0 * BACK.expand(len(inputs), 9, 9)


RUNS = RunsOfSymbols()


def circuit_of(relation):
    """The circuit of a `Line` whose head follows one relation."""
    return Circuit({(0, 0): Paths(frozenset({relation}))})


def seen(model, relation, task=RUNS):
    batch = task.sample(64, torch.Generator().manual_seed(0))
    return looks(model, task, batch, circuit_of(relation), [(0, 0)])[0]


def test_what_a_head_does_beyond_its_mechanism_is_said():
    right = seen(Line(before), "previous token")
    # The first has none before it.
    assert right.explained == pytest.approx(8 / 9, abs=1e-3)
    (on_the_first,) = right.rest.values()
    assert on_the_first == pytest.approx(1 / 9, abs=1e-3)
    wrong = seen(Line(before), "first position")
    assert wrong.explained < 0.5
    assert next(iter(wrong.rest)) == "previous token"
    in_all = wrong.explained + sum(wrong.rest.values())
    assert in_all == pytest.approx(1.0, abs=0.05)


def test_rivals_are_told_apart_where_they_differ():
    look = seen(Line(before), "previous token")
    like, *_ = look.rivals
    assert 0.5 <= like.same < 1
    near = replace(look, rivals=[replace(like, same=0.999)])
    said = " ".join(of_looks([near], circuit_of("previous token"), faithful=True))
    assert "is the same on 0.99 of these" in said, "on all, it would be no rival"
    assert like.follows == pytest.approx(1.0, abs=1e-3)
    assert not like.wins
    lost = seen(Line(before), like.rival).rivals[0]
    assert lost.wins


def test_relations_that_nothing_tells_apart_are_named():
    look = seen(Line(before), "previous token")
    assert look.alike[0] == "before latest any token"
    said = " ".join(of_looks([look], circuit_of("previous token"), faithful=True))
    on_one_line = " ".join(said.split())
    not_told_apart = "nothing in these sequences tells it from before latest any token"
    assert not_told_apart in on_one_line


def test_tokens_by_which_heads_share_the_work_are_found():
    def small_alone(inputs):
        small = (inputs < 3)[:, None]
        return before(inputs) * small + 40.0 * torch.eye(9) * ~small

    tokens = seen(Line(small_alone), "previous token").tokens
    assert min(tokens[t] for t in (0, 1, 2)) > 0.9
    assert split_of(tokens)[0] == "0–2"
    assert split_of(dict.fromkeys(range(8), 0.9)) is None

    def in_every_other_sequence(inputs):
        scores = small_alone(inputs)
        scores[1::2] = 40.0 * (torch.eye(9) + BACK)
        return scores

    assert seen(Line(in_every_other_sequence), "previous token").tokens == {}


def test_a_head_that_no_relation_explains_is_named():
    idle = Circuit({(0, 0): Mean()})
    given = {"circuit": idle, "sequences": 32, "workers": 1}
    own = discover(Line(by_value), Symbols(), **given, threshold=9.0)
    assert own.faithful
    assert "L0.H0 (idle): 0.97 smallest any token" in str(own)
    unread = discover(
        Line(by_value), Symbols(), **given, threshold=own.intact_loss + 0.01
    )
    assert not unread.faithful
    assert [look.explained for look in unread.looks] == [0]
    assert next(iter(unread.looks[0].rest)) == "smallest any token"


def test_words_that_tell_the_answers_and_not_the_attention_are_not_said():
    anywhere = torch.randint(9, (8, 9), generator=torch.Generator().manual_seed(1))

    def scores(inputs):
        numbers = torch.arange(9)
        scattered = anywhere[inputs, numbers] % (1 + numbers)
        return 4.0 * torch.nn.functional.one_hot(scattered, 9)

    # All tokens of a sequence are the same, so that a head may look anywhere.
    alike = Batch(SAMPLE.inputs[:, :1].expand(-1, 9), SAMPLE.targets)
    bench = Bench(Line(scores), Symbols(), alike)
    assert read(bench, spared=[]).mechanisms == {(0, 0): Mean()}


def test_any_words_are_said_where_naming_ones_leave_the_answers_untold(monkeypatch):
    monkeypatch.setattr(blind, "NAMED", 1.1)  # no words name anything
    monkeypatch.setattr(blind.Reader, "tables", None)
    mechanism = read_on_sample(Line(by_value)).mechanisms[0, 0]
    assert first_choice(mechanism) == "smallest any token"


def test_a_head_that_goes_by_a_table_is_put_to_one_and_said_to_be_unexplained():
    generator = torch.Generator().manual_seed(4)
    of_tokens = 4 * torch.randn(8, 8, generator=generator)
    of_places = 4 * torch.randn(9, 9, generator=generator)

    def scores(inputs):
        queries, keys = inputs[:, :, None], inputs[:, None]
        return of_tokens[queries, keys] + of_places

    found = discover(Line(scores), Symbols(), sequences=64, trials=False, threshold=9.0)
    assert found.circuit.to_json() == {"L0.H0": "by table"}
    assert found.evidence.likeness.circuit.agreement > 0.95
    (look,) = found.looks
    assert look.explained > 0.95
    assert "in all: " in " ".join(str(found).split())
    assert found.circuit.program.splitlines()[1] == "L0.H0 = aggregate(table(x0), x0)"
    again = Discovery.from_json(found.to_json())
    assert again.circuit == found.circuit
    with pytest.raises(
        HeadwayError, match=r"looks = .* is not allowed: it must be at heads of"
    ):
        Discovery.from_json(found.to_json() | {"circuit": {"L5.H0": "mean"}})
    given = discover(
        Line(scores), Symbols(), sequences=64, threshold=9.0, circuit=again.circuit
    )
    assert given.evidence.likeness.circuit.agreement > 0.9


def test_what_heads_below_bring_is_in_a_table():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randint(8, (256, 9), generator=generator)
    own = attention_patterns(Induction(), inputs)
    known = Tables(inputs[:192], lambda: own[:192])
    assert known.are_possible
    told = known.patterns(inputs[192:])
    in_common = told.minimum(own[192:]).sum(-1)
    assert in_common.mean() > 0.9
    assert not Tables(inputs.float(), lambda: own).are_possible
    no_token_twice = torch.arange(9 * 256).reshape(256, 9)
    assert not Tables(no_token_twice, lambda: own).are_possible


def test_what_was_discovered_is_among_the_candidates():
    found = discover(
        Line(by_value), Symbols(), sequences=32, trials=False, threshold=9.0
    )
    assert found.circuit.paths
    batch = held_out(Symbols(), 32, 0, "cpu", "circuit")
    bench = Bench(Line(by_value), Symbols(), batch)
    candidates = candidates_among(bench, found.circuit)
    assert {*found.circuit.paths} <= {*candidates}


def test_a_circuit_is_a_program():
    two = ["after same token, else first position"]
    circuit = Circuit.from_json(
        {"L0.H0": ["previous token"], "L0.H1": "mean", "L1.H0": two}
    )
    assert circuit.program.splitlines() == [
        "x0 = embed(sequence)",
        'L0.H0 = aggregate(select("previous token"), x0)',
        "x1 = mlp(x0, L0.H0)",
        'L1.H0 = aggregate(select("after same token", otherwise="first position"), x1)',
        "x2 = mlp(x1, L1.H0)",
        "answer = unembed(x2)",
    ]


def test_others_checkpoints_are_dated_at_half_of_the_final_attention():
    models = {
        step: Line(lambda x, step=step: step / 40 * before(x)) for step in (0, 1, 2, 40)
    }
    timeline = emergence(models, circuit_of("previous token"), RUNS)
    (history,) = timeline.paths
    measured = [*zip(timeline.steps, history.attention, strict=True)]
    final = history.attention[-1]
    (half,) = timeline.half.values()
    assert half is not None
    since_then = [x for step, x in measured if step >= half]
    assert since_then == [x for _, x in measured if x > final / 2]


class Rarely(Symbols):
    """Two tokens."""

    def draw(self, count, generator):
        return (torch.randint(2, (count, 9), generator=generator),)


def test_an_average_in_which_some_tokens_count_less_is_read():
    def scores(inputs):
        return (0.7 * inputs)[:, None].expand(-1, 9, -1)

    batch = Rarely().sample(64, torch.Generator().manual_seed(0))
    circuit = read(Bench(Line(scores), Rarely(), batch))
    (name,) = circuit.mechanisms[0, 0].relations
    assert name.startswith("all so far by weight (token 0 0.4")  # exp(-0.7) = 0.497
    own = attention_patterns(Line(scores), batch.inputs)[:, 0, 0]
    related = Related({}, Composed(batch.inputs))
    patterns = Patterns(Line(scores), batch, related)
    replaced = patterns.dense(circuit.mechanisms[0, 0], (0, 0))
    assert torch.allclose(replaced, own, atol=0.01)


def test_keys_that_a_mask_hides_are_no_keys_of_a_composed_relation():
    batch = Rarely().sample(2, torch.Generator().manual_seed(0))
    band = torch.ones(9, 9).tril().triu(-2)
    model = Line(lambda _: band.log()[None])
    related = Related({}, Composed(batch.inputs, ahead=True))
    patterns = Patterns(model, batch, related)
    keys = patterns.alone("all so far")[0] > 0
    assert torch.equal(keys, band > 0)
    with pytest.raises(HeadwayError, match="lets it see"):
        patterns.relation("3 back")


@pytest.mark.parametrize("weights", ["token 0", "token x 1", "token 0 -1", "0 1"])
def test_weights_that_cannot_be_read_are_refused(weights):
    composed = Composed(torch.zeros(1, 3).long())
    with pytest.raises(HeadwayError, match="weights come last, written as in"):
        composed.weights(f"all so far by weight ({weights})")
