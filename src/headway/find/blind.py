"""Reading heads of which nobody says what they may look at.

Every head gets the mechanism of the shortest description: bits of its words, bits of
the answers that change with it in place, and bits of the head's attention that it does
not tell, on rows that matter. Expressions are screened by attention, which takes no
pass (`screen`); the cheapest are tried in the model.

Answers are compared with the model's own, with all that is chosen in place and, where
there are layers above, also with those attending freely: what a head does for the heads
above shows only while they look for themselves.

Words name what a head looks at if they tell at least half of the rows that matter.
Others are tried only if too much of the answers is left untold without them. Heads that
exchange shows can be spared get their mean patterns and are not read.
"""

import hashlib
import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from heapq import nsmallest

import torch

from headway.find.fits import classes, weighed
from headway.find.screen import Screen, Told
from headway.models import attention_patterns
from headway.relations.expressions import Expression, parse
from headway.relations.tables import SEQUENCES, Tables
from headway.relations.vocabulary import candidates, distinct
from headway.replace.ablation import REMEMBERED, Bench
from headway.replace.circuit import Circuit
from headway.replace.heads import Head
from headway.replace.mechanism import (
    NOTHING,
    Mean,
    Mechanism,
    Paths,
    Tabled,
    Unchanged,
)
from headway.replace.patterns import edges_of
from headway.replace.rows import measured_weights
from headway.training.data import held_out

TRIED = 32
"""Expressions of one part, of several, and of weights, that are tried in the model, at
most."""

SCREENED = 48
"""Sequences whose attention is told."""

FEW_SEQUENCES = 24
"""Sequences on which all of these are tried."""

KEPT = 8
"""Expressions that are tried on all sequences, in every round."""

LIKEST = 4
"""The likest of one part to the head's attention are among these, whatever they do
while others attend as they do."""

MARGIN_BITS = 5.0
"""Of descriptions that differ by fewer bits, the one of the fewest bits of words is
taken: so much depends on a sequence or two."""

WEIGHED = 3
"""Expressions whose keys are weighed by their tokens, beside the average of all."""

ROUNDS = 2
"""Rounds after the first, with all heads replaced."""

LEAST = 0.125
"""A bit of attention in every row costs at least this part of a bit a sequence."""

PLACED = 0.8
"""A head of whose attention its mean pattern has so much attends by place. Rows without
a key are even then: its mean would do a relation's work."""

UNREAD = 0.5
"""Words that leave more than this part of the answers untold that ablation does are not
what a head does."""

LITTLE = 0.25
"""So many bits of a sequence's answers are few, whatever ablation leaves untold."""

NAMED = 0.5
"""Words that tell this share of the rows of a head that matter name what it looks at.
Others are not said, unless too much of the answers is left untold without them."""

Chosen = Mapping[Head, Mechanism]


@torch.no_grad()
def read(bench: Bench, spared: Sequence[Head] | None = None) -> Circuit:
    """A mechanism for every head of a model, each of the shortest description.

    Args:
        bench: with the model.
        spared: heads that exchange shows not to be needed. None if that is not known of
            any: then a head is not if neither its mean pattern nor zeros are missed.
    """
    reader = Reader(bench, spared)
    return Circuit(reader.read())


class Reader:
    """A search for what every head looks at.

    Args:
        bench: with the model.
        spared: see `read`.
    """

    def __init__(self, bench: Bench, spared: Sequence[Head] | None):
        self.bench = bench
        self.patterns = bench.patterns
        self.spared = spared
        idle = [] if spared is None else spared
        self.heads = [head for head in bench.heads if head not in idle]
        self.idle: dict[Head, Mechanism] = dict.fromkeys(idle, Mean())
        self.targets = bench.task.targets
        self._bits = dict[Hashable, float]()
        self.answers = bench.outputs([{}], slice(None))[0]
        choices = self.targets.choices(bench.batch.targets)
        self.bits_of_answer = math.log2(max(2, choices))
        self.part = slice(0, SCREENED)
        some = bench.batch.part(self.part)
        self.rows = measured_weights(bench.model, bench.task, some, self.heads)
        own = self.patterns.own[self.part]
        by_mean = own.minimum(self.patterns.means).sum(-1)
        share_by_mean = (by_mean * self.rows).sum((0, 3))
        self.by_place = share_by_mean >= PLACED
        self.relations = edges_of(bench.task, bench.model, some).composed
        self.screens = {head: self.screen(head) for head in self.heads}
        self.likely = {head: self.likely_words(head) for head in self.heads}
        self.candidates = dict[Head, dict[Expression, float]]()
        self.must_name = True

    def screen(self, head: Head) -> Screen:
        """The head's attention, to be told by expressions.

        Its bits count as far as answers change without the head.
        """
        without: list[Chosen] = [{**self.idle, head: x} for x in (Mean(), NOTHING)]
        lost = max(self.bits(chosen) for chosen in without)
        most = self.bench.sequences
        lost = max(lost, LEAST * most)  # it may be needed as soon as others are gone
        average = self.patterns.means[head]
        if self.by_place[head]:
            seen = (average > 0).to(average.dtype)
            average = seen / seen.sum(-1, keepdim=True).clamp(min=1)
        own = self.patterns.own[self.part, *head]
        rows = self.rows[:, *head]
        bits = min(most, lost)
        return Screen(self.relations, own, average, rows, bits)

    def likely_words(self, head: Head) -> dict[Expression, float]:
        """The expressions to try, with the bits of their words and of the head's
        attention.

        Those are the cheapest of one part and of several, and what is fitted to weights
        of tokens: a weight may tell little of the attention and much of the answers.
        """
        layer = head[0]
        screen = self.screens[head]
        simple = [*candidates(self.relations, layer), *classes(screen, layer)]
        told = screen.told(distinct(simple, self.relations, screen.matters))
        extended = screen.told(screen.extended(told))
        fitted = screen.told(_weighed_best(screen, told))
        visible = dict[Expression, float]()
        for each in (told, extended, fitted):
            for expression, bits in screen.cheapest(each, TRIED).items():
                if self.patterns.has(str(expression)):
                    visible[expression] = bits
        # Without rows that matter there is nothing to tell.
        return visible or {parse("all so far"): 0.0}

    def naming(
        self, head: Head, among: Mapping[Expression, float]
    ) -> dict[Expression, float]:
        """Those of some expressions that name what a head looks at; all where they need
        not.
        """
        if not self.must_name:
            return dict(among)
        shares = self.screens[head].rows_told(list(among))
        each = zip(among.items(), shares, strict=True)
        return dict(item for item, share in each if share >= NAMED)

    def mechanism(self, head: Head, expression: Expression) -> Mechanism:
        """The mechanism of a head that looks at something."""
        rows = "uniform" if self.by_place[head] else "mean"
        return Paths(frozenset({str(expression)}), rows)

    def read(self) -> dict[Head, Mechanism]:
        """The mechanism of every head.

        If words that name what heads look at leave too much of the answers untold, any
        words are tried, and taken if they do not.
        """
        named = self.read_once()
        most = self.bits(dict.fromkeys(self.bench.heads, Mean()))
        tolerated = max(LITTLE * self.bench.sequences, UNREAD * most)
        if self.bits(named) <= tolerated:
            return named
        self.must_name = False
        other = self.read_once()
        return other if self.bits(other) <= tolerated else named

    def read_once(self) -> dict[Head, Mechanism]:
        """The mechanism of every head, from the first layer up."""
        for head, likely in self.likely.items():
            self.candidates[head] = self.naming(head, likely) or likely
        chosen: dict[Head, Mechanism] = dict(self.idle)
        words = dict[Head, Expression]()
        for turn in range(1 + ROUNDS):
            before = dict(words)
            for head in self.heads:
                words[head] = self.choice(head, chosen, is_first=turn == 0)
                chosen[head] = self.mechanism(head, words[head])
                self.patterns.forget()
            if turn and words == before:
                break
        for head in self.heads:
            chosen[head] = self.with_or_without(head, words[head], chosen)
        return chosen

    def choice(self, head: Head, chosen: Chosen, is_first: bool) -> Expression:
        """The words of the shortest description of a head, while others have theirs.

        Args:
            head: to choose for.
            chosen: of other heads.
            is_first: whether heads that come later have no mechanism as yet.
        """
        if is_first:
            few = self.lengths(head, chosen, slice(0, FEW_SEQUENCES), is_first, KEPT)
            by_attention = self.candidates[head]
            kept = nsmallest(KEPT, few, key=few.__getitem__)
            simple = [each for each in by_attention if each.parts == 1]
            kept += nsmallest(LIKEST, simple, key=by_attention.__getitem__)
            self.candidates[head] = {each: by_attention[each] for each in kept}
        lengths = self.lengths(head, chosen, slice(None), is_first, 1, MARGIN_BITS)
        most = min(lengths.values()) + MARGIN_BITS
        near = [each for each, length in lengths.items() if length <= most]
        return min(near, key=lambda each: each.price)

    def lengths(
        self,
        head: Head,
        chosen: Chosen,
        part: slice,
        is_first: bool,
        count: int,
        margin: float = 0.0,
    ) -> dict[Expression, float]:
        """The lengths of a head's descriptions, with answers in some sequences.

        A description is given up once it is sure to be longer than the best ones by
        more than a margin. It is then left out, or has a lower bound for its length.
        Expressions with the same pattern are tried once.

        Args:
            head: to choose for.
            chosen: of other heads.
            part: of the sequences.
            is_first: whether heads that come later have no mechanism as yet.
            count: how many are the best ones.
            margin: in bits.
        """
        by_attention = self.candidates[head]
        untold = dict[bytes, float]()
        lengths = dict[Expression, float]()
        for expression in sorted(by_attention, key=by_attention.__getitem__):
            bits = by_attention[expression]
            most = math.inf
            if len(lengths) >= count:
                most = nsmallest(count, lengths.values())[-1] + margin
            if bits > most:
                break
            mechanism = self.mechanism(head, expression)
            laid = self.digest(head, mechanism, part)
            if laid not in untold:
                untold[laid] = self.lost(
                    head, mechanism, chosen, part, is_first, most - bits
                )
            lengths[expression] = bits + untold[laid]
        return {each: lengths[each] for each in by_attention if each in lengths}

    def digest(self, head: Head, mechanism: Mechanism, part: slice) -> bytes:
        """A digest of the pattern of a mechanism, in some sequences."""
        pattern = self.patterns.dense(mechanism, head, part)
        cells = pattern.cpu().numpy().tobytes()
        return hashlib.blake2b(cells).digest()

    def with_or_without(
        self, head: Head, words: Expression, chosen: Chosen
    ) -> Mechanism:
        """A head's words if they name what it looks at and tell what it does.

        Else its mean pattern, if that tells what it does; else what leaves least of the
        answers untold: the mean pattern, a table, or words that name what the head
        looks at.
        """
        mechanism = self.mechanism(head, words)
        if self.spared is None and not self.is_missed(head, mechanism, chosen):
            return Mean()
        lost = self.lost(head, mechanism, chosen)
        by_mean = self.lost(head, Mean(), chosen)
        by_zeros = self.lost(head, NOTHING, chosen)
        # What is lost by the words of others is not this head's.
        anyway = self.lost(head, Unchanged(), chosen)
        little = LITTLE * self.bench.sequences
        most = max(by_mean, by_zeros) - anyway
        tolerated = anyway + max(little, UNREAD * most)
        is_named = bool(self.naming(head, {words: lost}))
        if is_named and lost <= tolerated:
            return mechanism
        if by_mean <= tolerated:
            return Mean()
        untold: dict[Mechanism, float] = {Mean(): by_mean}
        if self.tables is not None:
            table = Tabled(self.tables)
            untold[table] = self.lost(head, table, chosen)
        if is_named:
            untold[mechanism] = lost
        return min(untold, key=untold.__getitem__)

    def is_missed(self, head: Head, mechanism: Mechanism, chosen: Chosen) -> bool:
        """True if a head's mean pattern or zeros are missed, compared with its words.

        (Its mean pattern alone may do what words say; and so may those of others.)
        """
        silent = {
            at: NOTHING if other == Mean() else other for at, other in chosen.items()
        }
        without = self.lost(head, Mean(), chosen)
        silenced = self.lost(head, NOTHING, silent)
        with_words = self.lost(head, mechanism, chosen)
        return max(without, silenced) > with_words + MARGIN_BITS

    def lost(
        self,
        head: Head,
        mechanism: Mechanism,
        chosen: Chosen,
        part: slice = slice(None),
        is_first: bool = False,
        most: float = math.inf,
    ) -> float:
        """The bits of answers that are not told with a mechanism in a head's place.

        If they are more than `most`, perhaps not all of them.
        """
        whole = {**chosen, head: mechanism}
        lost = self.bits(whole, part)
        if lost > most:
            return lost
        is_last_layer = head[0] + 1 == self.bench.model.n_layers
        if not is_first and not is_last_layer:
            below = {at: x for at, x in whole.items() if at[0] <= head[0]}
            lost += self.bits(below, part)
        return lost

    def bits(self, chosen: Chosen, part: slice = slice(None)) -> float:
        """The bits of the model's answers that are not told with mechanisms in place.

        What was measured once is known.
        """
        key = frozenset(chosen.items()), part.start, part.stop
        if len(self._bits) > REMEMBERED:
            self._bits.clear()
        if key not in self._bits:
            self._bits[key] = self.measured(chosen, part)
        return self._bits[key]

    def measured(self, chosen: Chosen, part: slice) -> float:
        """The bits of the model's answers that are not told with mechanisms in place.

        For each sequence whether all answers are the model's own, one answer of those
        that have another, and, for one answer of each sequence, its probabilities. Of
        some sequences it is as if all were like these.
        """
        targets = self.bench.batch.targets[part]
        answers = self.answers[part]
        outputs = self.bench.outputs([chosen], part)[0]
        apart = self.targets.divergence(answers, outputs, targets).item()
        same = self.targets.same(outputs, answers, targets)
        is_other = self.targets.asked(targets) & ~same
        has_other = is_other.flatten(1).any(1)
        others = has_other.double().mean().item()
        a_sequence = entropy(others) + others * self.bits_of_answer
        bits = self.bench.sequences * (a_sequence + apart / math.log(2))
        return bits if math.isfinite(bits) else math.inf

    @property
    def tables(self) -> Tables | None:
        """Tables of all heads, fitted to more sequences; None if there can be none."""
        if "_tables" not in vars(self):
            device = str(self.answers.device)
            more = held_out(self.bench.task, SEQUENCES, 0, device, "tables").inputs
            attention = partial(attention_patterns, self.bench.model, more)
            self._tables = Tables(more, attention)
        return self._tables if self._tables.are_possible else None


def _weighed_best(screen: Screen, told: Told) -> list[Expression]:
    """The average of all keys and those that tell a head best, with weights of
    tokens.
    """
    best = [told.expressions[number] for number in screen.best(told, WEIGHED)]
    averages = dict.fromkeys([parse("all so far"), *best])
    return [fit for average in averages for fit in weighed(screen, average)]


def entropy(share: float) -> float:
    """The bits of a choice of two, of which one has this share."""
    if share in (0.0, 1.0):
        return 0.0
    other = 1 - share
    return -share * math.log2(share) - other * math.log2(other)
