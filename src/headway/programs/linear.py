"""Linear rules of counts: is a sum of tokens' weights over a head's keys large enough?

Weights are whole numbers, as small as serve.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from headway.programs.candidates import Rows, at_least
from headway.programs.expressions import TOKEN, Array, Expression
from headway.programs.pool import Pool
from headway.programs.prelude import count

MOST_TOKENS = 40
LARGEST_WEIGHT = 12
FARTHEST = 30
"""The largest sum that is compared with."""

LOST = 0.001
"""Rows that smaller weights may get wrong beside."""

MOST_ANSWERS = 6
STEPS, RIDGE = 200, 1e-4


def linear_conditions(
    pool: Pool, rows: Rows, selects: Sequence[Expression]
) -> Iterator[tuple[Expression, Array]]:
    """Conditions on weighted counts of tokens, where heads look at several keys."""
    known = np.unique(pool.scope.tokens[pool.matters])
    answers = np.unique(rows.answers)
    if not 2 <= len(known) <= MOST_TOKENS or len(answers) > MOST_ANSWERS:
        return
    # Of two answers one is enough: the other is where it is not.
    told = answers[-1:] if len(answers) == 2 else answers
    for select in selects:
        keys = pool.scope.value(select)
        if keys[pool.matters].sum(1).max() > 1:
            features = _counts(pool, rows, keys, known)
            for answer in told:
                yield from _rules(select, known, features, rows.answers == answer)


def _counts(pool: Pool, rows: Rows, keys: Array, known: Array) -> Array:
    """The count of every token at the keys of a row, [row, token]."""
    tokens = pool.scope.tokens
    counts = [rows.of(count(keys, tokens == token)) for token in known]
    return np.stack(counts, 1)


def _rules(
    select: Expression, known: Array, features: Array, holds: Array
) -> Iterator[tuple[Expression, Array]]:
    """Conditions that weighted counts are large enough, by whether something holds."""
    weights = _whole_weights(features, holds)
    expression = _weighed(select, known, weights)
    sums = features @ weights
    low = max(int(np.quantile(sums, 0.005)), -FARTHEST)
    high = min(int(np.quantile(sums, 0.995)), FARTHEST)
    for least in range(low, high + 2):
        yield at_least(expression, least), sums >= least


def _whole_weights(features: Array, holds: Array) -> Array:
    """The smallest whole weights whose sums tell as well as any where something
    holds.
    """
    slopes = _slopes(features, holds)
    tried = list[tuple[float, Array]]()
    for scale in range(1, LARGEST_WEIGHT + 1):
        shares = slopes / np.abs(slopes).max()
        weights = np.round(shares * scale).astype(int)
        tried.append((_told_by(features @ weights, holds), weights))
    best = max(share for share, _ in tried)
    return next(weights for share, weights in tried if share >= best - LOST)


def _told_by(sums: Array, holds: Array) -> float:
    """The largest share of rows that any limit of sums tells apart."""
    order = np.argsort(sums, kind="stable")
    steps = np.diff(sums[order])
    ends = np.append(steps > 0, True)
    gained = np.where(holds[order], -1, 1)
    right = holds.sum() + gained.cumsum()[ends]
    most = max(right.max(), holds.sum())
    least = min(right.min(), holds.sum())
    return max(most, len(holds) - least) / len(holds)


@torch.enable_grad()
def _slopes(features: Array, holds: Array) -> Array:
    """The weights of a logistic regression."""
    known = torch.tensor(features, dtype=torch.float64)
    known = known / known.std(0).mean().clamp(min=1e-6)
    wanted = torch.tensor(holds, dtype=torch.float64)
    shape = known.shape[1]
    weights = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    offset = torch.zeros((), dtype=torch.float64, requires_grad=True)
    steps = {"max_iter": STEPS, "line_search_fn": "strong_wolfe"}
    optimizer = torch.optim.LBFGS([weights, offset], **steps)

    def loss() -> Tensor:
        optimizer.zero_grad()
        misfit = binary_cross_entropy_with_logits(known @ weights + offset, wanted)
        whole = misfit + RIDGE * weights.square().sum()
        whole.backward()
        return whole

    optimizer.step(loss)
    fitted = weights.detach().numpy()
    return fitted if np.abs(fitted).max() > 0 else np.ones(shape)


def _weighed(select: Expression, tokens: Array, weights: Array) -> Expression:
    """The sum of weights over keys: by a rule of the token's number, or by token."""
    steps = np.diff(weights) / np.diff(tokens)
    if len(tokens) > 3 and (steps == steps[0]).all() and steps[0] != 0:
        slope = int(steps[0])
        offset = int(weights[0] - slope * tokens[0])
        sign, times = _times(slope)
        value = f"{offset or ''} {sign} {times}{{1}}".removeprefix(" + ").strip()
        form = f"total({{0}}, {value})"
        return Expression(form, "count", (select, TOKEN), 2.0)
    form = ""
    used = np.nonzero(weights)[0]
    for at in sorted(used, key=lambda at: weights[at] < 0):  # what is added first
        sign, times = _times(int(weights[at]))
        form += f" {sign} {times}count({{0}}, {{1}} == {tokens[at]})"
    form = form.removeprefix(" + ").strip() or "0"
    return Expression(f"({form})", "count", (select, TOKEN), float(len(used)))


def _times(weight: int) -> tuple[str, str]:
    """The sign of a weight, and what a product with it begins with."""
    sign = "-" if weight < 0 else "+"
    size = abs(weight)
    return sign, "" if size == 1 else f"{size} * "
