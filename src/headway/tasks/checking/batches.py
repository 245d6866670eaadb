"""What must hold of a batch of 8 sequences: of its inputs, its targets, its roles, its edges."""

from collections.abc import Iterator

import torch

from headway.paths import NAME, Relation
from headway.tasks.base import Batch, Task
from headway.tasks.checking.findings import (
    Finding,
    is_of,
    kind_of,
    must,
    must_be_below,
    value_of,
)
from headway.relations.edges import NO_KEY, Edges
from headway.tasks.targets import IGNORE_INDEX, Targets, Tokens, Vectors


def try_inputs(task: Task, batch: Batch, count: int) -> None:
    """Checks inputs: tokens below the vocabulary, or vectors if the task has none."""
    inputs, vocabulary = batch.inputs, value_of(task, "vocabulary")
    told = f"inputs are {kind_of(inputs)}"
    if vocabulary is None:
        what = f"None, but {told}: it must be the number of tokens"
        must(inputs.is_floating_point(), "vocabulary", what)
        right = is_of(inputs, torch.float32, 3) and len(inputs) == count
        must(right, "assemble", f"{told}: they must be float32 [batch, position, number]")
        must(inputs.isfinite().all(), "assemble", "inputs are not finite everywhere")
        return
    what = f"{vocabulary!r}: it must be a whole number of at least 1"
    must(type(vocabulary) is int and vocabulary >= 1, "vocabulary", what)
    what = f"{told}: they must be int64 [batch, position], as vocabulary = {vocabulary}"
    must(is_of(inputs, torch.long, 2) and len(inputs) == count, "assemble", what)
    must_be_below(vocabulary, inputs, "assemble", "inputs hold")


def try_targets(task: Task, batch: Batch, count: int) -> None:
    """Checks targets: as `Task.targets` says, and one column for every name in `Task.hops`."""
    targets = batch.targets
    told = f"targets are {kind_of(targets)}"
    tokens, vectors = is_of(targets, torch.long, 3), is_of(targets, torch.float32, 4)
    allowed = "tokens int64 [batch, query, hop] or vectors float32 [batch, query, hop, number]"
    right = (tokens or vectors) and len(targets) == count
    must(right, "assemble", f"{told}: they must be {allowed}")
    hops = value_of(task, "hops")
    names = isinstance(hops, tuple) and all(isinstance(hop, str) and hop for hop in hops)
    must(names, "hops", f"{hops!r}: it must be a tuple of names")
    judged = value_of(task, "targets")
    what = f"{judged!r}: it must be headway.Tokens(…) or headway.Vectors(…)"
    must(isinstance(judged, Targets), "targets", what)
    wanted = "int64, tokens" if vectors else "float32, vectors"
    what = f"{told}: they must be {wanted}, as targets = {judged}"
    must(not isinstance(judged, Tokens if vectors else Vectors), "assemble", what)
    n_read, n_hops, length = *targets.shape[1:3], batch.inputs.shape[1]
    what = f"{', '.join(hops) or 'none'}: there must be as many as the third size of targets"
    what += f", {n_hops}, and no two of a name"
    must(len(set(hops)) == len(hops) == n_hops, "hops", what)
    what = f"{told}, inputs {kind_of(batch.inputs)}: queries must be the last positions"
    must(1 <= n_read <= length, "assemble", what)
    if isinstance(judged, Vectors):
        what = f"{judged}: its size must be the last of targets, {kind_of(targets)}"
        must(judged.size == targets.shape[3], "targets", what)
    if isinstance(judged, Tokens):
        asked = targets[targets != IGNORE_INDEX]
        what = "targets are IGNORE_INDEX everywhere: nothing is asked"
        must(asked.numel() > 0, "assemble", what)
        also = ", or IGNORE_INDEX where nothing is asked"
        must_be_below(judged.vocabulary, asked, "assemble", "targets hold", also)
    elif vectors:
        nan = targets.isnan()
        must(not nan.all(), "assemble", "targets are NaN everywhere: nothing is asked")
        whole = not targets.isinf().any() and torch.equal(nan.any(-1), nan.all(-1))
        what = "targets are not finite: only a whole vector may be NaN, where nothing is asked"
        must(whole, "assemble", what)


def try_roles(task: Task, batch: Batch, count: int) -> Iterator[Finding]:
    """Checks roles: one row for every name, and the queries at the last positions."""
    names, roles = value_of(task, "roles"), batch.roles
    length, n_read = batch.inputs.shape[1], batch.targets.shape[1]
    texts = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    must(texts, "roles", f"{names!r}: it must be a tuple of names")
    right = len(set(names)) == len(names) and all(map(_is_name, names))
    must(right, "roles", f"{names!r}: names must differ, and be of one line without an arrow")
    told = f"roles are {kind_of(roles)}"
    allowed = f"{told}: they must be int64 [batch, role, chain]"
    must(is_of(roles, torch.long, 3), "assemble", allowed)
    what = f"{told}: the second size must be that of roles, {len(names)}"
    must(roles.shape[:2] == (count, len(names)), "assemble", what)
    if not roles.numel():
        return
    must_be_below(length, roles, "assemble", "roles hold", ", a position")
    first = int(roles[:, 0].min())
    what = f"{names[0]} stands at position {first}: the first role is the query's"
    what += f", and queries are the last {n_read} of {length} positions"
    must(first >= length - n_read, "roles", what)
    flat = roles.flatten(1).sort(1).values
    twice = (flat[:, 1:] == flat[:, :-1]).any(1).float().mean()
    if twice > 0:
        what = f"two stand at one position in {twice:.0%} of sequences"
        yield Finding("roles", what, doubt=True)


def _is_name(role: str) -> bool:
    """Whether a role has a name that names of relations can contain."""
    return role.isprintable() and Relation.between(role, role).ends == (role, role) != ("", "")


def try_edges(name: str, edges: Edges, length: int, count: int) -> None:
    """Checks that a model of so many positions can attend along a relation."""
    told = f"{name!r}:"
    fits = isinstance(name, str) and NAME.fullmatch(name) is not None and name.isprintable()
    must(fits, "relations", f"{told} its name must be a text of one line, without markup")
    what = f"{told} it is {kind_of(edges)}: it must be headway.Edges"
    must(isinstance(edges, Edges), "relations", what)
    queries, keys = edges.queries, edges.keys
    right = is_of(queries, torch.long, 2) and is_of(keys, torch.long, 3)
    right = right and keys.shape[:2] == queries.shape and len(keys) == count
    what = f"{told} queries are {kind_of(queries)}, keys {kind_of(keys)}"
    must(right, "relations", f"{what}: they must be int64 [batch, row] and [batch, row, key]")
    what = f"{told} use = {edges.use!r}: it must be path, stay or measured"
    must(edges.use in ("path", "stay", "measured"), "relations", what)
    for positions in (queries, keys):
        there = positions[positions != NO_KEY]
        must_be_below(length, there, "relations", f"{told} it holds", ", or NO_KEY")
