"""The studies of doubling untaught, and of facts by heart: settings, and what claims are of."""

from types import SimpleNamespace

from headway.theory import closed_form
from headway_experiments.curricula import Leaps
from headway_experiments.paper import algorithms, by_heart, cells
from headway_experiments.paper.cells import Cell
from headway_experiments.paper.ways import LABELS


def test_untaught_cells_are_asked_in_leaps_or_for_every_depth():
    for name, config in cells.untaught("small").items():
        cell = Cell.of(name)
        assert f"{cell},seed={config.seed}" == name
        assert (config.task.depth, config.model.n_layers) == (cell.depth, cell.layers)
        assert config.training.curriculum.kind == ("mixture" if cell.mixture else "leaps")
    asked = {Leaps().ask(step, 0, config.task, 1).depth for step in range(64)}
    assert {depth: closed_form(depth) for depth in asked} == {1: 2, 3: 3, 7: 4}  # the most of each


def test_claims_on_doubling_are_of_the_fewest_layers(monkeypatch):
    labels = {
        "D=5,spare=0,full,leaps,seed=0": "jumps",
        "D=7,spare=0,full,leaps,seed=0": "neither",
        "D=4,spare=0,mixture,seed=0": "both",
        "D=5,spare=2,mixture,seed=0": "passes on",
    }
    nothing = {"layers": (), "jumps": {}, "passes": {}}
    ways = {name: SimpleNamespace(label=label, **nothing) for name, label in labels.items()}
    monkeypatch.setattr(algorithms, "ways", lambda runs: ways)
    found = algorithms.untaught_measured(dict.fromkeys(labels))
    assert [LABELS[int(n)] for n in found["algorithm_label"].values()] == list(labels.values())
    assert list(found["doubling_leaps"].values()) == [1, 0]
    assert list(found["doubling_mixture"].values()) == [1]
    assert list(found["doubling_jumps"].values()) == [1, 0]


def test_the_least_layers_are_the_fewest_that_solve_the_last_hop(monkeypatch):
    right = {3: 0.5, 4: 0.95, 5: 0.9}
    configs = by_heart.runs_of("small").items()
    runs = {name: SimpleNamespace(config=one) for name, one in configs if one.seed == 3100}

    def accuracies(run, without=None):
        layers, ks = run.config.model.n_layers, run.config.task.asked
        last = 0.2 if len(ks) == 3 else right[layers]
        return {1: 1.0, 4: last if without in (None, 1) else 0.3}

    monkeypatch.setattr(by_heart, "accuracies", accuracies)
    found = by_heart.measured(runs)
    assert found["heart_named_all"] == found["heart_written_all"] == {"seed=3100": 4}
    assert found["heart_named_doubling"] == {"seed=3100": 6}
    assert list(found["heart_ends"].values()) == [1, 1]
    assert found["heart_named_used"] == {"named,all,layers=5,seed=3100": 4}  # all but layer 1
