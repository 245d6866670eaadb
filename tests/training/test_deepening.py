"""A shallow problem first, then the whole one."""

from collections import Counter

import pytest
import torch

from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.tasks import Conditional, Hops, Retrieval
from headway.tasks.retrieval import code_of
from headway.training import Deepening, RunConfig, Stream, TrainingConfig, fast, resume, train


def stream_of(curriculum: Deepening, task: Retrieval) -> Stream:
    training = TrainingConfig(batch_size=8, train_examples=None, curriculum=curriculum, steps=100)
    return Stream(RunConfig(task, TransformerConfig(), training))


def depth_of(batch) -> int:
    return (batch.roles.shape[1] - 1) // 2


def test_deepening_goes_from_shallow_ends_to_anywhere_to_both_depths_to_the_whole():
    stream = stream_of(Deepening(start=2), Retrieval(depth=4, position_code="pair"))
    stages = [[stream.batch(step, stage) for step in range(1, 21)] for stage in range(4)]
    assert [{depth_of(batch) for batch in batches} for batches in stages] == [{2}, {2}, {2, 4}, {4}]
    assert Counter(map(depth_of, stages[2])) == {2: 10, 4: 10}

    code = code_of(stream.task, torch.device("cpu"))  # pyright: ignore[reportArgumentType]
    ends = code[-20:, :]
    assert all(torch.equal(batch.inputs[0, :, 4:], ends) for batch in stages[0])
    starts = set()
    for batch in stages[1]:
        pairs = batch.inputs[0, :16:2, 4:]
        fits = [n for n in range(9) if torch.allclose(pairs, code[2 * n : 2 * n + 16 : 2])]
        queries = batch.inputs[0, 16:, 4:]
        assert len(fits) == 1
        after = code[:32:2] if fits[0] < 5 else None
        if after is not None:
            assert torch.allclose(queries, after[fits[0] + 8 : fits[0] + 12])
        starts.add(fits[0])
    assert len(starts) > 4


def test_longer_sequences_ask_for_the_hops_of_the_shallow_problem():
    task = Retrieval(depth=5, position_code="pair")
    curriculum = Deepening(start=2, longer=True)
    stream = stream_of(curriculum, task)
    assert curriculum.stages == ("near", "anywhere", "longer", "mixed", "whole")
    batches = [stream.batch(step, 2) for step in range(1, 41)]
    assert {batch.targets.shape[2] for batch in batches} == {2}
    lengths = {batch.inputs.shape[1] for batch in batches}
    assert lengths == {4 * (2 * depth + 1) for depth in (2, 3, 4, 5)}
    assert curriculum.judged_in(1, task) == (2, 2)
    assert curriculum.judged_in(2, task) == (5, 2)
    assert curriculum.judged_in(3, task) == (5, 5)


def test_the_recipe_has_longer_sequences_from_six_hops_on():
    longer = {depth: fast(depth).training.curriculum for depth in (5, 6)}
    assert longer == {5: Deepening(), 6: Deepening(longer=True)}


def deepening(start: int = 1, **training: object) -> RunConfig:
    return RunConfig(
        Retrieval(depth=2, n_chains=2),
        TransformerConfig(n_layers=3, d_model=16, n_heads=1, d_mlp=16, silent_above=2),
        TrainingConfig(
            **{  # pyright: ignore[reportArgumentType]
                "steps": 12,
                "batch_size": 4,
                "train_examples": None,
                "curriculum": Deepening(start=start, learnt=100.0),
                "eval_every": 3,
                "eval_examples": 8,
                "checkpoint_every": 3,
                "save_every": 3,
                "weight_decay": 0.0,
                **training,
            }
        ),
    )


def test_layers_beyond_those_of_shallow_sequences_write_nothing_until_these_are_learnt(tmp_path):
    run = train(deepening(), tmp_path / "run")
    first, fourth = run.transformer(0), run.transformer(9)
    assert not first.layers[2].attn.out.weight.any()
    assert first.layers[1].attn.out.weight.any()
    for step in (3, 6):  # depth 1 passes through two layers, which are told apart from the third
        for name, weight in run.transformer(step).state_dict().items():
            if name.startswith("blocks.2."):
                assert torch.equal(weight, first.state_dict()[name])
    assert not torch.equal(fourth.layers[2].attn.out.weight, first.layers[2].attn.out.weight)


def test_what_is_not_learnt_is_not_left(tmp_path):
    curriculum = Deepening(start=1, learnt=1e-9)
    run = train(deepening(curriculum=curriculum), tmp_path / "run")
    last, first = run.transformer().state_dict(), run.transformer(0).state_dict()
    assert torch.equal(last["blocks.2.mlp.up.weight"], first["blocks.2.mlp.up.weight"])


def test_stages_are_resumed_to_the_same_bits(tmp_path):
    class StopError(Exception):
        pass

    def stop(_: object, step: int, *__: object) -> None:
        if step == 8:
            raise StopError

    whole = train(deepening(), tmp_path / "whole")
    with pytest.raises(StopError):
        train(deepening(), tmp_path / "cut", stop)
    again = resume(tmp_path / "cut").transformer().state_dict()
    weights = whole.transformer().state_dict()
    assert all(torch.equal(weight, again[name]) for name, weight in weights.items())


@pytest.mark.parametrize(
    ("task", "layers", "start", "complaint"),
    [
        (Retrieval(depth=3), 3, 3, r"training.curriculum.start = 3 is not allowed: .* below 3"),
        (Retrieval(depth=4), 3, 3, r"model.n_layers = 3 is not allowed: .* at least 4"),
        (Retrieval(depth=1), 3, 1, "one depth only"),
        (Hops(), 4, 1, "it is for a chain under the causal mask"),
        (Conditional(), 4, 1, "one depth only"),
    ],
)
def test_deepening_needs_a_chain_and_layers_for_it(task, layers, start, complaint):
    training = TrainingConfig(curriculum=Deepening(start=start))
    with pytest.raises(HeadwayError, match=complaint):
        RunConfig(task, TransformerConfig(n_layers=layers), training)
