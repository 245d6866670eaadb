"""Ablation: the losses of a model under mechanisms put in the place of its heads.

Candidates that a search compares differ in a head or two, so most of what they compute is the same:
their residual streams are equal below the first layer in which they differ. Of a `Transformer` that
is computed once.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain, count, islice, pairwise, takewhile

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import require
from headway.models import Tappable, Transformer
from headway.replace.circuit import Circuit
from headway.replace.heads import Head
from headway.replace.mechanism import Mechanism
from headway.replace.patterns import Patterns, attention_slopes, edges_of, tap_of
from headway.tasks import Batch, Task
from headway.training.losses import require_answers

Replaced = Circuit | Mapping[Head, Mechanism]
"""Mechanisms for all heads, or for some while the others are as they are."""

LEAST = 8
"""After the first so many sequences, and whenever these have doubled, candidates that are already
too bad are dropped."""

REMEMBERED = 20_000
"""Candidates whose losses are known at most; a bench then begins to remember anew."""

HOPELESS = 3
"""A candidate whose mean loss of the first sequences is so many standard errors above the limit is
not expected to be below it in all."""

FEW = 16
"""Sequences of a backward pass."""

TOGETHER = 256
"""At most so many candidates are computed at once."""

MOST_VECTORS = 500_000
"""Stream vectors (one position of one sequence after one layer) that are computed at once at most,
and that are kept for later candidates."""

AT_ONCE = 16_384
"""Stream vectors of one layer that are computed in one go."""

MOST_NUMBERS = 2**28
"""Numbers that a model may put out at once."""

ROUNDING = 1e-5
"""A loss of single precision depends on what is computed beside it by at most this part of it."""

SMALL_LOSS = 0.1
"""Smaller losses are rounded as this one is: they are differences of numbers that are larger."""

Measured = Callable[[slice, Tensor, Sequence[Tensor]], Tensor]
"""A number about some sequences, the outputs at their queries, and the patterns of all layers."""

Candidate = Mapping[Head, Mechanism]
Named = frozenset[tuple[Head, Mechanism]]
Stream = tuple[int, int, int, Named]
"""Residual streams: the sequences' first and last, after how many layers, and what is in these."""


def above(loss: float) -> float:
    """A limit that a loss stays below, whatever it is computed beside (see `ROUNDING`)."""
    return loss + ROUNDING * max(loss, SMALL_LOSS)


class Judging:
    """Losses of candidates one by one, by those of groups, and what changes would gain.

    Attributes:
        heads: of the model.
        free_rows: what may stand in rows without a path while heads above are free, beside what
            stands there when every head is replaced.
    """

    heads: list[Head]
    gains: Callable[..., list[float]]
    free_rows: str | None = None

    def worst(self, groups: Sequence[Sequence[Replaced]], limit: float = math.inf) -> list[float]:
        """The largest loss of every group of candidates; infinity if it is not below the limit."""
        raise NotImplementedError

    def losses(self, candidates: Sequence[Replaced], limit: float = math.inf) -> list[float]:
        """The loss of every candidate; infinity if it is not below the limit."""
        return self.worst([(one,) for one in candidates], limit)

    def loss(self, candidate: Replaced | None = None) -> float:
        """The mean of the partial losses with these heads replaced."""
        return self.losses([candidate or {}])[0]


class Bench(Judging):
    """A model, and sequences to judge it on under mechanisms in the place of its heads.

    Losses are those of the task's targets. Candidates are computed side by side, and share what
    they have in common if the model is a `Transformer`.

    Attributes:
        model: the model under study.
        heads: every head of it.
        task: what it was trained on.
        hops: those of the task that count.
        columns: which of the task's hops they are.
        parts: the sequences, part by part, as candidates are computed. After each part, candidates
            that are already too bad are dropped.
        batch: the sequences.
        patterns: the patterns of mechanisms on them.
        candidates: how many candidates were judged so far.
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
            rows: what stands in rows without a path (`patterns.ABLATIONS`).
            shared: whether a `Transformer` computes once what candidates have in common. The losses
                are the same either way.

        Raises:
            HeadwayError: if the model does not read the task's sequences or answer its queries.
        """
        require_answers(model, task, batch)
        self.hops = task.judged
        self.columns = [task.hops.index(hop) for hop in self.hops]
        self.model, self.task, self.batch, self.heads = model, task, batch, heads_of(model)
        self._asked = task.targets.how_often(batch.targets)
        edges = edges_of(task, model, batch)
        for name in [name for name, one in edges.items() if one.use == "measured"]:
            del edges[name]
        self.patterns = Patterns(model, batch, edges, rows)
        # Heads above that are free were trained to rows that bring something, of whatever use.
        self.free_rows = "uniform" if rows == "zero" else None
        self._shared = shared and isinstance(model, Transformer)
        self._known: dict[Stream, Tensor] = {}
        self._held = self._computed = 0
        self._sums: dict[Named, list[tuple[float, float]]] = {}
        self.candidates, self.given_up = 0, False
        ends = takewhile(lambda end: end < self.sequences, (LEAST << i for i in count()))
        self.parts = [slice(*both) for both in pairwise([0, *ends, self.sequences])]

    @property
    def sequences(self) -> int:
        """The number of sequences that losses are over."""
        return len(self.batch.inputs)

    @property
    def forwards(self) -> float:
        """The cost so far, in forward passes of the whole model over all sequences."""
        return self._computed / self._vectors(self.sequences)

    def add_forwards(self, count: float) -> None:
        """Counts forward passes that were made elsewhere, of all the bench's sequences."""
        self._computed += round(count * self._vectors(self.sequences))

    def _vectors(self, sequences: int) -> int:
        return sequences * self.batch.inputs.shape[1] * self.model.n_layers

    @torch.no_grad()
    def errors(self, candidates: Sequence[Replaced]) -> Float[Tensor, "candidate sequence hop"]:
        """The error of every candidate in every sequence, hop by hop (see `Targets.errors`).

        Raises:
            HeadwayError: if a candidate replaces a head that the model does not have, or uses a
                path that the task does not have.
        """
        self.candidates += len(candidates)
        outputs = self.outputs(candidates)
        return torch.stack([self.judged(one, slice(None)) for one in outputs])

    def judged(
        self, predicted: Float[Tensor, "sequence query output"], part: slice
    ) -> Float[Tensor, "sequence hop"]:
        """The errors of outputs at some sequences' queries (see `Targets.errors`)."""
        errors = self.task.targets.errors(predicted, self.batch.targets[part], self._asked)
        return errors[..., self.columns]

    @torch.no_grad()
    def outputs(
        self, candidates: Sequence[Replaced], part: slice | None = None
    ) -> Float[Tensor, "candidate sequence query output"]:
        """The outputs of the model at the queries, for every candidate.

        Args:
            candidates: mechanisms for all heads, or for some.
            part: some of the sequences, one after the other; by default all, in `parts`.

        Raises:
            HeadwayError: as `errors`.
        """
        if part is None:
            return torch.cat([self.outputs(candidates, part) for part in self.parts], 1)
        chosen = [self._checked(candidate) for candidate in candidates]
        return torch.cat([*self._outputs(chosen, part)])

    def _outputs(self, chosen: Sequence[Candidate], part: slice) -> Iterator[Tensor]:
        """Outputs in some sequences, of as many candidates at a time as may be computed at once."""
        inputs, n_read = self.batch.inputs[part], self.batch.targets.shape[1]
        vectors, numbers = self._vectors(len(inputs)), len(inputs) * self.task.length
        most = TOGETHER, MOST_VECTORS // vectors, MOST_NUMBERS // (numbers * self.task.d_target)
        for start in range(0, len(chosen), size := max(1, min(most))):
            some = chosen[start : start + size]
            if self.given_up:
                raise CancelledError
            if self._shared:
                yield self._resumed(some, part)
                continue
            together = inputs.repeat(len(some), *[1] * (inputs.ndim - 1))
            found = self.model(together, tap_of(self.patterns, some, part))
            self._computed += len(some) * vectors
            yield found[:, -n_read:].unflatten(0, (len(some), len(inputs)))

    def _resumed(self, chosen: Sequence[Candidate], part: slice) -> Tensor:
        """Outputs of a `Transformer`, going on from what is known of other candidates."""
        model, known, depth = self.model, self._known, self.model.n_layers
        assert isinstance(model, Transformer)
        while self._held > MOST_VECTORS:
            self._held -= known.pop(next(iter(known))).shape[:2].numel()
        missing = dict[tuple[int, bool], dict[Stream, tuple[Candidate, Stream]]]()
        last = list[Stream]()
        for one in chosen:
            above = part.start, part.stop, depth, frozenset(one.items())
            last.append(above)
            for layer in reversed(range(depth)):
                if above in known:
                    known[above] = known.pop(above)  # the last to be forgotten
                    break
                below = *above[:2], layer, frozenset(x for x in above[3] if x[0][0] < layer)
                kind = layer, self.patterns.are_known(one, layer)
                missing.setdefault(kind, {})[above] = one, below
                above = below
        inputs, length = self.batch.inputs[part], self.batch.inputs.shape[1]
        mask = None if model.mask is None else model.mask[:length, :length]
        together = max(1, AT_ONCE // inputs.shape[:2].numel())
        for layer, are_known in sorted(missing):
            n_read = self.batch.targets.shape[1] if layer == depth - 1 else length
            left = iter(missing[layer, are_known].items())
            while some := dict(islice(left, together)):
                alike = [one for one, _ in some.values()]
                if layer == 0:
                    x = model.embedded(inputs).repeat(len(some), 1, 1)
                else:
                    x = torch.cat([known[below] for _, below in some.values()])
                own = partial(tap_of(self.patterns, alike, part, length - n_read), layer)
                new = model.layers[layer](x, mask, own(None) if are_known else own, n_read)
                self._computed += new.shape[:2].numel()
                self._held += new.shape[:2].numel()
                known |= zip(some, new.chunk(len(some)), strict=True)
        return model.read(torch.cat([known[name] for name in last])).unflatten(0, (len(last), -1))

    @torch.no_grad()
    def worst(
        self,
        groups: Sequence[Sequence[Replaced]],
        limit: float = math.inf,
        sequences: int | None = None,
    ) -> list[float]:
        """The largest loss of every group of candidates (see `Judging`).

        Errors only add up. So if a candidate's errors in the first few sequences alone are more
        than the limit allows for all of them, its group need not be followed further. What was
        computed of a candidate is not computed again.

        Args:
            groups: of candidates, mechanisms for all heads or for some.
            limit: the loss to stay below.
            sequences: how many to judge, from the first (one of the `parts` ends there); then a
                group may be given up as `HOPELESS`. By default all are judged to the end.
        """
        if len(self._sums) > REMEMBERED:
            self._sums.clear()
        count, surely = sequences or self.sequences, sequences is None
        parts = [part for part in self.parts if part.stop <= count]
        chosen = [[self._checked(one) for one in group] for group in groups]
        named = [[frozenset(one.items()) for one in group] for group in chosen]
        known = dict(zip(chain(*named), chain(*chosen), strict=True))
        self.candidates += sum(name not in self._sums for name in known)
        left = dict(enumerate(named))
        for member in range(max(map(len, named), default=0)):
            for i, part in enumerate(parts):
                those = {at: group[member] for at, group in left.items() if member < len(group)}
                self._add_up(i, part, {name: known[name] for name in those.values()})
                for at, name in those.items():
                    farthest = min(len(self._sums[name]), len(parts)) - 1
                    seen = *self._sums[name][farthest], parts[farthest].stop
                    if limit < math.inf and not _may_be_below(limit, *seen, count, surely):
                        del left[at]
        losses = dict.fromkeys(range(len(groups)), math.inf)
        for at, group in left.items():
            losses[at] = max(self._sums[name][len(parts) - 1][0] for name in group) / count
        return list(losses.values())

    def _add_up(self, i: int, part: slice, candidates: Mapping[Named, Candidate]) -> None:
        """Adds the errors of the i-th part to what is known of candidates, where they are not."""
        asked = [name for name in candidates if len(self._sums.setdefault(name, [])) <= i]
        names = iter(asked)
        for outputs in self._outputs([candidates[name] for name in asked], part):
            errors = torch.stack([self.judged(one, part).mean(-1) for one in outputs])
            sums, squares = errors.sum(1).tolist(), errors.square().sum(1).tolist()
            for *found, name in zip(sums, squares, names, strict=False):
                before = self._sums[name][-1] if i else (0.0, 0.0)
                self._sums[name].append((before[0] + found[0], before[1] + found[1]))

    def gains(
        self,
        replaced: Replaced,
        changes: Sequence[tuple[Head, Mechanism]],
        measured: Measured | None = None,
        sequences: int = FEW,
    ) -> list[float]:
        """By how much changes of single heads lower something, to first order.

        By backward passes over the first sequences (attribution patching: Nanda 2023).

        Args:
            replaced: mechanisms that are in place before.
            changes: heads, and what replaces each of them alone.
            measured: what is lowered; by default the loss.
            sequences: how many, at most.
        """
        chosen, count = self._checked(replaced), min(sequences, self.sequences)
        found = [0.0] * len(changes)

        def loss(part: slice, outputs: Tensor, _: Sequence[Tensor]) -> Tensor:
            return self.judged(outputs, part).mean(1).sum() / count

        for start in range(0, count, FEW):
            part = slice(start, min(start + FEW, count))
            about = self.model, self.batch.inputs[part], self.batch.targets.shape[1]
            tap = tap_of(self.patterns, [chosen], part)
            patterns, slopes = attention_slopes(*about, partial(measured or loss, part), tap)
            for i, (head, mechanism) in enumerate(changes):
                now = patterns[:, *head]
                change = self.patterns.edit(head, mechanism, now, part=part) - now
                found[i] -= (slopes[:, *head] * change).sum().item()
        self._computed += 3 * self._vectors(count)
        return [gain if math.isfinite(gain) else 0.0 for gain in found]

    def _checked(self, candidate: Replaced) -> Candidate:
        chosen = candidate.mechanisms if isinstance(candidate, Circuit) else candidate
        layers, heads = self.model.n_layers, self.model.n_heads
        for head, mechanism in chosen.items():
            require(
                0 <= head[0] < layers and 0 <= head[1] < heads,
                "circuit: (layer, head)",
                head,
                f"a head of this model, which has {layers} layers of {heads}",
            )
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
        self.bench, self.sequences = bench, sequences
        self.heads, self.gains, self.free_rows = bench.heads, bench.gains, bench.free_rows

    def worst(self, groups: Sequence[Sequence[Replaced]], limit: float = math.inf) -> list[float]:
        """The largest loss of every group of candidates; hopeless ones are given up."""
        return self.bench.worst(groups, limit, self.sequences)


def _may_be_below(
    limit: float, total: float, squares: float, seen: int, count: int, surely: bool
) -> bool:
    """True if a mean over `count` sequences may be below a limit, by what was seen of them."""
    if total / count >= limit or surely or seen == count:
        return total / count < limit
    mean = total / seen
    error = math.sqrt(max(squares / seen - mean**2, 0.0) / (seen - 1))
    return mean - HOPELESS * error < limit


def heads_of(model: Tappable) -> list[Head]:
    """Every head of a model, layer by layer."""
    return [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]


def most_workers(model: Tappable, device: str, count: int | None = None) -> int:
    """The number of threads that may call a model at once.

    A model of others is called by one thread at a time, as it may keep something of a pass in an
    attribute, which another thread would read. On a GPU there is one thread, too.

    Args:
        model: that they call.
        device: that it is on.
        count: asked for; by default as many as the machine has cores.
    """
    if not isinstance(model, Transformer) or torch.device(device).type != "cpu":
        return 1
    return (os.cpu_count() or 1) if count is None else count


@contextmanager
def workers(count: int | None, benches: Sequence[Bench]) -> Iterator[ThreadPoolExecutor]:
    """Threads of one core each. If one of them fails, the others are stopped at once.

    Whoever gives them work must not call the model before they are done with it: of a model of
    others there is one thread, so that passes come one after the other (see `most_workers`).

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
