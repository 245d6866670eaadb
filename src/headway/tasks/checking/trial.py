"""A task is tried as training and the search for circuits will use it."""

import inspect
import json
import math
import typing
from collections.abc import Iterable
from dataclasses import fields, replace

import torch
from torch import Tensor

from headway.errors import HeadwayError
from headway.paths import Relation
from headway.tasks.base import Batch, Task
from headway.tasks.checking.answers import about_answers
from headway.tasks.checking.batches import try_edges, try_inputs, try_roles, try_targets
from headway.tasks.checking.findings import (
    Finding,
    WrongError,
    called,
    is_plain,
    kind_of,
    must,
    same,
    value_of,
)
from headway.tasks.registry import KINDS, task_from_json, task_to_json
from headway.theory.flow import Flow

Doubts = Iterable[Finding]
FEW = 8
"""Sequences that are looked at one by one."""
MANY = 512
"""Sequences by which answers are judged."""
PARTS = ("inputs", "targets", "roles")
"""Of a batch."""
SIZES = ("length", "n_read", "n_hops", "d_input", "d_target")
"""Of a task, which follow from its batches."""


def check_task(task: Task | type[Task]) -> list[Finding]:
    """What is wrong with a task, in the order in which it is used; empty if nothing is.

    It tries the fields, `draw` and `assemble` (shapes, dtypes, ranges, the same from the same
    generator, no sequence dependent on another), roles, relations, shallower sequences, and
    whether answers stand in their sequences. What comes after something wrong is skipped.

    Args:
        task: the task, or its class, to try it with all defaults.
    """
    found: list[Finding] = []
    stages = (_kept, _untyped, _drawn, _laid_out, _related, _told, _shallower, _answered)
    with torch.random.fork_rng(devices=[]):
        try:
            task = task if isinstance(task, Task) else _made(task)
            cls = type(task)
            for stage in stages:
                found += called(cls, cls.__name__, list, called(cls, cls.__name__, stage, task))
        except WrongError as error:
            found.append(error.finding)
    return list(dict.fromkeys(found))


def require_sound(task: Task) -> None:
    """Makes sure that a task of a user's can be used; headway's own are tested.

    Whatever reads sizes off a task asks for this first; a task is tried once in a process.

    Raises:
        HeadwayError: if `check_task` finds an error: the first one. Doubts are no errors.
    """
    name = type(task).__name__
    if type(task).__module__.startswith("headway.") or _is_known(task):
        return
    for finding in check_task(task):
        if not finding.doubt:
            told = str(finding).removeprefix(f"{name}: ")
            raise HeadwayError(f"{name}{'.' if told == str(finding) else ': '}{told}")
    _sound.add(task)


_sound: set[Task] = set()


def _is_known(task: Task) -> bool:
    """Whether a task was tried before."""
    try:
        return task in _sound
    except TypeError:  # a field cannot be hashed, of which `check_task` tells
        return False


def undeclared(cls: type[Task]) -> list[str]:
    """What looks like a field and is none, as the class is no dataclass."""
    known = {field.name for field in fields(cls)}
    hints = inspect.get_annotations(cls).items()
    return [n for n, hint in hints if n not in known and typing.get_origin(hint) != typing.ClassVar]


def _made(cls: type[Task]) -> Task:
    _require_declared(cls)
    for missing in sorted(getattr(cls, "__abstractmethods__", ())):
        raise WrongError(missing, f"{cls.__name__} must have it")
    return called(cls, cls.__name__, cls)


def _require_declared(cls: type[Task]) -> None:
    for name in undeclared(cls):
        what = f"it is no field: {cls.__name__} must be decorated, @dataclass(frozen=True)"
        raise WrongError(name, what)


def _kept(task: Task) -> Doubts:
    """Tries to compare the task, to write it to a file and, if registered, to read it again."""
    cls = type(task)
    _require_declared(cls)
    for field in fields(task):
        value = getattr(task, field.name)
        try:
            hash(value)
        except TypeError:
            what = f"{kind_of(value)}: it must be hashable, as a tuple is"
            raise WrongError(field.name, what) from None
    alike = replace(task) == task and hash(replace(task)) == hash(task)
    must(alike, cls.__name__, "two of the same fields must be equal")
    data = called(cls, cls.__name__, task_to_json, task)
    try:
        json.dumps(data, allow_nan=False)
    except ValueError as error:
        raise WrongError(cls.__name__, f"a file cannot hold its fields: {error}") from None
    what = f"it must be the same when it is read from its JSON, {data}"
    again = called(cls, cls.__name__, task_from_json, data) if cls.kind in KINDS else task
    must(task_to_json(again) == data, cls.__name__, what)
    return ()


def _untyped(task: Task) -> Doubts:
    """Tells numbers that look like fields and are none; constants have names in capitals."""
    cls = type(task)
    for name, value in vars(cls).items():
        known = name.isupper() or name.startswith("_") or hasattr(Task, name)
        if isinstance(value, int | float) and not known and name not in cls.__annotations__:
            typed = f"{name}: {type(value).__name__} = {value!r}"
            yield Finding(name, f"it has no type, so it is no field: {typed} is one", doubt=True)


def _draws(task: Task, count: int, seed: int = 0) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    draws = called(type(task), "draw", task.draw, count, generator)
    tensors = isinstance(draws, tuple) and all(isinstance(one, Tensor) for one in draws)
    must(tensors, "draw", f"it returns {kind_of(draws)}: it must be a tuple of tensors")
    for i, one in enumerate(draws):
        what = f"tensor {i} is {kind_of(one)} of {count} sequences"
        what += ": the first dimension must be the sequence"
        must(one.ndim > 0 and len(one) == count, "draw", what)
        what = f"tensor {i} is {kind_of(one)}: it must be dense, on the generator's device"
        must(is_plain(one), "draw", what)
    return draws


def _batch(task: Task, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
    """What `assemble` makes of draws, or `shallower` at a depth."""
    how, given = ("assemble", (draws,)) if depth is None else ("shallower", (draws, depth))
    batch = called(type(task), how, getattr(task, how), *given)
    must(isinstance(batch, Batch), how, f"it returns {kind_of(batch)}: it must be a headway.Batch")
    for name in PARTS:
        part = getattr(batch, name)
        what = f"{name} are {kind_of(part)}: they must be a dense tensor, on the draws' device"
        must(is_plain(part), how, what)
    return batch


def _drawn(task: Task) -> Doubts:
    """Makes sure that all that is random comes from the generator and is in the draws."""
    draws, again, other = _draws(task, FEW), _draws(task, FEW), _draws(task, FEW, seed=1)
    what = "the same generator draws something else: all that is random must come from it, as in"
    what += " torch.rand(…, generator=generator)"
    must(all(map(same, draws, again)), "draw", what)
    if all(map(same, draws, other)):
        yield Finding("draw", "another seed draws the same sequences", doubt=True)
    one, two = _batch(task, draws), _batch(task, again)
    what = "it changes what draw drew: it must leave that as it is"
    must(all(map(same, draws, _draws(task, FEW))), "assemble", what)
    sampled = called(type(task), "sample", task.sample, FEW, torch.Generator().manual_seed(0))
    for name in PARTS:
        what = f"{name} of the same draws differ from call to call: draw must draw all of it"
        must(same(getattr(one, name), getattr(two, name)), "assemble", what)
        alike = isinstance(sampled, Batch) and same(getattr(one, name), getattr(sampled, name))
        must(alike, "sample", f"{kind_of(sampled)}: it must be what assemble makes of draw")


def _laid_out(task: Task) -> Doubts:
    """Checks shapes and types of inputs, targets and roles, sequence by sequence."""
    draws = _draws(task, FEW)
    batch = _batch(task, draws)
    try_inputs(task, batch, FEW)
    try_targets(task, batch, FEW)
    yield from try_roles(task, batch, FEW)
    for name in SIZES:
        value, size = value_of(task, name), getattr(Task, name).fget(task)
        must(value == size, name, f"{value!r}: assemble says {size}")
    for some in (FEW // 2, 1):
        part = _batch(task, tuple(one[:some] for one in draws))
        for name in PARTS:
            what = f"{name} of {some} sequences differ from those among {FEW}"
            alone = same(getattr(batch, name)[:some], getattr(part, name))
            must(alone, "assemble", f"{what}: no sequence may depend on another")
    single = _batch(task, _draws(task, 1)).inputs.shape[1:]
    must(single == batch.inputs.shape[1:], "draw", "a single sequence has other shapes")


def _related(task: Task) -> Doubts:
    """Checks that relations are tensors of positions along which a model can attend."""
    batch = _batch(task, _draws(task, FEW))
    relations = called(type(task), "relations", task.relations, batch)
    what = f"it returns {kind_of(relations)}: it must be a dict"
    must(isinstance(relations, dict), "relations", what)
    for name, edges in relations.items():
        try_edges(name, edges, batch.inputs.shape[1], FEW)
        ahead = (edges.keys > edges.queries[..., None]) & edges.there
        between_roles = set(Relation(name).ends or "?") <= set(task.roles)
        if edges.use == "path" and not between_roles and not task.looks_ahead and ahead.any():
            what = f"{name!r}: keys stand after their queries: looks_ahead must be true"
            must(not ahead[edges.there].all(), "relations", what)
            yield Finding("relations", what, doubt=True)
    if not any(edges.use == "path" for edges in relations.values()):
        what = "no circuit can be found: there must be some, or roles"
        yield Finding("relations", what, doubt=True)


def _shallower(task: Task) -> Doubts:
    """Checks that sequences of all depths can be laid out from the same draws."""
    depths = value_of(task, "n_depths")
    what = f"{depths!r}: it must be a whole number of at least 1"
    must(type(depths) is int and depths >= 1, "n_depths", what)
    draws = _draws(task, FEW)
    whole = _batch(task, draws)
    for depth in range(1, depths + 1):
        batch = _batch(task, draws, depth)
        for name, free in (("inputs", 1), ("targets", 2)):  # which dimension may be smaller
            part, all_of_it = getattr(batch, name), getattr(whole, name)
            sizes, most = list(part.shape), list(all_of_it.shape)
            fits = len(sizes) == len(most) and sizes[free] <= most[free]
            fits = fits and sizes[:free] + sizes[free + 1 :] == most[:free] + most[free + 1 :]
            what = f"at depth {depth} of {depths}: {name} are {kind_of(part)}, of assemble"
            what += f" {kind_of(all_of_it)}"
            must(fits and part.dtype == all_of_it.dtype, "shallower", what)
        what = f"at depth {depth} of {depths}: inputs must be those of assemble"
        must(depth < depths or same(batch.inputs, whole.inputs), "shallower", what)
        room = called(type(task), "room", task.room, depth)
        what = f"{room!r} at depth {depth} of {depths}: it must be a whole number of at least 0"
        must(type(room) is int and room >= 0, "room", what)
    return ()


def _answered(task: Task) -> Doubts:
    """Looks at many sequences: each must be as the few, and their answers not too easy."""
    batch = _batch(task, _draws(task, MANY))
    try_inputs(task, batch, MANY)
    try_targets(task, batch, MANY)
    list(try_roles(task, batch, MANY))  # doubts are those of the few
    return about_answers(task, batch)


def _told(task: Task) -> Doubts:
    """Tries everything that pages and tables ask of a task, such as its label."""
    for name in ("kind", "label", "title", "reading"):
        value = value_of(task, name)
        must(isinstance(value, str), name, f"{kind_of(value)}: it must be a text")
    hops = ", ".join(task.hops)
    references = called(type(task), "reference_losses", task.reference_losses)
    what = f"{kind_of(references)}: it must be a dict"
    must(isinstance(references, dict), "reference_losses", what)
    for name, losses in references.items():
        what = f"{name!r}: {losses!r}: it must be a dict, with a loss of {hops}"
        must(isinstance(losses, dict), "reference_losses", what)
        for hop, loss in losses.items():
            what = f"{name!r}: {hop!r} = {loss!r}: it must be a finite loss of {hops}"
            finite = isinstance(loss, int | float) and math.isfinite(loss)
            must(hop in task.hops and finite, "reference_losses", what)
    means, right = called(type(task), "references", task.references), Task.references(task)
    must(means == right, "references", f"{means!r}: by reference_losses it must be {right}")
    flow = called(type(task), "flow", task.flow)
    what = f"{kind_of(flow)}: it must be a Flow, or None if it is not known"
    must(flow is None or isinstance(flow, Flow), "flow", what)
    judged, order = value_of(task, "judged"), value_of(task, "hop_order")
    right = isinstance(judged, tuple) and len(judged) > 0 and set(judged) <= set(task.hops)
    must(right, "judged", f"{judged!r}: it must be some of {hops}, in a tuple")
    pairs = isinstance(order, list) and all(len(pair) == 2 for pair in order)
    right = pairs and all({*pair} <= {*task.hops} for pair in order)
    must(right, "hop_order", f"{order!r}: it must be a list of pairs of {hops}")
    ahead, text = value_of(task, "looks_ahead"), value_of(task, "drawn_from")
    must(type(ahead) is bool, "looks_ahead", f"{ahead!r}: it must be True or False")
    what = f"{kind_of(text)}: it must be a text, or None if there is none"
    must(text is None or isinstance(text, str), "drawn_from", what)
    if (type(task).__doc__ or "").startswith(f"{type(task).__name__}("):
        what = "without a docstring, pages cannot say how a sequence is to be read"
        yield Finding("reading", what, doubt=True)
