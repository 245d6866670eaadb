"""Grids of heads that attend by table."""

import pytest
import torch
from own_tasks import TwoPlacesBack
from tiny_runs import with_heads

from headway.report import Findings, grids
from headway.tasks import Retrieval

VISIBLE = torch.ones(10, 10).tril()


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tabled") / "run"
    run = with_heads(folder, TwoPlacesBack(), 1, {}, [(1, 0)])
    return Findings.of(run)


def grid_of(findings, monkeypatch, weights):
    """The grid of a head whose attention is shared by weights of queries and keys."""

    def attention(_, inputs):
        shares = weights(inputs) * VISIBLE
        rows = shares / shares.sum(-1, keepdim=True)
        return rows[:, None, None].expand(-1, 2, 1, -1, -1)

    monkeypatch.setattr(grids, "attention_patterns", attention)
    (grid,) = grids.grids(findings)
    assert (grid.layer, grid.head, grid.left_out) == (1, 0, 0)
    return grid


def test_attention_by_token_is_a_grid_of_tokens(findings, monkeypatch):
    same = 1 + 99 * torch.eye(6)

    def by_token(inputs):
        return same[inputs[:, :, None], inputs[:, None]]

    grid = grid_of(findings, monkeypatch, by_token)
    assert grid.by == "token"
    assert grid.names == [*"012345"]
    assert torch.tensor(grid.values).argmax(1).tolist() == [*range(6)]
    assert grid.told > 0.8


def test_attention_by_place_is_a_grid_of_positions(findings, monkeypatch):
    to_first = torch.ones(10, 10)
    to_first[:, 0] = 27
    grid = grid_of(findings, monkeypatch, lambda inputs: to_first.expand(64, -1, -1))
    assert grid.by == "position"
    assert grid.values[3] == [0.9, 0.03333, 0.03333, 0.03333, 0, 0, 0, 0, 0, 0]
    assert grid.told == 1


def test_attention_by_neither_is_said_to_be_told_in_part(findings, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    one_key = torch.rand(64, 10, 10, generator=generator) * VISIBLE
    hard = torch.nn.functional.one_hot(one_key.argmax(-1), 10).float()
    assert grid_of(findings, monkeypatch, lambda inputs: hard).told < 0.5


def test_of_many_tokens_those_read_most_are_shown(findings, monkeypatch):
    monkeypatch.setattr(grids, "MOST_KINDS", 2)
    weights = torch.tensor([1.0, 9, 1, 1, 9, 1])
    monkeypatch.setattr(
        grids,
        "attention_patterns",
        lambda _, inputs: by_key(weights[inputs]),
    )
    (grid,) = grids.grids(findings)
    assert (grid.names, grid.left_out) == (["1", "4"], 4)


def by_key(weights):
    shares = weights[:, None] * VISIBLE
    return (shares / shares.sum(-1, keepdim=True))[:, None, None].expand(
        -1, 2, -1, -1, -1
    )


def test_without_a_head_by_table_there_is_no_grid(tmp_path):
    run = with_heads(tmp_path / "run", Retrieval(depth=1, n_chains=2), 1, {})
    assert grids.grids(Findings.of(run)) == []
