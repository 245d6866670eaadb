"""The page and the figure about heads of a language model: what they show is what was found."""

import copy
import re
from itertools import product
from random import Random

import pytest
from browser import faults

from headway.report.figures import save_figure
from headway_experiments.language_models.figures import draw_heads, more
from headway_experiments.language_models.page import write_heads
from headway_experiments.language_models.page.page import render_heads

LAYERS, HEADS = 7, 3
RELATIONS = (
    ("s0←s1", "look-up", 1),
    ("s2←s3", "look-up", 2),
    ("s2←s1", "neighbour", 1),
    ("s0←s2", "induction", 1),
    ("answer←s2", "read-out", 1),
    ("answer←s4", "read-out", 2),
    ("previous token", "place", 0),
)


def made_up(depth=2):
    random = Random(1)

    def grid(most):
        return [[round(most * random.random(), 4) for _ in range(HEADS)] for _ in range(LAYERS)]

    relations = [
        {
            "name": name,
            "kind": kind,
            "hop": hop,
            "own": grid(0.5),
            "others": None if kind == "place" else grid(0.1),
        }
        for name, kind, hop in RELATIONS
        if hop <= depth
    ]
    ranking = [
        {
            "layer": layer,
            "head": head,
            "relation": random.choice(["s0←s1", "answer←s2"]),
            "score": 0.5,
            "attention": random.random(),
            "others": random.random(),
            "more": 0.4,
            "interval": [0.3, 0.5],
        }
        for layer in range(LAYERS)
        for head in range(HEADS)
    ]
    measures = ("argmax", "expectation", "margin", "log_p", "mass")
    effects = []
    for top in (0, 1, 3):
        for kind in ("top", "matched", "random") if top else ("none",):
            mean = random.random()
            found = {name: [mean, mean - 0.1, mean + 0.1] for name in measures}
            less = {name: [-0.2, -0.3, -0.1] for name in measures}
            drawn = kind in ("matched", "random")
            effects.append(
                {
                    "kind": kind,
                    "top": top,
                    "questions": 20,
                    "sets": 2 if drawn else 1,
                    "found": found,
                    "top_less": less if drawn else None,
                }
            )
    hops = [
        {"hop": hop, "heads": ["1.0", "2.2"], "layer": 1.4, "best": "2.2", "best_more": 0.31}
        for hop in range(1, depth + 1)
    ]
    return {
        "model": "tiny<b>",
        "formulation": "equations",
        "depth": depth,
        "chains": 4,
        "n": 40,
        "seed": 3,
        "form": None,
        "ablation": "knock-out",
        "layers": LAYERS,
        "heads": HEADS,
        "ranked_on": 20,
        "relations": relations,
        "ranking": ranking,
        "effects": effects,
        "least_more": 0.02,
        "orders": [
            {"name": "text", "hops": hops, "correlation": 0.62, "interval": [0.31, 0.84]},
            {"name": "answer", "hops": hops, "correlation": None, "interval": None},
        ],
        "seconds": {"attention": 12.3, "without": 45.6},
        "environment": {"command": ["headway", "heads"]},
    }


@pytest.fixture
def found():
    return made_up()


def test_the_table_and_the_maps_show_what_was_found(found):
    page = render_heads(found)
    for one in found["ranking"]:
        assert f'<data value="{one["attention"]!r}">{one["attention"]:.3f}</data>' in page
    titles = re.findall(r"<title>(\d+)\.(\d+): ([\d.]+) to its own chain, ([\d.]+) to", page)
    compared = [one for one in found["relations"] if one["others"] is not None]
    assert len(titles) == len(compared) * LAYERS * HEADS
    kinds = ("look-up", "induction", "read-out", "neighbour")
    ordered = sorted(compared, key=lambda one: kinds.index(one["kind"]))
    cells = iter(titles)
    for one in ordered:
        for layer in range(LAYERS):
            for head in range(HEADS):
                own, others = one["own"][layer][head], one["others"][layer][head]
                assert next(cells) == (str(layer), str(head), f"{own:.3f}", f"{others:.3f}")


def test_shades_grow_with_attention(found):
    page = render_heads(found)
    shares = [float(share) for share in re.findall(r"--share:([\d.]+)", page)][: LAYERS * HEADS]
    values = more(found, ("look-up", "induction", "read-out")).flatten().tolist()
    expected = [max(0.0, value) / max(values) for value in values]
    assert shares == pytest.approx(expected, abs=1e-3)


def test_pale_maps_tell_their_largest_value(found):
    """Noise has no full shade."""
    one = next(one for one in found["relations"] if one["name"] == "s2←s3")
    one["own"] = [[0.003 if (i, j) == (4, 1) else 0.0 for j in range(HEADS)] for i in range(LAYERS)]
    one["others"] = [[0.0] * HEADS] * LAYERS
    page = render_heads(found)
    assert "most in 4.1: 0.003" in page
    shade = re.search(r"--share:([\d.]+)\"[^>]*><title>4\.1: 0\.003 to its own", page)
    assert shade
    assert float(shade[1]) == pytest.approx(0.06)


def test_words_are_those_of_the_numbers(found):
    page = render_heads(found)
    assert "tiny&lt;b&gt;" in page
    assert "tiny<b>" not in page
    assert "Within the text, later hops tend to be followed in later layers" in page
    assert "(rank correlation +0.62; 2 of 2 heads follow several hops)" in page
    assert "Knocking out the best 1 or 3 lowers the margin" in page
    other = copy.deepcopy(found)
    other["orders"][0]["interval"] = [-0.2, 0.84]
    for one in other["effects"]:
        if one["top_less"] is not None:
            one["top_less"]["margin"] = [-0.1, -0.3, 0.1]
    other["effects"][0]["found"]["margin"] = [0.1, -0.1, 0.3]
    page = render_heads(other)
    assert "are not related beyond doubt (rank correlation +0.62" in page
    assert "does not lower the margin of the right answer" in page
    assert "The whole model does not tell the right answer from the wrong ones" in page
    nothing = copy.deepcopy(found)
    nothing["ranking"][0]["interval"] = [-0.1, 0.2]
    assert "No head follows the chain beyond doubt" in render_heads(nothing)


def test_one_hop_has_no_order():
    page = render_heads(made_up(depth=1))
    assert page.count("One hop has no order.") == 3
    assert "too few heads" not in page


def test_the_page_needs_nothing_from_elsewhere(found, tmp_path):
    page = write_heads(found, tmp_path)
    text = page.read_text()
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)", text)
    assert write_heads(found, tmp_path).read_text() == text


def test_the_figure_is_drawn_alike_each_time(found, tmp_path):
    for name in ("a.svg", "b.svg"):
        save_figure(draw_heads(found), tmp_path / name, "Heads")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    for words in ("from the text", "argmax right", "the best heads", "hop 2", "layer"):
        assert words in text


def test_in_a_browser_it_is_accessible_and_not_too_wide(visit, found, tmp_path):
    seen = visit(write_heads(found, tmp_path))
    for width, scheme in product((1280, 390), ("light", "dark")):
        seen.look(width, scheme)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert not faults(seen)
