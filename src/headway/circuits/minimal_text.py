"""All minimal circuits of a model as plain text of at most 80 columns."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headway.circuits.mechanism import name_of
from headway.paths import Path
from headway.text import counted, wrapped

if TYPE_CHECKING:
    from headway.circuits.minimal import MinimalCircuits

SHOWN = 10
"""The most circuits that are listed one by one."""


def of_minimal_circuits(found: "MinimalCircuits") -> str:
    """How many there are, what they share, and the smallest of them."""
    lines = [line for part in sentences(found) for line in wrapped(part)]
    if found.circuits:
        lines += ["", *wrapped("in all: " + said(found.core)), ""]
    for i, (circuit, loss) in enumerate(zip(found.circuits[:SHOWN], found.losses, strict=False)):
        own = "; as discovered" if set(circuit) == set(found.discovered) else ""
        rest = [path for path in circuit if path not in found.core]
        line = f"{i + 1}: {counted(len(circuit), 'path')}, loss {loss:.4f}{own}"
        more = f"; beside those in all: {said(rest)}" if rest else ""
        lines += wrapped(line + more, rest="   ")
    if len(found.circuits) > SHOWN:
        lines += wrapped(f"and {len(found.circuits) - SHOWN} more, in circuits.json")
    return "\n".join(lines)


def sentences(found: "MinimalCircuits") -> Iterator[str]:
    """What was searched and found, sentence by sentence."""
    count, among = len(found.circuits), counted(len(found.candidates), "candidate path")
    yield f"{counted(count, 'minimal circuit')} among {among}; threshold {found.threshold:g}"
    passes = "with all heads replaced, and with the layers above any layer free"
    yield (
        f"judged {passes}: {counted(found.judged, 'set')} of paths, {found.sequences} sequences,"
        f" {found.seconds:.1f} s"
    )
    if found.complete:
        yield "complete: every set was judged, or ruled out by what was judged"
    else:
        yield (
            f"NOT complete: larger sets than those of {found.searched} paths were not judged;"
            " --most allows more"
        )
    if found.smallest is not None:
        yield f"smallest: {counted(found.smallest, 'path')}; none is smaller"
    elif not found.complete:
        yield f"smallest: none has {found.searched} paths or fewer"
    if found.circuits:
        yield f"paths in all of them: {len(found.core)}; in any: {len(found.union)}"
        if set(found.discovered) not in map(set, found.circuits):
            yield "the circuit that the search discovered is not one of them"
    moving = [circuit for circuit in found.circuits if not any(map(_is_stay, circuit))]
    if found.flow_minimal is not None and moving:
        yield f"minimal circuits of the flow (headway theory --count), too: {found.flow_minimal}"


def _is_stay(path: Path) -> bool:
    """Whether a position keeps what stands there; no minimal circuit of a flow has such a path."""
    return path.relation.query == path.relation.key


def said(paths: Sequence[Path]) -> str:
    """Paths head by head, in few words."""
    heads = dict.fromkeys(path.at for path in paths)
    by_head = [
        f"{name_of(at)} " + " ".join(path.relation for path in paths if path.at == at)
        for at in heads
    ]
    return "; ".join(by_head) or "no path"
