"""Sweeps on Ray: two nodes, one of them lost, and everything that can be wrong with a
cluster.
"""

import builtins
import os
import socket
import sys
import time
from dataclasses import replace

import pytest
from watched import Seen

from commands import refused
from headway.errors import HeadwayError
from headway.sweeps import Engine, Plan, RayEngine, sweep, table
from headway.sweeps.on_ray import on_node
from headway.training import Run, train

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning:ray", "ignore::FutureWarning:ray"
)


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two nodes with one CPU each on this machine; the second can be taken
    away.
    """
    from ray.cluster_utils import Cluster

    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.slow
def test_a_lost_node_loses_no_run(cluster, plan, tmp_path):
    second = cluster.add_node(num_cpus=1)
    runs = plan(6, steps=300)
    folder = tmp_path / "s"
    events = Seen()
    engine = RayEngine(cluster.address)
    lost = []
    seen = []

    def watch(board, name):
        events(board, name)
        if (
            name is None
            or board.runs[name].state != "running"
            or not board.runs[name].step
            or lost
        ):
            return
        seen.append(name)
        if (
            len(set(seen[seen.index(name) :])) > 1
        ):  # another began while this one went on
            lost.append(second)
            cluster.remove_node(second, allow_graceful=False)

    board = sweep(runs, folder, engine, watch=watch)
    assert len(board.named("done")) == 6
    assert sorted(events.became("done")) == sorted(runs.runs)
    assert [row["status"] for row in table(folder)] == ["done"] * 6
    assert lost
    again = events.became("waiting")
    assert again
    for name, config in runs.runs.items():
        run = Run.open(folder / name)
        assert [line["step"] for line in run.metrics()] == list(range(10, 301, 10))
        if name in again[:1]:
            alone = train(config, tmp_path / "alone")
            assert run.metrics()[-1]["val_loss"] == alone.metrics()[-1]["val_loss"]


def test_a_cluster_trains_what_this_machine_would_have(cluster, plan, tmp_path):
    good = plan(2)
    wild = replace(
        good.runs["r1"].training, optimizer="muon", learning_rate=1e30, steps=50
    )
    runs = Plan("p", {**good.runs, "wild": replace(good.runs["r1"], training=wild)})
    alone = train(good.runs["r1"], tmp_path / "alone")
    folder = tmp_path / "s"
    board = sweep(runs, folder, RayEngine(cluster.address))
    assert len(board.named("done")) == 2
    assert len(board.named("failed")) == 1
    rows = table(folder)
    assert [row["status"] for row in rows] == ["done", "done", "failed"]
    assert "the loss is " in rows[2]["message"]
    assert rows[1]["val_loss"] == pytest.approx(
        alone.metrics()[-1]["val_loss"], abs=2e-5
    )
    (session,) = Run.open(folder / "r1").sessions()
    assert session["command"] == [os.path.basename(sys.argv[0]), *sys.argv[1:]]
    events = Seen()
    sweep(runs, folder, Engine(1), watch=events)
    assert not events


def test_a_folder_that_a_node_does_not_see_is_told(tmp_path):
    with pytest.raises(HeadwayError, match="s is not the same folder on all nodes"):
        on_node(tmp_path / "s" / "r0", None, [])
    assert not list(tmp_path.iterdir())


def test_too_large_a_wish_is_one_clear_line(cluster, plan, tmp_path):
    wide = {"r": replace(plan(1).runs["r0"], threads=64)}
    with pytest.raises(
        HeadwayError, match=r"a run asks for 64 CPUs and 0 GPUs .* no node"
    ):
        sweep(Plan("p", wide), tmp_path / "s", RayEngine(cluster.address))
    with pytest.raises(HeadwayError, match=r"asks for 1 CPUs and 0\.25 GPUs"):
        sweep(plan(1), tmp_path / "s", RayEngine(cluster.address, gpus_per_run=0.25))


def test_an_unreachable_cluster_is_one_clear_line_soon(plan, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = time.monotonic()
    for address in (
        f"127.0.0.1:{port}",
        f"ray://127.0.0.1:{port}",
        "no-such-host.invalid:6379",
    ):
        with pytest.raises(
            HeadwayError, match=f"no Ray cluster can be reached at {address}: "
        ):
            sweep(plan(1), tmp_path / "s", RayEngine(address))
    for address in ("somewhere", "host:port", "host:99999", ":6379"):
        with pytest.raises(HeadwayError, match=f"address = '{address}' is not allowed"):
            sweep(plan(1), tmp_path / "s", RayEngine(address))
    assert time.monotonic() - begun < 15
    assert not list(tmp_path.iterdir())


def test_options_that_do_not_fit_are_refused(monkeypatch, plan, tmp_path):
    for share in (-1.0, 1.5, float("inf")):
        with pytest.raises(
            HeadwayError, match=f"gpus_per_run = {share} is not allowed"
        ):
            RayEngine(gpus_per_run=share)
    for option in ("--address=here:1", "--gpus-per-run=0.5"):
        assert "are options of --engine ray" in refused("sweep", option)
    imported = builtins.__import__

    def without(name, *more):
        if name == "ray":
            raise ImportError
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(HeadwayError, match=r"pip install 'headway-interp\[ray\]'"):
        sweep(plan(1), tmp_path / "s", RayEngine())
    assert not list(tmp_path.iterdir())
