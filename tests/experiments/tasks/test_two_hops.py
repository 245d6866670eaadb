import pytest

from headway_experiments.tasks import TwoHops
from sampling import sample


@pytest.mark.parametrize("asked", ["end", "both"])
def test_a_query_is_answered_by_following_two_facts(asked):
    task = TwoHops(n_chains=3, n_symbols=9, asked=asked)
    batch = sample(task, 64)
    assert batch.targets.shape[2] == len(task.hops)
    ends = task.ends(batch)
    for i, (start, *pairs, query) in enumerate(batch.inputs.tolist()):
        facts = dict(zip(pairs[::2], pairs[1::2], strict=True))
        assert start == 0
        assert len(facts) == 6
        bridge = facts[query]
        answer = facts[bridge]
        expected = [answer] if asked == "end" else [bridge, answer]
        assert batch.targets[i, 0].tolist() == expected
        bridges = [to for to in facts.values() if to in facts]
        assert set(ends[i].tolist()) == {facts[to] for to in bridges}
        held = batch.inputs[i, batch.roles[i, :, 0]].tolist()
        assert held == [query, query, bridge, bridge, answer]


def test_facts_of_a_chain_come_in_either_order():
    roles = sample(TwoHops(), 64).roles[..., 0]
    is_in_order = roles[:, 1] < roles[:, 3]
    assert 0.3 < is_in_order.float().mean() < 0.7
