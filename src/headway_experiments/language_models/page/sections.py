"""What the sections of the page about heads show, as data."""

from collections.abc import Mapping, Sequence
from typing import Any

from headway.report.labels import signed
from headway_experiments.language_models.page.drawings import Head, Series, head_map, key, whiskers

LEAST_SHADE = 0.05
"""The full shade of a map stands for this attention or more, so that noise stays pale."""

MEANS = {
    "look-up": "from a symbol to where it was told of before",
    "induction": "from a symbol to what stands beside where it was told of before",
    "read-out": "from the prompt’s last token, where the answer is given",
    "neighbour": "on the same line; places in the text tell as much, so it does not rank",
    "place": "told by the place in the text alone; it does not rank",
}
FOLLOWING = ("look-up", "induction", "read-out")

MEASURES = {
    "argmax": "share in which the most probable acceptable answer is right",
    "margin": "margin: log-probability of the right answer less the mean of the wrong ones",
}
KINDS = (
    ("top", "the best heads out", "c2", "circle"),
    ("matched", "others of the same layers out", "c1", "square"),
    ("random", "others of any layer out", "c0", "diamond"),
)


def ranked(found: Mapping[str, Any]) -> dict[str, Any]:
    """The map of all heads, with the ranks of the best."""
    marks = {(one["layer"], one["head"]): str(i + 1) for i, one in enumerate(found["ranking"][:9])}
    following = [one for one in found["relations"] if one["kind"] in FOLLOWING]
    best = _most([_more(one) for one in following])

    def told(head: Head) -> str:
        layer, at = head
        one = max(following, key=lambda one: _more(one)[layer][at])
        return f"{layer}.{at}: {one['name']} {signed(_more(one)[layer][at])}"

    label = "how much more attention every head gives its own chain, by layer and head"
    drawing = head_map(best, _top(best), label, told, marks, "large")
    return {"drawing": drawing, "top": _top(best)}


def maps(found: Mapping[str, Any]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Every kind of relation, what it means, and a map of each of its relations."""
    by_kind = {kind: [one for one in found["relations"] if one["kind"] == kind] for kind in MEANS}
    return [(kind, MEANS[kind], list(map(_map_of, some))) for kind, some in by_kind.items() if some]


def _map_of(one: Mapping[str, Any]) -> dict[str, Any]:
    values = one["own"] if one["others"] is None else _more(one)
    layer, head = max(
        ((i, j) for i, row in enumerate(values) for j in range(len(row))),
        key=lambda at: values[at[0]][at[1]],
    )

    def told(at: Head) -> str:
        own = f"{at[0]}.{at[1]}: {one['own'][at[0]][at[1]]:.3f}"
        if one["others"] is None:
            return own
        return f"{own} to its own chain, {one['others'][at[0]][at[1]]:.3f} to each other"

    label = f"attention along {one['name']} by layer and head, most in {layer}.{head}"
    return {
        "name": one["name"],
        "most": f"{layer}.{head}",
        "value": f"{values[layer][head]:.3f}",
        "drawing": head_map(values, _top(values), label, told),
    }


def effects(found: Mapping[str, Any]) -> dict[str, Any]:
    """The answers without heads, measure by measure, and the key of their points."""
    rows, drawn, series = found["effects"], [], []
    tops = sorted({one["top"] for one in rows} - {0})
    for measure, means in MEASURES.items():
        series = [
            Series(name, colour, shape, _points(rows, kind, tops, measure))
            for kind, name, colour, shape in KINDS
        ]
        guessing = 1 / found["chains"] if measure == "argmax" else 0.0
        levels = [("whole model", rows[0]["found"][measure][0]), ("guessing", guessing)]
        label = f"{means}, by heads that are out"
        drawn.append((means, whiskers(list(map(str, tops)), series, levels, label, "heads out")))
    return {"whiskers": drawn, "key": key(series)}


def _points(
    rows: Sequence[Mapping[str, Any]], kind: str, tops: Sequence[int], measure: str
) -> list[tuple[int, float, float, float]]:
    return [(tops.index(one["top"]), *one["found"][measure]) for one in rows if one["kind"] == kind]


def costly(found: Mapping[str, Any]) -> list[str]:
    """How many of the best heads cost more than as many others of the same layers."""
    return [
        str(one["top"])
        for one in found["effects"]
        if one["kind"] == "matched" and one["top_less"]["margin"][2] < 0
    ]


def followers(found: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """By order, how many heads follow a hop, and how many of these follow several."""
    counts = {}
    for order in found["orders"]:
        every = [head for hop in order["hops"] for head in hop["heads"]]
        several = sum(every.count(head) > 1 for head in set(every))
        counts[order["name"]] = {"heads": len(set(every)), "several": several}
    return counts


def _more(one: Mapping[str, Any]) -> list[list[float]]:
    return [
        [own - other for own, other in zip(*rows, strict=True)]
        for rows in zip(one["own"], one["others"], strict=True)
    ]


def _most(grids: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    return [[max(cell) for cell in zip(*rows, strict=True)] for rows in zip(*grids, strict=True)]


def _top(values: Sequence[Sequence[float]]) -> float:
    return max(LEAST_SHADE, max(map(max, values)))
