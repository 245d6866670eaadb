import re
import shutil
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.text import Text

from headway import HeadwayError, figure
from headway.dynamics import saved_timeline
from headway.find import discover
from headway.judge import Discovery
from headway.relations import AttentionPath
from headway.relations.roles import Cast, Place
from headway.replace import Circuit, Head, Mechanism, Paths
from headway.report.curves import dated
from headway.report.figures.circuits import BetweenPlaces, draw_circuit
from headway.report.figures.saving import save_figures
from headway.report.figures.shapes import arrow_name
from headway.report.figures.style import (
    COLUMN_WIDTH,
    TEXT_WIDTH,
    png_bytes,
    printed,
    svg_bytes,
)
from headway.report.figures.tables import ByRelation, lines_of
from headway.report.looks import COLOURS, NOTHING, path_looks
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


def arrows_of(drawn):
    """The named arrows of a drawing, by name."""
    patches = drawn.axes[0].patches
    named = [patch for patch in patches if patch.get_gid()]
    return {patch.get_gid(): patch for patch in named}


def test_the_circuit_has_an_arrow_for_every_path(run, other):
    for each in (run, other):
        discovery = Discovery.from_json(each.read("circuit.json"))
        svg = svg_bytes(draw_circuit(discovery, each.task), "title").decode()
        arrows = re.findall(r'id="(arrow-[^"]+)"', svg)
        first: dict[object, str] = {}
        for path in discovery.circuit.paths:
            way = path.layer, path.relation
            first.setdefault(way, arrow_name(path))
        assert sorted(arrows) == sorted(first.values())


HEADS = {
    (layer, head): Paths(frozenset([R[head % 3]]))
    for layer in range(6)
    for head in range(4)
}


def size_of(figure):
    return tuple(figure.get_size_inches())


def words_of(drawn):
    return [text.get_text() for text in drawn.findobj(Text) if text.get_text()]


def boxes_of(drawn):
    """Where every text stands, in pixels, by its words."""
    FigureCanvasAgg(drawn).draw()
    texts = [text for text in drawn.findobj(Text) if text.get_text()]
    return {text.get_text(): text.get_window_extent() for text in texts}


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
    paths = ["L0.H0 value←key", "L0.H2 value←key", "L0.H1 query←value"]
    circuit = circuit_of(*paths)
    drawn = draw_circuit(circuit, Cast(PLACES, ("answer",)))
    assert {"H0, H2", "H1"} <= set(words_of(drawn))
    assert [*arrows_of(drawn)] == ["arrow-0-0-value-key", "arrow-0-1-query-value"]


def text_of(drawn, part):
    (text,) = [text for text in drawn.findobj(Text) if part in text.get_text()]
    return text


def test_arrows_without_symbols_have_the_colour_of_the_text():
    circuit = circuit_of("L0.H0 value←key")
    drawn = draw_circuit(circuit, Cast(PLACES, ("answer",)))
    (arrow,) = arrows_of(drawn).values()
    answer = text_of(drawn, "answer").get_color()
    colour = arrow.get_edgecolor()
    assert to_hex(colour) == to_hex(answer) == COLOURS[0]


def test_a_few_heads_that_join_no_roles_are_named_beside_their_layer():
    paths = ["L0.H0 value←key", "L0.H2 own position", "L1.H1 query←value"]
    circuit = circuit_of(*paths)
    drawn = draw_circuit(circuit, Cast(PLACES, ("answer",)))
    words = text_of(drawn, "H2: own position")
    assert words.get_window_extent().x0 > 0


def test_a_head_that_joins_no_roles_takes_no_colour_from_the_others():
    paths = ["L0.H0 s2←s1", "L0.H1 own position", "L1.H0 s0←s2"]
    drawn = draw_circuit(circuit_of(*paths), Retrieval(depth=1, n_chains=2))
    arrows = arrows_of(drawn).values()
    colours = [to_hex(arrow.get_edgecolor()) for arrow in arrows]
    assert colours == [COLOURS[0], COLOURS[1]]
    assert "H1: own position" in words_of(drawn)


def test_every_symbol_of_a_long_chain_has_a_line_of_its_own():
    places = [Place(f"p{i}", f"x_{i}", "") for i in range(9)]
    paths = [f"L{i}.H0 p8←p{i}" for i in range(8)]
    cast = Cast(tuple(places), ("x_0",))
    drawing = BetweenPlaces(circuit_of(*paths), cast)
    symbols = [symbol for way in drawing.ways for symbol in way.stripes]
    lanes = {drawing.lanes[8, symbol] for symbol in symbols}
    assert len(lanes) == 8


def test_a_path_that_brings_nothing_new_leaves_nothing_in_a_place():
    paths = ["L0.H0 s2←s1", "L1.H0 s2←s1", "L2.H0 s0←s2"]
    drawing = BetweenPlaces(circuit_of(*paths), Retrieval(depth=1, n_chains=2))
    stripes = [way.stripes for way in drawing.ways]
    assert {"": NOTHING} in stripes
    kept = {upright.symbol for upright in drawing.uprights}
    assert kept
    assert "" not in kept


def test_names_of_opposite_arrows_do_not_touch():
    circuit = circuit_of("L0.H0 value←key", "L0.H1 key←value")
    drawn = draw_circuit(circuit, Cast(PLACES, ("answer",)))
    boxes = boxes_of(drawn)
    assert not boxes["H0"].overlaps(boxes["H1"])


@pytest.mark.parametrize("letters", [3, 10, 40])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_words_stay_inside_the_figure_and_apart(letters, count):
    names = [f"{i}: the place of a token"[:letters] for i in range(count)]
    places = tuple(Place(name, "", "") for name in names)
    cast = Cast(places, ("the answer to it",))
    relation = f"{names[-1]}←{names[0]}"
    heads = [f"L0.H{i} {relation}" for i in range(12)]
    circuit = circuit_of(*heads, "L1.H7 previous token")
    drawn = draw_circuit(circuit, cast)
    boxes = boxes_of(drawn)
    width, height = drawn.bbox.size
    for words, box in boxes.items():
        assert 0 <= box.x0 < box.x1 <= width, words
        assert 0 <= box.y0 < box.y1 <= height, words
    roles = [box for words, box in boxes.items() if re.match(r"\d: ", words)]
    assert len(roles) == count
    assert not any(one.overlaps(other) for one, other in pairwise(roles))


def test_a_circuit_of_nothing_has_a_figure():
    drawn = draw_circuit(Circuit({}), Cast(()))
    assert boxes_of(drawn)["heads by layer"].x1 <= drawn.bbox.width


def test_long_relations_that_differ_at_their_end_are_two_rows():
    start = "token of " + "0, " * 30
    heads: dict[Head, Mechanism] = {}
    for i in range(2):
        name = f"{start}{i}"
        heads[0, i] = Paths(frozenset([name]))
    lines = lines_of(Circuit(heads))
    assert len(ByRelation(lines).relations) == 2


def test_layers_without_useful_heads_are_not_drawn():
    circuit = circuit_of("L0.H0 value←key", "L3.H1 query←value")
    drawn = draw_circuit(circuit, Cast(PLACES, ("answer",)))
    layers = [word for word in words_of(drawn) if word.startswith("layer")]
    assert layers == ["layer 0", "layer 3"]


def test_heads_between_no_places_are_a_table_of_relations():
    paths = [f"L0.H0 {R[0]}", f"L0.H1 {R[1]}", f"L1.H3 {R[0]}"]
    circuit = circuit_of(*paths)
    drawn = draw_circuit(circuit, Cast(()))
    assert words_of(drawn)[1:] == ["0", "1", R[0], "H0", "H3", R[1], "H1"]
    assert size_of(drawn)[0] == pytest.approx(COLUMN_WIDTH)


def test_a_dollar_is_a_dollar_and_a_small_digit_a_subscript():
    assert printed("s₂←s₁₀ costs $5 and $6") == (r"$s_{2}$←$s_{10}$ costs \$5 and \$6")
    assert printed("猫 x₁") == "猫 x₁"
    assert printed(r"\x₁") == r"\x₁"


def test_the_typeface_is_named_in_the_figure_itself(finished):
    drawn = figure(finished, "circuit")  # to be saved by others, in their style
    families = [text.get_fontfamily() for text in drawn.axes[0].texts]
    assert families
    assert all(family[0] == "STIXGeneral" for family in families)


def test_seven_heads_have_seven_colours():
    names = [f"L0.H{head} previous token" for head in range(7)]
    paths = [AttentionPath.parse(name) for name in names]
    looks = path_looks(Cast(()), paths)
    colours = {look.colour for look in looks.values()}
    assert len(colours) == 7


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
