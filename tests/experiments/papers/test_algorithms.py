"""Jumping and passing on are told apart where the truth is known, and counted cell by
cell.
"""

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
    if (
        construction == "doubling"
    ):  # from x_3 on, what is jumped to must have read the next fact
        passed = [cost >= 0.5 for cost in found.passes.values()]
        assert passed == [False, False, True, True, True][:depth]
    elif construction == "sequential":
        assert max(found.passes.values()) < 0.01
    else:
        assert max(found.jumps.values()) < 0.01
        assert all(found.passes[f"x_{j}"] > 0.9 for j in range(2, depth + 1))


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
    shape = known.model.config
    wider = Transformer(type(shape)(**{**vars(shape), "n_layers": 4}), 8, 12, 28, 4)
    for weight in wider.parameters():
        torch.nn.init.zeros_(weight)
    wider.load_state_dict({**wider.state_dict(), **known.model.state_dict()})
    found = way_of(wider, known.task, sample(known.task, 48, 1))
    assert (found.label, found.layers) == ("jumps", (0, 1, 2))


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
    hops = "x_1", "x_2", "x_3"
    each = (dict(zip(hops, values, strict=True)) for values in (losses, jumps, passes))
    assert Way(*each, layers=()).label == label


def test_a_cut_takes_those_paths_and_no_others():
    known = compiled(3)
    batch = sample(known.task, 4, 1)
    before = attention_patterns(known.model, batch.inputs)
    facts = {f"s{i}": (i + 1) // 2 for i in range(7)}
    for cut in (jumping, passing):
        seen = []
        tap = without(known.task, cut)(batch)
        for layer in range(3):
            seen.append(tap(layer, before[:, layer]))
        for query, at in facts.items():
            for key, to in facts.items():
                edges = known.task.edges(batch)[f"{query}←{key}"]
                rows = torch.arange(4)[:, None]
                along = torch.stack(seen, 1)[
                    rows, :, :, edges.queries, edges.keys[..., 0]
                ]
                kept = before[rows, :, :, edges.queries, edges.keys[..., 0]]
                is_cut = to - at >= 2 if cut is jumping else to - at == 1 and at > 0
                assert torch.equal(along, torch.zeros_like(kept) if is_cut else kept), (
                    query + key
                )
        others = known.task.edges(batch)["s0←s4 (other chains)"]
        rows = torch.arange(4)[:, None, None]
        at = rows, slice(None), slice(None), others.queries[..., None], others.keys
        assert torch.equal(torch.stack(seen, 1)[at], before[at])


PLANS = [(runs_of(scale), cells(scale)) for scale in ("smoke", "small", "paper")]


@pytest.mark.parametrize(
    ("configs", "expected"), [*PLANS, (untaught("small"), UNTAUGHT)]
)
def test_names_tell_the_cell(configs, expected):
    assert {Cell.of(name) for name in configs} == {*expected}
    for name, config in configs.items():
        cell = Cell.of(name)
        assert f"{cell},seed={config.seed}" == name
        assert (config.task.depth, config.model.n_layers) == (cell.depth, cell.layers)
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
        found = {
            name: SimpleNamespace(
                label=label, layers=range(layers), jumps=hops, passes=hops
            )
            for name, label in labels.items()
        }
        monkeypatch.setattr(algorithms, "ways", lambda runs: found)
        return measure(found)

    return measured


def test_labels_are_counted_and_shares_are_of_what_is_learnt(labelled):
    names = [f"D=3,spare=1,full,seed={seed}" for seed in range(4)]
    found = labelled(
        dict(zip(names, ("jumps", "jumps", "both", "neither"), strict=True))
    )
    counts = {"jumps": 2, "passes on": 0, "both": 1, "neither": 1}
    assert algorithms.counts(found) == {Cell(3, 1, False): counts}
    expected = {
        "learnt": {"one": (3, 4)},
        "jumps": {"one": (2, 3)},
        "passes on": {"one": (0, 3)},
    }
    assert algorithms.shares({"one": counts}) == expected
    none = {**dict.fromkeys(LABELS, 0), "neither": 3}
    expected = {"learnt": {"none": (0, 3)}, "jumps": {}, "passes on": {}}
    assert algorithms.shares({"none": none}) == expected
    panel = share_panel("", "", {"jumps": {"one": (2, 3)}}, ["one"])
    # Wilson.
    assert panel.series[0].ends[0] == pytest.approx((0.2077, 0.9385), abs=1e-3)
    assert cells_and_labels(found).splitlines()[2] == (
        "| D = 3, full depth | 4 | 3 of 4 | 2 (0.21..0.94) | 0 (0.00..0.56) | 1 | "
        "0 | 3 × 3 |"
    )
    assert set(found["algorithm_jumps_cost"]) == {f"{name} x_2" for name in names}


def test_claims_are_of_the_cells_that_they_speak_of(labelled):
    labels = {
        "D=3,spare=0,full,seed=0": "jumps",
        "D=3,spare=0,full,seed=1": "neither",
        "D=3,spare=1,full,seed=0": "jumps",
        "D=3,spare=1,full,seed=1": "jumps",
        "D=3,spare=1,mixture,seed=0": "passes on",
        "D=3,spare=1,mixture,seed=1": "jumps",
        "D=3,spare=2,full,seed=0": "neither",
        "D=3,spare=2,mixture,seed=0": "jumps",
        "D=2,spare=1,full,seed=0": "passes on",
        "D=3,spare=1,full,adam,seed=0": "passes on",
        "D=3,spare=1,full,gap,seed=0": "jumps",
        "D=3,spare=1,full,longer,seed=0": "jumps",
        "D=3,spare=1,full,longer,seed=1": "both",
    }
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
    assert [LABELS[int(n)] for n in found["algorithm_label"].values()] == list(
        labels.values()
    )
    assert list(found["doubling_leaps"].values()) == [1, 0]
    assert list(found["doubling_mixture"].values()) == [1]
    assert list(found["doubling_jumps"].values()) == [1, 0]


def test_the_table_of_settings_is_that_of_the_results():
    root = Path(__file__).parents[3]
    kept = [
        result_files.read("algorithms", scale, root / "results")
        for scale in ("small", "fresh")
    ]
    found = of_all_seeds(*(each.measures for each in kept if each))
    page = (root / "results/claims/algorithms.md").read_text(encoding="utf-8")
    assert page[page.index("|") :] == cells_and_labels(found)
