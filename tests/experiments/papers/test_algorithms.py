"""Jumping and passing on are told apart where the truth is known, and counted cell by
cell.
"""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from doc_tables import cells_and_labels, of_all_seeds

from headway.models import Transformer, attention_patterns
from headway.recipes import changed
from headway.theory import closed_form
from headway_experiments import result_files
from headway_experiments.arena import compiled
from headway_experiments.figures import share_panel
from headway_experiments.paper import algorithms
from headway_experiments.paper.cells import (
    CHANGES,
    UNTAUGHT,
    Cell,
    cells,
    runs_of,
    untaught,
)
from headway_experiments.paper.ways import (
    LABELS,
    Way,
    jumping,
    passing,
    way_of,
    without,
)
from sampling import sample


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("construction", ["doubling", "sequential", "passing"])
def test_pointer_doubling_and_walking_jump_and_an_assembly_line_passes_on(
    construction, depth
):
    known = compiled(depth, construction)
    found = way_of(known.model, known.task, sample(known.task, 48, 1))
    assert found.label == ("passes on" if construction == "passing" else "jumps")
    layers = closed_form(depth) if construction == "doubling" else depth + 1
    assert found.layers == tuple(range(layers))
    if construction == "doubling":
        # From x_3 on, what is jumped to must have read the next fact.
        for hop, cost in enumerate(found.passes.values(), 1):
            assert (cost >= 0.5) == (hop >= 3)
    elif construction == "sequential":
        assert max(found.passes.values()) < 0.01
    else:
        assert max(found.jumps.values()) < 0.01
        for j in range(2, depth + 1):
            assert found.passes[f"x_{j}"] > 0.9


def test_what_is_not_learnt_is_neither_and_has_nothing_to_lose():
    known = compiled(3)
    torch.manual_seed(0)
    model = Transformer(known.model.config, 8, 12, 28, 4)
    found = way_of(model, known.task, sample(known.task, 48, 1))
    assert found.label == "neither"
    assert {*found.jumps.values(), *found.passes.values()} == {0.0}
    assert found.layers == ()


def test_a_layer_that_nothing_depends_on_does_not_count():
    known = compiled(3)
    deeper = replace(known.model.config, n_layers=4)
    wider = Transformer(deeper, 8, 12, 28, 4)
    for weight in wider.parameters():
        torch.nn.init.zeros_(weight)
    wider.load_state_dict(known.model.state_dict(), strict=False)
    found = way_of(wider, known.task, sample(known.task, 48, 1))
    assert found.label == "jumps"
    assert found.layers == (0, 1, 2)


@pytest.mark.parametrize(
    ("losses", "jumps", "passes", "label"),
    [
        ((0.1, 0.2, 0.3), (0.0, 0.9, 1.2), (0.0, 0.1, 1.0), "jumps"),
        ((0.1, 0.2, 0.3), (0.0, 0.1, 0.2), (0.0, 0.9, 1.0), "passes on"),
        (
            (0.1, 0.2, 0.3),
            (0.0, 0.1, 0.9),
            (0.0, 0.9, 1.0),
            "both",
        ),  # x_2 passed on, x_3 jumped
        ((0.1, 0.2, 0.3), (0.0, 0.9, 0.9), (0.0, 0.9, 0.9), "both"),  # half by each
        ((0.1, 0.2, 0.3), (0.0, 0.3, 0.3), (0.0, 0.3, 0.3), "both"),  # by either alone
        ((0.1, 0.2, 0.5), (0.0, 0.9, 0.9), (0.0, 0.1, 0.1), "neither"),
        ((0.6, 0.2, 0.3), (0.0, 0.9, 0.9), (0.0, 0.1, 0.1), "neither"),
    ],
)
def test_labels_follow_the_rule(losses, jumps, passes, label):
    def by_hop(values):
        return dict(zip(("x_1", "x_2", "x_3"), values, strict=True))

    way = Way(by_hop(losses), by_hop(jumps), by_hop(passes), layers=())
    assert way.label == label


def jumps_over(at, to):
    """True if attention leads two facts ahead or further."""
    return to - at >= 2


def passes_on(at, to):
    """True if attention leads to the next fact, and not from the query."""
    return to - at == 1 and at > 0


@pytest.mark.parametrize(
    ("cut", "is_cut"), [(jumping, jumps_over), (passing, passes_on)]
)
def test_a_cut_takes_those_paths_and_no_others(cut, is_cut):
    known = compiled(3)
    batch = sample(known.task, 4, 1)
    edges = known.task.edges(batch)
    before = attention_patterns(known.model, batch.inputs)
    tap = without(known.task, cut)(batch)
    after = torch.stack([tap(layer, before[:, layer]) for layer in range(3)], 1)

    def along(pattern, name):
        """What all heads attend along a relation."""
        rows = torch.arange(4)[:, None, None]
        queries = edges[name].queries[..., None]
        return pattern[rows, :, :, queries, edges[name].keys]

    for query in range(7):
        for key in range(7):
            name = f"s{query}←s{key}"
            expected = along(before, name)
            if is_cut((query + 1) // 2, (key + 1) // 2):
                expected = torch.zeros_like(expected)
            assert torch.equal(along(after, name), expected), name
    others = "s0←s4 (other chains)"
    assert torch.equal(along(after, others), along(before, others))


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        (runs_of("smoke"), cells("smoke")),
        (runs_of("small"), cells("small")),
        (runs_of("paper"), cells("paper")),
        (untaught("small"), UNTAUGHT),
    ],
)
def test_names_tell_the_cell(configs, expected):
    assert {Cell.of(name) for name in configs} == {*expected}
    for name, config in configs.items():
        cell = Cell.of(name)
        assert f"{cell},seed={config.seed}" == name
        assert config.task.depth == cell.depth
        assert config.model.n_layers == cell.layers
        kind = config.training.curriculum.kind
        assert (kind == "mixture") == cell.mixture
        assert (kind == "leaps") == (cell.change == "leaps")


def test_a_change_changes_that_alone():
    configs = runs_of("small")
    for mixture in (False, True):
        base = configs[f"{Cell(3, 1, mixture)},seed=3000"]
        for cell in cells("small"):
            if cell.change and cell.mixture == mixture:
                made = configs[f"{cell},seed=3000"]
                assert made == changed(base, CHANGES[cell.change])
                assert made != base


@pytest.fixture
def labelled(monkeypatch):
    """Measures of runs that have these labels, and depend on so many layers, by
    name.
    """

    def measured(labels, layers=3, measure=algorithms.measured):
        hops = dict.fromkeys(("x_1", "x_2"), 0.25)
        ways = {}
        for name, label in labels.items():
            way = SimpleNamespace(label=label, jumps=hops, passes=hops)
            way.layers = range(layers)
            ways[name] = way
        monkeypatch.setattr(algorithms, "ways", lambda runs: ways)
        return measure(ways)

    return measured


def seeds_of(cell, *labels):
    """The labels of a cell's runs, by name."""
    return {f"{cell},seed={seed}": label for seed, label in enumerate(labels)}


COUNTS = {"jumps": 2, "passes on": 0, "both": 1, "neither": 1}


@pytest.fixture
def four_runs(labelled):
    return labelled(seeds_of("D=3,spare=1,full", "jumps", "jumps", "both", "neither"))


def test_labels_are_counted_by_cell(four_runs):
    assert algorithms.counts(four_runs) == {Cell(3, 1, False): COUNTS}


def test_costs_are_by_run_and_hop(four_runs):
    costs = four_runs["algorithm_jumps_cost"]
    assert set(costs) == {f"D=3,spare=1,full,seed={seed} x_2" for seed in range(4)}


def test_shares_are_of_what_is_learnt():
    shares = algorithms.shares({"one": COUNTS})
    assert shares["learnt"] == {"one": (3, 4)}
    assert shares["jumps"] == {"one": (2, 3)}
    assert shares["passes on"] == {"one": (0, 3)}
    assert len(shares) == 3


def test_where_nothing_is_learnt_there_are_no_shares_of_it():
    none = {**dict.fromkeys(LABELS, 0), "neither": 3}
    shares = algorithms.shares({"none": none})
    assert shares == {"learnt": {"none": (0, 3)}, "jumps": {}, "passes on": {}}


def test_shares_are_drawn_with_wilsons_intervals():
    panel = share_panel("", "", {"jumps": {"one": (2, 3)}}, ["one"])
    assert panel.series[0].ends[0] == pytest.approx((0.2077, 0.9385), abs=1e-3)


def test_a_cell_has_a_line_in_the_table(four_runs):
    _, _, line = cells_and_labels(four_runs).splitlines()
    assert line == (
        "| D = 3, full depth | 4 | 3 of 4 | 2 (0.21..0.94) | 0 (0.00..0.56) | 1 | "
        "0 | 3 × 3 |"
    )


def test_claims_are_of_the_cells_that_they_speak_of(labelled):
    labels = seeds_of("D=3,spare=0,full", "jumps", "neither")
    labels |= seeds_of("D=3,spare=1,full", "jumps", "jumps")
    labels |= seeds_of("D=3,spare=1,mixture", "passes on", "jumps")
    labels |= seeds_of("D=3,spare=2,full", "neither")
    labels |= seeds_of("D=3,spare=2,mixture", "jumps")
    labels |= seeds_of("D=2,spare=1,full", "passes on")
    labels |= seeds_of("D=3,spare=1,full,adam", "passes on")
    labels |= seeds_of("D=3,spare=1,full,gap", "jumps")
    labels |= seeds_of("D=3,spare=1,full,longer", "jumps", "both")
    found = labelled(labels, layers=4)
    assert found["algorithm_tight_jumps"] == {"D=3,spare=0,full,seed=0": 1}
    assert list(found["algorithm_full_jumps"].values()) == [1, 1]
    assert list(found["algorithm_mixture_jumps"].values()) == [0, 1, 1]
    assert list(found["algorithm_mixture_passes"].values()) == [1, 0, 0]
    assert found["algorithm_by_mixture"] == {"D=3,spare=1,mixture": -0.5}
    assert found["algorithm_by_model"] == {"D=3,spare=1,full,adam": -1.0}
    assert found["algorithm_by_curriculum"] == {"D=3,spare=1,full,gap": 0.0}
    assert list(found["algorithm_kept"].values()) == [1, 0]
    # Four, where three would do.
    assert set(found["algorithm_jump_layers"].values()) == {1.0}
    assert found["algorithm_pass_layers"] == {"D=3,spare=1,mixture,seed=0": 0.0}


def test_claims_on_doubling_are_of_the_fewest_layers(labelled):
    labels = {
        "D=5,spare=0,full,leaps,seed=0": "jumps",
        "D=7,spare=0,full,leaps,seed=0": "neither",
        "D=4,spare=0,mixture,seed=0": "both",
        "D=5,spare=2,mixture,seed=0": "passes on",
    }
    found = labelled(labels, measure=algorithms.untaught_measured)
    numbers = found["algorithm_label"].values()
    assert [LABELS[int(number)] for number in numbers] == list(labels.values())
    assert list(found["doubling_leaps"].values()) == [1, 0]
    assert list(found["doubling_mixture"].values()) == [1]
    assert list(found["doubling_jumps"].values()) == [1, 0]


def test_the_table_of_settings_is_that_of_the_results():
    results = Path(__file__).parents[3] / "results"
    small = result_files.read("algorithms", "small", results)
    fresh = result_files.read("algorithms", "fresh", results)
    found = of_all_seeds(*(each.measures for each in (small, fresh) if each))
    page = (results / "claims/algorithms.md").read_text(encoding="utf-8")
    assert page[page.index("|") :] == cells_and_labels(found)
