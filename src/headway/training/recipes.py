"""Recipes, which are configs that train well, users' files, and changes to them.

    config = configured(base_of("fast"), {"task.depth": 4, "training.steps": 300})

A field that a recipe takes as an argument is passed to it, so that what the recipe
makes of it follows. Fewer steps than the cool-down shorten the cool-down, which is
noted.
"""

import inspect
import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Literal, NamedTuple, TypeVar, cast

from headway import theory, userfile
from headway.errors import HeadwayError, nearest, note_once, require
from headway.fields import hints_of, read, split, values_in
from headway.models import TransformerConfig
from headway.tasks import Conditional, Hops, Retrieval, Task, task_in
from headway.tasks.checking import require_sound
from headway.tasks.registry import Offered
from headway.training.config import SECTIONS, RunConfig, TrainingConfig, parts
from headway.training.curriculum import CURRICULA, CURRICULUM, Deepening, Implicit

T = TypeVar("T")
COOLDOWN = "training.cooldown_steps"

FIELD = re.compile(r"[^\W\d][\w.\- ]*=")
"""The beginning of a word that gives a field a value."""

QUICK = TrainingConfig(
    train_examples=None,
    optimizer="muon",
    learning_rate=3e-3,
    betas=(0.9, 0.95),
    weight_decay=0.05,
    warmup_steps=50,
    eval_every=50,
    eval_examples=512,
    save_every=100,
    precision="auto",
)
"""Settings of `fast` and `own`: fresh sequences, and Muon on the matrices."""


def fast(
    depth: int = 3, seed: int = 0, n_layers: int | None = None, deepening: bool = True
) -> RunConfig:
    """The retrieval problem with one head a layer, at the flow minimum; three hops take
    a minute.

    There are just as many layers as information must flow through, ⌊log2 D⌋ + 2, so
    there is little or no choice of circuits. It differs from the paper's recipe
    (docs/experiments/recipes.md says why): maps start orthogonal with nothing scaled
    down, so that what attention moves is as large as what stands there; one position
    code for both tokens of a pair, its longest wave no longer than the sequence; Muon
    on the blocks' matrices, with some decay as long as the rates are high; MLPs no
    wider than the stream, as attention does the work; and the rates start to fall as
    soon as hops are learnt, the more slowly the more hops there are: the more hops, the
    longer it takes until attention is so sharp that what every head gets slightly wrong
    does not add up. Decay and cool-down were chosen by measurements over seeds.

    Matrix products are in bfloat16 where the processor is quicker with it.

    Args:
        depth: D, attention hops to the answer.
        seed: of weights and data.
        n_layers: by default the flow minimum.
        deepening: whether a model in the fewest layers learns few hops first
            (`curriculum.Deepening`), another curriculum beside the implicit one.
            Otherwise it often stays on a plateau.
    """
    least = theory.closed_form(depth)
    n_layers = least if n_layers is None else n_layers
    deepens = deepening and depth > 1 and n_layers == least
    decay, cooldown = _decay_and_cooldown(depth, deepens)
    base = 12.0 if deepens and depth > 3 else None
    task = Retrieval(depth=depth, position_code="pair", position_base=base)
    model = TransformerConfig(
        n_layers=n_layers,
        d_model=64,
        n_heads=1,
        d_mlp=64,
        act_fn="relu",
        init="orthogonal",
        silent_above=theory.closed_form(1) if deepens else None,
    )
    training = replace(
        QUICK,
        steps=1_000 + 2_000 * depth if deepens else 400 + 1_200 * depth,
        curriculum=Deepening() if deepens else Implicit(),
        weight_decay=decay,
        cooldown_steps=cooldown,
        cooldown_below=0.4 if deepens else 0.62,
        stop_below=0.008,
        patience=600 if deepens else 150 * depth,
        checkpoint_every=25,
    )
    return RunConfig(task, model, training, seed)


def _decay_and_cooldown(depth: int, deepens: bool) -> tuple[float, int]:
    """The weight decay of `fast`, and its cool-down, measured over seeds."""
    if deepens:
        more = 500 * depth - 100 if depth < 6 else 700 * depth
        return 0.05, {2: 1_300, 3: 1_400}.get(depth, more)
    decay = 0.05 if depth <= 3 else {4: 0.1}.get(depth, 0.03)
    known = {1: 1_600, 2: 1_700, 3: 1_700, 4: 1_900}
    return decay, known.get(depth, 100 + 600 * depth)


def conditional(seed: int = 0) -> RunConfig:
    """The conditional retrieval problem, trained as `fast` trains."""
    task = Conditional(position_code="pair", position_base=None)
    return replace(fast(seed=seed, n_layers=6), task=task)


def hops(
    asked: tuple[int, ...] = (1, 2, 4), steps: int = 1_600, seed: int = 0
) -> RunConfig:
    """The k-hop problem with as many layers as the largest k takes, ⌊log2 k⌋ + 2.

    Symbols are met so often that fresh sequences and Muon learn a hop in some hundred
    steps, one after the other (docs/experiments/khop.md).
    """
    task = Hops(asked=asked, n_places=64)
    layers = math.floor(math.log2(asked[-1])) + 2
    model = TransformerConfig(
        n_layers=layers, d_model=64, n_heads=4, d_mlp=128, init="fan_in"
    )
    training = TrainingConfig(
        steps=steps,
        batch_size=16,
        train_examples=None,
        optimizer="muon",
        learning_rate=3e-3,
        weight_decay=0.01,
        warmup_steps=steps // 30,
        cooldown_steps=steps // 3,
        stop_below=0.01,
        eval_every=50,
        eval_examples=256,
        checkpoint_every=100,
    )
    return RunConfig(task, model, training, seed)


def own(task: Task, seed: int = 0, layers: int | None = None) -> RunConfig:
    """Any task, such as one of your own: a config to start from.

    It is meant for small problems of a few hops, in tokens or in vectors. The model has
    two layers more than hops, and four heads a layer: with one head some tasks stay on
    a plateau for long. Embeddings of tokens are scaled up to nearly the length of what
    blocks write. With embeddings of length 1, as they are drawn, chains of assignments
    stayed on their plateau. As soon as the loss is small the rates fall to zero, and
    then training ends: attention goes on sharpening until then, and a circuit's paths
    stand for sharp attention only. An attempt that learns nothing for long is given up
    (`TrainingConfig.patience`).

    Args:
        task: what is learned.
        seed: of weights and data.
        layers: of the model; by default two more than the task has hops, or depths if
            these are more.

    Raises:
        HeadwayError: if the task is one of yours and cannot be used (see `check_task`).
    """
    require_sound(task)
    hops = max(task.n_hops, task.n_depths)
    steps = 3_000 + 1_000 * hops
    model = TransformerConfig(
        n_layers=hops + 2 if layers is None else layers,
        d_model=64,
        n_heads=4,
        d_mlp=128,
        act_fn="relu",
        causal=not task.looks_ahead,
        init="orthogonal",
        embed_scale=1.0 if task.vocabulary is None else 5.6,
    )
    training = replace(
        QUICK,
        steps=steps,
        cooldown_steps=steps // 8,
        cooldown_below=0.1,
        patience=steps // 3,
        checkpoint_every=50,
    )
    return RunConfig(task, model, training, seed)


RECIPES: Offered[Callable[..., RunConfig]] = Offered(
    "headway.recipes",
    "recipe",
    {"fast": fast, "conditional": conditional, "hops": hops},
    False,
)
"""Headway's own recipes, and those that installed packages offer."""


class Base(NamedTuple):
    """The base of configs: a recipe, a user's task, or a config.

    Attributes:
        name: what it is called.
        make: makes a config.
        arguments: what `make` takes by name, with annotations that say what is allowed.
    """

    name: str
    make: Callable[..., RunConfig]
    arguments: Mapping[str, Any]

    @classmethod
    def of(
        cls, made: RunConfig | Callable[..., RunConfig], name: str | None = None
    ) -> "Base":
        """A config, or a function that returns one, as a base."""
        if isinstance(made, RunConfig):
            return cls(name or "config", lambda: made, {})
        hints = typing.get_type_hints(made, include_extras=True)
        names = inspect.signature(made).parameters
        taken = {name: hints.get(name, Any) for name in names}
        return cls(name or made.__name__, made, taken)


def base_of(source: str) -> Base:
    """The base that a user names: a recipe, or a file with one or with a task.

    Args:
        source: a recipe's name, or a file's path; with `:NAME` behind it for one task
            of several.

    Raises:
        HeadwayError: if there is no such recipe or file, or the file has neither.
    """
    if source in RECIPES:
        return Base.of(RECIPES[source])
    path, _ = userfile.file_and_name(source)
    allowed = f"one of {', '.join(RECIPES)}, NAME.py, a sweep's folder, or --resume RUN"
    require(path.suffix == ".py", "recipe", source, allowed + nearest(source, RECIPES))
    if (recipe := recipe_in(source)) is None:
        task = task_in(source)
        hints = {**hints_of(task), "seed": hints_of(RunConfig)["seed"]}
        return Base(path.stem, lambda seed=0, **given: own(task(**given), seed), hints)

    @wraps(recipe)
    def make(**given: Any) -> RunConfig:
        config = userfile.called(path, partial(recipe, **given))
        if not isinstance(config, RunConfig):
            kind = type(config).__name__
            raise HeadwayError(
                f"{path}: recipe() returned {kind}: it must be a RunConfig"
            )
        return config

    return Base.of(make, path.stem)


def recipe_in(source: str) -> Callable[..., Any] | None:
    """The function `recipe` of a file; None if there is none or a task is named."""
    file, name = userfile.file_and_name(source)
    if name:
        return None
    recipe = getattr(userfile.load(file), "recipe", None)
    return recipe if callable(recipe) else None


def annotations(config: RunConfig) -> dict[str, Any]:
    """The annotation of every name that `changed` takes: what values it may have.

    Fields of all curricula are among them.
    """
    kinds = [(where, type(part)) for where, part in parts(config).items()]
    kinds += [(f"{CURRICULUM}.", kind) for kind in CURRICULA.values()]
    hints = dict[str, Any]()
    for where, kind in kinds:
        for name, hint in hints_of(kind).items():
            hints[where + name] = hint
    hints[CURRICULUM] = Literal[*CURRICULA]
    return {name: hint for name, hint in hints.items() if name not in SECTIONS}


def changed(config: T, fields: Mapping[str, Any], where: str = "") -> T:
    """A config with some fields changed, all at once.

    Args:
        config: to start from; or a part of one.
        fields: new values by dotted name, as `flat` gives them; `training.curriculum`
            may be a kind or a whole curriculum.
        where: put before the names of a part's fields, such as `training.`.

    Raises:
        HeadwayError: if a field is unknown, or the values do not go together.
    """
    inside = dict[str, dict[str, Any]]()
    values = dict[str, Any]()
    for name, value in fields.items():
        first, _, rest = name.partition(".")
        inside.setdefault(first, {})[rest] = value
    hints = hints_of(type(config))
    for name, changes in inside.items():
        if name not in hints:
            its = (
                f"{type(config).__name__},"
                f" whose fields are {', '.join(hints) or 'none'}"
            )
            raise HeadwayError(f"{where}{name} is not a field of {its}")
        value = changes.pop("", getattr(config, name))
        if where + name == CURRICULUM and isinstance(value, str) and value in CURRICULA:
            value = CURRICULA[value]()
        values[name] = changed(value, changes, f"{where}{name}.") if changes else value
    return replace(cast(Any, config), **values)


def hints_in(base: Base) -> dict[str, Any]:
    """The annotation of every argument and field, arguments first, by whole name."""
    fields = annotations(base.make())
    return {**base.arguments, **fields, **base.arguments}


def configured(base: Base, changes: Mapping[str, Any]) -> RunConfig:
    """A config with changes; a note tells what else they change.

    Args:
        base: what it is made from.
        changes: the new values of arguments and of fields, by whole name.

    Raises:
        HeadwayError: if a value is not allowed, or values do not go together.
    """
    taken = base.arguments.keys() - hints_of(RunConfig)
    given = dict[str, Any]()
    for name, value in changes.items():
        last = name.rpartition(".")[2]
        argument = last if last in taken else name
        if argument in base.arguments:
            given[argument] = value
    config = base.make(**given)
    rest = {
        name: value for name, value in changes.items() if name not in base.arguments
    }
    steps = config.training.steps
    cooldown = config.training.cooldown_steps
    if COOLDOWN not in changes and rest.get("training.steps", steps) < cooldown:
        rest[COOLDOWN] = cooldown * rest["training.steps"] // steps
        note_once(f"{COOLDOWN} is shortened, to fit into training.steps")
    return changed(config, rest)


def config_asked_for(words: Sequence[str]) -> RunConfig:
    """The config that words ask for: a recipe or a file, and changes to it.

    Raises:
        HeadwayError: if there is no such recipe, or the changes do not fit.
    """
    source, fields = source_and_fields(words)
    base = base_of(source or "fast")
    changes = values_in(map(split, fields), hints_in(base), read)
    return configured(base, changes)


def source_and_fields(words: Iterable[str]) -> tuple[str | None, list[str]]:
    """The recipe or file among words, if there is one; and the `FIELD=VALUE`.

    Raises:
        HeadwayError: if there are several recipes or files.
    """
    words = [word for word in words if not word.startswith("-")]
    sources = [word for word in words if not FIELD.match(word)]
    told = "one recipe or file, and all else FIELD=VALUE"
    require(len(sources) < 2, "recipe", " and ".join(sources), told)
    fields = [word for word in words if FIELD.match(word)]
    return (sources[0] if sources else None), fields
