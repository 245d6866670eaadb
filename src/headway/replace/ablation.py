"""Ablation: the losses of a model under mechanisms put in the place of its heads.

Of a `Transformer` what candidates have in common is computed once (see `streams`).
"""

import math
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise, product
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import require
from headway.models import Tappable, Transformer
from headway.replace.circuit import Circuit
from headway.replace.heads import Head
from headway.replace.mechanism import Mechanism
from headway.replace.patterns import Patterns, attention_slopes, edges_of, tap_of
from headway.replace.streams import MOST_VECTORS, Candidate, CandidateKey, Streams
from headway.tasks import Batch, Task
from headway.training.losses import require_answers

Replaced = Circuit | Mapping[Head, Mechanism]
"""Mechanisms for all heads, or for some while the others are as they are."""

LEAST = 8
"""After the first so many sequences, and whenever these have doubled, candidates that
are already too bad are dropped."""

REMEMBERED = 20_000
"""Candidates whose losses are known at most; a bench then begins to remember anew."""

HOPELESS = 3
"""A candidate whose mean loss of the first sequences is so many standard errors above
the limit is not expected to be below it in all."""

FEW = 16
"""Sequences of a backward pass."""

TOGETHER = 256
"""At most so many candidates are computed at once."""

MOST_NUMBERS = 2**28
"""Numbers that a model may put out at once."""

ROUNDING = 1e-5
"""The largest relative change of a float32 loss by what is computed beside it."""

SMALL_LOSS = 0.1
"""Smaller losses are rounded as this one: they are differences of larger ones."""

Measured = Callable[[slice, Tensor, Sequence[Tensor]], Tensor]
"""A number from some sequences, their outputs, and all layers' patterns."""


def above(loss: float) -> float:
    """A limit for a loss, whatever it is computed beside (see `ROUNDING`)."""
    return loss + ROUNDING * max(loss, SMALL_LOSS)


class Sums(NamedTuple):
    """The sums of a candidate's errors, and of their squares, so far."""

    total: float
    squares: float

    def plus(self, more: "Sums") -> "Sums":
        """The sums with those of more sequences added."""
        return Sums(self.total + more.total, self.squares + more.squares)

    def may_be_below(self, limit: float, seen: int, count: int, is_exact: bool) -> bool:
        """True if the mean over all sequences may be below a limit.

        Args:
            limit: infinity if there is none.
            seen: sequences so far.
            count: all of them.
            is_exact: whether only what is certain counts; else a candidate may be given
                up as `HOPELESS`.
        """
        if limit == math.inf:
            return True
        is_below_so_far = self.total / count < limit
        if not is_below_so_far or is_exact or seen == count:
            return is_below_so_far
        mean = self.total / seen
        variance = max(self.squares / seen - mean**2, 0.0)
        error = math.sqrt(variance / (seen - 1))
        return mean - HOPELESS * error < limit


def parts_of(sequences: int) -> list[slice]:
    """Sequences part by part: each part ends where twice as many have been judged."""
    ends = [0]
    end = LEAST
    while end < sequences:
        ends.append(end)
        end *= 2
    return [slice(start, stop) for start, stop in pairwise([*ends, sequences])]


class Judging:
    """Losses of candidates one by one, by those of groups, and what changes would gain.

    Attributes:
        heads: of the model.
        free_rows: what may stand in rows without a path while heads above are free,
            beside what stands there when every head is replaced.
    """

    heads: list[Head]
    gains: Callable[..., list[float]]
    free_rows: str | None = None

    def worst(
        self, groups: Sequence[Sequence[Replaced]], limit: float = math.inf
    ) -> list[float]:
        """The largest loss of every group of candidates; infinity from the limit on."""
        raise NotImplementedError

    def losses(
        self, candidates: Sequence[Replaced], limit: float = math.inf
    ) -> list[float]:
        """The loss of every candidate; infinity if it is not below the limit."""
        return self.worst([(candidate,) for candidate in candidates], limit)

    def loss(self, candidate: Replaced | None = None) -> float:
        """The mean of the partial losses with these heads replaced."""
        return self.losses([candidate or {}])[0]


class Bench(Judging):
    """A model, and sequences to judge it on under mechanisms in the place of its heads.

    Losses are those of the task's targets. Candidates are computed side by side, and
    share what they have in common if the model is a `Transformer`.

    Attributes:
        model: the model under study.
        heads: every head of it.
        task: what it was trained on.
        hops: those of the task that count.
        columns: which of the task's hops they are.
        parts: the sequences, part by part, as candidates are computed. After each part,
            candidates that are already too bad are dropped.
        batch: the sequences.
        patterns: the patterns of mechanisms on them.
        candidates: how many candidates were judged so far.
        known: what was found of the model on these sequences, whatever stands in rows
            without a path.
        given_up: set from another thread, it ends whatever the bench is doing.
    """

    def __init__(
        self,
        model: Tappable,
        task: Task,
        batch: Batch,
        rows: str = "zero",
        shared: bool = True,
    ):
        """Takes a model to the bench.

        Args:
            model: with a tap.
            task: what it was trained on.
            batch: the sequences.
            rows: what stands in rows without a path (`mechanism.ABLATIONS`).
            shared: whether a `Transformer` computes once what candidates have in
                common. The losses are the same either way.

        Raises:
            HeadwayError: if the model does not read the task's sequences or answer its
                queries.
        """
        require_answers(model, task, batch)
        self.model = model
        self.task = task
        self.batch = batch
        self.heads = heads_of(model)
        self.hops = task.judged
        self.columns = [task.hops.index(hop) for hop in self.hops]
        self._asked = task.targets.how_often(batch.targets)
        edges = edges_of(task, model, batch)
        measured = [name for name in edges if edges[name].use == "measured"]
        for name in measured:
            del edges[name]
        self.patterns = Patterns(model, batch, edges, rows)
        # Heads above that are free were trained to rows that bring something, of
        # whatever use.
        self.free_rows = "uniform" if rows == "zero" else None
        self._streams: Streams | None = None
        if shared and isinstance(model, Transformer):
            self._streams = Streams(model, self.patterns)
        self._computed = 0
        self._sums: dict[CandidateKey, list[Sums]] = {}
        self.candidates = 0
        self.known = dict[Hashable, Any]()
        self.given_up = False
        self.parts = parts_of(self.sequences)
        if task.targets.may_be_negative:
            # Of a part of the sequences nothing follows for all of them.
            self.parts = [slice(0, self.sequences)]

    @property
    def sequences(self) -> int:
        """The number of sequences that losses are over."""
        return len(self.batch.inputs)

    @property
    def forwards(self) -> float:
        """The cost so far, in forward passes of the whole model over all sequences."""
        shared = 0 if self._streams is None else self._streams.computed
        computed = self._computed + shared
        return computed / self._vectors(self.sequences)

    def add_forwards(self, count: float) -> None:
        """Counts forward passes made elsewhere, of all the bench's sequences."""
        self._computed += round(count * self._vectors(self.sequences))

    def _vectors(self, sequences: int) -> int:
        return sequences * self.batch.inputs.shape[1] * self.model.n_layers

    @torch.no_grad()
    def errors(
        self, candidates: Sequence[Replaced]
    ) -> Float[Tensor, "candidate sequence hop"]:
        """The error of every candidate, sequence and hop (see `Targets.errors`).

        Raises:
            HeadwayError: if a candidate replaces a head that the model does not have,
                or uses a path that the task does not have.
        """
        self.candidates += len(candidates)
        outputs = self.outputs(candidates)
        errors = [self.judged(predicted, slice(None)) for predicted in outputs]
        return torch.stack(errors)

    def judged(
        self, predicted: Float[Tensor, "sequence query output"], part: slice
    ) -> Float[Tensor, "sequence hop"]:
        """The errors of outputs at some sequences' queries (see `Targets.errors`)."""
        targets = self.batch.targets[part]
        errors = self.task.targets.errors(predicted, targets, self._asked)
        return errors[..., self.columns]

    @torch.no_grad()
    def outputs(
        self, candidates: Sequence[Replaced], part: slice | None = None
    ) -> Float[Tensor, "candidate sequence query output"]:
        """The outputs of the model at the queries, for every candidate.

        Args:
            candidates: mechanisms for all heads, or for some.
            part: some of the sequences, one after the other; by default all, in
                `parts`.

        Raises:
            HeadwayError: as `errors`.
        """
        if part is None:
            in_parts = [self.outputs(candidates, part) for part in self.parts]
            return torch.cat(in_parts, 1)
        chosen = [self._checked(candidate) for candidate in candidates]
        return torch.cat([*self._outputs(chosen, part)])

    def _outputs(self, chosen: Sequence[Candidate], part: slice) -> Iterator[Tensor]:
        """Outputs in some sequences, of as many candidates at once as allowed."""
        inputs = self.batch.inputs[part]
        n_read = self.batch.targets.shape[1]
        vectors = self._vectors(len(inputs))
        numbers = len(inputs) * self.task.length * self.task.d_target
        most = at_once(vectors, numbers)
        for start in range(0, len(chosen), most):
            some = chosen[start : start + most]
            if self.given_up:
                raise CancelledError
            if self._streams is not None:
                yield self._streams.outputs(some, part)
                continue
            together = inputs.repeat(len(some), *[1] * (inputs.ndim - 1))
            outputs = self.model(together, tap_of(self.patterns, some, part))
            self._computed += len(some) * vectors
            yield outputs[:, -n_read:].unflatten(0, (len(some), len(inputs)))

    @torch.no_grad()
    def worst(
        self,
        groups: Sequence[Sequence[Replaced]],
        limit: float = math.inf,
        sequences: int | None = None,
    ) -> list[float]:
        """The largest loss of every group of candidates (see `Judging`).

        Errors only add up. So if a candidate's errors in the first few sequences alone
        are more than the limit allows for all of them, its group need not be followed
        further. What was computed of a candidate is not computed again.

        Args:
            groups: of candidates, mechanisms for all heads or for some.
            limit: the loss to stay below.
            sequences: how many to judge, from the first (one of the `parts` ends
                there); then a group may be given up as `HOPELESS`. By default all are
                judged to the end.
        """
        if len(self._sums) > REMEMBERED:
            self._sums.clear()
        count = sequences or self.sequences
        parts = [part for part in self.parts if part.stop <= count]
        candidates, named = self._named(groups)
        self.candidates += len(candidates.keys() - self._sums.keys())
        may_serve = partial(self._may_be_below, limit, count, sequences is None, parts)
        left = self._followed(named, candidates, parts, may_serve)
        losses = [math.inf] * len(groups)
        for at, group in left.items():
            losses[at] = self._largest_total(group, parts) / count
        return losses

    def _largest_total(
        self, group: Sequence[CandidateKey], parts: Sequence[slice]
    ) -> float:
        """The largest sum of errors of some candidates, in all of some parts."""
        last = len(parts) - 1
        return max(self._sums[name][last].total for name in group)

    def _named(
        self, groups: Sequence[Sequence[Replaced]]
    ) -> tuple[dict[CandidateKey, Candidate], list[list[CandidateKey]]]:
        """The candidates of all groups by their keys, and the keys of each group."""
        candidates = dict[CandidateKey, Candidate]()
        named = list[list[CandidateKey]]()
        for group in groups:
            checked = [self._checked(candidate) for candidate in group]
            keys = [frozenset(candidate.items()) for candidate in checked]
            candidates.update(zip(keys, checked, strict=True))
            named.append(keys)
        return candidates, named

    def _followed(
        self,
        named: Sequence[Sequence[CandidateKey]],
        candidates: Mapping[CandidateKey, Candidate],
        parts: Sequence[slice],
        may_serve: Callable[[CandidateKey], bool],
    ) -> dict[int, Sequence[CandidateKey]]:
        """The groups that may serve after all parts, by number: members are judged one
        after the other, part by part, as long as their group may serve.

        Args:
            named: the members of every group.
            candidates: by what they are called.
            parts: of the sequences.
            may_serve: whether a candidate may, by what was seen of it.
        """
        left = dict(enumerate(named))
        most_members = max(map(len, named), default=0)
        for member in range(most_members):
            for number, part in enumerate(parts):
                judged = dict[int, CandidateKey]()
                for at, group in left.items():
                    if member < len(group):
                        judged[at] = group[member]
                in_turn = {name: candidates[name] for name in judged.values()}
                self._add_up(number, part, in_turn)
                for at, name in judged.items():
                    if not may_serve(name):
                        del left[at]
        return left

    def _may_be_below(
        self,
        limit: float,
        count: int,
        is_exact: bool,
        parts: Sequence[slice],
        name: CandidateKey,
    ) -> bool:
        """True if a candidate's loss may be below a limit (see `Sums.may_be_below`)."""
        farthest = min(len(self._sums[name]), len(parts)) - 1
        sums = self._sums[name][farthest]
        return sums.may_be_below(limit, parts[farthest].stop, count, is_exact)

    def _add_up(
        self, number: int, part: slice, candidates: Mapping[CandidateKey, Candidate]
    ) -> None:
        """Adds the errors in a part to those of candidates that lack them.

        Args:
            number: of the part.
            part: its sequences.
            candidates: by what they are called.
        """
        lacking = list[CandidateKey]()
        for name in candidates:
            if len(self._sums.setdefault(name, [])) <= number:
                lacking.append(name)
        left = iter(lacking)
        for outputs in self._outputs([candidates[name] for name in lacking], part):
            for more, name in zip(self._sums_of(outputs, part), left, strict=False):
                sums = self._sums[name]
                before = sums[-1] if number else Sums(0.0, 0.0)
                sums.append(before.plus(more))

    def _sums_of(self, outputs: Tensor, part: slice) -> list[Sums]:
        """The sums of candidates' errors in a part, given their outputs."""
        errors = torch.stack([self.judged(each, part).mean(-1) for each in outputs])
        totals = errors.sum(1).tolist()
        squares = errors.square().sum(1).tolist()
        return [*map(Sums, totals, squares)]

    def gains(
        self,
        replaced: Replaced,
        changes: Sequence[tuple[Head, Mechanism]],
        measured: Measured | None = None,
        sequences: int = FEW,
    ) -> list[float]:
        """The fall of a measure with each of several changes of single heads, to first
        order.

        It takes backward passes over the first sequences (attribution patching: Nanda
        2023).

        Args:
            replaced: mechanisms that are in place before.
            changes: heads, and what replaces each of them alone.
            measured: what is lowered; by default the loss.
            sequences: how many, at most.
        """
        chosen = self._checked(replaced)
        count = min(sequences, self.sequences)
        lowered = measured or partial(self._loss_in, count)
        gains = [0.0] * len(changes)
        for start in range(0, count, FEW):
            part = slice(start, min(start + FEW, count))
            rises = self._rises(chosen, changes, lowered, part)
            for number, rise in enumerate(rises):
                gains[number] -= rise
        # A backward pass costs two forward passes.
        self._computed += 3 * self._vectors(count)
        return [gain if math.isfinite(gain) else 0.0 for gain in gains]

    def _loss_in(
        self, count: int, part: slice, outputs: Tensor, _: Sequence[Tensor]
    ) -> Tensor:
        """The part that some of so many sequences add to the loss, or to the smooth
        one by which slopes are taken.
        """
        smooth = self.task.targets.smooth
        targets = self.batch.targets[part]
        errors = smooth.errors(outputs, targets, self._asked)[..., self.columns]
        return errors.mean(1).sum() / count

    def _rises(
        self,
        chosen: Candidate,
        changes: Sequence[tuple[Head, Mechanism]],
        measured: Measured,
        part: slice,
    ) -> list[float]:
        """By how much changes of single heads raise something in some sequences, to
        first order.
        """
        patterns, slopes = attention_slopes(
            self.model,
            self.batch.inputs[part],
            self.batch.targets.shape[1],
            partial(measured, part),
            tap_of(self.patterns, [chosen], part),
        )
        rises = list[float]()
        for head, mechanism in changes:
            now = patterns[:, *head]
            then = self.patterns.edit(head, mechanism, now, part=part)
            rise = slopes[:, *head] * (then - now)
            rises.append(rise.sum().item())
        return rises

    def _checked(self, candidate: Replaced) -> Candidate:
        chosen = candidate.mechanisms if isinstance(candidate, Circuit) else candidate
        layers, heads = self.model.n_layers, self.model.n_heads
        allowed = f"a head of this model, which has {layers} layers of {heads}"
        for head, mechanism in chosen.items():
            layer, number = head
            is_there = 0 <= layer < layers and 0 <= number < heads
            require(is_there, "circuit: (layer, head)", head, allowed)
            for name in getattr(mechanism, "relations", ()):
                self.patterns.relation(name)
            self.patterns.prepare(mechanism)
        return chosen


class First(Judging):
    """The first sequences of a bench, as a bench of their own for a search.

    Args:
        bench: with all sequences.
        sequences: how many; one of the bench's `parts` ends there.
    """

    def __init__(self, bench: Bench, sequences: int):
        self.bench = bench
        self.sequences = sequences
        self.heads = bench.heads
        self.gains = bench.gains
        self.free_rows = bench.free_rows

    def worst(
        self, groups: Sequence[Sequence[Replaced]], limit: float = math.inf
    ) -> list[float]:
        """The largest loss of every group of candidates; hopeless ones are given up."""
        return self.bench.worst(groups, limit, self.sequences)


def at_once(vectors: int, numbers: int) -> int:
    """The number of candidates that are computed side by side, at least one.

    Args:
        vectors: of streams that each takes.
        numbers: that each puts out.
    """
    most = min(TOGETHER, MOST_VECTORS // vectors, MOST_NUMBERS // numbers)
    return max(1, most)


def heads_of(model: Tappable) -> list[Head]:
    """Every head of a model, layer by layer."""
    return [*product(range(model.n_layers), range(model.n_heads))]


def most_workers(model: Tappable, device: str, count: int | None = None) -> int:
    """The number of threads that may call a model at once.

    A model of others is called by one thread at a time, as it may keep something of a
    pass in an attribute, which another thread would read. On a GPU there is one thread,
    too.

    Args:
        model: that they call.
        device: that it is on.
        count: asked for; by default as many as the machine has cores.
    """
    if not isinstance(model, Transformer) or torch.device(device).type != "cpu":
        return 1
    return (os.cpu_count() or 1) if count is None else count


@contextmanager
def workers(
    count: int | None, benches: Sequence[Bench]
) -> Iterator[ThreadPoolExecutor]:
    """Threads of one core each. If one of them fails, the others are stopped at once.

    Whoever gives them work must not call the model before they are done with it: of a
    model of others there is one thread, so that passes come one after the other (see
    `most_workers`).

    Args:
        count: of threads; by default, and at most, as `most_workers` says.
        benches: that the threads work at, never two at the same one.
    """
    first = benches[0]
    threads = most_workers(first.model, str(first.batch.inputs.device), count)
    own_cores = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1))
    try:
        yield pool
    except BaseException:
        for bench in benches:
            bench.given_up = True
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    else:
        pool.shutdown()
    finally:
        # What a thread sets for itself is what threads to come begin with.
        torch.set_num_threads(own_cores)
