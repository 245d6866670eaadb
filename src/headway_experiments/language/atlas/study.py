"""The making of an atlas: words chosen on some texts and judged on others."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from headway.models import tapped
from headway_experiments.language.atlas.candidates import (
    BASE,
    Reader,
    composed,
    kind_of,
    masks_of,
    tried_on,
)
from headway_experiments.language.atlas.costs import (
    CHUNK,
    Rise,
    at_random,
    attention_of,
    cheapest,
    first_order,
    losses,
    replaced,
)
from headway_experiments.language.atlas.entries import Atlas, Entry, Shown
from headway_experiments.language.atlas.fitting import (
    CHOSEN,
    Fitting,
    Sample,
    Words,
    shares_of,
    with_rest,
)
from headway_experiments.language.atlas.scores import Score, Told, score
from headway_experiments.language.atlas.sinks import sinks_in
from headway_experiments.language.atlas.texts import Texts
from headway_experiments.language.local import LocalModel

RESTS = 0.75
"""A head with so much of its attention on sinks is said to rest."""

SHARES = (0.25, 0.5)
"""Shares of the heads that are replaced."""

WORDS = "words"
MEAN = "mean pattern, share on the first position given"
UNIFORM = "uniform, share on the first position given"


class Study:
    """A model on texts, from which an atlas is made.

    Args:
        local: the model.
        texts: to choose and to judge on.
        seed: of random heads and bootstraps.
        watch: called with passes done and all passes.
    """

    def __init__(
        self,
        local: LocalModel,
        texts: Texts,
        seed: int,
        watch: Callable[[int, int], None],
    ):
        self.local, self.texts, self.seed = local, texts, seed
        self._watch, self._done = watch, 0
        local.model.requires_grad_(False)
        self.model = tapped(local.model, texts.fit[:2])
        self.read = Reader.of(local.tokenizer, texts.fit)

    def step(self) -> None:
        """Says that one more pass is done."""
        fit = math.ceil(len(self.texts.fit) / CHUNK)
        judge = math.ceil(len(self.texts.judge) / CHUNK)
        self._done += 1
        self._watch(self._done, 2 * fit + (1 + 3 * len(SHARES)) * judge)

    def atlas(self) -> Atlas:
        """The atlas."""
        attention = attention_of(self.model, self.texts.fit, self.step)
        at = composed(self.texts.fit.cpu(), self.read)
        of_heads = attention.flatten(0, 1)
        sinks = sinks_in(of_heads.transpose(0, 1), at)
        sample = Sample.of(at, sinks)
        names, masks = tried_on(at)
        fitting = Fitting(sample, masks)
        words = [fitting.fit(truth) for truth in attention]
        beside = _beside(attention)
        shares = torch.stack([shares_of(each, masks, sample) for each in words])
        costs = self._costs({WORDS: shares, MEAN: beside[MEAN]})

        judged = attention_of(self.model, self.texts.judge, self.step)
        other = composed(self.texts.judge.cpu(), self.read)
        unseen = Sample.of(other, sinks)
        unseen_masks = masks_of(names, other)
        told = torch.stack([shares_of(each, unseen_masks, unseen) for each in words])
        scores = self._scores(judged, {WORDS: told, **beside}, attention, unseen)
        own, rises = self._rises({WORDS: told, MEAN: beside[MEAN]}, costs)
        rest = _rests(judged, unseen)
        read_sinks = [self.read(token) for token in sinks.tokens]
        return Atlas(
            self.local.name,
            self.texts.source,
            len(self.texts.judge),
            self.texts.length,
            self.seed,
            dict(zip(read_sinks, sinks.times, strict=True)),
            _entries(words, names, rest, scores[WORDS], costs[WORDS]),
            scores,
            rises,
            own,
            self._shown(judged, told),
        )

    def _costs(self, shares: dict[str, Tensor]) -> dict[str, Tensor]:
        count = len(self.texts.fit)
        full = {name: _for_all(each, count) for name, each in shares.items()}
        return first_order(self.model, self.texts.fit, full, self.step)

    def _scores(
        self,
        attention: Tensor,
        shares: dict[str, Tensor],
        fitted: Tensor,
        sample: Sample,
    ) -> dict[str, Score]:
        """The scores of words and of what stands beside them."""
        first = torch.zeros(attention.shape[-2:])
        first[:, 0] = 1
        seen = sample.at.seen[0]
        even = seen / seen.sum(-1, keepdim=True)
        mean = fitted.mean(2, keepdim=True)
        plain = {
            "mean pattern": lambda layer: mean[layer],
            "first position only": lambda _: first,
            "uniform": lambda _: even,
        }
        given = {name: _whole(each, attention) for name, each in shares.items()}
        scores = {}
        for name, told in (given | plain).items():
            scores[name] = score(attention, told, sample, self.seed)
        return scores

    def _rises(
        self, shares: dict[str, Tensor], costs: dict[str, Tensor]
    ) -> tuple[float, dict[str, Rise]]:
        """The model's own loss, and the rises of perplexity, by what replaces heads."""
        tokens = self.texts.judge
        of_chunks = [losses(self.model, chunk) for chunk in tokens.split(CHUNK)]
        own = torch.cat(of_chunks)
        rises = dict[str, Rise]()
        for share in SHARES:
            for name, each in shares.items():
                heads = cheapest(costs[name], share)
                full = _for_all(each, len(tokens))
                after = replaced(self.model, tokens, full, heads, self.step)
                kind = f"{share:.0%} of the heads, cheapest: {name}"
                rises[kind] = Rise.of(after, own)
            drawn = at_random(cheapest(costs[WORDS], share), self.seed)
            after = replaced(self.model, tokens, shares[WORDS], drawn, self.step)
            kind = f"{share:.0%} of the heads, at random: {WORDS}"
            rises[kind] = Rise.of(after, own)
        return own.mean().item(), rises

    def _shown(self, attention: Tensor, told: Tensor, count: int = 2) -> list[Shown]:
        pages = []
        for number in range(count):
            tokens = self.texts.judge[number].tolist()
            truth = attention[:, :, number]
            pattern = with_rest(told[:, :, number], truth[..., :1])
            texts = [self.read(token) for token in tokens]
            pages.append(Shown(texts, truth, pattern))
        return pages


def _whole(shares: Tensor, attention: Tensor) -> Told:
    """Shares of what attention leaves, with its own on the first position."""

    def pattern(layer: int) -> Tensor:
        truth = attention[layer]
        same_in_all = shares[layer].expand_as(truth)
        return with_rest(same_in_all, truth[..., :1])

    return pattern


def _for_all(shares: Tensor, count: int) -> Tensor:
    """Shares for so many texts, be they the same in all or not."""
    return shares.expand(-1, -1, count, -1, -1)


def _beside(attention: Tensor) -> dict[str, Tensor]:
    """Shares that stand beside those of words: the mean pattern's, and even ones."""
    mean = attention.mean(2, keepdim=True)
    mean[..., 0] = 0
    shares = mean / mean.sum(-1, keepdim=True).clamp(min=1e-9)
    length = attention.shape[-1]
    even = torch.ones(length, length).tril()
    even[:, 0] = 0
    even /= even.sum(-1, keepdim=True).clamp(min=1)
    return {MEAN: shares, UNIFORM: even.expand_as(shares)}


def _rests(attention: Tensor, sample: Sample) -> list[list[tuple[float, float]]]:
    """Shares on the first position and on further sinks, by layer and head."""
    rows = attention[..., 1:, :]
    first = rows[..., 0].mean((2, 3))
    further = sample.allowed & ~sample.off
    beyond = (attention * further).sum(-1)[..., 1:].mean((2, 3))
    return torch.stack([first, beyond], 2).tolist()


def _kind(relations: Iterable[str], on_sinks: float) -> str:
    """The kind of a head (see `Entry`), by its chosen relations and share on sinks."""
    if on_sinks >= RESTS:
        return "rest"
    first = next(iter(relations), None)
    return "plain" if first is None else kind_of(first)


def _entries(
    words: list[Words],
    names: list[str],
    rests: list[list[tuple[float, float]]],
    scored: Score,
    costs: Tensor,
) -> list[Entry]:
    """The entries of all heads."""
    entries = []
    fits = iter(scored.heads)
    for layer, each in enumerate(words):
        for head, weights in enumerate(each.weights.tolist()):
            numbers = each.chosen[head].tolist()
            chosen = weights[-CHOSEN:]
            relations = {
                names[number]: weight
                for number, weight in zip(numbers, chosen, strict=True)
                if weight
            }
            told = dict(zip(BASE, weights[1:], strict=False)) | relations
            factors = {name: math.exp(weight) for name, weight in told.items()}
            first, further = rests[layer][head]
            entry = Entry(
                (layer, head),
                _kind(relations, first + further),
                first,
                further,
                {"nearer": weights[0], **factors},
                tuple(relations),
                *next(fits),
                costs[layer, head].mean().item(),
            )
            entries.append(entry)
    return entries


@torch.no_grad()
def atlas(
    local: LocalModel,
    texts: Texts,
    seed: int = 0,
    watch: Callable[[int, int], None] = lambda *_: None,
) -> Atlas:
    """The atlas of a model on texts.

    Args:
        local: the model, whose weights are frozen.
        texts: to choose words on, and to judge them on.
        seed: of random heads and bootstraps.
        watch: called after every pass, with passes done and all passes.
    """
    return Study(local, texts, seed, watch).atlas()
