"""What is wrong with a task, or with a model for it, is named, wherever it is met
first.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn

import headway
from headway.errors import HeadwayError, note_once
from headway.judge import Yardstick
from headway.judge.yardstick import require_better_than_one_answer, require_told_apart
from headway.models import Transformer, TransformerConfig
from headway.replace import Bench, Circuit, Uniform
from headway.tasks import IGNORE_INDEX, Batch, Task, check_task
from headway.tasks.answers import constant_hops
from headway.training import RunConfig, TrainingConfig, held_out, train
from headway_experiments.arena import compiled
from sampling import seeded

Draw = Callable[[int, torch.Generator], tuple[Tensor, ...]]
LayOut = Callable[[tuple[Tensor, ...]], Batch]
VOCABULARY = 6
LENGTH = 10


def tokens(count: int, generator: torch.Generator, length: int = LENGTH) -> Tensor:
    return torch.randint(VOCABULARY, (count, length), generator=generator)


def drawn(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    return (tokens(count, generator),)


def asked_two_back(inputs: Tensor) -> Tensor:
    return inputs[:, :-2, None]


def two_back(draws: tuple[Tensor, ...]) -> Batch:
    inputs = draws[0]
    return Batch(inputs, asked_two_back(inputs))


def task_of(
    draw: Draw = drawn, lay_out: LayOut = two_back, reads: int | None = VOCABULARY
) -> Task:
    """Random tokens, and the token two back; but for what is given."""

    @dataclass(frozen=True)
    class Wrong(Task, registered=False):
        """The answer is the token two back."""

        @property
        def vocabulary(self) -> int | None:
            return reads

        @property
        def targets(self) -> headway.Tokens:
            return headway.Tokens(VOCABULARY)

        def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
            return draw(count, generator)

        def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
            return lay_out(draws)

    return Wrong()


class Net(nn.Module):
    """One head that attends to what comes before."""

    def __init__(self, vocabulary: int = VOCABULARY, length: int = LENGTH):
        super().__init__()
        self.token = nn.Embedding(vocabulary, 8)
        self.place = nn.Embedding(length, 8)
        self.read_out = nn.Linear(8, VOCABULARY)

    def forward(self, inputs: Tensor) -> Tensor:
        places = self.place.weight[: inputs.shape[1]]
        x = self.token(inputs) + places
        heads = x[:, None]
        attended = nn.functional.scaled_dot_product_attention(
            heads, heads, heads, is_causal=True
        )
        return self.read_out(x + attended[:, 0])


# Faults of a task, of which `check_task` tells.


def length_per_batch(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    length = int(torch.randint(6, 11, (1,), generator=generator))
    return (tokens(count, generator, length),)


def seldom_shorter(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    is_short = int(torch.randint(8, (1,), generator=generator)) == 0
    return (tokens(count, generator, LENGTH - is_short),)


def asked_per_batch(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    asked = torch.randint(1, 8, (1,), generator=generator)
    return tokens(count, generator), asked.expand(count)


def last_few(draws: tuple[Tensor, ...]) -> Batch:
    inputs, counts = draws
    asked = int(counts[0])
    return Batch(inputs, asked_two_back(inputs)[:, -asked:])


def chains_per_batch(draws: tuple[Tensor, ...]) -> Batch:
    batch = two_back(draws)
    chains = 1 + int(draws[0].sum()) % 2
    no_roles = torch.zeros(len(draws[0]), 0, chains, dtype=torch.long)
    return replace(batch, roles=no_roles)


def always_three(draws: tuple[Tensor, ...]) -> Batch:
    inputs = draws[0]
    threes = torch.full((len(inputs), 1, 1), 3)
    return Batch(inputs, threes)


def always_its_place(draws: tuple[Tensor, ...]) -> Batch:
    inputs = draws[0]
    places = torch.arange(4).expand(len(inputs), -1)
    return Batch(inputs, places[..., None])


def three_or_nothing(draws: tuple[Tensor, ...]) -> Batch:
    is_asked = draws[0][:, -4:, None] > 2
    return Batch(draws[0], torch.where(is_asked, 3, IGNORE_INDEX))


def first_of_the_batch(draws: tuple[Tensor, ...]) -> Batch:
    inputs = draws[0]
    first = inputs[:1, :1]
    shifted = (inputs + first) % VOCABULARY
    return Batch(inputs, asked_two_back(shifted))


def of_its_own_seed(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    return drawn(count, seeded(0))


def seeds_again(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    return drawn(count, generator.manual_seed(0))


def of_no_generator(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    return (torch.randint(VOCABULARY, (count, LENGTH)),)


WRONG: dict[str, tuple[Task, str]] = {
    "lengths": (
        task_of(length_per_batch),
        "draw: inputs of a sequence are [10] by one seed",
    ),
    "seldom": (task_of(seldom_shorter), "by another: all batches must be of one shape"),
    "queries": (
        task_of(asked_per_batch, last_few),
        "draw: targets of a sequence are [5, 1] by",
    ),
    "chains": (task_of(lay_out=chains_per_batch), "draw: roles of a sequence are"),
    "one": (
        task_of(lay_out=always_three),
        "assemble: every query has the same answer in all of",
    ),
    "places": (
        task_of(lay_out=always_its_place),
        "one answer serves all, so nothing can be told",
    ),
    "asked": (
        task_of(lay_out=three_or_nothing),
        "one answer serves all, so nothing can be told",
    ),
    "others": (
        task_of(lay_out=first_of_the_batch),
        "targets are others if sequences stand in",
    ),
    "fixed": (
        task_of(of_its_own_seed),
        "draw: every generator draws the same sequences: all that",
    ),
    "again": (
        task_of(seeds_again),
        "draw: every generator draws the same sequences: all that is",
    ),
    "dice": (
        task_of(of_no_generator),
        "draw: the same generator draws something else: all that",
    ),
}
"""By fault: a task that has it, and the words that name it."""


def config_of(task: Task, batch_size: int = 8) -> RunConfig:
    training = TrainingConfig(
        steps=4, batch_size=batch_size, eval_every=2, eval_examples=16
    )
    return RunConfig(task, TransformerConfig(n_layers=1, d_model=8), training)


def refused(call: Callable[[], object], words: str) -> str:
    with pytest.raises(HeadwayError, match=re.escape(words)) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("fault", WRONG)
def test_check_tells_one_error(fault):
    task, words = WRONG[fault]
    (error,) = [one for one in check_task(task) if not one.doubt]
    assert words in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("fault", WRONG)
def test_every_verb_tells_the_same(fault, tmp_path):
    task, words = WRONG[fault]
    circuit = Circuit({(0, 0): Uniform()})
    for call in (
        lambda: headway.discover(Net(), task),
        lambda: headway.emergence({0: Net()}, circuit, task),
        lambda: train(config_of(task), tmp_path / "run"),
        lambda: headway.own(task),
        lambda: headway.Recorder(tmp_path / "recorded", Net(), task),
    ):
        assert refused(call, words).startswith("Wrong.")
    assert not any(tmp_path.iterdir())


def test_a_right_task_has_none_of_these_faults():
    assert [one for one in check_task(task_of()) if not one.doubt] == []


def test_an_init_that_sets_no_fields_is_an_error():
    class Sized(Task, registered=False):
        """The answer is the token two back."""

        @property
        def vocabulary(self) -> int | None:
            return VOCABULARY

        def __init__(self, sizes=(1, 2)):
            self.sizes = list(sizes)

        def draw(self, count, generator):
            return drawn(count, generator)

        def assemble(self, draws):
            return two_back(draws)

    words = (
        "__init__: what it sets is no field: Sized must be decorated, "
        "@dataclass(frozen=True)"
    )
    assert words in str(check_task(Sized)[0])
    refused(lambda: headway.discover(Net(), Sized()), words)


def test_what_an_instance_holds_beside_its_fields_is_doubted():
    task = task_of()
    object.__setattr__(task, "seen", [])
    assert "seen: it is no field, so no file keeps it" in " ".join(
        map(str, check_task(task))
    )


def of_two_seeds(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    seed = generator.initial_seed() // 2
    return drawn(count, seeded(seed))


def test_two_seeds_may_draw_the_same_by_chance():
    """As they do in one task of 256 that draws eight bits."""
    found = [str(one) for one in check_task(task_of(of_two_seeds))]
    assert not [one for one in found if "every generator" in one]


# Faults that are too rare to be met by a trial: those of batches of 24.


def shorter_at_24(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    return (tokens(count, generator, LENGTH - (count == 24)),)


def raises_at_24(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    if count == 24:
        raise ZeroDivisionError("no luck")
    return drawn(count, generator)


def beyond_at_24(draws: tuple[Tensor, ...]) -> Batch:
    inputs = draws[0]
    if len(inputs) == 24:
        inputs = inputs + VOCABULARY
    return replace(two_back(draws), inputs=inputs)


def below_at_24(draws: tuple[Tensor, ...]) -> Batch:
    inputs = draws[0].clone()
    if len(inputs) == 24:
        inputs[0, 0] = -1
    return replace(two_back(draws), inputs=inputs)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        pytest.param(
            task_of(shorter_at_24),
            "Wrong.draw: a batch has 9 positions, 7 queries and 1 hops",
            id="length",
        ),
        pytest.param(
            task_of(raises_at_24), "raises ZeroDivisionError: no luck", id="raises"
        ),
        pytest.param(
            task_of(lay_out=beyond_at_24),
            "Wrong.assemble: inputs hold 11: it must be 0 to 5",
            id="token",
        ),
        pytest.param(
            task_of(lay_out=below_at_24),
            "Wrong.assemble: inputs hold -1: it must be 0 to 5",
            id="negative",
        ),
    ],
)
def test_a_fault_that_a_trial_does_not_meet_is_named_when_it_is_met(
    task, words, tmp_path
):
    assert [one for one in check_task(task) if not one.doubt] == []
    refused(lambda: train(config_of(task, batch_size=24), tmp_path / "run"), words)
    refused(lambda: headway.discover(Net(), task, sequences=24, trials=False), words)


# Models that are none for the task.


def transformer(vocabulary: int = VOCABULARY, length: int = LENGTH) -> Transformer:
    shape = TransformerConfig(n_layers=1, d_model=8)
    sizes = {"n_positions": length, "n_read": LENGTH - 2, "vocabulary": vocabulary}
    return Transformer(shape, d_input=1, d_target=VOCABULARY, **sizes)


def longer(count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    return (tokens(count, generator, LENGTH + 4),)


def vectors(draws: tuple[Tensor, ...]) -> Batch:
    tokens = draws[0]
    one_hot = torch.nn.functional.one_hot(tokens).float()
    return Batch(one_hot, asked_two_back(tokens))


@pytest.mark.parametrize("model", [Net, transformer])
def test_tokens_that_a_model_does_not_have_are_named(model):
    words = "there are tokens up to 5, for which it has no embedding"
    refused(lambda: headway.discover(model(vocabulary=4), task_of()), words)


@pytest.mark.parametrize("vocabulary", [5, 4])
def test_a_single_token_that_is_missing_is_named(vocabulary):
    def seldom_the_last(draws: tuple[Tensor, ...]) -> Batch:
        inputs = draws[0]
        may_be_last = inputs[:, :1] == 5
        most = torch.where(may_be_last, VOCABULARY - 1, VOCABULARY - 2)
        return two_back((torch.minimum(inputs, most),))

    words = "there are tokens up to 5, for which it has no embedding"
    task = task_of(lay_out=seldom_the_last)
    refused(lambda: headway.discover(Net(vocabulary), task), words)


@pytest.mark.parametrize("model", [Net, transformer])
def test_positions_that_a_model_does_not_have_are_named(model):
    refused(
        lambda: headway.discover(model(), task_of(longer)),
        "it reads at most 10 positions",
    )


def test_vectors_for_a_model_of_tokens_are_named():
    task = task_of(lay_out=vectors, reads=None)
    refused(
        lambda: headway.discover(Net(), task), "they are vectors, and it reads tokens"
    )


# Answers, as a search meets them.


@pytest.fixture
def bench() -> Bench:
    known = compiled(2)
    task = replace(known.task)
    object.__setattr__(task, "threshold", None)
    return Bench(known.model, task, held_out(known.task, 32, 0, "cpu", "circuit"))


def test_one_answer_is_not_blamed_on_the_model(bench):
    bench.batch.targets[:] = bench.batch.targets[:1, :1]
    assert constant_hops(bench.task, bench.batch) == ["x_1", "x_2"]
    told = refused(
        lambda: Yardstick.of(bench), "every query has the same answer, so one answer"
    )
    assert "has not learnt" not in told


def test_a_hop_of_one_answer_is_noted_and_not_blamed_on_the_model(bench, capsys):
    """The model is far off at that hop, which does not count against it."""
    note_once.cache_clear()
    bench.batch.targets[:, :, 0] = 3 * bench.batch.targets[:1, :1, 0]
    assert constant_hops(bench.task, bench.batch) == ["x_1"]
    require_told_apart(bench)
    require_better_than_one_answer(bench)
    told = capsys.readouterr().err
    assert (
        "x_1 has one answer only, about which nothing can be told by attention" in told
    )
    assert "x_2" not in told


def test_a_model_that_knows_one_answer_of_a_hop_that_has_several_has_not_learnt_it(
    bench,
):
    bench.batch.targets[:, :, 0] = bench.batch.targets[:1, :1, 0]
    bench.batch.targets[:, :, 1] *= -1
    refused(
        lambda: require_better_than_one_answer(bench),
        "the model has not learnt the task: its loss is",
    )
