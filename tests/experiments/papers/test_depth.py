"""The studies of facts by heart and of two hops in context: what claims are of."""

import inspect
import math
import re
from types import SimpleNamespace

import pytest
import torch

from headway.relations import AttentionPath
from headway.training import Run
from headway_experiments.paper import FIGURES, by_heart, two_hops
from headway_experiments.talk import MECHANISMS
from headway_experiments.tasks import Named, TwoHops
from headway_experiments.verbs import papers
from sampling import seeded


def test_the_least_layers_are_the_fewest_that_solve_the_last_hop(monkeypatch):
    right = {3: 0.5, 4: 0.95, 5: 0.9}
    configs = by_heart.runs_of("small").items()
    runs = {
        name: SimpleNamespace(config=one) for name, one in configs if one.seed == 3100
    }

    def accuracies(run, without=None):
        layers = run.config.model.n_layers
        ks = run.config.task.asked
        last = 0.2 if len(ks) == 3 else right[layers]
        return {1: 1.0, 4: last if without in (None, 1) else 0.3}

    monkeypatch.setattr(by_heart, "accuracies", accuracies)
    found = by_heart.measured(runs)
    assert found["heart_named_all"] == found["heart_written_all"] == {"seed=3100": 4}
    assert found["heart_named_doubling"] == {"seed=3100": 6}
    assert list(found["heart_ends"].values()) == [1, 1]
    # All but layer 1.
    assert found["heart_named_used"] == {"named,all,layers=5,seed=3100": 4}


def test_named_maps_are_judged_by_beginnings_that_were_not_shown(tmp_path, monkeypatch):
    config = by_heart.config("named", "ends", 3, 3100, 20)
    drawn = set()
    draw = Named.draw
    model = Run.create(tmp_path / "run", config).new_model("cpu")
    run = SimpleNamespace(config=config, device="cpu", transformer=lambda: model)

    def told(task, *more):
        drawn.add(task.beginnings)
        return draw(task, *more)

    monkeypatch.setattr(Named, "draw", told)
    assert by_heart.accuracies(run).keys() == {1, 4}
    assert drawn == {"held out"}


COPIES = ("L0.H0 bridge←source", "L0.H0 end←bridge again")


@pytest.mark.parametrize(
    ("paths", "is_sequential"),
    [
        ((*COPIES, "L1.H0 query←bridge", "L2.H0 query←end"), True),
        ((*COPIES, "L2.H0 query←bridge", "L1.H0 query←end"), False),
        ((*COPIES, "L1.H0 query←bridge", "L1.H1 query←end"), False),
        (
            (
                COPIES[0],
                "L1.H0 end←bridge again",
                "L1.H0 query←bridge",
                "L2.H0 query←end",
            ),
            False,
        ),
        (("L1.H0 query←bridge", "L2.H0 query←end"), False),
    ],
)
def test_a_sequential_query_copies_then_finds_the_bridge_then_the_end(
    paths, is_sequential, monkeypatch
):
    circuit = SimpleNamespace(paths=list(map(AttentionPath.parse, paths)))
    monkeypatch.setattr(two_hops, "taken_apart", lambda run: True)
    monkeypatch.setattr(
        two_hops, "saved_discovery", lambda run: SimpleNamespace(circuit=circuit)
    )
    assert two_hops.is_sequential(None) == is_sequential


def test_the_fall_is_the_share_of_steps_between_a_guess_and_what_is_learnt():
    task = TwoHops(n_chains=3, n_symbols=9)
    guess = math.log(3)

    def run_of(losses):
        lines = [{"step": step, "partial": {"end": loss}} for step, loss in losses]
        return SimpleNamespace(task=task, metrics=lambda: lines)

    losses = [(100, guess), (300, 0.8 * guess), (350, 0.5 * guess), (400, 0.05 * guess)]
    assert two_hops.fall(run_of(losses)) == 1 - 300 / 400
    assert two_hops.fall(run_of(losses[:-1])) is None


def test_a_guess_is_among_the_ends_of_all_chains(monkeypatch):
    task = TwoHops(n_chains=3, n_symbols=9)
    batch = task.sample(64, seeded(0))
    logits = torch.full((64, 1, 10), -1e3)
    logits[:, 0].scatter_(1, task.ends(batch)[:, :2], 0.0)
    monkeypatch.setattr(two_hops, "predictions", lambda model, batch: logits)
    monkeypatch.setattr(two_hops, "unseen", lambda run: batch)
    found = two_hops.guesses(SimpleNamespace(task=task, transformer=lambda: None))
    assert found["two_hops_ends"] == pytest.approx(1.0)
    right = logits[:, 0].argmax(-1) == batch.targets[:, 0, 0]
    assert found["two_hops_end_alone"] == pytest.approx(right.float().mean().item())


def test_nothing_is_told_of_the_roles_to_what_reads_blind():
    untold = two_hops.untold(TwoHops(n_chains=3, n_symbols=9, asked="both"))
    batch = untold.sample(2, seeded(0))
    assert untold.roles == ()
    assert batch.roles.numel() == 0
    assert untold.is_read_blind


def test_every_experiment_is_named_in_the_help():
    text = " ".join(inspect.getdoc(papers.reproduce).split())
    numbered = re.compile(r"fig[2-7]$")
    for name in [*FIGURES, *MECHANISMS]:
        assert numbered.match(name) or name in text, name
