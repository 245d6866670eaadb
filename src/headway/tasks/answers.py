"""Doubts about answers: undecided, too easy, at no role, or out of reach.

They are as good as a sample is. What is too easy is found by trying rules that look
nothing up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headway.relations.edges import Edges
from headway.tasks.base import Batch, Task
from headway.tasks.targets import Tokens

Doubts = Iterator[tuple[str, str]]
"""An attribute of the task, and what is odd about it."""
CASES = 2048
"""Answers by which a rule is judged, at most."""
NOTABLE = 0.5
"""The share of what is left to win over a simpler rule, from which a rule is told."""


def doubts_of(task: Task, batch: Batch) -> Doubts:
    """Oddities of the answers in some hundred sequences of a well-shaped task."""
    asked = task.targets.asked(batch.targets)
    for i, hop in enumerate(task.hops):
        asks = asked[:, :, i]
        if not asks.any():
            what = (
                f"{hop} is never asked in {len(asked)} sequences:"
                " leave it out of the targets"
            )
            yield "hops", what
            continue
        if isinstance(task.targets, Tokens) and hop in task.judged:
            yield from _undecided(hop, batch, i, asks)
        yield from _easy(hop, batch, i, asks)
        if batch.roles.numel():
            yield from _elsewhere(task, hop, batch, i)
    yield from _unreached(task, batch, asked.any(2))


def constant_hops(task: Task, batch: Batch) -> list[str]:
    """The hops with the same answer in all sequences, at each query."""
    asked = task.targets.asked(batch.targets)
    constant = list[str]()
    for i, hop in enumerate(task.hops):
        rows, queries = asked[:, :, i].nonzero(as_tuple=True)
        if not len(rows):
            continue
        answers = batch.targets[rows, queries, i].reshape(len(rows), -1)
        answered = torch.cat([queries[:, None], answers], 1)
        kinds = answered.unique(dim=0)
        if len(kinds) == len(queries.unique()):
            constant.append(hop)
    return constant


def _undecided(
    hop: str, batch: Batch, i: int, asked: Bool[Tensor, "batch query"]
) -> Doubts:
    """Look for answers that differ although their sequences are the same."""
    sequences = batch.inputs.flatten(1)
    _, number = torch.unique(sequences, dim=0, return_inverse=True)
    rows, queries = asked.nonzero(as_tuple=True)
    questions = torch.stack([number[rows], queries], dim=1)
    answers = batch.targets[rows, queries, i]
    answered = torch.cat([questions, answers[:, None]], dim=1)
    if len(answered.unique(dim=0)) > len(questions.unique(dim=0)):
        what = f"one sequence has two answers to {hop}: it does not decide the answer"
        yield "assemble", f"{what}; put what does into it"


def _easy(hop: str, batch: Batch, i: int, asked: Bool[Tensor, "batch query"]) -> Doubts:
    """Finds answers that are constant, at one place, or the most frequent token."""
    rows, queries = asked.nonzero()[:CASES].T
    answers = batch.targets[rows, queries, i]
    inputs = batch.inputs[rows]
    first_query = inputs.shape[1] - asked.shape[1]
    positions = first_query + queries
    for rule, share, simpler in _rules(inputs, answers, positions):
        if share - simpler >= NOTABLE * (1 - simpler) > 0:
            what = (
                f"the answer to {hop} is {rule} in {share:.0%} of {len(answers)} cases"
            )
            yield (
                "assemble",
                f"{what}: nothing need be looked up for that; draw others, if it must",
            )


def _rules(
    inputs: Tensor, answers: Tensor, queries: Int[Tensor, " case"]
) -> Iterator[tuple[str, float, float]]:
    """The answers of rules that look nothing up.

    Args:
        inputs: the sequence of each case.
        answers: the answer of each.
        queries: the position of each query.

    Yields: what the rule says, the share of answers for which it is right, and that of
        a simpler rule.
    """
    kinds, counts = answers.unique(dim=0, return_counts=True)
    likeliest = kinds[counts.argmax()]
    name = "the same vector" if likeliest.ndim else f"the token {likeliest}"
    constant = float(counts.max()) / len(answers)
    yield name, constant, 1 / len(kinds) if len(kinds) > 1 else 0
    is_answer = _matches(inputs, answers[:, None])
    place, share = _best_place(is_answer, queries)
    if inputs.ndim > 2:
        yield place.replace("token", "vector"), share, constant
        return
    yield place, share, constant
    if answers.ndim == 1:
        yield (
            "the most frequent token of the sequence",
            _share_most_frequent(inputs, answers),
            constant,
        )


def _share_most_frequent(
    inputs: Int[Tensor, "case position"], answers: Tensor
) -> float:
    """The share of answers that are their sequence's most frequent token."""
    frequent = inputs.mode(dim=1).values
    counts = (inputs == frequent[:, None]).sum(1)
    right = (frequent == answers) & (counts > 1)
    return float(right.float().mean())


def _best_place(
    is_answer: Bool[Tensor, "case position"], own: Tensor
) -> tuple[str, float]:
    """The place where answers stand most often, from start, end or query.

    Args:
        is_answer: where the answer of each case stands.
        own: the position of its query.
    """
    length = is_answer.shape[1]
    back = own[:, None] - torch.arange(length)
    stands = is_answer.gather(1, back.clamp(min=0)) & (back >= 0)
    before = stands.float().mean(0).tolist()
    by_place = is_answer.float().mean(0).tolist()
    shares = {"the query's own token": before[0]}
    shares["the first token"] = by_place[0]
    shares["the last token"] = by_place[-1]
    for position, share in enumerate(by_place):
        shares[f"the token at position {position}"] = share
    for steps in range(1, length):
        shares[f"the token {steps} before the query"] = before[steps]
    best = max(shares, key=lambda place: shares[place])
    return best, shares[best]


def _matches(read: Tensor, answers: Tensor) -> Bool[Tensor, "*cases"]:
    """Tell where what is read is the answer, or holds it next to other numbers."""
    if read.is_floating_point() != answers.is_floating_point():
        cases = read if answers.is_floating_point() else read[..., 0]
        return torch.zeros_like(cases, dtype=torch.bool)
    if not answers.is_floating_point():
        return read == answers
    width = min(answers.shape[-1], read.shape[-1])
    windows = read.unfold(-1, width, 1)
    same = (windows == answers[..., None, :]).all(-1)
    return same.any(-1)


def _elsewhere(task: Task, hop: str, batch: Batch, i: int) -> Doubts:
    """Tell if a chain's answers do not always stand at one of its roles."""
    n_read = batch.targets.shape[1]
    length = batch.inputs.shape[1]
    queries = batch.roles[:, 0] - (length - n_read)
    asks = task.targets.asked(batch.targets)[:, :, i]
    asked = asks.gather(1, queries)
    if not asked.any():
        return
    rows = torch.arange(len(queries))[:, None]
    answers = batch.targets[rows, queries, i]
    shares = _Shares(batch, answers, asked)
    what = f"the answer to {hop} stands"
    yield from _not_at_a_role(what, shares, task.roles)


def _not_at_a_role(what: str, shares: "_Shares", roles: Sequence[str]) -> Doubts:
    """Tell where answers stand instead if they do not always stand at one role."""
    at_roles = [shares.at(role) for role in range(len(roles))]
    most = max(at_roles)
    if most == 1:
        return
    for role, name in enumerate(roles):
        for step, side in ((-1, "before"), (1, "after")):
            if shares.at(role, step) == 1:
                where = f"one position {side} {name}, and at no role"
                yield "assemble", f"{what} {where}: move the role or the target"
                return
    best = roles[at_roles.index(most)]
    where = f"at no role of its chain (at {best} in {most:.0%})"
    yield "assemble", f"{what} {where}: fine if it is computed"


@dataclass(frozen=True)
class _Shares:
    """The shares of answers that stand at places of their chain.

    Attributes:
        batch: the sequences.
        answers: of every chain.
        asked: the chains that are asked for one.
    """

    batch: Batch
    answers: Tensor
    asked: Bool[Tensor, "batch chain"]

    def at(self, role: int, step: int = 0) -> float:
        """The share at a role, or so many positions behind it."""
        positions = self.batch.roles[:, role] + step
        length = self.batch.inputs.shape[1]
        rows = torch.arange(len(positions))[:, None]
        read = self.batch.inputs[rows, positions.clamp(0, length - 1)]
        is_inside = (positions >= 0) & (positions < length)
        stands = _matches(read, self.answers) & is_inside
        return float(stands[self.asked].float().mean())


def _unreached(task: Task, batch: Batch, asks: Bool[Tensor, "batch query"]) -> Doubts:
    """Look for positions at which something is asked and no path leads away, and for
    positions that play no role and are at no end of a path."""
    paths = [edges for edges in task.relations(batch).values() if edges.use == "path"]
    if not paths:
        return
    leads, known = _ends(paths, batch)
    n_read = asks.shape[1]
    alone = asks & ~leads[:, -n_read:]
    if alone.any():
        row, query = alone.nonzero()[0].tolist()
        share = alone.sum() / asks.sum()
        what = (
            f"no relation has a key for {share:.0%} of the asked positions"
            f" (query {query} of sequence {row}),"
            " but their own may do: else add keys for them"
        )
        yield "relations", what
    if not known.all():
        share = 1 - known.float().mean()
        what = (
            f"{share:.0%} of the positions play no role and no path leads to them,"
            " so that no circuit can name heads that look there:"
            " give them one, if heads should"
        )
        yield "roles" if task.roles else "relations", what


def _ends(
    paths: list[Edges], batch: Batch
) -> tuple[Bool[Tensor, "batch position"], Bool[Tensor, "batch position"]]:
    """The positions that a path leads from, and those of roles and ends of paths."""
    shape = batch.inputs.shape[:2]
    leads = torch.zeros(shape, dtype=torch.bool, device=batch.targets.device)
    known = leads.scatter(1, batch.roles.flatten(1), True)
    for edges in paths:
        rows, n, key = edges.there.nonzero(as_tuple=True)
        leads[rows, edges.queries[rows, n]] = True
        known[rows, edges.keys[rows, n, key]] = True
    return leads, known | leads
