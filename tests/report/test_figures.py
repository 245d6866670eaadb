import re
import shutil
from xml.etree import ElementTree

import pytest
import torch

from headway.circuits import Discovery, Timeline
from headway.report import (
    draw_attention,
    draw_circuit,
    draw_emergence,
    draw_losses,
    save_figures,
)
from headway.report.style import head_colours, path_lines, rounded, spread, svg_bytes, typeset
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
        drawn = {(int(layer), int(head), name) for layer, head, name in arrows}
        paths = discovery.circuit.paths
        assert drawn == {(layer, head, name.replace("→", "-")) for layer, head, name in paths}
        assert len(arrows) == len(paths)


def test_a_circuit_without_paths_draws(run):
    data = run.read("circuit.json")
    for entry in data["heads"]:
        entry["mechanism"] = "uniform"
    data["necessity"] = []
    figure = draw_circuit(Discovery.from_json(data), run.task, "nothing")
    assert "uniform" in svg_bytes(figure, "nothing").decode()


def test_losses_draw_from_a_single_evaluation():
    line = {"step": 5, "train_loss": 1.0, "val_loss": 0.9, "partial": {"z": 0.9}}
    svg = svg_bytes(draw_losses([line], ["z"], {"zero": 1.0}), "one").decode()
    assert "0.900" in svg


def test_emergence_draws_what_was_never_born(run):
    data = run.read("emergence.json")
    for path in data["paths"]:
        path["born"] = None
    data["hops"] = dict.fromkeys(data["hops"])
    svg = svg_bytes(draw_emergence(Timeline.from_json(data), []), "never").decode()
    assert svg.count("not yet") == len(data["paths"])


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 4)])
def test_attention_draws_any_number_of_heads(shape):
    patterns = torch.rand(*shape, 3, 3)
    svg = svg_bytes(draw_attention(patterns, ["a0", "a1", "·"], [(0, 0)], [2]), "maps").decode()
    assert svg.count("<image") == shape[0] * shape[1]


def test_names_are_typeset():
    assert typeset("s12→x_3") == "s₁₂→x₃"
    assert typeset("ax.a→xy.z") == "ax.a→xy.z"


def test_numbers_keep_three_digits():
    assert [rounded(x) for x in (0.18, 3.2, 123.4, 0.00429)] == ["0.180", "3.20", "123", "0.00429"]


def test_labels_are_moved_apart_and_keep_their_order():
    assert spread([0.0, 1.0, 10.0], 3.0) == [0.0, 3.0, 10.0]
    assert spread([1.0, 0.0], 3.0) == [3.0, 0.0]


def test_a_head_has_one_colour_in_all_figures():
    lines = path_lines([(0, 0, "s2→s1"), (2, 0, "s0→s2"), (2, 0, "s2→s4")])
    colours = head_colours([(2, 0), (0, 0)])
    assert [line.colour for line in lines] == [colours[0, 0], colours[2, 0], colours[2, 0]]
    assert lines[1].dashes != lines[2].dashes
