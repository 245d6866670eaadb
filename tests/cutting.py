"""Losses of a known circuit with paths forced or cut, by a tap of its own."""

import torch

from headway.models import attention_patterns


def one_hot(batch, names):
    """1 from every query role to its key role in the same chain; all other rows 0."""
    size, length, _ = batch.inputs.shape
    pattern = torch.zeros(size, length, length)
    at = torch.arange(size)[:, None]
    for name in names:
        query, key = (int(role.removeprefix("s")) for role in name.split("←"))
        pattern[at, batch.roles[:, query], batch.roles[:, key]] = 1
    return pattern


def loss(known, batch, paths=None, up_to=99, other=None):
    """The loss with heads of layers up to `up_to` attending along `paths` and nowhere
    else.

    Heads that are in `other` attend as it says.
    """

    def force(layer, pattern):
        if paths is None or layer > up_to:
            return pattern
        heads = range(pattern.shape[1])
        own = [
            [name for at, h, name in paths if (at, h) == (layer, head)]
            for head in heads
        ]
        forced = [one_hot(batch, names) for names in own]
        for (at, head), instead in (other or {}).items():
            if at == layer:
                forced[head] = instead.expand_as(forced[head])
        return torch.stack(forced, 1)

    predicted = known.model(batch.inputs, force).view_as(batch.targets)
    return (predicted - batch.targets).square().mean().item()


def losses_without(known, batch, paths, path):
    """The losses without one path: with all heads forced, and with the layers above
    free.
    """
    rest = paths - {path}
    return loss(known, batch, rest), loss(known, batch, rest, up_to=path.layer)


def attention(known, batch, path):
    """The model's own attention along a path, averaged over chains and sequences."""
    layer, head, name = path
    pattern = attention_patterns(known.model, batch.inputs)[:, layer, head]
    along = one_hot(batch, [name])
    return ((pattern * along).sum() / along.sum()).item()
