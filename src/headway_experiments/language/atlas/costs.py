"""The cost of replacing heads: each by one backward pass, many by perplexity."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.intervals import Z
from headway.models import Tap, Tappable
from headway_experiments.language.atlas.fitting import with_rest

Shares = Float[Tensor, "layer head text query key"]
Heads = Bool[Tensor, "layer head"]
Tokens = Int[Tensor, "text token"]

CHUNK = 10
"""Texts in a pass."""


@dataclass(frozen=True)
class Rise:
    """The rise of perplexity over the model's own, as a share of it.

    Attributes:
        mean: of all texts together.
        interval: 95 %, over texts.
    """

    mean: float
    interval: tuple[float, float]

    @classmethod
    def of(cls, losses: Float[Tensor, " text"], own: Float[Tensor, " text"]) -> "Rise":
        """The rise from one loss of a token, averaged in each text, to another."""
        higher = losses - own
        middle = higher.mean().item()
        half = Z * higher.std().item() / math.sqrt(len(higher))
        low, high = math.expm1(middle - half), math.expm1(middle + half)
        return cls(math.expm1(middle), (low, high))

    def __str__(self):
        low, high = self.interval
        return f"{self.mean:+.1%} ({low:+.1%} to {high:+.1%})"


def losses(model: Tappable, tokens: Tokens, tap: Tap | None = None) -> Tensor:
    """The loss of a token, averaged in each text, in nats."""
    logits = model(tokens, tap) if tap else model(tokens)
    guesses = logits[:, :-1].float().transpose(1, 2)
    following = tokens[:, 1:]
    of_tokens = F.cross_entropy(guesses, following, reduction="none")
    return of_tokens.mean(1)


def attention_of(
    model: Tappable, tokens: Tokens, watch: Callable[[], None]
) -> Float[Tensor, "layer head text query key"]:
    """The attention of every head."""
    parts = []
    for chunk in tokens.split(CHUNK):
        layers: list[Tensor] = []

        def seen(_: int, pattern: Tensor, layers: list[Tensor] = layers) -> Tensor:
            layers.append(pattern.float().cpu())
            return pattern

        model(chunk, seen)
        parts.append(torch.stack(layers).transpose(1, 2))
        watch()
    return torch.cat(parts, 2)


def first_order(
    model: Tappable,
    tokens: Tokens,
    shares: dict[str, Shares],
    watch: Callable[[], None],
) -> dict[str, Float[Tensor, "layer head text"]]:
    """The loss that replacing each head alone would cost in each text, to first order.

    One backward pass gives it for all heads, and all ways to replace them.

    Args:
        model: with a tap.
        tokens: of the texts.
        shares: what stands in the place of heads, by name.
        watch: called after every pass.
    """
    parts: dict[str, list[Tensor]] = {name: [] for name in shares}
    for number, chunk in enumerate(tokens.split(CHUNK)):
        texts = slice(number * CHUNK, number * CHUNK + len(chunk))
        changes: list[Tensor] = []
        patterns: list[Tensor] = []

        def with_change(
            _: int,
            pattern: Tensor,
            changes: list[Tensor] = changes,
            patterns: list[Tensor] = patterns,
        ) -> Tensor:
            changes.append(torch.zeros_like(pattern).requires_grad_())
            patterns.append(pattern.detach())
            return pattern + changes[-1]

        with torch.enable_grad():
            losses(model, chunk, with_change).sum().backward()
        for name, wanted in shares.items():
            costs = []
            for layer, (change, pattern) in enumerate(
                zip(changes, patterns, strict=True)
            ):
                told = with_rest(
                    wanted[layer, :, texts].transpose(0, 1), pattern[..., :1]
                )
                assert change.grad is not None
                costs.append((change.grad * (told - pattern)).sum((2, 3)).T)
            parts[name].append(torch.stack(costs))
        watch()
    return {name: torch.cat(each, 2) for name, each in parts.items()}


def replaced(
    model: Tappable,
    tokens: Tokens,
    shares: Shares,
    heads: Heads,
    watch: Callable[[], None],
) -> Float[Tensor, " text"]:
    """Losses with some heads replaced, all at once; each keeps what it gives to the
    first position.
    """
    parts = []
    for number, chunk in enumerate(tokens.split(CHUNK)):
        texts = slice(number * CHUNK, number * CHUNK + len(chunk))

        def put(layer: int, pattern: Tensor, texts: slice = texts) -> Tensor:
            wanted = shares[layer, :, texts].transpose(0, 1)
            told = with_rest(wanted, pattern[..., :1])
            return torch.where(heads[layer, :, None, None], told, pattern)

        parts.append(losses(model, chunk, put))
        watch()
    return torch.cat(parts)


def cheapest(costs: Float[Tensor, "layer head text"], share: float) -> Heads:
    """The cheapest heads, as many as a share of all.

    A head's cost is the mean over texts of the absolute change of the loss: changes of
    different sign would cancel.
    """
    sizes = costs.abs().mean(2)
    count = round(share * sizes.numel())
    first = sizes.flatten().argsort()[:count]
    chosen = torch.zeros(sizes.numel(), dtype=torch.bool)
    chosen[first] = True
    return chosen.view(sizes.shape)


def at_random(like: Heads, seed: int) -> Heads:
    """Heads drawn at random, as many as some others."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(like.numel(), generator=generator)
    return like.flatten()[order].view(like.shape)
