"""Maps that are named: answers, and what is held out."""

from dataclasses import replace

import torch

from headway_experiments.tasks import Named
from headway_experiments.tasks.named import facts_of
from sampling import seeded

TASK = Named(asked=(1, 2, 4), n_symbols=5, n_names=3, facts=7)


def test_answers_are_where_the_names_lead():
    batch = TASK.sample(64, seeded(0))
    maps = facts_of(TASK, torch.device("cpu")).tolist()
    for each in maps:
        assert sorted(each) == list(range(5))
    for row, answers in zip(
        batch.inputs.tolist(), batch.targets[:, 0].tolist(), strict=True
    ):
        at = row[0]
        reached = []
        for name in row[1:]:
            at = maps[name - 5][at]
            reached.append(at)
        assert answers == [reached[k - 1] for k in TASK.asked]


def test_no_beginning_is_both_shown_and_held_out():
    both = [replace(TASK, beginnings=name) for name in ("shown", "held out")]
    drawn = [task.sample(4000, seeded(0)).inputs[:, :3] for task in both]
    shown, held_out = ({*map(tuple, rows.tolist())} for rows in drawn)
    assert not shown & held_out
    assert (len(shown), len(held_out)) == (36, 9)  # of 5 symbols × 3 names × 3 names
    # Single facts are shown.
    assert {row[:2] for row in shown} >= {row[:2] for row in held_out}
