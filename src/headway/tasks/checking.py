"""Trying a task as training and search will use it, and reporting faults."""

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
from headway.tasks.targets import IGNORE_INDEX, Targets, Tokens, Vectors
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

    It tries the fields, `draw` and `assemble` (shapes, dtypes, ranges, the same from
    the same generator, no sequence dependent on another), roles, relations, shallower
    sequences, and whether answers stand in their sequences. What comes after something
    wrong is skipped.

    Args:
        task: the task, or its class, to try it with all defaults.
    """
    findings: list[Finding] = []
    stages = (
        _kept,
        _untyped,
        _drawn,
        _laid_out,
        _related,
        _described,
        _shallower,
        _answered,
    )
    with torch.random.fork_rng(devices=[]):
        try:
            task = task if isinstance(task, Task) else _made(task)
            cls = type(task)
            for stage in stages:
                doubts = _called(cls, cls.__name__, stage, task)
                findings += _called(cls, cls.__name__, list, doubts)
        except WrongError as error:
            findings.append(error.finding)
    return list(dict.fromkeys(findings))


def require_sound(task: Task) -> None:
    """Makes sure that a task of a user's can be used; headway's own are tested.

    Whatever reads sizes off a task asks for this first; a task is tried once in a
    process.

    Raises:
        HeadwayError: if `check_task` finds an error: the first one. Doubts are no
            errors.
    """
    name = type(task).__name__
    if type(task).__module__.startswith("headway.") or _is_known(task):
        return
    for finding in check_task(task):
        if not finding.doubt:
            line = str(finding)
            is_of_class = finding.attribute == name
            raise HeadwayError(line if is_of_class else f"{name}.{line}")
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
    names = list[str]()
    for name, hint in inspect.get_annotations(cls).items():
        if name not in known and typing.get_origin(hint) != typing.ClassVar:
            names.append(name)
    return names


# Values of a user's task.


def _called(
    cls: type[Task], attribute: str, function: Callable[..., Any], *given: Any
) -> Any:
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
    """An attribute of a task, or a method's result, of the type `Task` declares."""
    declared = vars(Task)[name]
    is_property = isinstance(declared, property)

    def read() -> Any:
        attribute = getattr(task, name)
        if is_property:
            return attribute
        return attribute(*given)

    getter = declared.fget if is_property else declared
    hint = typing.get_type_hints(getter)["return"]
    value = _called(type(task), name, read)
    if not _fits(value, hint):
        raise WrongError(name, f"{_kind(value)}: it must be of type {_written(hint)}")
    return value


def _written(hint: Any) -> str:
    """An annotation as it is written, without the modules of its names."""
    text = str(hint) if typing.get_args(hint) else hint.__name__
    return re.sub(r"[\w.]*\.(?=\w)", "", text)


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a type that an annotation says."""
    origin = typing.get_origin(hint)
    args = typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, choice) for choice in args)
    if hint is float:
        return type(value) in (int, float)
    if hint is int:
        return type(value) is int
    if not isinstance(value, origin or hint):
        return False
    if origin is None:
        return True
    if origin is dict:
        return all(_fits(entry, tuple[args]) for entry in value.items())
    if origin is tuple and ... not in args:
        return len(args) == len(value) and all(map(_fits, value, args))
    return all(_fits(entry, args[0]) for entry in value)


def _kind(value: Any) -> str:
    """The kind of a thing, such as `int64 [8, 12]`; a number or a text itself."""
    if isinstance(value, Tensor):
        return _tensor_kind(value)
    if value is None or isinstance(value, int | float | str):
        return repr(value)
    kind = f"a {type(value).__name__}"
    if isinstance(value, tuple | list):
        kinds = map(_kind, value)
        return f"{kind} of {', '.join(kinds) or 'nothing'}"
    if isinstance(value, dict):
        kinds = [f"{key!r}: {_kind(entry)}" for key, entry in value.items()]
        return f"a dict of {', '.join(kinds)}"
    return kind


def _tensor_kind(tensor: Tensor) -> str:
    """A tensor's layout unless dense, type, shape, and device unless the CPU."""
    kind = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_nested:
        kind = f"nested {kind}"
    else:
        kind += f" {list(tensor.shape)}"
        if tensor.layout != torch.strided:
            layout = str(tensor.layout).removeprefix("torch.")
            kind = f"{layout} {kind}"
    if tensor.device.type != "cpu":
        kind += f" on {tensor.device}"
    return kind


def _is_of(value: Tensor, dtype: torch.dtype, dimensions: int, *sizes: int) -> bool:
    """Tell whether a tensor has a type, so many dimensions, and the first few sizes."""
    right = value.dtype == dtype and value.ndim == dimensions
    return right and value.shape[: len(sizes)] == sizes


def _is_plain(value: Any) -> bool:
    """Tell a dense tensor on the CPU, where tasks are tried, from all else."""
    if not isinstance(value, Tensor) or value.is_nested:
        return False
    return value.layout == torch.strided and value.device.type == "cpu"


def _same(first: Tensor, second: Tensor) -> bool:
    """Tell whether two tensors are the same, NaN where there is NaN."""
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    both_nan = (first != first) & (second != second)
    return bool((both_nan | (first == second)).all())


def _require_below(
    limit: int, numbers: Tensor, attribute: str, where: str, also: str = ""
) -> None:
    """Raises a `WrongError` unless whole numbers are from 0 to below a limit."""
    if not numbers.numel():
        return
    least = int(numbers.min())
    most = int(numbers.max())
    if least < 0 or most >= limit:
        what = f"{where} {least} to {most}"
        raise WrongError(attribute, f"{what}: it must be 0 to {limit - 1}{also}")


# Stages of the trial.


def _made(cls: type[Task]) -> Task:
    _require_declared(cls)
    for missing in sorted(getattr(cls, "__abstractmethods__", ())):
        raise WrongError(missing, f"{cls.__name__} must have it")
    return _called(cls, cls.__name__, cls)


def _require_declared(cls: type[Task]) -> None:
    decorated = f"{cls.__name__} must be decorated, @dataclass(frozen=True)"
    if "__init__" in vars(cls) and "__dataclass_params__" not in vars(cls):
        declared = "and declare fields with types, such as size: int = 4"
        raise WrongError(
            "__init__", f"what it sets is no field: {decorated}, {declared}"
        )
    for name in undeclared(cls):
        raise WrongError(name, f"it is no field: {decorated}")


def _kept(task: Task) -> Doubts:
    """Tries to compare the task, to write it and, if registered, to read it."""
    cls = type(task)
    _require_declared(cls)
    for field in fields(task):
        value = getattr(task, field.name)
        try:
            hash(value)
        except TypeError:
            what = f"{_kind(value)}: it must be hashable, as a tuple is"
            raise WrongError(field.name, what) from None
    copy = replace(task)
    if copy != task or hash(copy) != hash(task):
        raise WrongError(cls.__name__, "two of the same fields must be equal")
    data = _called(cls, cls.__name__, task_to_json, task)
    try:
        json.dumps(data, allow_nan=False)
    except ValueError as error:
        raise WrongError(
            cls.__name__, f"a file cannot hold its fields: {error}"
        ) from None
    again = (
        _called(cls, cls.__name__, task_from_json, data) if cls.kind in KINDS else task
    )
    if task_to_json(again) != data:
        what = f"it must be the same when it is read from its JSON, {data}"
        raise WrongError(cls.__name__, what)
    return ()


def _untyped(task: Task) -> Doubts:
    """Tells numbers that look like fields and are none, unless in capitals."""
    cls = type(task)
    for name, value in [
        *vars(cls).items()
    ]:  # `__annotations__` may only now come to be
        known = name.isupper() or name.startswith("_") or hasattr(Task, name)
        if (
            isinstance(value, int | float)
            and not known
            and name not in cls.__annotations__
        ):
            typed = f"{name}: {type(value).__name__} = {value!r}"
            yield Finding(
                name, f"it has no type, so it is no field: {typed} is one", doubt=True
            )
    known = {field.name for field in fields(task)}
    what = (
        "it is no field, so no file keeps it: make it one,"
        " or a functools.cached_property"
    )
    for name in sorted(vars(task).keys() - known):
        is_derived = isinstance(getattr(cls, name, None), functools.cached_property)
        if not is_derived and not name.startswith("_"):
            yield Finding(name, what, doubt=True)


def _draws(task: Task, count: int, seed: int = 0) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    draws = _value(task, "draw", count, generator)
    for i, drawn in enumerate(draws):
        what = f"tensor {i} is {_kind(drawn)}"
        if drawn.ndim == 0 or len(drawn) != count:
            what += f" of {count} sequences: the first dimension must be the sequence"
            raise WrongError("draw", what)
        if not _is_plain(drawn):
            raise WrongError(
                "draw", f"{what}: it must be dense, on the generator's device"
            )
    return draws


def _batch(task: Task, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
    """The batch that `assemble` makes of draws, or `shallower` at a depth."""
    how = "assemble" if depth is None else "shallower"
    depths = [] if depth is None else [depth]
    batch = _value(task, how, draws, *depths)
    for name in PARTS:
        part = getattr(batch, name)
        if not _is_plain(part):
            must = "they must be a dense tensor, on the draws' device"
            raise WrongError(how, f"{name} are {_kind(part)}: {must}")
    return batch


def _drawn(task: Task) -> Doubts:
    """Makes sure that all randomness comes from the generator, into the draws."""
    draws = _draws(task, FEW)
    _require_own_generator(task, draws)
    first = _batch(task, draws)
    second = _batch(task, _draws(task, FEW))
    if not all(map(_same, draws, _draws(task, FEW))):
        raise WrongError(
            "assemble", "it changes what draw drew: it must leave that as it is"
        )
    generator = torch.Generator().manual_seed(0)
    sampled = _value(task, "sample", FEW, generator)
    how = "of the same draws differ from call to call: draw must draw all of it"
    _require_same("assemble", first, second, how)
    _require_same("sample", first, sampled, "must be what assemble makes of draw")
    return ()


def _require_own_generator(task: Task, draws: tuple[Tensor, ...]) -> None:
    """Makes sure that equal generators give equal draws, and others other ones."""
    how = (
        "all that is random must come from it, as in torch.rand(…, generator=generator)"
    )
    again = _draws(task, FEW)
    if not all(map(_same, draws, again)):
        raise WrongError("draw", f"the same generator draws something else: {how}")
    others = [_draws(task, FEW, seed) for seed in range(1, SEEDS + 1)]
    # A few other generators may draw the same by chance.
    differs = [not all(map(torch.equal, draws, other)) for other in others]
    if not any(differs):
        raise WrongError("draw", f"every generator draws the same sequences: {how}")


def _laid_out(task: Task) -> Doubts:
    """Checks shapes and types of inputs, targets and roles, sequence by sequence."""
    draws = _draws(task, FEW)
    batch = _batch(task, draws)
    _require_one_shape(task, batch)
    yield from _parts(task, batch, FEW)
    for name in SIZES:
        value = _value(task, name)
        size = getattr(Task, name).fget(task)
        if value != size:
            raise WrongError(name, f"{value!r}: assemble says {size}")
    _require_independent(task, draws, batch)
    for count in (1, 2 * FEW, MANY):
        other = _batch(task, _draws(task, count))
        for name in PARTS:
            of_other = _size_of_each(other, name)
            of_few = _size_of_each(batch, name)
            if of_other != of_few:
                what = f"{name} of each of {count} sequences are {of_other}"
                what += f", of {FEW} they are {of_few}: they must be of one shape"
                raise WrongError("draw", what)


def _require_independent(task: Task, draws: tuple[Tensor, ...], batch: Batch) -> None:
    """Makes sure that a sequence is the same in other batches and orders."""
    alone = "no sequence may depend on another"
    for some in (FEW // 2, 1):
        fewer = tuple(drawn[:some] for drawn in draws)
        part = _batch(task, fewer)
        what = f"of {some} sequences differ from those among {FEW}: {alone}"
        _require_same("assemble", batch.part(slice(some)), part, what)
    backwards = tuple(drawn.flip(0) for drawn in draws)
    order = torch.arange(FEW).flip(0)
    what = f"are others if sequences stand in another order: {alone}"
    _require_same("assemble", batch.part(order), _batch(task, backwards), what)


def _require_same(how: str, first: Batch, second: Batch, what: str) -> None:
    """Makes sure that two batches are the same, or says what parts of them are."""
    for name in PARTS:
        if not _same(getattr(first, name), getattr(second, name)):
            raise WrongError(how, f"{name} {what}")


def _require_one_shape(task: Task, batch: Batch) -> None:
    """Makes sure that every seed gives sequences of the shape in a batch."""
    for seed in range(1, SEEDS + 1):
        other = _batch(task, _draws(task, FEW, seed))
        for name in PARTS:
            of_other = _size_of_each(other, name)
            of_first = _size_of_each(batch, name)
            if of_other != of_first:
                what = (
                    f"{name} of a sequence are {of_first} by one seed"
                    f" and {of_other} by another: all batches must be of one shape;"
                    " fill short sequences up,"
                    " and ask nothing there (IGNORE_INDEX, NaN)"
                )
                raise WrongError("draw", what)


def _size_of_each(batch: Batch, name: str) -> list[int]:
    """The sizes of a part of a batch, for every sequence."""
    part = getattr(batch, name)
    return list(part.shape[1:])


def _parts(task: Task, batch: Batch, count: int) -> Iterator[Finding]:
    """Checks inputs, targets and roles of so many sequences."""
    _inputs(task, batch, count)
    _targets(task, batch, count)
    names = _value(task, "roles")
    roles = batch.roles
    if len(set(names)) < len(names) or not all(map(_is_name, names)):
        what = f"{names!r}: names must differ, and be of one line without an arrow"
        raise WrongError("roles", what)
    kind = f"roles are {_kind(roles)}"
    if not _is_of(roles, torch.long, 3):
        raise WrongError("assemble", f"{kind}: they must be int64 [batch, role, chain]")
    if roles.shape[:2] != (count, len(names)):
        what = f"{kind}: the second size must be that of roles, {len(names)}"
        raise WrongError("assemble", what)
    if roles.numel():
        yield from _places(batch, names[0])


def _places(batch: Batch, query: str) -> Iterator[Finding]:
    """Checks the positions of roles: the query's are last, and none is shared.

    Args:
        batch: whose roles are of the right type.
        query: the name of the first role.
    """
    roles = batch.roles
    length = batch.inputs.shape[1]
    n_read = batch.targets.shape[1]
    _require_below(length, roles, "assemble", "roles hold", ", a position")
    first = int(roles[:, 0].min())
    if first < length - n_read:
        what = f"{query} stands at position {first}: the first role is the query's"
        what += f", and queries are the last {n_read} of {length} positions"
        raise WrongError("roles", what)
    in_order = roles.flatten(1).sort(1).values
    repeated = in_order.diff(dim=1) == 0
    twice = repeated.any(1).float().mean()
    if twice > 0:
        what = (
            f"two stand at one position in {twice:.0%} of sequences:"
            " if that is not meant, give each a position of its own"
        )
        yield Finding("roles", what, doubt=True)


def _is_name(role: str) -> bool:
    """Tell whether a role has a name that names of relations can contain."""
    relation = Relation.between(role, role)
    return role.isprintable() and role != "" and relation.ends == (role, role)


def _inputs(task: Task, batch: Batch, count: int) -> None:
    """Checks inputs: tokens below the vocabulary, or vectors if the task has none."""
    inputs = batch.inputs
    vocabulary = _value(task, "vocabulary")
    kind = f"inputs are {_kind(inputs)}"
    if vocabulary is None:
        if not inputs.is_floating_point():
            what = f"None, but {kind}: it must be the number of tokens"
            raise WrongError("vocabulary", what)
        if not _is_of(inputs, torch.float32, 3, count):
            what = f"{kind}: they must be float32 [batch, position, number]"
            raise WrongError("assemble", what)
        if not inputs.isfinite().all():
            raise WrongError(
                "assemble", "inputs are not finite everywhere: every number must be"
            )
        return
    if vocabulary < 1:
        raise WrongError("vocabulary", f"{vocabulary}: it must be at least 1")
    names = _value(task, "tokens")
    if names is not None and not (
        len(names) == vocabulary and all(map(_is_name, names))
    ):
        what = f"{names!r}: each of the {vocabulary} tokens needs a name of one line"
        raise WrongError("tokens", what)
    if not _is_of(inputs, torch.long, 2, count):
        what = (
            f"{kind}: they must be int64 [batch, position],"
            f" as vocabulary = {vocabulary}"
        )
        raise WrongError("assemble", what)
    _require_below(vocabulary, inputs, "assemble", "inputs hold")


def _targets(task: Task, batch: Batch, count: int) -> None:
    """Checks targets: as `Task.targets` says, with a column per name in `hops`."""
    targets = batch.targets
    kind = f"targets are {_kind(targets)}"
    tokens = _is_of(targets, torch.long, 3)
    vectors = _is_of(targets, torch.float32, 4)
    if not (tokens or vectors) or len(targets) != count:
        must = (
            "tokens int64 [batch, query, hop] or vectors float32 [batch, query, hop,"
            " number]"
        )
        raise WrongError("assemble", f"{kind}: they must be {must}")
    hops = _value(task, "hops")
    judged = _value(task, "targets")
    if isinstance(judged, Tokens if vectors else Vectors):
        must = "int64, tokens" if vectors else "float32, vectors"
        raise WrongError(
            "assemble", f"{kind}: they must be {must}, as targets = {judged}"
        )
    n_read, n_hops = targets.shape[1:3]
    if not (len(set(hops)) == len(hops) == n_hops and all(hops)):
        what = (
            f"{', '.join(hops) or 'none'}:"
            f" there must be as many as the third size of targets, {n_hops},"
            " no two of a name, and none empty"
        )
        raise WrongError("hops", what)
    if not 1 <= n_read <= batch.inputs.shape[1]:
        what = (
            f"{kind}, inputs {_kind(batch.inputs)}: queries must be the last positions"
        )
        raise WrongError("assemble", what)
    if vectors:
        _vector_targets(judged, targets)
    else:
        _token_targets(judged, targets)


def _vector_targets(judged: Targets, targets: Tensor) -> None:
    """Checks vectors: finite, of the judged size, or NaN where none is asked."""
    if isinstance(judged, Vectors) and judged.size != targets.shape[3]:
        what = f"{judged}: its size must be the last of targets, {_kind(targets)}"
        raise WrongError("targets", what)
    nan = targets.isnan()
    if nan.all():
        what = (
            "targets are NaN everywhere: nothing is asked; put answers at the queries"
        )
        raise WrongError("assemble", what)
    if targets.isinf().any() or not torch.equal(nan.any(-1), nan.all(-1)):
        what = (
            "targets are not finite: only a whole vector may be NaN,"
            " where nothing is asked"
        )
        raise WrongError("assemble", what)


def _token_targets(judged: Targets, targets: Tensor) -> None:
    """Checks tokens: below the vocabulary, or `IGNORE_INDEX` where nothing is asked."""
    asked = targets[targets != IGNORE_INDEX]
    if not asked.numel():
        what = (
            "targets are IGNORE_INDEX everywhere: nothing is asked;"
            " put answers at the queries"
        )
        raise WrongError("assemble", what)
    if isinstance(judged, Tokens):
        also = ", or IGNORE_INDEX where nothing is asked"
        _require_below(judged.vocabulary, asked, "assemble", "targets hold", also)


def _related(task: Task) -> Doubts:
    """Checks that relations are tensors of positions along which a model can attend."""
    batch = _batch(task, _draws(task, FEW))
    length = batch.inputs.shape[1]
    relations = _value(task, "relations", batch)
    leading = dict[bytes, str]()
    for name, edges in relations.items():
        _require_edges(name, edges, length)
        ends = Relation(name).ends or "?"
        if edges.use != "path" or set(ends) <= set(task.roles):
            continue
        if not task.looks_ahead:
            yield from _ahead(name, edges)
        # Relations of a task that is read blind are headway's: nobody can leave them
        # out.
        if not task.is_read_blind and edges.weights is None:
            mask = edges.mask(length).numpy()
            first = leading.setdefault(mask.tobytes(), name)
            yield from _spare(name, edges, first)
    if not any(edges.use == "path" for edges in relations.values()):
        what = "no circuit can be found: there must be some, or roles"
        yield Finding("relations", what, doubt=True)


def _ahead(name: str, edges: Edges) -> Iterator[Finding]:
    """Tells of a path that leads to later positions in some sequences.

    Raises:
        WrongError: if it leads to no others.
    """
    queries = edges.queries[..., None]
    ahead = (edges.keys > queries) & edges.there
    if not ahead.any():
        return
    what = f"{name!r}: keys stand after their queries: looks_ahead must be true"
    if ahead[edges.there].all():
        raise WrongError("relations", what)
    yield Finding("relations", what, doubt=True)


def _spare(name: str, edges: Edges, first: str) -> Iterator[Finding]:
    """Tells of a path that leads nowhere, or where the first of its kind does."""
    if not edges.there.any():
        leads = "leads nowhere"
    elif first != name:
        leads = f"leads where {first!r} does"
    else:
        return
    what = f"{name!r} {leads} in {FEW} sequences: leave it out, or mend its keys"
    yield Finding("relations", what, doubt=True)


def _require_edges(name: str, edges: Edges, length: int) -> None:
    """Checks that a model of so many positions can attend along a relation."""
    if NAME.fullmatch(name) is None or not name.isprintable():
        what = f"{name!r}: its name must be a text of one line, without markup"
        raise WrongError("relations", what)
    queries = edges.queries
    keys = edges.keys
    right = _is_plain(queries) and _is_of(queries, torch.long, 2, FEW)
    if not (right and _is_plain(keys) and _is_of(keys, torch.long, 3, *queries.shape)):
        what = f"{name!r}: queries are {_kind(queries)}, keys {_kind(keys)}"
        what += ": they must be int64 [batch, row] and [batch, row, key]"
        raise WrongError("relations", what)
    if edges.use not in ("path", "stay", "measured"):
        what = f"{name!r}: use = {edges.use!r}: it must be path, stay or measured"
        raise WrongError("relations", what)
    for positions in (queries, keys):
        positions_named = positions[positions != NO_KEY]
        _require_below(
            length, positions_named, "relations", f"{name!r}: it holds", ", or NO_KEY"
        )


def _shallower(task: Task) -> Doubts:
    """Checks that sequences of all depths can be laid out from the same draws."""
    depths = _value(task, "n_depths")
    if depths < 1:
        raise WrongError("n_depths", f"{depths}: it must be at least 1")
    draws = _draws(task, FEW)
    whole = _batch(task, draws)
    for depth in range(1, depths + 1):
        batch = _batch(task, draws, depth)
        where = f"at depth {depth} of {depths}"
        # Sequences may be shorter, and targets may have fewer hops.
        _require_within(batch.inputs, whole.inputs, 1, f"{where}: inputs are")
        _require_within(batch.targets, whole.targets, 2, f"{where}: targets are")
        if depth == depths and not _same(batch.inputs, whole.inputs):
            raise WrongError("shallower", f"{where}: inputs must be those of assemble")
        room = _value(task, "room", depth)
        if room < 0:
            raise WrongError("room", f"{room} {where}: it must be at least 0")
    return ()


def _require_within(part: Tensor, whole: Tensor, free: int, where: str) -> None:
    """Makes sure that a tensor is like another, but for one smaller dimension."""
    sizes = list(part.shape)
    if part.ndim == whole.ndim:
        sizes[free] = max(sizes[free], whole.shape[free])
    if part.dtype != whole.dtype or sizes != list(whole.shape):
        what = f"{where} {_kind(part)}, of assemble {_kind(whole)}"
        raise WrongError("shallower", what)


def _answered(task: Task) -> Doubts:
    """Checks many sequences: like the few, and with answers not too easy."""
    batch = _batch(task, _draws(task, MANY))
    list(_parts(task, batch, MANY))  # doubts are those of the few
    from headway.tasks.answers import constant_hops, doubts_of

    if set(task.judged) <= set(constant_hops(task, batch)):
        what = (
            f"every query has the same answer in all of {MANY} sequences:"
            " one answer serves all, so nothing can be told by attention;"
            " let it depend on the sequence"
        )
        raise WrongError("assemble", what)
    doubts = doubts_of(task, batch)
    return [Finding(attribute, what, doubt=True) for attribute, what in doubts]


def _described(task: Task) -> Doubts:
    """Tries everything that pages and tables ask of a task, such as its label."""
    for name in SHOWN:
        _value(task, name)
    _require_losses(task)
    hops = ", ".join(task.hops)
    judged = _value(task, "judged")
    pairs = _value(task, "hop_order")
    if not judged or not set(judged) <= set(task.hops):
        raise WrongError("judged", f"{judged!r}: it must be some of {hops}")
    for pair in pairs:
        if not set(pair) <= set(task.hops):
            raise WrongError("hop_order", f"{pairs!r}: it must be pairs of {hops}")
    docstring = type(task).__doc__ or ""
    if docstring.startswith(f"{type(task).__name__}("):
        what = (
            "without a docstring, pages cannot say how a sequence is to be read:"
            " write one"
        )
        yield Finding("reading", what, doubt=True)


def _require_losses(task: Task) -> None:
    """Checks that reference losses are finite, of known hops, rightly averaged."""
    for name, losses in _value(task, "reference_losses").items():
        for hop, loss in losses.items():
            if hop not in task.hops or not math.isfinite(loss):
                what = f"{name!r}: {hop!r} = {loss!r}: it must be a finite loss of"
                raise WrongError("reference_losses", f"{what} {', '.join(task.hops)}")
    means = _value(task, "references")
    right = Task.references(task)
    if means != right:
        raise WrongError(
            "references", f"{means!r}: by reference_losses it must be {right}"
        )
