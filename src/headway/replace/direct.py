"""Direct effects: what every head and every MLP adds to a metric by itself, past all
that stands between it and the output.

What is read below it is held fixed in every layer above: attention, MLPs, and the
scales of norms. The metric of the logits is then a sum of what each part adds (direct
logit attribution: Elhage et al. 2021). It is computed in one backward pass, for any
model whose attention can be tapped.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headway.errors import require
from headway.models import Tapped
from headway.models.interception import Read
from headway.replace.heads import name_of
from headway.replace.subject import device_of, with_tap
from headway.settings import computes_as_usual
from headway.tasks import Batch, Task
from headway.text import aligned

MLP = re.compile(r"(^|\.)(mlp|ffn|feed_forward|feedforward|block_sparse_moe)$")
"""The names that modules of an MLP have in models of many makers."""

LISTED = 12
"""Parts that a table shows."""

Values = Float[Tensor, " sequence"]


@dataclass(frozen=True)
class Effect:
    """The direct effect of a part of a model on a metric.

    Attributes:
        part: its name: `L9.H6`, or `L9.mlp`.
        mean: over sequences.
        interval: of the mean, 95 %.
    """

    part: str
    mean: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Direct:
    """The direct effects of a model's parts on a metric.

    Attributes:
        metric: its name.
        whole: the model's own, the mean over sequences.
        effects: of every head, and of every MLP that was found, the largest first.
        rest: what they do not add: embeddings, biases, and parts that were not found.
        sequences: how many.
    """

    metric: str
    whole: float
    effects: list[Effect]
    rest: float
    sequences: int

    def __str__(self):
        rows = [["direct effect on", self.metric, "95 %"]]
        for effect in self.effects[:LISTED]:
            low, high = effect.interval
            interval = f"{low:.2f} to {high:.2f}"
            rows.append([effect.part, f"{effect.mean:+.2f}", interval])
        others = self.effects[LISTED:]
        if others:
            together = sum(effect.mean for effect in others)
            rows.append([f"{len(others)} others together", f"{together:+.2f}", ""])
        rows.append(["embeddings and the rest", f"{self.rest:+.2f}", ""])
        rows.append(["all", f"{self.whole:+.2f}", ""])
        return "\n".join(aligned(rows, "<>>"))


@computes_as_usual
def direct_effects(model: Any, task: Task, batch: Batch) -> Direct:
    """The direct effect of every head and every MLP on a task's metric.

    The metric is that by which the task's targets are judged, with the sign by which
    more is better. It must be linear in logits, as a logit difference of one token each
    is, for parts to add up; of others this is their slope.

    Args:
        model: any module whose attention can be tapped.
        task: of the sequences.
        batch: the sequences.

    Raises:
        HeadwayError: if the model's attention cannot be tapped.
    """
    require(isinstance(model, nn.Module), "model", model, "a torch.nn.Module")
    tapped = with_tap(model, task)
    own = tapped if isinstance(tapped, Tapped) else Tapped(model)
    batch = _on(batch, device_of(model))
    parts = _Parts(own, len(batch.inputs))
    effects = [_effect(*each) for each in parts.values(task, batch).items()]
    effects.sort(key=lambda effect: -abs(effect.mean))
    whole = _better(task, batch, parts.outputs).mean().item()
    rest = whole - sum(effect.mean for effect in effects)
    return Direct(
        metric=task.targets.metric_name,
        whole=whole,
        effects=effects,
        rest=rest,
        sequences=len(batch.inputs),
    )


def _on(batch: Batch, device: str) -> Batch:
    """A batch on a device."""
    return Batch(
        batch.inputs.to(device), batch.targets.to(device), batch.roles.to(device)
    )


def _better(task: Task, batch: Batch, outputs: Tensor) -> Values:
    """The metric of every sequence, where more is better."""
    errors = task.targets.smooth.errors(outputs, batch.targets)
    return -errors.mean(1)


def _effect(part: str, values: Values) -> Effect:
    """The mean over sequences, with its interval."""
    count = len(values)
    mean = values.mean().item()
    spread = values.double().std().item() if count > 1 else 0.0
    off = 1.96 * spread / count**0.5
    return Effect(part, mean, (mean - off, mean + off))


class _Parts:
    """The parts of a model, each with a factor of 1, whose slope is what it adds.

    Args:
        model: with a tap.
        count: of the sequences.

    Attributes:
        outputs: at the queries.
        factors: of every part, by its name.
    """

    def __init__(self, model: Tapped, count: int):
        self.model = model
        self.count = count
        self.outputs = torch.empty(0)
        self.factors = dict[str, Tensor]()
        self._patterns = dict[int, Tensor]()

    @torch.enable_grad()
    def values(self, task: Task, batch: Batch) -> dict[str, Values]:
        """The effect of every part, by its name."""
        with self._mlps(), _FixedScales():
            outputs = self.model(batch.inputs, self._tap, self._reads)
        n_read = batch.targets.shape[1]
        self.outputs = outputs[:, -n_read:]
        better = _better(task, batch, self.outputs).sum()
        factors = [*self.factors.values()]
        slopes = torch.autograd.grad(better, factors, materialize_grads=True)
        self.outputs = self.outputs.detach()
        return dict(zip(self.factors, slopes, strict=True))

    def _tap(self, layer: int, pattern: Tensor) -> Tensor:
        """Holds a pattern fixed."""
        self._patterns[layer] = pattern.detach()
        return self._patterns[layer]

    def _reads(self, read: Read) -> Tensor:
        """The products of heads, each times its factor, with values held fixed."""
        weights = list[Tensor]()
        for number, own in enumerate(self._patterns[read.layer].unbind(1)):
            name = name_of((read.layer, number))
            weights.append(own * self.factor(name, own)[:, None, None])
        pattern = read.laid(torch.stack(weights, 1))
        return read.product(pattern, read.values.detach())

    def factor(self, name: str, like: Tensor) -> Tensor:
        """The factor of a part, for every sequence; of a kind with a tensor."""
        if name not in self.factors:
            ones = torch.ones(self.count, dtype=like.dtype, device=like.device)
            self.factors[name] = ones.requires_grad_()
        return self.factors[name]

    @contextmanager
    def _mlps(self) -> Iterator[None]:
        """Reads of MLPs held fixed, and what each gives times its factor."""
        hooks = list[Any]()
        named = self.model.module.named_modules()
        mlps = [module for name, module in named if MLP.search(name)]
        for number, module in enumerate(mlps):
            factor = partial(self.factor, f"L{number}.mlp")
            before = module.register_forward_pre_hook(_fixed)
            after = module.register_forward_hook(partial(_factored, factor))
            hooks += [before, after]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _fixed(_: nn.Module, given: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a module's call, without slopes."""
    fixed = list[Any]()
    for argument in given:
        is_tensor = isinstance(argument, Tensor)
        fixed.append(argument.detach() if is_tensor else argument)
    return tuple(fixed)


def _factored(
    factor_like: Callable[[Tensor], Tensor], _: nn.Module, __: Any, given: Any
) -> Any:
    """Multiplies what a module gives by a factor for every sequence, as a hook."""
    output = given[0] if isinstance(given, tuple) else given
    by_sequence = [-1] + [1] * (output.ndim - 1)
    scaled = output * factor_like(output).view(by_sequence)
    return (scaled, *given[1:]) if isinstance(given, tuple) else scaled


class _FixedScales(TorchFunctionMode):
    """Norms divide by scales that have no slopes."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Called by torch in place of each of its functions."""
        kwargs = kwargs or {}
        if func in (torch.rsqrt, Tensor.rsqrt):
            return func(*args, **kwargs).detach()
        if func is F.layer_norm:
            return _layer_norm(*args, **kwargs)
        if func is F.rms_norm:
            return _rms_norm(*args, **kwargs)
        return func(*args, **kwargs)


def _layer_norm(
    inputs: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Layer norm with a scale that has no slope."""
    axes = tuple(range(-len(normalized_shape), 0))
    centred = inputs - inputs.mean(axes, keepdim=True)
    variance = centred.square().mean(axes, keepdim=True)
    normed = centred * (variance + eps).rsqrt().detach()
    if weight is not None:
        normed = normed * weight
    return normed if bias is None else normed + bias


def _rms_norm(
    inputs: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """RMS norm with a scale that has no slope."""
    axes = tuple(range(-len(normalized_shape), 0))
    least = torch.finfo(inputs.dtype).eps if eps is None else eps
    mean = inputs.square().mean(axes, keepdim=True)
    normed = inputs * (mean + least).rsqrt().detach()
    return normed if weight is None else normed * weight
