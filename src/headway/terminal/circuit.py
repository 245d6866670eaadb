"""Circuits on the terminal: the drawing, the certificate, and several side by side."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from headway.circuits import (
    ABLATIONS,
    Circuit,
    Comparison,
    Discovery,
    Path,
    Paths,
)
from headway.terminal.base import WIDTH, console


def drawing(circuit: Circuit, roles: Sequence[str]) -> list[str]:
    """The circuit as text: a column a role, a line a path, the last layer on top.

    A path's line runs from the role attended to, a dot, to the role that attends, an arrowhead; a
    square stands for a role that attends to itself.

    Args:
        circuit: a mechanism for every head.
        roles: in the order in which they stand in a sequence.
    """
    longest = max(map(len, roles))
    heads = [f"{layer}.{head}" for layer, head, _ in circuit.paths]
    margin = max(map(len, [*heads, "head"])) + 2
    width = max(longest + 1, min(longest + 2, (WIDTH - margin) // len(roles)))
    middle = {role: margin + i * width + width // 2 for i, role in enumerate(roles)}
    lines = ["head".ljust(margin) + "".join(role.center(width) for role in roles).rstrip()]
    last = ""
    for layer, head, relation in sorted(circuit.paths, key=lambda p: (-p[0], p[1], p[2])):
        query, _, key = relation.partition("→")
        name = f"{layer}.{head}"
        cells = list((name if name != last else "").ljust(margin + width * len(roles)))
        start, end = middle[key], middle[query]
        for at in range(min(start, end), max(start, end)):
            cells[at] = "─"
        cells[start], cells[end] = "●", "▶" if end > start else "◀"
        if start == end:
            cells[start] = "■"
        lines.append("".join(cells).rstrip())
        last = name
    return lines


def mechanism_rows(circuit: Circuit) -> list[tuple[str, str]]:
    """The circuit in words, heads without use gathered in one row."""
    rows, idle = [], dict[str, list[str]]()
    for (layer, head), mechanism in sorted(circuit.mechanisms.items(), key=lambda item: item[0]):
        name = f"{layer}.{head}"
        if isinstance(mechanism, Paths) and len(mechanism):
            rows.append((name, str(mechanism)))
        else:
            idle.setdefault(str(mechanism), []).append(name)
    return rows + [(" ".join(names), kind) for kind, names in idle.items()]


def print_circuit(found: Discovery, roles: Sequence[str], name: str = "") -> None:
    """A circuit, and the certificate that goes with it.

    Args:
        found: what the search found.
        roles: as they stand in a sequence; where positions play none, paths are named, not drawn.
        name: of the run, if there are several.
    """
    out = console()
    if name:
        out.rule(f"[bold]{escape(name)}[/]", align="left")
    rows = mechanism_rows(found.circuit)
    useful = len(found.circuit.useful_heads)
    if roles:
        for line in drawing(found.circuit, roles):
            out.print(line, markup=False)
        out.print("● attended to   ▶ attends   ■ both; positions in the order of the sequence")
    else:
        for head, paths in rows[:useful]:
            out.print(f"{head}: {paths}", markup=False)
    for heads, kind in rows[useful:]:
        out.print(f"{kind}: {heads}")
    out.print()
    print_certificate(out, found)
    out.print()
    out.print(necessity_table(found))
    out.print("without: the loss with this path cut and all other heads replaced")
    out.print("free above: the same, with the useful heads above attending freely")
    if found.certificate.trials:
        out.print("again: in how many searches with another sample or threshold it was found")
    out.print(
        f"{found.candidates} candidates at the cost of {found.forwards:.0f} forward passes,"
        f" {found.seconds:.1f} s"
    )


def print_certificate(out: Console, found: Discovery) -> None:
    """The verdicts, each with its numbers."""
    certificate, grid = found.certificate, Table.grid(padding=(0, 2, 0, 0))
    (low, high), (own_low, own_high) = certificate.interval, certificate.intact_interval
    hops = "  ".join(f"{hop} {loss:.3f}" for hop, loss in certificate.replaced.items())
    grid.add_row(
        "faithful",
        verdict(found.faithful),
        f"loss {found.replaced_loss:.4f} ({low:.4f} to {high:.4f}) with all"
        f" {len(found.circuit.mechanisms)} heads replaced\n{hops}; threshold {found.threshold:g}"
        f"\nthe model itself {found.intact_loss:.4f} ({own_low:.4f} to {own_high:.4f});"
        f" {certificate.sequences} fresh sequences",
    )
    without = [n for n in certificate.necessity if n.worst < found.threshold]
    least = min((n.worst for n in certificate.necessity), default=0.0)
    said = (
        f"cutting any of {len(found.circuit.paths)} paths: loss at least {least:.3f}"
        " (the worse of the two below)"
    )
    if without:
        said = "not missed: " + "; ".join(path_said(n.path) for n in without)
    grid.add_row("necessary", verdict(found.necessary), said)
    pairs = [f"{path_said(p.first)} with {path_said(p.second)}" for p in certificate.droppable]
    said = f"none of {certificate.pairs} pairs of paths can be dropped together"
    grid.add_row(
        "minimal", verdict(found.minimal), "can be dropped: " + "; ".join(pairs) if pairs else said
    )
    if certificate.trials:
        likeness = [trial.jaccard for trial in certificate.trials]
        grid.add_row(
            "stable",
            f"{sum(likeness) / len(likeness):.2f}",
            f"mean Jaccard index with the circuits of {len(likeness)} more searches"
            f" (least {min(likeness):.2f}): other samples, and thresholds "
            + ", ".join(
                f"{trial.threshold:.3g}"
                for trial in certificate.trials
                if trial.threshold != found.threshold
            ),
        )
    said = "no theory of information flow for this task"
    if certificate.infeasible:
        said = "not possible: " + "; ".join(path_said(path) for path in certificate.infeasible)
    elif certificate.infeasible is not None:
        said = "information can flow along every path"
    used = f"{len(found.circuit.useful_heads)} heads in {len(found.circuit.useful_layers)} layers"
    least_layers = "" if certificate.minimum is None else f"; the minimum is {certificate.minimum}"
    grid.add_row("feasible", verdict(found.feasible), f"{said}\n{used}{least_layers}")
    rest = [
        f"{rows} {loss:.4f}"
        for rows, loss in certificate.variants.items()
        if rows != found.ablation
    ]
    grid.add_row(
        "ablation", "", ABLATIONS[found.ablation] + "\nloss with other rows: " + "  ".join(rest)
    )
    backups = [
        f"{path_said(b.path)} by {b.by[0]}.{b.by[1]} (loss {b.loss:.3f})"
        for b in certificate.backups
    ]
    grid.add_row("back-ups", "", "; ".join(backups) or "no head can stand in for another")
    out.print(grid)


def verdict(holds: bool | None) -> str:
    """A verdict as a word."""
    return {True: "[green]yes[/]", False: "[bold red]NO[/]", None: "?"}[holds]


def path_said(path: Path) -> str:
    """A path in a few characters."""
    return f"{path[0]}.{path[1]} {path[2]}"


def print_comparison(comparison: Comparison, names: Sequence[str]) -> None:
    """What circuits share and where they differ: a row a relation, a column a run."""
    out = console()
    table = Table(box=None, pad_edge=False)
    table.add_column("relation")
    for number in range(1, len(names) + 1):
        table.add_column(str(number))
    for relation, by in comparison.heads.items():
        cells = [" ".join(f"{layer}.{head}" for layer, head in heads) or "-" for heads in by]
        table.add_row(relation, *cells)
    out.rule("[bold]side by side: the heads that attend along each relation[/]", align="left")
    for number, name in enumerate(names, start=1):
        out.print(f"{number}: {name}", markup=False)
    out.print(table)
    out.print("in all: " + (", ".join(comparison.shared) or "no relation"))
    firsts = {tuple(first) for first in comparison.first}
    alike = "the same relations in all runs" if len(firsts) == 1 else "not the same in all runs"
    out.print(f"the first useful layer attends along {alike}")
    out.print(f"mean Jaccard index of two runs' relations: {comparison.likeness:.2f}")


def necessity_table(found: Discovery, born: dict[Path, float | None] | None = None) -> Table:
    """Every path of a circuit with its attention and the losses without it, and its birth."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    certificate = found.certificate
    titles = ["layer.head", "path", "attention", "without", "free above"]
    titles += ["born at step"] if born is not None else []
    titles += ["again"] if born is None and certificate.trials else []
    for title in titles:
        table.add_column(title, justify="left" if title in ("layer.head", "path") else "right")
    for n in certificate.necessity:
        layer, head, relation = n.path
        cells = [f"{layer}.{head}", relation, f"{n.attention:.2f}", f"{n.loss:.3f}"]
        cells.append(f"{n.free:.3f}")
        if born is not None:
            step = born.get(n.path)
            cells.append("never" if step is None else f"{step:.0f}")
        elif certificate.trials:
            again = sum(n.path in trial.paths for trial in certificate.trials)
            cells.append(f"{again} of {len(certificate.trials)}")
        table.add_row(*cells)
    return table
