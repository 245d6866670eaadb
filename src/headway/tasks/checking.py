"""A task is tried as training and the search for circuits will use it, and faults are reported."""

import functools
import inspect
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from headway.errors import HeadwayError
from headway.relations.edges import NO_KEY, Edges
from headway.relations.paths import NAME, Relation
from headway.settings import computes_as_usual
from headway.tasks.base import Batch, Task
from headway.tasks.registry import KINDS, task_from_json, task_to_json
from headway.tasks.targets import IGNORE_INDEX, Tokens, Vectors
from headway.userfile import described, line_of, source_of

FEW = 8
"""Sequences that are looked at one by one."""
MANY = 512
"""Sequences by which answers are judged."""
SEEDS = 32
"""Seeds of which each must draw sequences of the same shape."""
PARTS = ("inputs", "targets", "roles")
"""Of a batch."""
SIZES = ("length", "n_read", "n_hops", "d_input", "d_target")
"""Of a task, which follow from its batches."""
SHOWN = ("label", "title", "reading", "drawn_from", "flow", "looks_ahead")
"""Attributes of a task that pages and tables ask for."""


@dataclass(frozen=True)
class Finding:
    """A fault of a task.

    Attributes:
        attribute: of the task, such as `draw`.
        what: what is wrong with it.
        doubt: whether the task may be meant so; else it cannot be used.
    """

    attribute: str
    what: str
    doubt: bool = False

    def __str__(self):
        return f"{self.attribute}: {self.what}"


Doubts = Iterable[Finding]


class WrongError(Exception):
    """Something is wrong, so that nothing after it can be tried."""

    def __init__(self, attribute: str, what: str):
        super().__init__(what)
        self.finding = Finding(attribute, what)


@computes_as_usual
def check_task(task: Task | type[Task]) -> list[Finding]:
    """The faults of a task, in the order in which it is used; empty if there are none.

    It tries the fields, `draw` and `assemble` (shapes, dtypes, ranges, the same from the same
    generator, no sequence dependent on another), roles, relations, shallower sequences, and
    whether answers stand in their sequences. What comes after something wrong is skipped.

    Args:
        task: the task, or its class, to try it with all defaults.
    """
    found: list[Finding] = []
    stages = (_kept, _untyped, _drawn, _laid_out, _related, _described, _shallower, _answered)
    with torch.random.fork_rng(devices=[]):
        try:
            task = task if isinstance(task, Task) else _made(task)
            cls = type(task)
            for stage in stages:
                found += _called(cls, cls.__name__, list, _called(cls, cls.__name__, stage, task))
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
            line = str(finding).removeprefix(f"{name}: ")
            raise HeadwayError(f"{name}{'.' if line == str(finding) else ': '}{line}")
    _sound.add(task)


_sound: set[Task] = set()


def _is_known(task: Task) -> bool:
    """Tell whether a task was tried before."""
    try:
        return task in _sound
    except TypeError:  # a field cannot be hashed, of which `check_task` tells
        return False


def undeclared(cls: type[Task]) -> list[str]:
    """Names that look like fields and are none, as the class is no dataclass."""
    known = {field.name for field in fields(cls)}
    hints = inspect.get_annotations(cls).items()
    return [n for n, hint in hints if n not in known and typing.get_origin(hint) != typing.ClassVar]


# Values of a user's task.


def must(holds: bool | Tensor, attribute: str, what: str) -> None:
    """Raises a `WrongError` unless something holds."""
    if not holds:
        raise WrongError(attribute, what)


def _called(cls: type[Task], attribute: str, function: Callable[..., Any], *given: Any) -> Any:
    """The result of a function of the user's.

    Raises:
        WrongError: if it raises something: what, and at which line of the user's file.
    """
    try:
        return function(*given)
    except (WrongError, KeyboardInterrupt):
        raise
    except HeadwayError as error:
        raise WrongError(attribute, str(error)) from error
    except BaseException as error:
        source = source_of(cls)
        line = line_of(error, source.file) if source else ""
        raise WrongError(attribute, f"it raised {described(error)}{line}") from error


def _value(task: Task, name: str, *given: Any) -> Any:
    """An attribute of a task, or what a method returns, of the type that `Task` declares."""
    declared = vars(Task)[name]
    is_property = isinstance(declared, property)

    def read() -> Any:
        found = getattr(task, name)
        return found if is_property else found(*given)

    hint = typing.get_type_hints(declared.fget if is_property else declared)["return"]
    value = _called(type(task), name, read)
    wanted = re.sub(r"[\w.]*\.(?=\w)", "", str(hint) if typing.get_args(hint) else hint.__name__)
    must(_fits(value, hint), name, f"{_kind(value)}: it must be of type {wanted}")
    return value


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a type that an annotation says."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in args)
    if hint is float:
        return type(value) in (int, float)
    if origin is None or not isinstance(value, origin):
        return type(value) is int if hint is int else isinstance(value, origin or hint)
    if origin is dict:
        return all(_fits(key, args[0]) and _fits(one, args[1]) for key, one in value.items())
    each = args if origin is tuple and ... not in args else args[:1] * len(value)
    return len(each) == len(value) and all(map(_fits, value, each))


def _kind(value: Any) -> str:
    """The kind of a thing, such as `int64 [8, 12]`; a number or a text itself."""
    if isinstance(value, Tensor):
        layout = "nested" if value.is_nested else str(value.layout).removeprefix("torch.")
        shape = "" if value.is_nested else f" {list(value.shape)}"
        place = "" if value.device.type == "cpu" else f" on {value.device}"
        kind = str(value.dtype).removeprefix("torch.")
        return f"{'' if layout == 'strided' else f'{layout} '}{kind}{shape}{place}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {', '.join(map(_kind, value)) or 'nothing'}"
    if isinstance(value, dict):
        return f"a dict of {', '.join(f'{key!r}: {_kind(one)}' for key, one in value.items())}"
    plain = value is None or isinstance(value, int | float | str)
    return repr(value) if plain else f"a {type(value).__name__}"


def _is_of(value: Tensor, dtype: torch.dtype, dimensions: int, *sizes: int) -> bool:
    """Tell whether a tensor has a type, so many dimensions, and the first few sizes."""
    right = value.dtype == dtype and value.ndim == dimensions
    return right and value.shape[: len(sizes)] == sizes


def _is_plain(value: Any) -> bool:
    """Tell a dense tensor on the CPU, where tasks are tried, from all else."""
    dense = isinstance(value, Tensor) and not value.is_nested and value.layout == torch.strided
    return dense and value.device.type == "cpu"


def _same(one: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors are the same, NaN where there is NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _below(limit: int, numbers: Tensor, attribute: str, where: str, also: str = "") -> None:
    """Raises a `WrongError` unless whole numbers are from 0 to below a limit."""
    if numbers.numel() and (numbers.min() < 0 or numbers.max() >= limit):
        found = f"{where} {int(numbers.min())} to {int(numbers.max())}"
        raise WrongError(attribute, f"{found}: it must be 0 to {limit - 1}{also}")


# Stages of the trial.


def _made(cls: type[Task]) -> Task:
    _require_declared(cls)
    for missing in sorted(getattr(cls, "__abstractmethods__", ())):
        raise WrongError(missing, f"{cls.__name__} must have it")
    return _called(cls, cls.__name__, cls)


def _require_declared(cls: type[Task]) -> None:
    if "__init__" in vars(cls) and "__dataclass_params__" not in vars(cls):
        what = (
            f"what it sets is no field: {cls.__name__} must be decorated, @dataclass(frozen=True),"
        )
        what += " and declare fields with types, such as size: int = 4"
        raise WrongError("__init__", what)
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
            what = f"{_kind(value)}: it must be hashable, as a tuple is"
            raise WrongError(field.name, what) from None
    alike = replace(task) == task and hash(replace(task)) == hash(task)
    must(alike, cls.__name__, "two of the same fields must be equal")
    data = _called(cls, cls.__name__, task_to_json, task)
    try:
        json.dumps(data, allow_nan=False)
    except ValueError as error:
        raise WrongError(cls.__name__, f"a file cannot hold its fields: {error}") from None
    what = f"it must be the same when it is read from its JSON, {data}"
    again = _called(cls, cls.__name__, task_from_json, data) if cls.kind in KINDS else task
    must(task_to_json(again) == data, cls.__name__, what)
    return ()


def _untyped(task: Task) -> Doubts:
    """Tells numbers that look like fields and are none; constants have names in capitals."""
    cls = type(task)
    for name, value in [*vars(cls).items()]:  # `__annotations__` may only now come to be
        known = name.isupper() or name.startswith("_") or hasattr(Task, name)
        if isinstance(value, int | float) and not known and name not in cls.__annotations__:
            typed = f"{name}: {type(value).__name__} = {value!r}"
            yield Finding(name, f"it has no type, so it is no field: {typed} is one", doubt=True)
    known = {field.name for field in fields(task)}
    what = "it is no field, so no file keeps it: make it one, or a functools.cached_property"
    for name in sorted(vars(task).keys() - known):
        is_derived = isinstance(getattr(cls, name, None), functools.cached_property)
        if not is_derived and not name.startswith("_"):
            yield Finding(name, what, doubt=True)


def _draws(task: Task, count: int, seed: int = 0) -> tuple[Tensor, ...]:
    draws = _value(task, "draw", count, torch.Generator().manual_seed(seed))
    for i, one in enumerate(draws):
        what = f"tensor {i} is {_kind(one)} of {count} sequences"
        what += ": the first dimension must be the sequence"
        must(one.ndim > 0 and len(one) == count, "draw", what)
        what = f"tensor {i} is {_kind(one)}: it must be dense, on the generator's device"
        must(_is_plain(one), "draw", what)
    return draws


def _batch(task: Task, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
    """The batch that `assemble` makes of draws, or `shallower` at a depth."""
    how, given = ("assemble", (draws,)) if depth is None else ("shallower", (draws, depth))
    batch = _value(task, how, *given)
    for name in PARTS:
        part = getattr(batch, name)
        what = f"{name} are {_kind(part)}: they must be a dense tensor, on the draws' device"
        must(_is_plain(part), how, what)
    return batch


def _drawn(task: Task) -> Doubts:
    """Makes sure that all that is random comes from the generator and is in the draws."""
    draws = _draws(task, FEW)
    _require_own_generator(task, draws)
    first, second = _batch(task, draws), _batch(task, _draws(task, FEW))
    what = "it changes what draw drew: it must leave that as it is"
    must(all(map(_same, draws, _draws(task, FEW))), "assemble", what)
    sampled = _value(task, "sample", FEW, torch.Generator().manual_seed(0))
    for name in PARTS:
        what = f"{name} of the same draws differ from call to call: draw must draw all of it"
        must(_same(getattr(first, name), getattr(second, name)), "assemble", what)
        alike = _same(getattr(first, name), getattr(sampled, name))
        must(alike, "sample", f"{name} must be what assemble makes of draw")
    return ()


def _require_own_generator(task: Task, draws: tuple[Tensor, ...]) -> None:
    """Makes sure that draws are the same from the same generator, and others from some other."""
    how = "all that is random must come from it, as in torch.rand(…, generator=generator)"
    again = _draws(task, FEW)
    same = all(map(_same, draws, again))
    must(same, "draw", f"the same generator draws something else: {how}")
    others = [_draws(task, FEW, seed) for seed in range(1, SEEDS + 1)]
    # A few other generators may draw the same by chance.
    differs = [not all(map(torch.equal, draws, other)) for other in others]
    must(any(differs), "draw", f"every generator draws the same sequences: {how}")


def _laid_out(task: Task) -> Doubts:
    """Checks shapes and types of inputs, targets and roles, sequence by sequence."""
    draws = _draws(task, FEW)
    batch = _batch(task, draws)
    _require_one_shape(task, batch)
    yield from _parts(task, batch, FEW)
    for name in SIZES:
        value, size = _value(task, name), getattr(Task, name).fget(task)
        must(value == size, name, f"{value!r}: assemble says {size}")
    for some in (FEW // 2, 1):
        part = _batch(task, tuple(one[:some] for one in draws))
        for name in PARTS:
            what = f"{name} of {some} sequences differ from those among {FEW}"
            alone = _same(getattr(batch, name)[:some], getattr(part, name))
            must(alone, "assemble", f"{what}: no sequence may depend on another")
    turned = _batch(task, tuple(one.flip(0) for one in draws))
    for name in PARTS:
        what = f"{name} are others if sequences stand in another order"
        alone = _same(getattr(batch, name).flip(0), getattr(turned, name))
        must(alone, "assemble", f"{what}: no sequence may depend on another")
    for count in (1, 2 * FEW, MANY):
        other = _batch(task, _draws(task, count))
        for name in PARTS:
            of_one, of_few = (list(getattr(one, name).shape[1:]) for one in (other, batch))
            what = f"{name} of each of {count} sequences are {of_one}, of {FEW} they are {of_few}"
            must(of_one == of_few, "draw", f"{what}: they must be of one shape")


def _require_one_shape(task: Task, batch: Batch) -> None:
    """Makes sure that every seed lays out sequences of the shape of those in a batch."""
    for seed in range(1, SEEDS + 1):
        other = _batch(task, _draws(task, FEW, seed))
        for name in PARTS:
            one, two = (list(getattr(each, name).shape[1:]) for each in (batch, other))
            what = f"{name} of a sequence are {one} by one seed and {two} by another: all batches"
            what += " must be of one shape; fill short sequences up, and ask nothing there"
            what += " (IGNORE_INDEX, NaN)"
            must(one == two, "draw", what)


def _parts(task: Task, batch: Batch, count: int) -> Iterator[Finding]:
    """Checks inputs, targets and roles of so many sequences."""
    _inputs(task, batch, count)
    _targets(task, batch, count)
    names, roles = _value(task, "roles"), batch.roles
    length, n_read = batch.inputs.shape[1], batch.targets.shape[1]
    right = len(set(names)) == len(names) and all(map(_is_name, names))
    must(right, "roles", f"{names!r}: names must differ, and be of one line without an arrow")
    kind = f"roles are {_kind(roles)}"
    must(
        _is_of(roles, torch.long, 3), "assemble", f"{kind}: they must be int64 [batch, role, chain]"
    )
    what = f"{kind}: the second size must be that of roles, {len(names)}"
    must(roles.shape[:2] == (count, len(names)), "assemble", what)
    if not roles.numel():
        return
    _below(length, roles, "assemble", "roles hold", ", a position")
    first = int(roles[:, 0].min())
    what = f"{names[0]} stands at position {first}: the first role is the query's"
    what += f", and queries are the last {n_read} of {length} positions"
    must(first >= length - n_read, "roles", what)
    flat = roles.flatten(1).sort(1).values
    twice = (flat[:, 1:] == flat[:, :-1]).any(1).float().mean()
    if twice > 0:
        what = f"two stand at one position in {twice:.0%} of sequences: if that is not meant, give"
        what += " each a position of its own"
        yield Finding("roles", what, doubt=True)


def _is_name(role: str) -> bool:
    """Tell whether a role has a name that names of relations can contain."""
    return role.isprintable() and Relation.between(role, role).ends == (role, role) != ("", "")


def _inputs(task: Task, batch: Batch, count: int) -> None:
    """Checks inputs: tokens below the vocabulary, or vectors if the task has none."""
    inputs, vocabulary = batch.inputs, _value(task, "vocabulary")
    kind = f"inputs are {_kind(inputs)}"
    if vocabulary is None:
        what = f"None, but {kind}: it must be the number of tokens"
        must(inputs.is_floating_point(), "vocabulary", what)
        what = f"{kind}: they must be float32 [batch, position, number]"
        must(_is_of(inputs, torch.float32, 3, count), "assemble", what)
        what = "inputs are not finite everywhere: every number must be"
        must(inputs.isfinite().all(), "assemble", what)
        return
    must(vocabulary >= 1, "vocabulary", f"{vocabulary}: it must be at least 1")
    names = _value(task, "tokens")
    right = names is None or (len(names) == vocabulary and all(map(_is_name, names)))
    must(right, "tokens", f"{names!r}: each of the {vocabulary} tokens needs a name of one line")
    what = f"{kind}: they must be int64 [batch, position], as vocabulary = {vocabulary}"
    must(_is_of(inputs, torch.long, 2, count), "assemble", what)
    _below(vocabulary, inputs, "assemble", "inputs hold")


def _targets(task: Task, batch: Batch, count: int) -> None:
    """Checks targets: as `Task.targets` says, and one column for every name in `Task.hops`."""
    targets = batch.targets
    kind = f"targets are {_kind(targets)}"
    tokens, vectors = _is_of(targets, torch.long, 3), _is_of(targets, torch.float32, 4)
    allowed = "tokens int64 [batch, query, hop] or vectors float32 [batch, query, hop, number]"
    right = (tokens or vectors) and len(targets) == count
    must(right, "assemble", f"{kind}: they must be {allowed}")
    hops, judged = _value(task, "hops"), _value(task, "targets")
    wanted = "int64, tokens" if vectors else "float32, vectors"
    what = f"{kind}: they must be {wanted}, as targets = {judged}"
    must(not isinstance(judged, Tokens if vectors else Vectors), "assemble", what)
    n_read, n_hops, length = *targets.shape[1:3], batch.inputs.shape[1]
    what = f"{', '.join(hops) or 'none'}: there must be as many as the third size of targets"
    what += f", {n_hops}, no two of a name, and none empty"
    must(len(set(hops)) == len(hops) == n_hops and all(hops), "hops", what)
    what = f"{kind}, inputs {_kind(batch.inputs)}: queries must be the last positions"
    must(1 <= n_read <= length, "assemble", what)
    if isinstance(judged, Vectors):
        what = f"{judged}: its size must be the last of targets, {_kind(targets)}"
        must(judged.size == targets.shape[3], "targets", what)
    if vectors:
        nan = targets.isnan()
        what = "targets are NaN everywhere: nothing is asked; put answers at the queries"
        must(not nan.all(), "assemble", what)
        whole = not targets.isinf().any() and torch.equal(nan.any(-1), nan.all(-1))
        what = "targets are not finite: only a whole vector may be NaN, where nothing is asked"
        must(whole, "assemble", what)
        return
    asked = targets[targets != IGNORE_INDEX]
    what = "targets are IGNORE_INDEX everywhere: nothing is asked; put answers at the queries"
    must(asked.numel() > 0, "assemble", what)
    if isinstance(judged, Tokens):
        also = ", or IGNORE_INDEX where nothing is asked"
        _below(judged.vocabulary, asked, "assemble", "targets hold", also)


def _related(task: Task) -> Doubts:
    """Checks that relations are tensors of positions along which a model can attend."""
    batch = _batch(task, _draws(task, FEW))
    relations, leading = _value(task, "relations", batch), dict[bytes, str]()
    for name, edges in relations.items():
        _edges(name, edges, batch.inputs.shape[1])
        ahead = (edges.keys > edges.queries[..., None]) & edges.there
        between_roles = set(Relation(name).ends or "?") <= set(task.roles)
        if edges.use == "path" and not between_roles and not task.looks_ahead and ahead.any():
            what = f"{name!r}: keys stand after their queries: looks_ahead must be true"
            must(not ahead[edges.there].all(), "relations", what)
            yield Finding("relations", what, doubt=True)
        if task.is_read_blind:
            continue  # the relations are headway's: nobody can leave them out
        if edges.use == "path" and edges.weights is None and not between_roles:
            first = leading.setdefault(edges.mask(task.length).numpy().tobytes(), name)
            leads = f"leads where {first!r} does" if edges.there.any() else "leads nowhere"
            if first != name or not edges.there.any():
                what = f"{name!r} {leads} in {FEW} sequences: leave it out, or mend its keys"
                yield Finding("relations", what, doubt=True)
    if not any(edges.use == "path" for edges in relations.values()):
        what = "no circuit can be found: there must be some, or roles"
        yield Finding("relations", what, doubt=True)


def _edges(name: str, edges: Edges, length: int) -> None:
    """Checks that a model of so many positions can attend along a relation."""
    fits = NAME.fullmatch(name) is not None and name.isprintable()
    must(fits, "relations", f"{name!r}: its name must be a text of one line, without markup")
    queries, keys = edges.queries, edges.keys
    right = _is_plain(queries) and _is_of(queries, torch.long, 2, FEW) and _is_plain(keys)
    right = right and _is_of(keys, torch.long, 3, *queries.shape)
    what = f"{name!r}: queries are {_kind(queries)}, keys {_kind(keys)}"
    must(right, "relations", f"{what}: they must be int64 [batch, row] and [batch, row, key]")
    what = f"{name!r}: use = {edges.use!r}: it must be path, stay or measured"
    must(edges.use in ("path", "stay", "measured"), "relations", what)
    for positions in (queries, keys):
        there = positions[positions != NO_KEY]
        _below(length, there, "relations", f"{name!r}: it holds", ", or NO_KEY")


def _shallower(task: Task) -> Doubts:
    """Checks that sequences of all depths can be laid out from the same draws."""
    depths = _value(task, "n_depths")
    must(depths >= 1, "n_depths", f"{depths}: it must be at least 1")
    draws = _draws(task, FEW)
    whole = _batch(task, draws)
    for depth in range(1, depths + 1):
        batch, where = _batch(task, draws, depth), f"at depth {depth} of {depths}"
        for name, free in (("inputs", 1), ("targets", 2)):  # which dimension may be smaller
            part, all_of_it = getattr(batch, name), getattr(whole, name)
            sizes, most = list(part.shape), list(all_of_it.shape)
            fits = len(sizes) == len(most) and sizes[free] <= most[free]
            fits = fits and sizes[:free] + sizes[free + 1 :] == most[:free] + most[free + 1 :]
            what = f"{where}: {name} are {_kind(part)}, of assemble {_kind(all_of_it)}"
            must(fits and part.dtype == all_of_it.dtype, "shallower", what)
        what = f"{where}: inputs must be those of assemble"
        must(depth < depths or _same(batch.inputs, whole.inputs), "shallower", what)
        room = _value(task, "room", depth)
        must(room >= 0, "room", f"{room} {where}: it must be at least 0")
    return ()


def _answered(task: Task) -> Doubts:
    """Looks at many sequences: each must be as the few, and their answers not too easy."""
    batch = _batch(task, _draws(task, MANY))
    list(_parts(task, batch, MANY))  # doubts are those of the few
    from headway.tasks.answers import constant_hops, doubts_of

    what = f"every query has the same answer in all of {MANY} sequences: one answer serves all, so"
    what += " nothing can be told by attention; let it depend on the sequence"
    must(not {*task.judged} <= {*constant_hops(task, batch)}, "assemble", what)
    return [Finding(attribute, what, doubt=True) for attribute, what in doubts_of(task, batch)]


def _described(task: Task) -> Doubts:
    """Tries everything that pages and tables ask of a task, such as its label."""
    for name in SHOWN:
        _value(task, name)
    hops = ", ".join(task.hops)
    for name, losses in _value(task, "reference_losses").items():
        for hop, loss in losses.items():
            what = f"{name!r}: {hop!r} = {loss!r}: it must be a finite loss of {hops}"
            must(hop in task.hops and math.isfinite(loss), "reference_losses", what)
    means, right = _value(task, "references"), Task.references(task)
    must(means == right, "references", f"{means!r}: by reference_losses it must be {right}")
    judged, pairs = _value(task, "judged"), _value(task, "hop_order")
    right = len(judged) > 0 and set(judged) <= set(task.hops)
    must(right, "judged", f"{judged!r}: it must be some of {hops}")
    right = all({*pair} <= {*task.hops} for pair in pairs)
    must(right, "hop_order", f"{pairs!r}: it must be pairs of {hops}")
    if (type(task).__doc__ or "").startswith(f"{type(task).__name__}("):
        what = "without a docstring, pages cannot say how a sequence is to be read: write one"
        yield Finding("reading", what, doubt=True)
