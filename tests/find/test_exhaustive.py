"""Every minimal circuit there is, against judging every set of paths by whole forward
passes.
"""

import json
import random
from itertools import combinations, pairwise

import pytest
import torch

from commands import refused
from headway import Circuit, discover, every_circuit
from headway.errors import HeadwayError
from headway.find import MinimalCircuits
from headway.find.exhaustive import Exhaustive
from headway.models import Transformer, TransformerConfig
from headway.relations import AttentionPath
from headway.replace import Bench, Identity, Paths, Uniform
from headway.replace.patterns import tap_of
from headway.tasks import Retrieval
from headway.terminal.cli import main
from headway.training import Run, RunConfig, held_out
from headway_experiments.arena import compiled

NOTHING = Paths(frozenset())


def subsets(things):
    sizes = range(len(things) + 1)
    return [set(some) for size in sizes for some in combinations(things, size)]


def mechanisms(chosen, idle, above=None, choosing=()):
    """What replaces which heads, written out."""
    found = {}
    for head, does in idle.items():
        if above is not None and head[0] > above and head in choosing:
            continue
        relations = frozenset(path.relation for path in chosen if path.at == head)
        found[head] = Paths(relations) if relations else does
    return found


@torch.no_grad()
def slow_losses(bench, candidates):
    """The loss of every candidate, by whole forward passes."""
    losses = []
    for i in range(0, len(candidates), 64):
        some = candidates[i : i + 64]
        inputs = bench.batch.inputs.repeat(len(some), 1, 1)
        said = bench.model(inputs, tap_of(bench.patterns, some, slice(None)))
        targets = bench.batch.targets
        answers = said.unflatten(-1, targets.shape[2:])
        by_candidate = answers.unflatten(0, (len(some), -1))
        errors = (by_candidate - targets).square()
        losses += errors.mean((1, 2, 3, 4)).tolist()
    return losses


def between(losses, share):
    """A limit with about so large a share of the losses below it, and none close to
    it.
    """
    ranked = sorted(losses)
    for low, high in pairwise(ranked[int(share * len(ranked)) :]):
        if high - low > 1e-4:
            return (low + high) / 2
    return ranked[-1] + 1


class Drawn:
    """A random model with random candidates and idle heads, and every set of paths
    judged.
    """

    def __init__(self, seed, causal=True):
        rng = random.Random(seed)
        torch.manual_seed(seed)
        task = Retrieval(depth=1 + seed % 2, n_chains=2)
        shape = TransformerConfig(
            n_layers=rng.choice((2, 3)),
            d_model=8,
            n_heads=rng.choice((1, 2)),
            causal=causal,
        )
        model = Transformer(
            shape, task.d_input, task.d_target, task.length, task.n_chains
        )
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(3)
        self.bench = Bench(model, task, held_out(task, 8, seed, "cpu", "circuit"))
        heads = self.bench.heads
        count = 10 if seed >= 29 else 4 + seed % 5
        names = [name for name in self.bench.patterns.relations if "←" in name]
        every = [AttentionPath.of(*head, name) for head in heads for name in names]
        self.candidates = rng.sample(every, count)
        some = [NOTHING, NOTHING, Uniform(), Identity()]
        self.idle = {head: rng.choice(some) for head in heads}
        self.sets = subsets(self.candidates)
        choosing = {path.at for path in self.candidates}
        below = sorted({path.layer for path in self.candidates})[:-1]
        worst = slow_losses(self.bench, [mechanisms(s, self.idle) for s in self.sets])
        for layer in below:
            freed = [mechanisms(s, self.idle, layer, choosing) for s in self.sets]
            worst = [*map(max, worst, slow_losses(self.bench, freed))]
        better = sum(loss < worst[0] for loss in worst) / len(worst)
        self.worst = worst
        self.threshold = between(worst, better * rng.uniform(0, 0.9))

    def brute(self):
        """Sets below the threshold of which no proper subset is: by the definition."""
        judged = zip(self.sets, self.worst, strict=True)
        serving = [chosen for chosen, worst in judged if worst < self.threshold]
        minimal = [s for s in serving if not any(other < s for other in serving)]
        return {frozenset(s) for s in minimal}

    def searched(self, first=False, **more):
        about = self.candidates, Circuit(self.idle), self.threshold
        exhaustive = Exhaustive(self.bench.losses, *about, **more)
        return exhaustive.search(first), exhaustive


@pytest.mark.parametrize("seed", range(30))
def test_the_search_finds_what_judging_every_set_finds(seed):
    drawn = Drawn(seed, causal=seed % 3 > 0)
    found, search = drawn.searched()
    assert set(found) == drawn.brute()
    assert len(set(found)) == len(found)
    assert search.searched == len(drawn.candidates)
    least = min(map(len, found), default=0)
    smallest, _ = drawn.searched(first=True)
    assert smallest == [circuit for circuit in found if len(circuit) == least]


def test_a_search_that_ends_early_knows_all_small_circuits():
    drawn = Drawn(39)
    whole, _ = drawn.searched()
    sizes = set()
    for most in (1, 20, 40, 60, 100):
        known, part = drawn.searched(most=most)
        assert part.judged <= most
        assert -1 <= part.searched < 10
        small = {circuit for circuit in whole if len(circuit) <= part.searched}
        assert set(known) == small
        sizes.add(part.searched)
    assert len(sizes) > 2


@pytest.mark.parametrize("depth", [1, 2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_compiled_model_has_exactly_one_circuit(depth):
    known = compiled(depth)
    found = discover(known.model, known.task, sequences=32, trials=False)
    assert set(found.circuit.paths) == set(known.required)
    both = every_circuit(known.model, known.task, found, sequences=32)
    assert both.complete
    assert [set(circuit) for circuit in both.circuits] == [set(known.required)]
    assert both.core == both.circuits[0]


@pytest.fixture
def run(tmp_path):
    """A run that ended with a model set by hand, which nobody trained."""
    known = compiled(1)
    config = RunConfig(known.task, known.model.config)
    run = Run.create(tmp_path / "run", config)
    run.save_checkpoint(1, known.model.state_dict())
    return run


def test_what_a_run_keeps(run, capsys):
    quick = {"sequences": 32, "trials": False}
    found = discover(run, **quick)
    told = []
    every = every_circuit(run, most=999, watch=lambda *so_far: told.append(so_far))
    assert run.load(MinimalCircuits) == every
    assert MinimalCircuits.from_json(every.to_json()) == every
    assert told[-1] == (len(every.candidates), every.judged, len(every.circuits))
    assert every.complete is True
    assert every.most == 999
    assert max(every.costs) < every.limit
    assert every.right == (0,)
    assert every.circuits == (tuple(found.circuit.paths),)
    text = str(every)
    assert f"smallest: {len(every.circuits[0])} paths" in text
    assert max(map(len, text.splitlines())) <= 80

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        every_circuit(run, watch=stop)
    assert run.load(MinimalCircuits) == every, "what is stopped leaves what was there"
    discover(run, **quick)
    assert run.load(MinimalCircuits) is not None, "the same search says the same"
    discover(run, **quick, threshold=0.06)
    assert run.load(MinimalCircuits) is None
    options = ["--trials", "False", "--sequences", "32", "--all"]
    main(["circuit", str(run.folder), *options])
    out = capsys.readouterr().out
    assert "with the layers above any layer free" in out
    assert "complete, with nothing spare, too: 1 of 1" in out
    assert json.loads((run.folder / "circuits.json").read_text())["candidates"]


def test_bad_input(run):
    known = compiled(1)
    with pytest.raises(HeadwayError, match=r"^discovery = None .* must be a Discovery"):
        every_circuit(known.model, known.task)
    for wrong in ({"most": 0}, {"sequences": 1}):
        with pytest.raises(
            HeadwayError, match=rf"^{next(iter(wrong))} = .* is not allowed"
        ):
            every_circuit(run, **wrong)
    with pytest.raises(HeadwayError, match=r"circuits\.json: sequences is missing"):
        MinimalCircuits.from_json({"limit": 0.05})
    assert "--step does not go with --all" in refused(
        "circuit", run.folder, "--all", "--step", "1"
    )
