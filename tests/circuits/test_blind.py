"""Heads of models of which nobody says what they may look at."""

import importlib
import sys
from pathlib import Path

import pytest
import torch

from headway import Batch, HeadwayError, Task, discover
from headway.circuits import Circuit, Mean, Paths
from headway.circuits.reading import Reader, read
from headway.models import tapped

STRANGERS = Path(__file__).parents[3] / "shared" / "strangers"


class Line(torch.nn.Module):
    """A model of one head that adds what stands where its attention is fixed to lie."""

    n_layers = n_heads = 1

    def __init__(self, scores):
        super().__init__()
        self.scores, self.vocabulary = scores, 8

    def forward(self, inputs, tap=None):
        scores = self.scores(inputs).masked_fill(
            torch.ones(inputs.shape[1], inputs.shape[1]).triu(1).bool(), -torch.inf
        )
        pattern = scores.softmax(-1)[:, None]
        pattern = pattern if tap is None else tap(0, pattern)
        values = torch.nn.functional.one_hot(inputs, self.vocabulary).float()
        return 9 * (pattern[:, 0] @ values)


class Tokens(Task):
    """Random tokens; at each, the smallest so far."""

    @property
    def vocabulary(self):
        return 8

    def draw(self, count, generator):
        return (torch.randint(8, (count, 9), generator=generator),)

    def assemble(self, draws):
        return Batch(draws[0], draws[0].cummin(1).values[..., None])


def by_value(inputs):
    return -3.0 * inputs[:, None].expand(-1, inputs.shape[1], -1).float()


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        (lambda _: 20 * torch.eye(9).roll(1, 0), "previous token"),
        (lambda x: torch.zeros(len(x), 9, 9), "all so far"),
        (by_value, "smallest any token"),
        (lambda x: 40 * (x[:, :, None] < x[:, None]) - 4.0 * x[:, None], "smallest larger token"),
    ],
)
def test_a_head_is_read(scores, name):
    batch = Tokens().sample(64, torch.Generator().manual_seed(0))
    model = Line(lambda inputs: scores(inputs).expand(len(inputs), 9, 9).float())
    circuit, _ = read(model, Tokens(), batch)
    (mechanism,) = circuit.mechanisms.values()
    assert isinstance(mechanism, Paths)
    (found,) = mechanism.relations
    assert found.split(", else ")[0] == name


class Induction(torch.nn.Module):
    """Layer 0 brings the token before; layer 1 looks where that is the query's own token."""

    n_layers, n_heads = 2, 1

    def forward(self, inputs, tap=None):
        tap = tap or (lambda _, pattern: pattern)
        size, n = inputs.shape
        tokens, hidden = torch.eye(8)[inputs], torch.ones(n, n).triu(1).bool()
        before = 40.0 * torch.eye(n).roll(1, 0).expand(size, 1, n, n)
        brought = tap(0, before.masked_fill(hidden, -torch.inf).softmax(-1))[:, 0] @ tokens
        scores = 40.0 * tokens @ brought.mT + 0.5 * torch.arange(n)
        return (
            9 * tap(1, scores[:, None].masked_fill(hidden, -torch.inf).softmax(-1))[:, 0] @ tokens
        )


def test_a_head_that_only_heads_above_need_is_read():
    circuit, _ = read(Induction(), Tokens(), Tokens().sample(64, torch.Generator().manual_seed(0)))
    below, above = (str(circuit.mechanisms[at, 0]) for at in (0, 1))
    assert below == "previous token"
    assert above.split(", else ")[0] in {"after same token", "after latest same token"}


def test_where_a_relation_gives_no_key_the_else_is_read():
    def scores(x):
        alike = (x[:, :, None] == x[:, None]) & torch.ones(9, 9).tril(-1).bool()
        return 60.0 * alike + 30.0 * (torch.arange(9) == 0)

    circuit, _ = read(Line(scores), Tokens(), Tokens().sample(64, torch.Generator().manual_seed(0)))
    assert str(circuit.mechanisms[0, 0]) == "same token, else first position"


def test_a_head_that_changes_no_answer_is_idle():
    class Deaf(Line):
        def forward(self, inputs, tap=None):
            heard = super().forward(inputs, tap)
            return 9 * torch.nn.functional.one_hot(inputs, 8).float() + 0 * heard

    circuit, _ = read(Deaf(by_value), Tokens(), Tokens().sample(32, torch.Generator()))
    assert circuit.mechanisms == {(0, 0): Mean()}
    with pytest.raises(HeadwayError, match="there is no circuit to find: "):
        discover(Deaf(by_value), Tokens(), threshold=None)


def test_a_circuit_of_composed_names_is_given_back_and_judged_the_same():
    model = Line(by_value)
    found = discover(model, Tokens(), sequences=32, trials=False, threshold=9.0, workers=1)
    again = Circuit.from_json(found.circuit.to_json())
    given = discover(model, Tokens(), sequences=32, circuit=again, threshold=9.0, workers=1)
    assert given.evidence.replaced == found.evidence.replaced
    assert list(found.attention)[-1] == str(found.circuit.paths[0].relation)


@pytest.fixture(scope="module")
def strangers():
    if not STRANGERS.is_dir():
        pytest.skip(f"{STRANGERS.name}: models that others trained are not here")
    sys.path.insert(0, str(STRANGERS))
    return importlib.import_module("strangers")


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
    batch = task.sample(128, torch.Generator().manual_seed(5))
    model = tapped(build(), batch.inputs[:2])
    reader = Reader(model, task, batch)
    chosen = {f"L{at}.H{head}": what for (at, head), what in reader.read().items()}
    for head, relation in PUBLISHED[name].items():
        firsts = [chosen[head]] if head else list(chosen.values())
        assert relation in [one.split(", else ")[0] for one in firsts], chosen
