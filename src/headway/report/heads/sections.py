"""The sections of the page about heads."""

from collections.abc import Mapping, Sequence
from typing import Any

from headway.report.heads.drawings import Head, Series, head_map, key, whiskers
from headway.report.heads.words import between, kind_of, name_of, signed
from headway.report.page.html import counted, escape, figure, named, number, section, table, tag

SHOWN = 30
"""Rows of the ranking."""
LEAST_SHADE = 0.05
"""The full shade of a map stands for no less attention, so that noise stays pale."""

MEANS = {
    "look-up": "from a symbol to where it was told of before",
    "induction": "from a symbol to what stands beside where it was told of before",
    "read-out": "from the prompt’s last token, where the answer is given",
    "neighbour": "on the same line; places in the text tell as much, so it does not rank",
    "place": "told by the place in the text alone; it does not rank",
}

ROLES = (
    "<b>s<sub>0</sub></b> is what the question asks about, <b>s<sub>1</sub></b> the same symbol on"
    " the line that tells of it, <b>s<sub>2</sub></b> what stands beside it there,"
    " <b>s<sub>3</sub></b> that symbol on the line that tells of it, and so on to the answer;"
    " <b>answer</b> is the prompt’s last token."
)

MEASURES = {
    "argmax": "share in which the most probable acceptable answer is right",
    "margin": "margin: log-probability of the right answer less the mean of the wrong ones",
}


def ranked(found: Mapping[str, Any]) -> str:
    """Section 1: the best heads."""
    total = found["layers"] * found["heads"]
    marks = {(one["layer"], one["head"]): str(i + 1) for i, one in enumerate(found["ranking"][:9])}
    following = [one for one in found["relations"] if _follows(one)]
    best = _most([_more(one) for one in following])

    def told(head: Head) -> str:
        layer, at = head
        one = max(following, key=lambda one: _more(one)[layer][at])
        return f"{layer}.{at}: {one['name']} {signed(_more(one)[layer][at])}"

    label = "how much more attention every head gives its own chain, by layer and head"
    drawing = head_map(best, _top(best), label, told, marks, "large")
    caption = (
        f"<b>All {total} heads.</b> The stronger the shade, the more attention a head gives to its"
        " own chain than to the others, along the relation that it follows best, on all questions;"
        f" the full shade stands for {_top(best):.2f}. Numbers are ranks. Point at a head for its"
        " relation."
    )
    rows = [
        (
            str(i + 1),
            name_of(one),
            named(one["relation"]),
            _three(one["attention"]),
            _three(one["others"]),
            f'<data value="{one["more"]!r}">{signed(one["more"])}</data>',
            escape(between(one["interval"], 3)),
        )
        for i, one in enumerate(found["ranking"][:SHOWN])
    ]
    names = ("rank", "layer.head", "relation", "attention", "other chains", "more", "95 %")
    html = figure(drawing, caption, "heads") + tag("h3", "The best heads")
    html += table(names, rows, "the best heads, their relations and attention")
    html += tag(
        "p",
        f"Ranks and relations come from the first {found['ranked_on']} questions; attention and"
        f" intervals from the other {found['n'] - found['ranked_on']}, so that having been chosen"
        " does not flatter a head.",
        class_="under",
    )
    html += tag("p", ROLES, class_="under")
    return section("ranked", "The heads that follow the chain", html)


def _three(value: float) -> str:
    return f'<data value="{value!r}">{value:.3f}</data>'


def maps(found: Mapping[str, Any]) -> str:
    """Section 2: a map a relation."""
    drawn = ""
    for kind, means in MEANS.items():
        members = [one for one in found["relations"] if one["kind"] == kind]
        if not members:
            continue
        plots = "".join(_map_of(one) for one in members)
        drawn += tag("h3", f"{escape(kind.capitalize())}: {escape(means)}")
        drawn += tag("div", plots, class_="headmaps")
    caption = (
        "A column a layer, a row a head. Shades are attention to one’s own chain less that to each"
        " of the others; where other chains have no such role they are attention itself. The"
        f" full shade of a map stands for its largest value, told above it, and at least for"
        f" {LEAST_SHADE}."
    )
    return section("relations", "Relation by relation", figure(drawn, caption, "maps"))


def _map_of(one: Mapping[str, Any]) -> str:
    values = one["own"] if one["others"] is None else _more(one)
    top = _top(values)
    layer, head = max(
        ((i, j) for i, row in enumerate(values) for j in range(len(row))),
        key=lambda at: values[at[0]][at[1]],
    )

    def told(at: Head) -> str:
        own = f"{at[0]}.{at[1]}: {one['own'][at[0]][at[1]]:.3f}"
        if one["others"] is None:
            return own
        return f"{own} to its own chain, {one['others'][at[0]][at[1]]:.3f} to each other"

    title = tag(
        "h4",
        f"{named(one['name'])} <small>most in {layer}.{head}: {values[layer][head]:.3f}</small>",
    )
    label = f"attention along {one['name']} by layer and head, most in {layer}.{head}"
    return tag("div", title + head_map(values, top, label, told))


def effects(found: Mapping[str, Any]) -> str:
    """Section 3: what the model answers without heads."""
    rows = found["effects"]
    tops = sorted({one["top"] for one in rows} - {0})
    drawn, legend = "", ""
    for measure, means in MEASURES.items():
        series = [
            Series(name, colour, shape, _points(rows, kind, tops, measure))
            for kind, name, colour, shape in (
                ("top", "the best heads out", "c2", "circle"),
                ("matched", "others of the same layers out", "c1", "square"),
                ("random", "others of any layer out", "c0", "diamond"),
            )
        ]
        whole = rows[0]["found"][measure][0]
        chance = 1 / found["chains"]
        guessing = chance if measure == "argmax" else 0.0
        levels = [("whole model", whole), ("guessing", guessing)]
        groups = [str(top) for top in tops]
        plot = whiskers(groups, series, levels, f"{means}, by heads that are out", "heads out")
        drawn += tag("div", tag("h4", escape(means)) + plot)
        legend = key(series)
    caption = (
        f"On {rows[0]['questions']} questions that the ranking has not seen. For every question and"
        f" number of heads {counted(rows[-1]['sets'], 'set')} of others of each kind, drawn anew."
        f" {_ablated(found['ablation'])} Intervals 95 %."
    )
    html = figure(tag("div", drawn, class_="estimated") + legend, caption, "knock-out")
    told = [
        (
            escape(kind_of(one)),
            *(
                _found(one, measure)
                for measure in ("argmax", "expectation", "margin", "log_p", "mass")
            ),
        )
        for one in rows
    ]
    names = ("heads out", "argmax right", "expected", "margin", "ln p(right)", "p(acceptable)")
    html += tag("h3", "Answers") + table(names, told, "answers without heads")
    less = [
        (
            escape(kind_of(one)),
            *(_less(one, m) for m in ("argmax", "expectation", "margin", "log_p")),
        )
        for one in rows
        if one["top_less"] is not None
    ]
    html += tag("h3", "The best heads against drawn ones, the same questions paired")
    names = ("against", "argmax right", "expected", "margin", "ln p(right)")
    html += table(names, less, "differences between the best heads and drawn ones")
    words = "Below zero: without the best heads it is less than without as many others."
    return section("effects", "Knocked out", html + tag("p", words, class_="under"))


def _ablated(ablation: str) -> str:
    if ablation == "uniform":
        return "A head that is out attends to all tokens alike (uniform ablation)."
    return "A head that is out adds nothing: its pattern is zero (knock-out)."


def _found(one: Mapping[str, Any], measure: str) -> str:
    found = one["found"][measure]
    return f"{number(found[0])} <small>{between(found[1:], 3)}</small>"


def _less(one: Mapping[str, Any], measure: str) -> str:
    less = one["top_less"][measure]
    return f"{signed(less[0])} <small>{between(less[1:], 3)}</small>"


def _points(
    rows: Sequence[Mapping[str, Any]], kind: str, tops: Sequence[int], measure: str
) -> list[tuple[int, float, float, float]]:
    return [(tops.index(one["top"]), *one["found"][measure]) for one in rows if one["kind"] == kind]


def orders(found: Mapping[str, Any]) -> str:
    """Section 4: hops and layers."""
    html = ""
    for order in found["orders"]:
        title = {"text": "Within the text", "answer": "From the place of the answer"}
        rows = [
            (
                str(hop["hop"]),
                str(len(hop["heads"])),
                number(hop["layer"]),
                escape(hop["best"]),
                signed(hop["best_more"]),
                escape(", ".join(hop["heads"])) or '<span class="none">—</span>',
            )
            for hop in order["hops"]
        ]
        names = ("hop", "heads", "mean layer", "best", "more", "which")
        html += tag("h3", title[order["name"]]) + table(names, rows, title[order["name"]])
        if len(order["hops"]) == 1:
            said = "One hop has no order."
        elif order["correlation"] is None:
            said = "Too few heads follow a hop to say whether later hops stand in later layers."
        else:
            said = (
                f"Rank correlation of hop and layer: {signed(order['correlation'], 2)}"
                f" (95 %: {between(order['interval'])})."
            )
        html += tag("p", said)
    html += tag(
        "p",
        f"A head counts if it gives at least {found['least_more']:g} more attention to its own"
        " chain along a relation that leads to this hop’s pair, and more than nothing beyond doubt"
        " for all heads together (95 %, Bonferroni). Its layer weighs as much as what it gives"
        " more. The interval of the correlation comes from drawing these heads anew.",
        class_="under",
    )
    return section("orders", "Order of hops, order of layers", html)


def reading(found: Mapping[str, Any]) -> str:
    """Section 5: what was measured, and how to have it again."""
    lines = "".join(
        tag("li", f"<b>{named(one['name'])}</b> {escape(one['kind'])}")
        for one in found["relations"]
    )
    seconds = found["seconds"]
    words = (
        "Of a relation’s first role the last token attends; over the tokens of its second role"
        " attention is summed. Where several chains have both roles, the mean over them counts."
        " Other chains count as far as they stand before the token that attends. A head’s rank is"
        " its attention to its own chain less the mean over the others, along the relation along"
        " which that is largest."
    )
    html = tag("p", words) + tag("ul", lines, class_="relations")
    command = " ".join(found["environment"]["command"])
    made = (
        f"Made by <code>{escape(command)}</code>; attention took {seconds['attention']:.0f} s,"
        f" knock-outs {seconds['without']:.0f} s."
    )
    html += tag("p", made)
    return section("reading", "How it is measured", html)


def _follows(one: Mapping[str, Any]) -> bool:
    return one["kind"] in ("look-up", "induction", "read-out")


def _more(one: Mapping[str, Any]) -> list[list[float]]:
    return [
        [own - other for own, other in zip(*rows, strict=True)]
        for rows in zip(one["own"], one["others"], strict=True)
    ]


def _most(grids: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    return [[max(cell) for cell in zip(*rows, strict=True)] for rows in zip(*grids, strict=True)]


def _top(values: Sequence[Sequence[float]]) -> float:
    return max(LEAST_SHADE, max(map(max, values)))
