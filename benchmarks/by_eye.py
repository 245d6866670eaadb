"""Rows of attention beside the words that blind reading gives a head, to look at.

    python benchmarks/by_eye.py --cohort judging --folder runs/cohort --out FILE

For every useful head: its words, and 12 rows of its attention, drawn by how much they
move the answers, each with its query, the keys that the words name and the keys that
the head attends to most. (Where the words name no key, the fill of such rows is shown;
it is no support for them.) The questions, written before any row was looked at:

1. In how many rows do the named keys have at least half of the attention (hits)?
2. Do the words say where the head looks in rows in which it attends sharply, and do
   they name about the keys that it attends to where it attends broadly?
3. Does another sentence say it better in rows that the words miss?

- *true*: at least 10 hits, and no kind of row that the words miss alike twice.
- *partly*: 6 to 9 hits, or such a kind of row, or words for twice as many keys as have
  0.9 of the attention.
- *false*: fewer hits, or words about something else than what decides.
- Rows in which a query sees at most two keys do not count towards *true*.

What was said of each head is kept in results/by_eye.csv.
"""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from frame import options
from headway import discover
from headway.errors import HeadwayError, require
from headway.models import attention_patterns
from headway.replace.heads import name_of
from headway.replace.patterns import Patterns, edges_of
from headway.replace.rows import measured_weights
from headway.replace.subject import with_tap
from headway.tasks import Batch
from headway.training import held_out
from headway_experiments.cohort.members import COHORTS
from headway_experiments.cohort.training import load

SEQUENCES = 64
"""From which rows are drawn."""

MOST = 4
"""Keys that are listed at most, of those that are named and of those attended to."""


def looked_at(name: str, folder: Path, seed: int, rows: int) -> Iterator[str]:
    """Lines about each useful head of a model."""
    module, task, _ = load(name, folder)
    yield f"## {name}: {task.kind}"
    try:
        found = discover(module, task, seed=seed, trials=False, workers=1)
    except HeadwayError as error:
        yield f"refused: {error}"
        return
    batch = held_out(task, SEQUENCES, seed, "cpu", "by eye")
    model = with_tap(module, task)
    heads = found.circuit.useful_heads
    attention = attention_patterns(model, batch.inputs)
    weights = measured_weights(model, task, batch, heads)
    patterns = Patterns(model, batch, edges_of(task, model, batch))
    generator = torch.Generator().manual_seed(seed)
    for head in heads:
        mechanism = found.circuit.mechanisms[head]
        yield f"### {name_of(head)}: {mechanism}"
        named = patterns.dense(mechanism, head)
        weight = weights[:, *head]
        drawn = torch.multinomial(weight.flatten(), rows, generator=generator)
        for cell in drawn.tolist():
            sequence, query = divmod(cell, weight.shape[1])
            own, told = attention[sequence, *head, query], named[sequence, query]
            yield row_of(batch, sequence, query, own, told)


def row_of(batch: Batch, sequence: int, query: int, own: Tensor, told: Tensor) -> str:
    """A row of attention in one line."""
    tokens = batch.inputs[sequence]
    written = " ".join(map(str, tokens.tolist())) if tokens.ndim == 1 else "(vectors)"
    on_named = own[told > 0].sum().item()
    return (
        f"{written} | query {query} | named {listed(told)} | attends {listed(own)} | "
        f"on named {on_named:.2f}"
    )


def listed(row: Tensor) -> str:
    """The keys with most of a row, with their shares."""
    shares, keys = row.topk(min(MOST, len(row)))
    each = zip(keys.tolist(), shares.tolist(), strict=True)
    return " ".join(f"{key}:{share:.2f}" for key, share in each if share > 0.01)


def main() -> None:
    given = options(
        __doc__, cohort=str, folder=Path("runs/cohort"), seeds=(5,), rows=12, only=()
    )
    require(given.cohort in COHORTS, "--cohort", given.cohort, "one of the cohorts")
    torch.set_num_threads(1)
    for name in given.only or COHORTS[given.cohort]:
        for seed in given.seeds:
            for line in looked_at(name, given.folder, seed, given.rows):
                print(line, flush=True)


if __name__ == "__main__":
    main()
