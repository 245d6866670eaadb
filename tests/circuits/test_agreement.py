"""What the flow predicts of clamped training: cases worked out by hand, and planted outcomes."""

from headway.circuits.agreement import Pair, lost_without, predicted_by
from headway.circuits.dependence import Dependence, Training
from headway.circuits.dependence_text import edges, of_several, over_runs
from headway.paths import Path
from headway.tasks import Retrieval
from headway.theory import retrieval_flow

DOUBLING = (
    "L0.H0 s2←s1",
    "L0.H0 s4←s3",
    "L0.H0 s6←s5",
    "L1.H0 s0←s2",
    "L1.H0 s4←s6",
    "L2.H0 s0←s4",
)


def kinds_of(flow, names, *asked):
    paths = [Path.parse(name) for name in names]
    found = predicted_by(flow, paths, True, frozenset(asked))
    assert len(found) == len(paths) * (len(paths) - 1)
    return {(str(p), str(q)): kind for (p, q), kind in found.items()}


def those(kinds, kind):
    return {pair for pair, one in kinds.items() if one == kind}


def test_pointer_doubling_by_hand():
    kinds = kinds_of(retrieval_flow(3), DOUBLING, "x_1", "x_2", "x_3")
    first, second, third, jump, gather, last = DOUBLING
    assert those(kinds, "finds") == {
        *((first, jump), (first, last)),
        *((second, last), (jump, last)),
        (third, gather),
    }
    assert those(kinds, "carries") == {(third, last), (gather, last)}
    assert those(kinds, "serves") == {
        *((first, second), (first, third), (first, gather)),
        *((second, third), (second, gather)),
        *((jump, first), (jump, second), (jump, third), (jump, gather)),
        (gather, third),
        *((last, second), (last, third), (last, gather)),
    }
    assert len(those(kinds, "apart")) == 10


def test_what_is_lost_with_a_path_by_hand():
    paths = [Path.parse(name) for name in DOUBLING]
    first, second, third, jump, gather, last = paths
    found = lost_without(Retrieval(depth=3), paths, True)
    assert found is not None
    assert {path: set(lost.paths) for path, lost in found.items()} == {
        first: {jump, last},
        second: {last},
        third: {gather, last},
        jump: {last},
        gather: {last},
        last: set(),
    }
    answers = {path: lost.answers for path, lost in found.items()}
    assert answers[first] == answers[jump] == ("x_1", "x_2", "x_3")
    assert answers[third] == answers[gather] == ("x_3",)
    assert answers[second] == answers[last] == ("x_2", "x_3")
    assert lost_without(Retrieval(depth=3), [Path.of(0, 0, "previous token")], True) is None


def test_what_comes_on_two_ways_is_needed_on_neither():
    """s2 passes x_2 on to s0, which also reads s4 by what it gathered itself."""
    paths = (
        "L0.H0 s2←s1",
        "L0.H0 s4←s3",
        "L1.H0 s0←s2",
        "L1.H0 s2←s4",
        "L2.H0 s0←s2",
        "L2.H1 s0←s4",
    )
    kinds = kinds_of(retrieval_flow(2), paths, "x_1", "x_2")
    assert kinds["L1.H0 s2←s4", "L2.H0 s0←s2"] == "carries"
    assert kinds["L1.H0 s2←s4", "L2.H1 s0←s4"] == "apart"
    assert kinds["L1.H0 s0←s2", "L2.H1 s0←s4"] == "finds"
    assert kinds["L2.H0 s0←s2", "L1.H0 s2←s4"] == "apart"  # of no use with the other way there
    assert kinds["L2.H1 s0←s4", "L2.H0 s0←s2"] == "apart"


P, Q = Path.parse("L0.H0 s2←s1"), Path.parse("L1.H0 s0←s2")


def planted(confirmed: bool) -> Dependence:
    """Findings with one predicted dependence, confirmed or not, and a pair without one."""
    pairs = [Pair(P, Q, "finds", not confirmed), Pair(Q, P, "serves", True)]
    free = Training(None, 6, 0.5, {}, {}, [])
    return Dependence(0, None, 6, [P, Q], free, [], pairs, 8)


def test_runs_are_counted_edge_by_edge_with_an_interval():
    found = [planted(True)] * 9 + [planted(False)]
    assert list(edges(found)) == [(str(Q), str(P), "finds", "9 of 10", "0.60–0.98")]
    shares = [one.agreed for one in found]
    said = "19 of 20; share by run 0.95 (standard deviation 0.16, n = 10)"
    assert over_runs(shares) == said
    assert said in " ".join(of_several(found).split())
