"""A model made by hand, as others write theirs: its last layer looks two positions
back.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn

from headway import Batch, Edges, Task

TOKENS = 6
LENGTH = 10
WIDTH = 2 * TOKENS + LENGTH
TOKEN = slice(TOKENS)
PLACE = slice(TOKENS, TOKENS + LENGTH)
ANSWER = slice(TOKENS + LENGTH, WIDTH)
PAST = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
SHARP = 12.0


@dataclass(frozen=True)
class TwoBack(Task, registered=False):
    """Random tokens; the answer is the token two back."""

    vocabulary = TOKENS

    def draw(self, count, generator):
        return (torch.randint(TOKENS, (count, LENGTH), generator=generator),)

    def assemble(self, draws):
        return Batch(draws[0], draws[0][:, :-2, None])


def attended(query, key, value):
    """What is read by attention as it is mostly written."""
    scores = query @ key.mT / math.sqrt(WIDTH)
    return scores.masked_fill(~PAST, -torch.inf).softmax(-1) @ value


class LooksBack(nn.Module):
    """Layers of one head, of which the last brings the token of two positions back.

    Args:
        layers: how many.
        attend: what a head reads, from queries, keys and values [batch, 1, position,
            number].
        call: calls a layer with the stream and its number.
    """

    def __init__(self, layers=1, attend=attended, call=None):
        super().__init__()
        self.token = nn.Embedding(TOKENS, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.maps = nn.ModuleList(
            nn.Linear(WIDTH, 4 * WIDTH, bias=False) for _ in range(layers)
        )
        self.out = nn.Linear(WIDTH, TOKENS, bias=False)
        self.attend = attend
        self.call = call
        with torch.no_grad():
            self.fill()

    def fill(self):
        for weight in self.parameters():
            weight.zero_()
        self.token.weight[:, TOKEN] = torch.eye(TOKENS)
        self.place.weight[:, PLACE] = torch.eye(LENGTH)
        query, key, value, out = self.maps[-1].weight.chunk(4)
        back = (torch.arange(LENGTH) - 2).clamp(min=0)
        query[PLACE, PLACE] = SHARP * math.sqrt(WIDTH) * torch.eye(LENGTH)[back].mT
        key[PLACE, PLACE] = torch.eye(LENGTH)
        value[TOKEN, TOKEN] = torch.eye(TOKENS)
        out[ANSWER, TOKEN] = torch.eye(TOKENS)
        self.out.weight[:, ANSWER] = SHARP * torch.eye(TOKENS)

    def values(self, value, at):
        """The values that the heads of a layer read."""
        return value

    def layer(self, x, at):
        maps = self.maps[at].weight.chunk(4)
        query, key, value = ((x @ weight.mT)[:, None] for weight in maps[:3])
        read = self.attend(query, key, self.values(value, at))
        return x + read[:, 0] @ maps[3].mT

    def forward(self, tokens):
        x = self.token(tokens) + self.place.weight[: tokens.shape[1]]
        for at in range(len(self.maps)):
            x = self.layer(x, at) if self.call is None else self.call(self.layer, x, at)
        return self.out(x)


class TwoBackTold(TwoBack):
    """The same, where it is said what heads may look at."""

    def relations(self, batch):
        queries = torch.arange(2, LENGTH).expand(len(batch.inputs), -1)
        near = {"one back": queries - 1, "two back": queries - 2}
        return {name: Edges(queries, keys[..., None]) for name, keys in near.items()}
