"""What a model answers when some of its heads are knocked out, many sets of heads at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

import torch
from torch import Tensor

from headway.language import Answers, LocalModel, Question
from headway_experiments.language_models.tap import Tap, shape, tapped

Head = tuple[int, int]
"""Layer, and number in it, from 0."""

Ablation = Literal["knock-out", "uniform"]
"""`knock-out`: the head's pattern is zero, so it adds nothing; `uniform`: it attends to every token
as far as its own alike."""

Kind = Literal["none", "top", "matched", "random"]

TOKENS = 1024
"""How many are read at once, over all sets of heads; more takes memory and is no faster."""


@dataclass(frozen=True)
class Trial:
    """Heads that are knocked out together.

    Attributes:
        kind: `top` of the ranking, or drawn: `random` from all other heads, `matched` as many in
            every layer as the top has there.
        top: how many.
        heads: which.
    """

    kind: Kind
    top: int
    heads: frozenset[Head]


def trials(
    ranked: Sequence[Head], tops: Sequence[int], draws: int, about: tuple[object, ...]
) -> list[Trial]:
    """The trials of a question: the whole model, the top of the ranking, and random heads.

    Args:
        ranked: all heads, the best first.
        tops: how many of the top to knock out, each at most half of all.
        draws: of each kind for every one of `tops`.
        about: what the draws depend on.
    """
    found = [Trial("none", 0, frozenset())]
    for top in tops:
        first, rest = ranked[:top], sorted(ranked[top:])
        found.append(Trial("top", top, frozenset(first)))
        random = Random("/".join(map(str, (*about, top))))
        for _ in range(draws):
            found.append(Trial("matched", top, frozenset(_matched(first, rest, random))))
            found.append(Trial("random", top, frozenset(random.sample(rest, top))))
    return found


def _matched(first: Sequence[Head], rest: Sequence[Head], random: Random) -> list[Head]:
    """For each of the first another head of its layer; of the nearest layer that has one left."""
    left, drawn = random.sample(rest, len(rest)), list[Head]()
    for layer, _ in first:
        head = min(left, key=lambda head: abs(head[0] - layer))
        left.remove(head)
        drawn.append(head)
    return drawn


def keep_of(tried: Sequence[Trial], layers: int, heads: int) -> Tensor:
    """Which heads are left alone, [trial, layer, head]."""
    keep = torch.ones(len(tried), layers, heads, dtype=torch.bool)
    for row, trial in enumerate(tried):
        for head in trial.heads:
            keep[row, *head] = False
    return keep


@torch.no_grad()
def answers_without(
    model: LocalModel, question: Question, tried: Sequence[Trial], ablation: Ablation = "knock-out"
) -> list[Answers]:
    """The probabilities of all acceptable answers for every set of heads that is knocked out.

    Without any heads they are those of `LocalModel.answers`. Heads are out while the prompt is
    read and while it is answered.
    """
    prompt, (options, padded) = model.prompt(question), model.options(question)
    answers = torch.tensor(padded, device=model.device)
    keep = keep_of(tried, *shape(model.model)).to(model.device)
    found: list[Answers] = []
    for some in keep.split(max(1, TOKENS // len(prompt))):
        first, after = _read(model, prompt, answers, some, ablation)
        found += [model.told(options, *row) for row in zip(first, after, strict=True)]
    return found


def _read(
    model: LocalModel, prompt: Tensor, answers: Tensor, keep: Tensor, ablation: Ablation
) -> tuple[Tensor, Tensor]:
    """Log-probabilities of what comes after the prompt, [trial, next token], and after every token
    of every answer, [trial, option, token, next token]."""
    prompts, count = prompt.expand(len(keep), -1), len(answers)
    with tapped(model.model, _without(keep, ablation)):
        if not model.goes_on:
            whole = torch.stack([model.whole(prompts, row) for row in answers.tolist()], 1)
            return whole[:, 0, 0], whole[:, :, 1:]
        read = model.model(input_ids=prompts, use_cache=True, logits_to_keep=1)
    cache = read.past_key_values
    cache.batch_repeat_interleave(count)
    with tapped(model.model, _without(keep.repeat_interleave(count, 0), ablation)):
        after = model.model(
            input_ids=answers.repeat(len(keep), 1), past_key_values=cache, use_cache=True
        ).logits
    after = after.float().log_softmax(-1).unflatten(0, (len(keep), count))
    return read.logits[:, -1].float().log_softmax(-1), after


def _without(keep: Tensor, ablation: Ablation) -> Tap:
    """A tap that knocks heads out, other ones in every row of the batch."""

    def tap(layer: int, pattern: Tensor) -> Tensor:
        here = keep[:, layer, :, None, None]
        if here.all():
            return pattern
        return torch.where(here, pattern, uniform(pattern) if ablation == "uniform" else 0.0)

    return tap


def uniform(pattern: Tensor) -> Tensor:
    """The pattern that attends to every token as far as the query's own alike, [query, key]."""
    queries, keys = pattern.shape[-2:]
    seen = torch.ones_like(pattern[0, 0]).tril(keys - queries)
    return seen / seen.sum(-1, keepdim=True)
