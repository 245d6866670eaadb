"""In-context bigrams: text in which some characters, the triggers, are followed by an
output that is drawn anew for every sequence (Bietti et al. 2023, arXiv 2306.00802,
section 3), perhaps with noise (Chen, Bruna and Bietti 2024, arXiv 2406.03068).
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from annotated_types import Ge, Le
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastOne, Positive, Share
from headway.tasks import (
    IGNORE_INDEX,
    NO_KEY,
    Batch,
    Edges,
    Task,
    Tokens,
    own_position,
    previous_token,
)

OWN, ALL, LATEST = "own token", "induction (all)", "induction (latest)"
PREVIOUS = "previous token"


@dataclass(frozen=True)
class Chain:
    """The frequency of every token, and of those that follow it.

    Attributes:
        unigrams: the share of every token.
        bigrams: of every token (row), the shares of those that follow it.
    """

    unigrams: Float[Tensor, " token"]
    bigrams: Float[Tensor, "token following"]

    @property
    def unigram_entropy(self) -> float:
        """The entropy of a token, in nats."""
        return torch.special.entr(self.unigrams).sum().item()

    @property
    def bigram_entropy(self) -> float:
        """The entropy of a token given the one before, in nats."""
        of_each = torch.special.entr(self.bigrams).sum(1)
        return (self.unigrams @ of_each).item()


@cache
def synthetic(vocabulary: int, exponent: float, concentration: float | None) -> Chain:
    """A chain that is a function of these numbers alone.

    Token j (from 1) has the share p_j ∝ 1/j^exponent, and what follows a token is drawn
    from Dirichlet(concentration · p): on average p, and the more predictable the
    smaller the concentration. The unigrams are the stationary distribution of what came
    out.

    Args:
        vocabulary: the number of tokens.
        exponent: of Zipf's law; 0 makes all tokens equally frequent.
        concentration: None makes every row p itself, so that a token tells nothing of
            the next.
    """
    shares = np.arange(1, vocabulary + 1) ** -float(exponent)
    shares /= shares.sum()
    if concentration is None:
        rows = np.tile(shares, (vocabulary, 1))
        return Chain(torch.from_numpy(shares), torch.from_numpy(rows))
    rows = np.random.default_rng(0).dirichlet(concentration * shares, size=vocabulary)
    # p P = p and sum p = 1, solved at once: a chain that mixes slowly would take long
    # to walk.
    stays = rows.T - np.eye(vocabulary)
    conditions = np.vstack([stays, np.ones(vocabulary)])
    wanted = np.eye(vocabulary + 1)[-1]
    solution = np.linalg.lstsq(conditions, wanted, rcond=None)[0]
    frequencies = solution.clip(min=0)
    frequencies = frequencies / frequencies.sum()
    return Chain(torch.from_numpy(frequencies), torch.from_numpy(rows))


@dataclass(frozen=True)
class Bigrams(Task):
    """Text in which every trigger q_k is followed by its sequence's own output o_k.

    With one trigger t, whose output here is w, a sequence of the global bigrams reads

        T h e   c a t w a s   a t w   h o m e

    and at its second t a model can know w from the first. The first token is drawn from
    the unigrams. After a trigger comes its output, or with some probability the noise
    token; after all other tokens the next is drawn from the bigrams. No output is a
    trigger, so that a sequence cannot run in a circle of triggers. Targets are the
    tokens that come next, in columns:

    `in-context`: outputs of triggers that were followed by their output before in the
    sequence;
    `global`: all the rest, first outputs among them; `noise`: the noise token after a
    trigger (of those that were followed by their output before, if only in-context is
    asked). With noise, an in-context output is thus one that noise did not replace, and
    even the best predictor has a loss of -ln(1 - noise) there.

    Attributes:
        length: T, positions in a sequence.
        n_tokens: how many tokens there are, the noise token left out.
        n_triggers: K; so many of the most frequent tokens have an output of their own
            in every sequence, drawn uniformly from all tokens that are no trigger.
        noise: the probability that after a trigger comes, instead of its output, the
            noise token, which is met nowhere else.
        asked_at: at which positions the next token is asked for: at `all`, or only
            `in-context`, at triggers that were followed by their output before.
        layout: a sequence is `text`, or a `pair`: one trigger at just two positions,
            anywhere and at the end, among tokens drawn from the unigrams that are no
            triggers (the setting of Bietti et al.'s section 5).
        exponent: of the text (see `synthetic`).
        concentration: likewise.
    """

    length: Annotated[int, Ge(4)] = 64  # pyright: ignore[reportIncompatibleMethodOverride]
    n_tokens: Annotated[int, Ge(2), Le(4096)] = 65
    n_triggers: AtLeastOne = 5
    noise: Share = 0.0
    asked_at: Literal["all", "in-context"] = "all"
    layout: Literal["text", "pair"] = "text"
    exponent: Annotated[float, Ge(0), Le(10)] = 0.9
    concentration: Positive | None = 12.0

    def __post_init__(self):
        super().__post_init__()
        allowed = f"from 1 to {self.n_tokens - 1}, one less than task.n_tokens"
        require(
            self.n_triggers < self.n_tokens, "task.n_triggers", self.n_triggers, allowed
        )
        plain = self.asked_at == "in-context" and self.noise == 0
        allowed = "text, unless task.asked_at = in-context and task.noise = 0"
        require(self.layout == "text" or plain, "task.layout", self.layout, allowed)

    @property
    def chain(self) -> Chain:
        """The statistics of the text."""
        return synthetic(self.n_tokens, self.exponent, self.concentration)

    @property
    def noise_token(self) -> int | None:
        """The token that comes in place of an output, if any does."""
        return self.n_tokens if self.noise > 0 else None

    @property
    def vocabulary(self) -> int:
        """The text's tokens, and the noise token."""
        return self.n_tokens + (self.noise > 0)

    @property
    def targets(self) -> Tokens:
        return Tokens(self.vocabulary)

    @property
    def hops(self) -> tuple[str, ...]:
        everywhere = ("global",) if self.asked_at == "all" else ()
        return ("in-context", *everywhere, *(("noise",) if self.noise > 0 else ()))

    @property
    def hop_order(self) -> list[tuple[str, str]]:
        """Empty, as columns of targets are no hops of a chain."""
        return []

    @property
    def label(self) -> str:
        return f"K={self.n_triggers}"

    @property
    def judged(self) -> tuple[str, ...]:
        """In-context outputs alone. Other tokens are random, so no circuit predicts
        them surely.
        """
        return ("in-context",)

    def frequent(self, device: torch.device | str = "cpu") -> Int[Tensor, " trigger"]:
        """The most frequent tokens."""
        return tables_of(self, torch.device(device)).frequent

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Triggers [count, trigger], their outputs alike, and tokens [count, length +
        1].
        """
        tables = tables_of(self, generator.device)
        triggers = tables.frequent.expand(count, -1)
        alike = torch.ones_like(tables.unigrams).expand(count, -1)
        weights = alike.scatter(1, triggers, 0.0)
        outputs = torch.multinomial(weights, self.n_triggers, True, generator=generator)
        if self.layout == "pair":
            return triggers, outputs, self._pair(triggers, outputs, generator)
        output_of = torch.full(
            (count, self.vocabulary), NO_KEY, device=generator.device
        )
        output_of.scatter_(1, triggers, outputs)
        return triggers, outputs, self._walk(output_of, generator)

    def _pair(
        self,
        triggers: Int[Tensor, "batch trigger"],
        outputs: Int[Tensor, "batch trigger"],
        generator: torch.Generator,
    ) -> Int[Tensor, "batch position"]:
        """One trigger with its output somewhere, and once more at the end; no other
        triggers.
        """
        device = triggers.device
        each = len(triggers), 1
        unigrams = tables_of(self, device).unigrams.expand(len(triggers), -1)
        weights = unigrams.scatter(1, triggers, 0.0)
        tokens = torch.multinomial(weights, self.length + 1, True, generator=generator)
        which = torch.randint(
            triggers.shape[1], each, generator=generator, device=device
        )
        trigger = triggers.gather(1, which)
        output = outputs.gather(1, which)
        first = torch.randint(self.length - 2, each, generator=generator, device=device)
        tokens.scatter_(1, first, trigger)
        tokens.scatter_(1, first + 1, output)
        tokens[:, -2:] = torch.cat([trigger, output], dim=1)
        return tokens

    def _walk(
        self, output_of: Int[Tensor, "batch token"], generator: torch.Generator
    ) -> Int[Tensor, "batch position"]:
        """Token after token; `output_of` says what must follow, `NO_KEY` where bigrams
        decide.
        """
        shape = (self.length + 1, len(output_of), 1)
        device = output_of.device
        tables = tables_of(self, device)
        chances = torch.rand(shape, generator=generator, device=device)
        token = self._where(tables.first, chances[0])
        tokens = [token]
        replaced = torch.zeros(shape, dtype=torch.bool, device=device)
        if self.noise > 0:
            replaced = (
                torch.rand(shape, generator=generator, device=device) < self.noise
            )
        for place in range(1, self.length + 1):
            free = self._where(tables.cumulative[token[:, 0]], chances[place])
            fixed = output_of.gather(1, token)
            fixed = fixed.masked_fill(
                (fixed != NO_KEY) & replaced[place], self.n_tokens
            )
            token = torch.where(fixed == NO_KEY, free, fixed)
            tokens.append(token)
        return torch.cat(tokens, dim=1)

    def _where(self, sums: Tensor, chances: Tensor) -> Tensor:
        """The tokens that chances fall on, by the sums of their shares."""
        tokens = torch.searchsorted(sums, chances, right=True)
        # The sums may end below 1 by rounding.
        return tokens.clamp_(max=self.n_tokens - 1)

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """Inputs are all tokens but the last, targets all but the first."""
        triggers, outputs, tokens = draws
        inputs = tokens[:, :-1]
        following = tokens[:, 1:]
        # [batch, position, trigger]: whether it stands here, and whether its output
        # follows.
        here = inputs[..., None] == triggers[:, None]
        told = here & (following[..., None] == outputs[:, None])
        was_told_before = told.cumsum(1) - told.long() > 0
        known = here & was_told_before
        in_context = (known & told).any(-1)
        noisy = torch.zeros_like(in_context)
        if self.noise_token is not None:
            noisy = following == self.noise_token
        columns = {
            "in-context": in_context,
            "global": ~in_context & ~noisy,
            "noise": noisy,
        }
        if self.asked_at == "in-context":
            columns["noise"] = noisy & known.any(-1)
        targets = [following.where(columns[hop], IGNORE_INDEX) for hop in self.hops]
        return Batch(inputs, torch.stack(targets, dim=-1))

    def relations(self, batch: Batch) -> dict[str, Edges]:
        """The relations of an induction head, of the head before it and of one that
        does nothing.

        `previous token`; `own token`; and from every trigger that was met before in the
        sequence to `induction (all)`, the tokens that followed it, or `induction
        (latest)`, the last one.
        """
        tokens = batch.inputs
        earlier = self._repeats(tokens)[..., :-1]
        after_earlier = F.pad(earlier, (1, 0))
        followed = Edges.where(after_earlier)
        latest = followed.keys
        if latest.shape[2]:
            latest = latest.amax(2, keepdim=True)
        return {
            PREVIOUS: previous_token(tokens),
            ALL: followed,
            LATEST: Edges(followed.queries, latest),
            OWN: own_position(tokens),
        }

    def _repeats(
        self, tokens: Int[Tensor, "batch position"]
    ) -> Bool[Tensor, "batch query key"]:
        """True where a trigger at a query stood at a key before."""
        same = tokens[:, :, None] == tokens[:, None, :]
        same &= torch.ones_like(same[0]).tril(-1)
        is_frequent = torch.isin(tokens, self.frequent(tokens.device))
        return same & is_frequent[:, :, None]

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """The uniform distribution, of every hop; and of tokens drawn from the text
        (`global`),
        predictors that know its chain alone: its entropies, in nats."""
        losses = {
            "all tokens alike": dict.fromkeys(self.hops, math.log(self.vocabulary))
        }
        if "global" in self.hops:
            losses["unigrams"] = {"global": self.chain.unigram_entropy}
            losses["bigrams"] = {"global": self.chain.bigram_entropy}
        return losses


class Tables(NamedTuple):
    """A chain on a device: shares of tokens, and sums of shares to draw by."""

    unigrams: Float[Tensor, " token"]
    first: Float[Tensor, " token"]
    cumulative: Float[Tensor, "token following"]
    frequent: Int[Tensor, " trigger"]


@cache
def tables_of(task: Bigrams, device: torch.device) -> Tables:
    """The tables of a task on a device. What follows noise is drawn as the first token
    is.
    """
    chain = task.chain
    after_each = torch.cat([chain.bigrams, chain.unigrams[None]])
    rows = after_each.cumsum(1)[: task.vocabulary]
    unigrams = _single(chain.unigrams, device)
    return Tables(
        unigrams,
        _single(chain.unigrams.cumsum(0), device),
        _single(rows, device),
        unigrams.topk(task.n_triggers).indices,
    )


def _single(values: Tensor, device: torch.device) -> Tensor:
    """Values on a device, in single precision."""
    return values.to(device=device, dtype=torch.float32)
