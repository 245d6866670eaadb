"""A head's attention on text, told in weights of relations.

Of its attention, the share on the first position is taken as given in every row: when a
head rests does not show in the text. The rest is shared among the other keys, in
proportion to a product of weights: 1/distance to a power (`nearer`), one for every
relation of `BASE`, and one for each of at most two relations that are chosen.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.relations import Composed
from headway_experiments.language.atlas.candidates import BASE, masks_of
from headway_experiments.language.atlas.sinks import SinkTokens

Pattern = Float[Tensor, "head text query key"]
Features = Float[Tensor, "head feature text query key"]
Weights = Float[Tensor, "head feature"]
Numbers = Int[Tensor, "head choice"]

CHOSEN = 2
"""Relations that are chosen for a head, at most."""

TRIED = 3
"""Relations that are tried for each, the likeliest by one step of Newton's method."""

GAIN = 0.003
"""The least that a named relation adds to the overlap off the sinks."""

LARGEST = 6.0
"""The logarithm of the largest weight; its inverse is the smallest."""

STEP = 1.5
"""The largest change of a weight's logarithm in a step."""

LITTLE = 0.002
"""A share of attention: relations with less of it are not told from noise."""

NEWTON, POLISH = 3, 30
"""Steps of Newton's method on the cross-entropy, and of Adam on the overlap."""


@dataclass(frozen=True)
class Sample:
    """Texts, as weights of relations are fitted to them.

    Attributes:
        at: the texts.
        base: what log-weights multiply: of `nearer` and of the relations of `BASE`,
            [feature, text, query, key].
        off: keys that are no sink, [text, query, key].
        allowed: keys but the first position, likewise.
    """

    at: Composed
    base: Float[Tensor, "feature text query key"]
    off: Bool[Tensor, "text query key"]
    allowed: Bool[Tensor, "text query key"]

    @classmethod
    def of(cls, at: Composed, sinks: SinkTokens) -> "Sample":
        """Texts, with the sinks that some tokens are."""
        further = sinks.further(at)
        allowed = at.seen.clone()
        allowed[:, :, 0] = False
        nearer = -torch.log1p(at.offset.clamp(min=0).float())
        relations = masks_of([name for name in BASE if name != "sink"], at)
        base = [nearer.expand(at.seen.shape), further.float(), *relations]
        return cls(at, torch.stack(base), allowed & ~further, allowed)

    def features(self, heads: int, masks: Tensor, chosen: Numbers) -> Features:
        """The factors of attention that heads' weights multiply.

        Args:
            heads: how many.
            masks: of relations, [name, text, query, key].
            chosen: relations by number, for every head.
        """
        base = self.base.expand(heads, *self.base.shape)
        return torch.cat([base, masks[chosen]], 1)


@dataclass(frozen=True)
class Words:
    """The weights of some heads, with the relations that they belong to.

    Attributes:
        weights: logarithms: of `nearer`, `BASE`, and the chosen relations.
        chosen: numbers of relations.
    """

    weights: Weights
    chosen: Numbers


def shared_out(weights: Weights, features: Features, sample: Sample) -> Pattern:
    """Attention on keys but the first position, which adds up to 1 in every row."""
    logits = (weights[:, None] @ features.flatten(2)).view(
        len(weights), *sample.off.shape
    )
    hidden = logits.masked_fill(~sample.allowed, -torch.inf)
    return hidden.softmax(-1).nan_to_num(0.0)  # the first row has no such key


def with_rest(shares: Tensor, first: Tensor) -> Tensor:
    """A pattern of shares, [..., query, key], and what every query gives to the first
    position, [..., query, 1].
    """
    return torch.cat([first, shares[..., 1:] * (1 - first)], -1)


def overlap(
    truth: Pattern, told: Pattern, counted: Bool[Tensor, "text query key"]
) -> tuple[Float[Tensor, "head text"], Float[Tensor, "head text"]]:
    """Intersection and union of patterns, over the keys that count."""
    both = torch.minimum(truth, told) * counted
    either = torch.maximum(truth, told) * counted
    return both.sum((2, 3)), either.sum((2, 3))


def iou_off(truth: Pattern, told: Pattern, sample: Sample) -> Float[Tensor, " head"]:
    """Intersection over union off the sinks, over all texts together."""
    both, either = overlap(truth, told, sample.off)
    return both.sum(1) / either.sum(1).clamp(min=1e-9)


class Fitting:
    """Fits the heads of a layer at a time.

    Args:
        sample: the texts to fit on.
        masks: of the relations that are tried.
    """

    def __init__(self, sample: Sample, masks: Float[Tensor, "name text query key"]):
        self.sample, self.masks = sample, masks
        self._flat = masks.flatten(1)

    def fit(self, truth: Pattern) -> Words:
        """The words of some heads, by their attention."""
        none = torch.zeros(len(truth), 0, dtype=torch.long)
        no_weights = torch.zeros(len(truth), len(self.sample.base))
        words = self._newton(Words(no_weights, none), truth)
        for _ in range(CHOSEN):
            words = self._with_another(words, truth)
        return self._polished(words, truth)

    def _features(self, words: Words) -> Features:
        return self.sample.features(len(words.weights), self.masks, words.chosen)

    def _told(self, words: Words, truth: Pattern) -> Pattern:
        shares = shared_out(words.weights, self._features(words), self.sample)
        return with_rest(shares, truth[..., :1])

    def _with_another(self, words: Words, truth: Pattern) -> Words:
        """The words with the best of the likeliest relations; at weight 0 if it adds
        less than `GAIN`.
        """
        told = self._told(words, truth)
        likeliest = self._scores(told, truth).topk(TRIED, 1).indices
        best_iou = iou_off(truth, told, self.sample) + GAIN
        best = _longer(words, likeliest[:, 0])
        for number in likeliest.T:
            tried = self._newton(_longer(words, number), truth)
            iou = iou_off(truth, self._told(tried, truth), self.sample)
            is_better = (iou > best_iou)[:, None]
            best_iou = torch.maximum(iou, best_iou)
            best = Words(
                torch.where(is_better, tried.weights, best.weights),
                torch.where(is_better, tried.chosen, best.chosen),
            )
        return best

    def _scores(self, told: Pattern, truth: Pattern) -> Float[Tensor, "head name"]:
        """The gain of each relation by one step of Newton's method, about."""
        missing = ((truth - told) * self.sample.off).flatten(1)
        expected = (told * self.sample.off).flatten(1)
        slope = missing @ self._flat.T
        amount = expected @ self._flat.T
        whole = expected.sum(1, keepdim=True).clamp(min=1e-9)
        curvature = amount * (1 - amount / whole)
        return slope**2 / (curvature + LITTLE * whole)

    def _newton(self, words: Words, truth: Pattern) -> Words:
        """Weights of the least cross-entropy."""
        features = self._features(words)
        weights = words.weights
        flat = features.flatten(2)
        for _ in range(NEWTON):
            shares = shared_out(weights, features, self.sample)
            mass = 1 - truth[..., :1]
            missing = (truth - shares * mass) * self.sample.allowed
            slope = flat @ missing.flatten(1)[..., None]
            curvature = _curvature(features, shares, mass)
            step = torch.linalg.solve(curvature, slope)[..., 0]
            weights = (weights + step.clamp(-STEP, STEP)).clamp(-LARGEST, LARGEST)
        return Words(weights, words.chosen)

    def _polished(self, words: Words, truth: Pattern) -> Words:
        """Weights of the most overlap, off the sinks and as a whole; a relation that
        was not worth its name keeps no weight.
        """
        features = self._features(words)
        is_named = (words.weights != 0).float()
        off = (truth * self.sample.off).sum((1, 2, 3)).clamp(min=1e-9)
        whole = truth[..., 1:].sum((1, 2, 3)).clamp(min=1e-9)
        with torch.enable_grad():
            free = words.weights.clone().requires_grad_()
            optimizer = torch.optim.Adam([free], lr=0.1)
            for _ in range(POLISH):
                shares = shared_out(free * is_named, features, self.sample)
                told = with_rest(shares, truth[..., :1])
                apart = (told - truth).abs()
                of_off = (apart * self.sample.off).sum((1, 2, 3)) / off
                loss = of_off + apart.sum((1, 2, 3)) / whole
                optimizer.zero_grad()
                loss.sum().backward()
                optimizer.step()
        limited = (free.detach() * is_named).clamp(-LARGEST, LARGEST)
        polished = Words(limited, words.chosen)
        before = iou_off(truth, self._told(words, truth), self.sample)
        after = iou_off(truth, self._told(polished, truth), self.sample)
        better = torch.where((after > before)[:, None], limited, words.weights)
        return Words(better, words.chosen)


def _longer(words: Words, number: Int[Tensor, " head"]) -> Words:
    """Words with one relation more, which has no weight yet."""
    more = number[:, None]
    weights = torch.cat([words.weights, torch.zeros(more.shape)], 1)
    return Words(weights, torch.cat([words.chosen, more], 1))


def _curvature(features: Features, shares: Pattern, mass: Tensor) -> Tensor:
    """The second derivatives of the cross-entropy, damped, [head, feature, feature]."""
    amount = shares * mass
    weighed = features * amount[:, None]
    squares = weighed.flatten(2) @ features.flatten(2).transpose(1, 2)
    expected = weighed.sum(-1) / mass[:, None, ..., 0].clamp(min=1e-9).sqrt()
    flat = expected.flatten(2)
    curvature = squares - flat @ flat.transpose(1, 2)
    scale = curvature.diagonal(dim1=1, dim2=2).mean(1) + 1e-6
    unit = torch.eye(curvature.shape[-1])
    return curvature + 0.01 * scale[:, None, None] * unit


def shares_of(words: Words, masks: Tensor, sample: Sample) -> Pattern:
    """The attention that words tell on some texts.

    Args:
        words: of some heads.
        masks: of the relations that were tried, on these texts.
        sample: the texts.
    """
    features = sample.features(len(words.weights), masks, words.chosen)
    return shared_out(words.weights, features, sample)
