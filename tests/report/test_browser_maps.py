"""In a browser: the attention maps read what the checkpoints hold."""

import pytest
from browser import spoken

from headway.circuits.roles import places
from headway.models import attention_patterns
from headway.training.data import held_out

HUNDREDTHS = 0.005 + 1e-6
"""How far a value in hundredths may be from the exact one."""


def reading(words):
    """What a readout says: head, row, column, weight."""
    head, _, rest = words.partition(": ")
    rows, _, weight = rest.partition("; ")[0].rpartition(" with ")
    row, _, column = rows.partition(" attends to ")
    return head, row, column, float(weight)


def attended(run, step):
    """Attention of every head on held-out sequences, computed afresh."""
    batch = held_out(run.task, 16, run.config.seed, run.device, "emergence")
    return attention_patterns(run.model(step), batch.inputs), batch


def between_roles(patterns, batch, task, layer, head, query, key):
    """The mean of one cell, added up one by one."""
    at = {name: batch.roles[:, task.roles.index(name)] for name in (query, key)}
    total = [
        patterns[b, layer, head, at[query][b, chain], at[key][b, chain]].item()
        for b in range(len(patterns))
        for chain in range(at[query].shape[1])
    ]
    return sum(total) / len(total)


def index_of(page, index):
    steps = page.run.checkpoint_steps()
    return steps[index], index % len(steps)


@pytest.mark.parametrize(("page", "index"), [("learnt", -1), ("learnt", 3), ("two_hops", 1)])
def test_every_cell_between_roles_reads_the_mean_attention(visit, request, page, index):
    page = request.getfixturevalue(page)
    seen, task = visit(page), page.run.task
    step, index = index_of(page, index)
    seen.go_to(index)
    patterns, batch = attended(page.run, step)
    names = [(p.role, f"{p.role} ({spoken(p.symbol)})") for p in places(task)]
    for layer in range(page.run.config.model.n_layers):
        read = seen.sweep(layer)
        for i, (query, row) in enumerate(names):
            rest = 1.0
            for j, (key, column) in enumerate(names):
                exact = between_roles(patterns, batch, task, layer, 0, query, key)
                head, at, to, weight = reading(read[i, j])
                assert (head, at, to) == (f"L{layer}.H0", row, column)
                assert weight == pytest.approx(exact, abs=HUNDREDTHS)
                rest -= exact
            _, _, to, weight = reading(read[i, len(names)])
            assert to == "anything else"
            assert weight == pytest.approx(rest, abs=HUNDREDTHS * (1 + len(names)))


def test_strong_attention_that_is_no_path_says_what_it_costs(visit, learnt):
    seen = visit(learnt)
    roles = seen.page.evaluate("headway.page.data.roles")
    strays = seen.page.evaluate("headway.page.data.strays")
    assert strays
    for stray in strays:
        assert f"costs {stray['cost']}" in seen.point_at(
            stray["head"], stray["query"], stray["attended"]
        )
        place = f"L{stray['head']}.H0 {roles[stray['query']]}←{roles[stray['attended']]}"
        assert place in seen.words("#attention > .under")
    assert seen.page.locator(".stray").count() == len(strays)
    assert "costs" not in seen.point_at(*frame_of_first(seen))


def frame_of_first(seen):
    path = seen.page.evaluate("headway.page.data.paths[0]")
    return path["head"], path["query"], path["attended"]
