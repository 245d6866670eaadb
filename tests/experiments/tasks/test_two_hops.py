import pytest

from headway_experiments.tasks import TwoHops
from sampling import sample


@pytest.mark.parametrize("asked", ["end", "both"])
def test_a_query_is_answered_by_following_two_facts(asked):
    task = TwoHops(n_chains=3, n_symbols=9, asked=asked)
    batch = sample(task, 64)
    assert batch.targets.shape[2] == len(task.hops)
    for i, tokens in enumerate(batch.inputs.tolist()):
        facts = dict(zip(tokens[1:-1:2], tokens[2:-1:2], strict=True))
        assert tokens[0] == 0
        assert len(facts) == 6
        answers = [facts[tokens[-1]], facts[facts[tokens[-1]]]]
        assert batch.targets[i, 0].tolist() == answers[-len(task.hops) :]
        assert set(task.ends(batch)[i].tolist()) == {
            facts[facts[a]] for a in facts if facts[a] in facts
        }
        held = [tokens[place] for place in batch.roles[i, :, 0]]
        assert held == [tokens[-1], tokens[-1], answers[0], answers[0], answers[1]]


def test_facts_of_a_chain_come_in_either_order():
    roles = sample(TwoHops(), 64).roles[..., 0]
    assert 0.3 < (roles[:, 1] < roles[:, 3]).float().mean() < 0.7
