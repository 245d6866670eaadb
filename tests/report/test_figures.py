import re
import shutil
from xml.etree import ElementTree

import pytest

from headway import HeadwayError, figure
from headway.judge import Discovery
from headway.report.figures.drawing import arrow_name, draw_circuit
from headway.report.figures.saving import save_figures
from headway.report.figures.style import svg_bytes
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


def test_only_what_the_folder_has_data_for(unfinished, tmp_path):
    run = Run.open(shutil.copytree(unfinished.folder, tmp_path / "run"))
    assert set(save_figures(run)) == {"losses", "attention"}
    shutil.rmtree(run.folder / "checkpoints")
    assert set(save_figures(run)) == {"losses"}


def test_a_figure_is_asked_for_by_its_name(finished, unfinished):
    for name in ALL:
        assert svg_bytes(figure(finished.folder, name), "title").startswith(b"<?xml")
    with pytest.raises(
        HeadwayError, match=r"name = 'births' .* losses, circuit, emergence, att"
    ):
        figure(finished, "births")
    with pytest.raises(HeadwayError, match="it must be one of losses, attention, of"):
        figure(unfinished, "circuit")


def test_the_circuit_has_an_arrow_for_every_path(run, other):
    for each in (run, other):
        discovery = Discovery.from_json(each.read("circuit.json"))
        svg = svg_bytes(draw_circuit(discovery, each.task, "title"), "title").decode()
        arrows = re.findall(r'id="arrow-(\d+)-(\d+)-([^"]+)"', svg)
        paths = discovery.circuit.paths
        assert {f"arrow-{'-'.join(arrow)}" for arrow in arrows} == set(
            map(arrow_name, paths)
        )
        assert len(arrows) == len(paths)
