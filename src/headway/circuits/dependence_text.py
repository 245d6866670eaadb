"""What depends on what, as plain text of at most 80 columns: of one run, and of several."""

from collections.abc import Iterator, Sequence
from statistics import mean, stdev
from typing import TYPE_CHECKING

from headway.circuits.agreement import KINDS, MEANINGS, NEEDS, Pair, Share
from headway.intervals import wilson
from headway.text import aligned, width, wrapped

if TYPE_CHECKING:
    from headway.circuits.dependence import Dependence


def of_dependence(found: "Dependence") -> str:
    """What became of the circuit with each of its paths clamped, beside the prediction."""
    lines = [*wrapped(when(found) + "."), "", *trainings(found), *not_clamped(found)]
    if found.predicts and found.throughout:
        lines += ["", *kinds(found.pairs), "", *wrapped(verdict(found))]
    elif not found.predicts:
        lines += wrapped("Nothing is predicted: the flow of this task or circuit is not known.")
    return "\n".join(lines)


def when(found: "Dependence") -> str:
    """What was done, in a sentence without its full stop."""
    start = "all the way" if not found.after else f"after step {found.after}"
    end = "" if found.until is None else f" up to step {found.until}"
    count = len(found.clamped)
    return (
        f"{count} {'path' if count == 1 else 'paths'} of {len(found.circuit)}, each clamped"
        f" {start}{end} in a training of the same seed; free training took {found.free.steps}"
        f" steps, clamped ones could take {found.most}"
    )


def trainings(found: "Dependence") -> list[str]:
    """A line per training: its loss, the hops that it learnt, and the paths that it lacks."""
    numbers = {path: str(i) for i, path in enumerate(found.circuit, start=1)}
    rows = [["", "clamped", "loss", "learnt", "does not form"]]
    for training in (found.free, *found.clamped):
        lacks = [
            numbers[pair.other] + "!" * (pair.agrees is False)
            for pair in found.pairs
            if pair.clamped == training.clamped and pair.formed is False
        ]
        missed = [
            f"({numbers[pair.other]}!)"
            for pair in found.pairs
            if pair.clamped == training.clamped and pair.formed and pair.agrees is False
        ]
        path, learnt = training.clamped, " ".join(training.learnt) or "–"
        name = ("", "nothing") if path is None else (numbers[path], str(path))
        cells = [f"{training.loss:.3f}", learnt, " ".join([*lacks, *missed]) or "–"]
        rows.append([*name, *cells])
    lines = [part for line in aligned(rows, "rlrll", gap=2) for part in wrapped(line, rest="    ")]
    return lines + wrapped("! not as predicted; in brackets what forms against the prediction")


def not_clamped(found: "Dependence") -> list[str]:
    """A line with the paths of the circuit that were never clamped, by number; empty if none."""
    clamped = {training.clamped for training in found.clamped}
    numbered = enumerate(found.circuit, start=1)
    rest = [f"{number} {path}" for number, path in numbered if path not in clamped]
    return wrapped("not clamped: " + "; ".join(rest), rest=" " * 4) if rest else []


def kinds(pairs: Sequence[Pair]) -> list[str]:
    """How often the prediction came true, kind by kind."""
    rows = [("if P is clamped", "then Q", "it does so")]
    for kind in KINDS:
        share = Share.of(pairs, kind)
        expected = "does not form" if kind in NEEDS else "forms"
        if share.count:
            rows.append((f"{kind}: {MEANINGS[kind]}", expected, str(share)))
    if max(map(len, aligned(rows, "lll", gap=2))) > width():
        rows = [(row[0].partition(":")[0], *row[1:]) for row in rows]
    return aligned(rows, "lll", gap=2)


def verdict(found: "Dependence") -> str:
    """How much of the prediction came true."""
    agreed, confirmed = found.agreed, found.confirmed
    return (
        f"As predicted: {agreed} pairs; of {confirmed.count} predicted dependences"
        f" {confirmed.right} {'is' if confirmed.right == 1 else 'are'} confirmed."
    )


def of_several(all_found: Sequence["Dependence"]) -> str:
    """What several runs say of the prediction: every predicted edge, and the shares."""
    found = [one for one in all_found if one.predicts and one.throughout]
    lines = wrapped(f"{len(found)} runs in which something was predicted")
    if not found:
        return "\n".join(lines)
    lines += ["", *edge_table(list(edges(found)))]
    every = [pair for one in found for pair in one.pairs]
    lines += ["", *kinds(every), ""]
    for what, shares in (
        ("pairs as predicted", [one.agreed for one in found]),
        ("predicted dependences confirmed", [one.confirmed for one in found]),
    ):
        lines += wrapped(f"{what}: {over_runs(shares)}")
    return "\n".join(lines)


def edge_table(rows: Sequence[tuple[str, str, str, str, str]]) -> list[str]:
    """Predicted dependences as a table, or as sentences where that is too wide."""
    table = aligned([("Q", "needs P", "kind", "confirmed", "95 %"), *rows], "lllll", gap=2)
    if max(map(len, table)) <= width():
        return table
    sentences = [f"{q} needs {p} ({kind}): {share}, {ends}" for q, p, kind, share, ends in rows]
    return [line for sentence in sentences for line in wrapped(sentence)]


def edges(found: Sequence["Dependence"]) -> Iterator[tuple[str, str, str, str, str]]:
    """Every predicted dependence, and how many of the runs that have it confirmed it."""
    pairs = [pair for one in found for pair in one.pairs if pair.needs and pair.agrees is not None]
    for clamped, other, kind in sorted({(p.clamped, p.other, p.kind or "") for p in pairs}):
        same = [p for p in pairs if (p.clamped, p.other, p.kind) == (clamped, other, kind)]
        right = sum(bool(pair.agrees) for pair in same)
        low, high = wilson(right, len(same))
        interval = f"{low:.2f}–{high:.2f}"
        yield str(other), str(clamped), kind, f"{right} of {len(same)}", interval


def over_runs(shares: Sequence[Share]) -> str:
    """A share: over all runs, its mean by run, and the spread."""
    each = [share.right / share.count for share in shares if share.count]
    if not each:
        return "none"
    right, count = sum(s.right for s in shares), sum(s.count for s in shares)
    said = f"{right} of {count}; share by run {mean(each):.2f}"
    spread = f" (standard deviation {stdev(each):.2f}, n = {len(each)})" if len(each) > 1 else ""
    return said + spread
