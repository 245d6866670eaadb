import re
import shutil
from xml.etree import ElementTree

import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from headway import HeadwayError, figure
from headway.dynamics import saved_timeline
from headway.find import discover
from headway.judge import Discovery
from headway.relations import AttentionPath
from headway.relations.roles import Cast, Place
from headway.replace import Circuit, Paths
from headway.report.curves import dated
from headway.report.figures.circuits import draw_circuit
from headway.report.figures.saving import save_figures
from headway.report.figures.shapes import arrow_name
from headway.report.figures.style import (
    COLUMN_WIDTH,
    TEXT_WIDTH,
    png_bytes,
    printed,
    svg_bytes,
)
from headway.report.looks import COLOURS, path_looks
from headway.tasks import Retrieval
from headway.training import Run

R = ("previous token", "2 back", "first position")

ALL = {"losses", "circuit", "emergence", "attention"}


def test_every_figure_is_there_in_all_formats(run):
    saved = save_figures(run)
    assert set(saved) == ALL
    for path in saved.values():
        assert path.parent == run.folder / "figures"
        ElementTree.fromstring(path.read_bytes())
        assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    assert len(list((run.folder / "figures").iterdir())) == 3 * len(ALL)


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
        svg = svg_bytes(draw_circuit(discovery, each.task), "title").decode()
        arrows = re.findall(r'id="arrow-(\d+)-(\d+)-([^"]+)"', svg)
        paths = discovery.circuit.paths
        assert {f"arrow-{'-'.join(arrow)}" for arrow in arrows} == set(
            map(arrow_name, paths)
        )
        assert len(arrows) == len(paths)


HEADS = {
    (layer, head): Paths(frozenset([R[head % 3]]))
    for layer in range(6)
    for head in range(4)
}


def size_of(figure):
    return tuple(figure.get_size_inches())


def words_of(drawn):
    return [text.get_text() for text in drawn.findobj(Text) if text.get_text()]


def test_a_circuit_is_as_wide_as_a_column_and_has_no_title(solved):
    found = discover(solved, sequences=64, trials=False)
    drawn = draw_circuit(found, solved.task)
    assert size_of(drawn)[0] <= COLUMN_WIDTH
    task = Retrieval(depth=3, n_chains=2)
    assert size_of(draw_circuit(Circuit({}), task))[0] == pytest.approx(COLUMN_WIDTH)
    told = words_of(drawn)
    assert "$x_{1}$" in told
    assert "answers" not in told  # there is one alone
    assert not any("loss" in text or re.match(r"H\d", text) for text in told)


PLACES = tuple(Place(role, "", "pair") for role in ("key", "value", "query"))


def circuit_of(*paths):
    return Circuit.of([AttentionPath.parse(path) for path in paths])


def test_heads_that_do_the_same_share_an_arrow():
    circuit = circuit_of("L0.H0 value←key", "L0.H2 value←key", "L0.H1 query←value")
    drawn = draw_circuit(circuit, Cast(PLACES, ("answer",)))
    assert {"H0, H2", "H1"} <= set(words_of(drawn))
    arrows = [patch.get_gid() for patch in drawn.axes[0].patches if patch.get_gid()]
    assert arrows == ["arrow-0-0-value-key", "arrow-0-1-query-value"]


def text_of(drawn, part):
    (text,) = [text for text in drawn.findobj(Text) if part in text.get_text()]
    return text


def test_arrows_without_symbols_have_the_colour_of_the_text():
    drawn = draw_circuit(circuit_of("L0.H0 value←key"), Cast(PLACES, ("answer",)))
    (arrow,) = [patch for patch in drawn.axes[0].patches if patch.get_gid()]
    answer = text_of(drawn, "answer").get_color()
    assert to_hex(arrow.get_edgecolor()) == to_hex(answer) == COLOURS[0]


def test_a_few_heads_that_join_no_roles_are_named_beside_their_layer():
    circuit = circuit_of("L0.H0 value←key", "L0.H2 own position", "L1.H1 query←value")
    drawn = draw_circuit(circuit, Cast(PLACES, ("answer",)))
    words = text_of(drawn, "H2: own position")
    assert words.get_window_extent().x0 > 0


def test_layers_without_useful_heads_are_not_drawn():
    circuit = circuit_of("L0.H0 value←key", "L3.H1 query←value")
    told = words_of(draw_circuit(circuit, Cast(PLACES, ("answer",))))
    assert [word for word in told if word.startswith("layer")] == ["layer 0", "layer 3"]


def test_heads_between_no_places_are_a_table_of_relations():
    paths = [f"L0.H0 {R[0]}", f"L0.H1 {R[1]}", f"L1.H3 {R[0]}"]
    circuit = circuit_of(*paths)
    drawn = draw_circuit(circuit, Cast(()))
    assert words_of(drawn)[1:] == ["0", "1", R[0], "H0", "H3", R[1], "H1"]
    assert size_of(drawn)[0] == pytest.approx(COLUMN_WIDTH)


def test_a_dollar_is_a_dollar_and_a_small_digit_a_subscript():
    assert printed("s₂←s₁₀ costs $5 and $6") == (r"$s_{2}$←$s_{10}$ costs \$5 and \$6")
    assert printed("猫 x₁") == "猫 x₁"


def test_many_heads_are_grouped_by_relation():
    drawn = draw_circuit(Circuit(dict(HEADS)), Cast(()))
    assert [text for text in words_of(drawn) if text in R] == [*R]
    gids = {text.get_gid() for text in drawn.axes[0].texts}
    assert {arrow_name(path) for path in Circuit(dict(HEADS)).paths} <= gids
    assert size_of(drawn)[0] == pytest.approx(COLUMN_WIDTH)


def test_an_arrow_has_a_stripe_for_every_symbol_and_places_keep_some():
    paths = ["L0.H0 s2←s1", "L0.H0 s4←s3", "L1.H0 s0←s2", "L1.H0 s0←s4"]
    relations = [AttentionPath.parse(path) for path in paths]
    heads = {
        (layer, 0): Paths(frozenset(p.relation for p in relations if p.layer == layer))
        for layer in range(2)
    }
    task = Retrieval(depth=2, n_chains=2)
    axes = draw_circuit(Circuit({**heads}), task).axes[0]
    looks = path_looks(task, relations)
    stripes = sum(max(1, len(look.carries)) for look in looks.values())
    assert len(axes.patches) - 2 == stripes  # a band a layer
    uprights = [line for line in axes.lines if line.get_alpha()]
    assert uprights
    assert {line.get_color() for line in uprights} <= {*COLOURS}


def test_the_baseline_has_the_colour_of_no_path(finished):
    _, without = dated(saved_timeline(finished), finished.task)
    assert without[-1].name == "nothing cut"
    assert without[-1].colour not in {curve.colour for curve in without[:-1]}


def test_pictures_have_three_hundred_dots_an_inch(finished):
    drawn = figure(finished, "losses")
    width = int.from_bytes(png_bytes(drawn)[16:20])
    assert width == pytest.approx(300 * TEXT_WIDTH, abs=2)
