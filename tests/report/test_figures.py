import math
import re
import shutil
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import torch

from headway.circuits import (
    ABLATIONS,
    Circuit,
    Discovery,
    Path,
    Paths,
    Relation,
    Timeline,
    saved_discovery,
)
from headway.report.figures import (
    draw_attention,
    draw_circuit,
    draw_emergence,
    draw_losses,
    save_figures,
)
from headway.report.figures.style import head_colours, path_lines, svg_bytes
from headway.report.labels import spread, typeset
from headway.report.layout import arrow_name, grid_of
from headway.report.span import ending, shown_until
from headway.tasks import Conditional
from headway.text import rounded
from headway.training import Run

ALL = {"losses", "circuit", "emergence", "attention"}


def test_every_figure_is_there_in_both_formats(run):
    saved = save_figures(run)
    assert set(saved) == ALL
    for path in saved.values():
        assert path.parent == run.folder / "figures"
        ElementTree.fromstring(path.read_bytes())
        assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert len(list((run.folder / "figures").iterdir())) == 2 * len(ALL)


def test_text_stays_text(run):
    svg = save_figures(run)["losses"].read_text()
    assert "<text" in svg
    assert "validation" in svg
    assert "font-family" in svg
    assert "<title>Training, validation" in svg
    assert "dc:date" not in svg


def test_only_what_the_folder_has_data_for(unfinished, tmp_path):
    run = Run.open(shutil.copytree(unfinished.folder, tmp_path / "run"))
    assert set(save_figures(run)) == {"losses", "attention"}
    shutil.rmtree(run.folder / "checkpoints")
    assert set(save_figures(run)) == {"losses"}


def test_the_same_folder_gives_the_same_bytes(run):
    first = {p.name: p.read_bytes() for path in save_figures(run).values() for p in both(path)}
    second = {p.name: p.read_bytes() for path in save_figures(run).values() for p in both(path)}
    assert first == second


def both(path):
    return path, path.with_suffix(".png")


def test_other_tasks_and_models_draw_too(other, tmp_path):
    run = Run.open(shutil.copytree(other.folder, tmp_path / "run"))
    assert set(save_figures(run)) == ALL


def test_the_circuit_has_an_arrow_for_every_path(run, other):
    for each in (run, other):
        discovery = Discovery.from_json(each.read("circuit.json"))
        svg = svg_bytes(draw_circuit(discovery, each.task, "title"), "title").decode()
        arrows = re.findall(r'id="arrow-(\d+)-(\d+)-([^"]+)"', svg)
        paths = discovery.circuit.paths
        assert {f"arrow-{'-'.join(arrow)}" for arrow in arrows} == set(map(arrow_name, paths))
        assert len(arrows) == len(paths)


def test_a_circuit_without_paths_draws(run):
    data = run.read("circuit.json")
    data["heads"] = dict.fromkeys(data["heads"], "uniform")
    data["evidence"]["necessity"] = []
    figure = draw_circuit(Discovery.from_json(data), run.task, "nothing")
    assert "uniform" in svg_bytes(figure, "nothing").decode()


def test_losses_draw_from_a_single_evaluation():
    line = {"step": 5, "train_loss": 1.0, "val_loss": 0.9, "partial": {"z": 0.9}}
    svg = svg_bytes(draw_losses([line], ["z"], {"zero": 1.0}), "one").decode()
    assert "0.900" in svg


def timeline_of(run, **changes):
    data = run.read("emergence.json")
    for path in data["paths"]:
        path |= changes
    return data


def test_emergence_draws_what_was_never_born_or_needed(run):
    data = timeline_of(run, born=None, needed=None)
    data["hops"] = dict.fromkeys(data["hops"])
    svg = svg_bytes(draw_emergence(Timeline.from_json(data), []), "never").decode()
    assert svg.count("not yet, never") == len(data["paths"])


def test_a_path_looks_the_same_in_attention_and_knock_out(finished):
    data = timeline_of(finished, born=3.0, needed=5.0)
    timeline = Timeline.from_json(data)
    above, middle, below = draw_emergence(timeline, finished.metrics()).axes
    curves = {tuple(line.get_ydata()): line for line in middle.get_lines() if line.get_label()}
    assert tuple(timeline.loss) in curves
    for history, look in zip(timeline.paths, path_lines(timeline_paths(timeline)), strict=True):
        seen = [
            next(line for line in axes.get_lines() if tuple(line.get_ydata()) == tuple(values))
            for axes, values in ((above, history.attention), (middle, history.loss_without))
        ]
        assert [line.get_color() for line in seen] == [look.colour] * 2
        assert seen[0].get_linestyle() == seen[1].get_linestyle()
        for axes, step in ((above, 3.0), (middle, 5.0)):
            (marker,) = marks(axes, look)
            assert marker.get_xdata()[0] == step
    assert len(below.get_lines()) > len(timeline.hops)


def timeline_paths(timeline):
    return [history.path for history in timeline.paths]


def marks(axes, look):
    """The markers in a panel, those of the legend left out."""
    return [
        line
        for line in axes.get_lines()
        if line.get_marker() == look.marker
        and line.get_color() == look.colour
        and len(line.get_xdata()) == 1
    ]


def test_needed_stands_on_the_knock_out_curve(run):
    data = timeline_of(run, needed=None)
    data["steps"], data["loss"] = [0, 10, 20], [0.5, 0.2, 0.1]
    for path in data["paths"]:
        path |= {"attention": [0.1, 0.4, 0.9], "loss_without": [0.5, 0.5, 0.9]}
    data["paths"][0]["needed"] = 15.0
    timeline = Timeline.from_json(data)
    middle = draw_emergence(timeline, []).axes[1]
    looks = path_lines(timeline_paths(timeline))
    (marker,) = marks(middle, looks[0])
    assert (marker.get_xdata()[0], marker.get_ydata()[0]) == (15.0, pytest.approx(0.7))
    assert not marks(middle, looks[1])


@pytest.mark.parametrize(
    ("born", "needed", "hop", "shown"),
    [
        (150.0, 180.0, 200.0, 400),
        (150.0, 301.0, 200.0, 610),
        (150.0, None, 200.0, 400),
        (150.0, 180.0, None, 2000),
        (150.0, 180.0, 900.0, 2000),
        (None, None, 3.4, 7),
    ],
)
def test_quiet_steps_at_the_end_are_left_out_and_it_is_told(finished, born, needed, hop, shown):
    data = timeline_of(finished, born=born, needed=needed)
    data |= {"steps": [0, 2000], "hops": {"x_1": hop}, "loss": data["loss"][:2]}
    for path in data["paths"]:
        path |= {name: path[name][:2] for name in ("attention", "loss_without")}
    timeline = Timeline.from_json(data)
    assert shown_until(timeline, []) == (shown, 2000)
    assert ("left out" in ending(timeline)) is (shown < 2000)


def test_branches_lie_on_bands_and_meet_at_a_ring(finished):
    heads = {
        (0, 0): ("ax.x←ax.a", "ay.y←ay.a", "xy.z←xy.x", "xy.z←xy.y"),
        (1, 0): ("a←ax.x",),
        (2, 0): ("a←ay.y",),
        (3, 0): ("a←xy.z",),
    }
    circuit = Circuit(
        {head: Paths(frozenset(map(Relation, names))) for head, names in heads.items()}
    )
    found = replace(saved_discovery(finished), circuit=circuit)
    svg = svg_bytes(draw_circuit(found, Conditional(), "two branches"), "t").decode()
    bands = re.findall(r'id="branch-arrow-([^"]+)"', svg)
    assert sorted(bands) == [
        "0-0-ax.x-ax.a", "0-0-ay.y-ay.a", "0-0-xy.z-xy.x", "0-0-xy.z-xy.y",
        "1-0-a-ax.x", "2-0-a-ay.y",
    ]  # fmt: skip
    assert svg.count('id="branch-join"') == 1
    labels = re.findall(r'id="branch-label-arrow-([^"]+)">(.*?)</text>', svg, re.DOTALL)
    told = {path: text.rpartition(">")[2] for path, text in labels}
    assert told["1-0-a-ax.x"] == told["0-0-ax.x-ax.a"] == "x"
    assert told["2-0-a-ay.y"] == told["0-0-ay.y-ay.a"] == "y"
    assert told["0-0-xy.z-xy.x"] == "row"
    assert told["3-0-a-xy.z"] == "x + y"


def test_a_chain_has_no_bands(run):
    figure = draw_circuit(saved_discovery(run), run.task, "chain")
    assert "branch" not in svg_bytes(figure, "chain").decode()


@pytest.mark.parametrize("rows", ABLATIONS)
def test_the_circuit_names_its_ablation(run, rows):
    figure = draw_circuit(replace(saved_discovery(run), ablation=rows), run.task, "chain")
    words = " ".join(figure.texts[1].get_text().split())
    assert words == "losses with every head replaced: " + ABLATIONS[rows]


def test_points_on_a_bent_arrow_lie_on_its_curve(finished):
    circuit = Circuit({(0, h): Paths(frozenset({Relation("s2←s1")})) for h in range(2)})
    grid = grid_of(circuit, finished.task)
    arrows = [grid.arrows[path] for path in circuit.paths]
    for arrow in arrows:
        assert arrow.point(0) == pytest.approx(arrow.start)
        assert arrow.point(1) == pytest.approx(arrow.end)
    middles = [arrow.point(0.5) for arrow in arrows]
    apart = math.dist(arrows[0].start, arrows[0].end)
    assert math.dist(*middles) == pytest.approx(0.15 * apart)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 4)])
def test_attention_draws_any_number_of_heads(shape):
    patterns = torch.rand(*shape, 3, 3)
    svg = svg_bytes(draw_attention(patterns, ["a0", "a1", "·"], [(0, 0)], [2]), "maps").decode()
    assert svg.count("<image") == shape[0] * shape[1]


def test_names_are_typeset():
    assert typeset("s12←x_3") == "s₁₂←x₃"
    assert typeset("ax.a←xy.z") == "ax.a←xy.z"
    assert typeset("find^12") == "find¹²"


def test_numbers_keep_three_digits():
    assert [rounded(x) for x in (0.18, 3.2, 123.4, 0.00429)] == ["0.180", "3.20", "123", "0.00429"]


def test_labels_are_moved_apart_and_keep_their_order():
    assert spread([0.0, 1.0, 10.0], 3.0) == [0.0, 3.0, 10.0]
    assert spread([1.0, 0.0], 3.0) == [3.0, 0.0]


def test_a_head_has_one_colour_in_all_figures():
    lines = path_lines([Path.of(0, 0, "s2←s1"), Path.of(2, 0, "s0←s2"), Path.of(2, 0, "s2←s4")])
    colours = head_colours([(2, 0), (0, 0)])
    assert [line.colour for line in lines] == [colours[0, 0], colours[2, 0], colours[2, 0]]
    assert lines[1].dashes != lines[2].dashes
