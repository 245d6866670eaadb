"""In-context bigrams: text in which some characters are followed by what this sequence alone can
tell (Bietti et al. 2023, arXiv 2306.00802, section 3), perhaps with noise (Chen, Bruna and Bietti
2024, arXiv 2406.03068)."""

import math
import re
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headway.errors import require, require_types
from headway.tasks.base import NONE, UNASKED, Batch, Relation, Task, previous_token
from headway.tasks.corpus import PLAYS, SYNTHETIC, chain_of

OWN, ALL, LATEST = "own token", "induction (all)", "induction (latest)"
PREVIOUS = "previous token"


@dataclass(frozen=True)
class BigramsConfig:
    """The parameters of in-context bigrams; in Bietti et al. T = 256 and K = 5.

    Attributes:
        corpus: what follows what: `plays` (Shakespeare's, from the package of the extra `plays`),
            `synthetic`, or the path of a text in UTF-8.
        sha256: how the SHA-256 of a text's file must begin; none takes whatever it holds.
        length: T, positions in a sequence.
        vocabulary: the number of tokens; of a text, at most so many: its most frequent characters.
        n_triggers: K, tokens that have an output of their own in every sequence.
        triggers: the K most `frequent` tokens, or K `drawn` for every sequence from the unigrams.
        outputs: each o_k is drawn for every sequence from all tokens that are no trigger,
            `uniform` or by the `unigrams`.
        noise: the probability that after a trigger comes, instead of its output, the noise token,
            which is met nowhere else.
        asked: at which positions the next token is asked for: at `all`, or only `in-context`, at
            triggers that were followed by their output before.
        layout: a sequence is `text`, or a `pair`: one trigger at just two positions, anywhere and
            at the end, among tokens drawn from the unigrams that are no triggers (the setting of
            Bietti et al.'s section 5).
        exponent: of a synthetic corpus (see `corpus.synthetic`), as the rest.
        concentration: likewise.
        chain: likewise, its seed.
    """

    corpus: str = SYNTHETIC
    sha256: str | None = None
    length: int = 64
    vocabulary: int = 65
    n_triggers: int = 5
    triggers: Literal["frequent", "drawn"] = "frequent"
    outputs: Literal["uniform", "unigrams"] = "uniform"
    noise: float = 0.0
    asked: Literal["all", "in-context"] = "all"
    layout: Literal["text", "pair"] = "text"
    exponent: float = 0.9
    concentration: float | None = 12.0
    chain: int = 0

    def __post_init__(self):
        require_types(self, "task.")
        require(self.corpus != "", "task.corpus", self.corpus, "plays, synthetic or a path")
        named = self.corpus not in (PLAYS, SYNTHETIC)
        require(
            self.sha256 is None or (named and bool(re.fullmatch("[0-9a-f]{1,64}", self.sha256))),
            "task.sha256",
            self.sha256,
            "up to 64 hexadecimal digits if task.corpus is a path, and none otherwise",
        )
        require(self.length >= 4, "task.length", self.length, "a whole number of at least 4")
        require(
            2 <= self.vocabulary <= 4096,
            "task.vocabulary",
            self.vocabulary,
            "a whole number from 2 to 4096",
        )
        require(
            1 <= self.n_triggers < self.vocabulary,
            "task.n_triggers",
            self.n_triggers,
            f"from 1 to {self.vocabulary - 1}, one less than task.vocabulary",
        )
        require(0 <= self.noise < 1, "task.noise", self.noise, "at least 0 and below 1")
        plain = self.asked == "in-context" and self.noise == 0
        require(
            self.layout == "text" or plain,
            "task.layout",
            self.layout,
            "text, unless task.asked = in-context and task.noise = 0",
        )
        require(0 <= self.exponent <= 10, "task.exponent", self.exponent, "from 0 to 10")
        require(
            self.concentration is None or 0 < self.concentration < math.inf,
            "task.concentration",
            self.concentration,
            "a positive number, or none for no bigrams",
        )
        require(self.chain >= 0, "task.chain", self.chain, "a whole number of at least 0")


class Bigrams(Task):
    """Samples text in which every trigger q_k is followed by its sequence's own output o_k.

    With one trigger t, whose output here is w, a sequence of the global bigrams reads

        T h e   c a t w a s   a t w   h o m e

    and at its second t a model can know w from the first. The first token is drawn from the
    unigrams; after a trigger comes its output, or with some probability the noise token; after all
    others what the bigrams say. Outputs are no triggers, so a sequence can not be caught in a ring
    of them. Targets are the tokens that come next, in columns:

    `in-context`: outputs of triggers that were followed by their output before in the sequence;
    `global`: all the rest, first outputs among them; `noise`: the noise token after a trigger
    (of those that were followed by their output before, if only in-context is asked).
    With noise, an in-context output is thus one that noise did not replace, and even the best
    predictor has a loss of -ln(1 - noise) there.
    """

    def __init__(self, config: BigramsConfig | None = None, device: str = "cpu"):
        self.config = config = config or BigramsConfig()
        self.chain = chain = chain_of(
            config.corpus,
            config.vocabulary,
            config.exponent,
            config.concentration,
            config.chain,
            config.sha256 or "",
        )
        self.n_plain = len(chain.unigrams)
        require(
            config.n_triggers < self.n_plain,
            "task.n_triggers",
            config.n_triggers,
            f"at most {self.n_plain - 1}: the corpus has {self.n_plain} different characters",
        )
        noisy = config.noise > 0
        self.n_tokens = self.vocabulary = self.d_target = self.n_plain + noisy
        self.noise_token = self.n_plain if noisy else None
        self.length = self.n_read = config.length
        self.d_input = 2
        names = {"in-context": True, "global": config.asked == "all", "noise": noisy}
        self.hop_names = tuple(name for name, is_asked in names.items() if is_asked)
        unigrams = chain.unigrams.to(device=device, dtype=torch.float32)
        self._unigrams = unigrams
        # What follows the noise token is drawn as the first token is.
        rows = torch.cat([chain.bigrams, chain.unigrams[None]]).cumsum(1)
        self._cumulative = rows[: self.n_tokens].to(device=device, dtype=torch.float32)
        self._first = chain.unigrams.cumsum(0).to(device=device, dtype=torch.float32)
        self.frequent = unigrams.topk(config.n_triggers).indices

    @property
    def judged(self) -> tuple[str, ...]:
        """The in-context outputs: what the global bigrams leave open, no circuit can know."""
        return ("in-context",)

    @property
    def path_names(self) -> tuple[str, ...]:
        """The relations a circuit may use."""
        return (PREVIOUS, ALL, LATEST)

    @property
    def stay_names(self) -> tuple[str, ...]:
        """A head may keep some of what stands at its own position."""
        return (OWN,)

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Triggers [count, trigger], their outputs alike, and tokens [count, length + 1]."""
        config, device = self.config, self._unigrams.device
        triggers = self.frequent.expand(count, -1)
        if config.triggers == "drawn":
            weights = self._unigrams.expand(count, -1)
            triggers = torch.multinomial(weights, config.n_triggers, generator=generator)
        drawn_by = self._unigrams
        if config.outputs == "uniform":
            drawn_by = torch.ones_like(self._unigrams)
        weights = drawn_by.expand(count, -1).scatter(1, triggers, 0.0)
        outputs = torch.multinomial(weights, config.n_triggers, True, generator=generator)
        if config.layout == "pair":
            return triggers, outputs, self._pair(triggers, outputs, generator)
        output_of = torch.full((count, self.n_tokens), NONE, device=device)
        output_of.scatter_(1, triggers, outputs)
        tokens = self._walk(output_of, generator)
        return triggers, outputs, tokens

    def _pair(
        self,
        triggers: Int[Tensor, "batch trigger"],
        outputs: Int[Tensor, "batch trigger"],
        generator: torch.Generator,
    ) -> Int[Tensor, "batch position"]:
        """One trigger with its output somewhere, and once more at the end; no other triggers."""
        count, device = len(triggers), triggers.device
        weights = self._unigrams.expand(count, -1).scatter(1, triggers, 0.0)
        tokens = torch.multinomial(weights, self.length + 1, True, generator=generator)
        which = torch.randint(triggers.shape[1], (count, 1), generator=generator, device=device)
        trigger, output = (drawn.gather(1, which) for drawn in (triggers, outputs))
        first = torch.randint(self.length - 2, (count, 1), generator=generator, device=device)
        tokens.scatter_(1, first, trigger).scatter_(1, first + 1, output)
        tokens[:, -2:] = torch.cat([trigger, output], dim=1)
        return tokens

    def _walk(
        self, output_of: Int[Tensor, "batch token"], generator: torch.Generator
    ) -> Int[Tensor, "batch position"]:
        """Token after token, of all sequences at once.

        Args:
            output_of: what must follow every token; `NONE` where the bigrams decide.
            generator: of the draws.
        """
        count, length, noise = len(output_of), self.length + 1, self.config.noise
        shape, device = (length, count, 1), output_of.device
        chances = torch.rand(shape, generator=generator, device=device)
        last = self.n_plain - 1  # the sums may end below 1 by rounding
        token = torch.searchsorted(self._first, chances[0], right=True).clamp_(max=last)
        tokens = [token]
        replaced = None
        if noise > 0:
            replaced = torch.rand(shape, generator=generator, device=device) < noise
        for place in range(1, length):
            rows = self._cumulative[token[:, 0]]
            free = torch.searchsorted(rows, chances[place], right=True).clamp_(max=last)
            fixed = output_of.gather(1, token)
            if replaced is not None:
                fixed = fixed.masked_fill((fixed != NONE) & replaced[place], self.n_plain)
            token = torch.where(fixed == NONE, free, fixed)
            tokens.append(token)
        return torch.cat(tokens, dim=1)

    def assemble(self, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
        """Inputs are all tokens but the last, targets all but the first."""
        triggers, outputs, tokens = draws
        inputs, following = tokens[:, :-1], tokens[:, 1:]
        # [batch, position, trigger]: whether it stands here, and whether its output follows.
        here = inputs[..., None] == triggers[:, None]
        told = here & (following[..., None] == outputs[:, None])
        known = here & (told.cumsum(1) - told.long() > 0)
        in_context = (known & told).any(-1)
        noisy = torch.zeros_like(in_context)
        if self.noise_token is not None:
            noisy = following == self.noise_token
        columns = {"in-context": in_context, "global": ~in_context & ~noisy, "noise": noisy}
        if self.config.asked == "in-context":
            columns["noise"] = noisy & known.any(-1)
        asked = [columns[name] for name in self.hop_names]
        targets = torch.stack([following.where(column, UNASKED) for column in asked], dim=-1)
        places = torch.arange(self.length, device=tokens.device).expand_as(inputs)
        roles = torch.empty(len(tokens), 0, 0, dtype=torch.long, device=tokens.device)
        return Batch(torch.stack([inputs, places], dim=-1), targets, roles)

    def paths(self, batch: Batch) -> dict[str, Relation]:
        """Where an induction head, the head before it and one that does nothing look.

        `previous token`; `own token`; and from every trigger that was met before in the sequence
        to `induction (all)`, the tokens that followed it, or `induction (latest)`, the last one.
        """
        tokens = batch.inputs[..., 0]
        repeats = self._repeats(tokens)
        rows, places = _packed(repeats.any(2)), _packed(repeats)
        keys = torch.where(places == NONE, NONE, places + 1)
        keys = keys.gather(1, rows.clamp(min=0)[..., None].expand(-1, -1, keys.shape[2]))
        keys = keys.masked_fill(rows[..., None] == NONE, NONE)
        here = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
        latest = keys.amax(2, keepdim=True) if keys.shape[2] else keys
        return {
            PREVIOUS: previous_token(batch),
            ALL: Relation(ALL, rows, keys),
            LATEST: Relation(LATEST, rows, latest),
            OWN: Relation(OWN, here, here[..., None]),
        }

    def relations(self, batch: Batch) -> dict[str, Relation]:
        """All `paths`: there are no others."""
        return self.paths(batch)

    def _repeats(self, tokens: Int[Tensor, "batch position"]) -> Bool[Tensor, "batch query key"]:
        """Whether a trigger at a query stood at a key before.

        Triggers that are drawn are not told by the tokens: there, of every token.
        """
        same = tokens[:, :, None] == tokens[:, None, :]
        same &= torch.ones_like(same[0]).tril(-1)
        if self.config.triggers == "frequent":
            same &= torch.isin(tokens, self.frequent)[:, :, None]
        return same

    def reference_losses(self) -> dict[str, float]:
        """Of predictors that know no sequence: how much is open about a token of the corpus."""
        return {
            "all tokens alike": math.log(self.n_tokens),
            "unigrams": self.chain.unigram_entropy,
            "bigrams": self.chain.bigram_entropy,
        }


def _packed(mask: Bool[Tensor, "*row place"]) -> Int[Tensor, "*row found"]:
    """The places where a mask holds, in every row from the left, then `NONE`."""
    most = int(mask.sum(-1).max()) if mask.numel() else 0
    order = (~mask).to(torch.int8).argsort(dim=-1, stable=True)[..., :most]
    return order.masked_fill(~mask.gather(-1, order), NONE)
