"""Sweeps on Ray: two nodes, one of them lost, and everything that can be wrong with a cluster."""

import builtins
import os
import socket
import threading
import time
from dataclasses import replace

import pytest

from headway.errors import HeadwayError
from headway.sweeps import LocalEngine, Plan, RayEngine, make_engine, sweep, table
from headway.sweeps.cluster import unpack
from headway.sweeps.jobs import Job
from headway.training import Run, train

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning:ray", "ignore::FutureWarning:ray")


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two nodes with one CPU each on this machine; the second can be taken away."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.slow
def test_a_lost_node_loses_no_run(cluster, plan, tmp_path):
    second = cluster.add_node(num_cpus=1)
    runs, folder, events = plan(6, steps=300), tmp_path / "s", []
    engine, lost, seen = RayEngine(cluster.address), [], []

    def watch(_, event):
        events.append(event)
        if event is None or event.kind != "progressed" or lost:
            return
        seen.append(event.name)
        if len(set(seen[seen.index(event.name) :])) > 1:  # another began while this one went on
            lost.append(second)
            cluster.remove_node(second, allow_graceful=False)

    board = sweep(runs, folder, engine, watch=watch)
    assert board.count("done") == 6
    ended = [event.name for event in events if event is not None and event.kind == "done"]
    assert sorted(ended) == sorted(runs.runs)
    assert [row["status"] for row in table(folder)] == ["done"] * 6
    assert lost
    again = [event.name for event in events if event is not None and event.kind == "lost"]
    assert again
    for name, config in runs.runs.items():
        run = Run.open(folder / name)
        assert [line["step"] for line in run.metrics()] == list(range(10, 301, 10))
        if name in again[:1]:
            alone = train(config, tmp_path / "alone")
            assert run.metrics()[-1]["val_loss"] == alone.metrics()[-1]["val_loss"]


def test_runs_are_brought_home_whole_and_processes_are_used_again(cluster, plan, tmp_path):
    good = plan(3)
    wild = replace(
        good.runs["r0"],
        training=replace(good.runs["r0"].training, optimizer="adam", learning_rate=1e30, steps=50),
    )
    runs, processes = Plan("p", {**good.runs, "wild": wild}), set()
    engine = RayEngine(cluster.address, bring_home=True)
    taken = engine._taken

    def noted(returned, stack):
        processes.add(returned.process)
        return taken(returned, stack)

    engine._taken = noted
    board = sweep(runs, tmp_path / "s", engine)
    assert (board.count("done"), board.count("failed")) == (3, 1)
    assert len(processes) == 1
    rows = {row["name"]: row for row in table(tmp_path / "s")}
    assert str(tmp_path / "s" / "wild") in rows["wild"]["message"]
    alone = train(good.runs["r1"], tmp_path / "alone")
    home = Run.open(tmp_path / "s" / "r1")
    assert home.checkpoint_steps() == alone.checkpoint_steps()
    assert home.metrics()[-1]["val_loss"] == alone.metrics()[-1]["val_loss"]
    assert not list((tmp_path / "s").glob(".*draft*"))
    events = []
    sweep(runs, tmp_path / "s", LocalEngine(1), watch=lambda _, event: events.append(event))
    assert events == [None]


@pytest.mark.parametrize("bring_home", [False, True])
def test_a_stack_is_one_task(cluster, plan, tmp_path, bring_home):
    good = plan(3)
    wild = replace(good.runs["r1"].training, optimizer="muon", learning_rate=1e30, steps=50)
    runs = Plan("p", {**good.runs, "wild": replace(good.runs["r1"], training=wild)})
    engine, sizes = RayEngine(cluster.address, bring_home=bring_home), []
    taken = engine._taken

    def noted(returned, stack):
        sizes.append(len(stack))
        return taken(returned, stack)

    engine._taken = noted
    sweep(runs, tmp_path / "s", engine, stack=4)
    assert sizes == [4]
    rows = table(tmp_path / "s")
    assert [row["status"] for row in rows] == ["done", "done", "done", "failed"]
    assert str(tmp_path / "s" / "wild") in rows[3]["message"]
    alone = train(good.runs["r1"], tmp_path / "alone")
    assert rows[1]["val_loss"] == pytest.approx(alone.metrics()[-1]["val_loss"], abs=2e-5)


def test_too_large_a_wish_is_one_clear_line(cluster, plan, tmp_path):
    wide = {"r": replace(plan(1).runs["r0"], threads=64)}
    with pytest.raises(HeadwayError, match=r"r asks for 64 CPUs and 0 GPUs .* are 1 and 0"):
        sweep(Plan("p", wide), tmp_path / "s", RayEngine(cluster.address))
    with pytest.raises(HeadwayError, match=r"asks for 1 CPUs and 0\.25 GPUs"):
        sweep(plan(1), tmp_path / "s", RayEngine(cluster.address, gpus_per_run=0.25))


def test_an_unreachable_cluster_is_one_clear_line_soon(plan, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = time.monotonic()
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "no-such-host.invalid:6379"):
        with pytest.raises(HeadwayError, match=f"no Ray cluster can be reached at {address}: "):
            sweep(plan(1), tmp_path / "s", RayEngine(address))
    for address in ("somewhere", "host:port", "host:99999", ":6379"):
        with pytest.raises(HeadwayError, match=f"address = '{address}' is not allowed"):
            sweep(plan(1), tmp_path / "s", RayEngine(address))
    assert time.monotonic() - begun < 15
    assert not list(tmp_path.iterdir())


def test_what_is_no_cluster_is_told(plan, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(HeadwayError, match=f"what answers at {address} is no Ray cluster"):
            sweep(plan(1), tmp_path / "s", RayEngine(address))
        thread.join()
    assert not list(tmp_path.iterdir())


def test_options_that_do_not_fit_are_refused(monkeypatch, plan, tmp_path):
    for share in (-1.0, 1.5):
        with pytest.raises(HeadwayError, match=f"gpus_per_run = {share} is not allowed"):
            RayEngine(gpus_per_run=share)
    for options in (("here:1", None, False), (None, 0.5, False), (None, None, True)):
        with pytest.raises(HeadwayError, match="is an option of --engine ray"):
            make_engine("local", 1, *options)
    assert RayEngine("h:1", 2, 0.25, True).options == (
        " --engine ray --address h:1 --workers 2 --gpus-per-run 0.25 --bring-home"
    )
    imported = builtins.__import__

    def without(name, *more):
        if name == "ray":
            raise ImportError
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(HeadwayError, match=r"pip install 'headway\[ray\]'"):
        sweep(plan(1), tmp_path / "s", RayEngine())
    assert not list(tmp_path.iterdir())


def test_what_comes_home_replaces_what_is_unfinished_and_nothing_else(plan, tmp_path):
    config = plan(1).runs["r0"]
    done = train(config, tmp_path / "done")
    files = {
        str(path.relative_to(done.folder)): path.read_bytes()
        for path in done.folder.rglob("*")
        if path.is_file()
    }
    begun = Run.create(tmp_path / "begun", config)
    begun.write("left-over.json", 1)
    unpack(Job("begun", begun.folder, config), files)
    assert Run.open(begun.folder).status == "done"
    assert begun.read("left-over.json") is None
    stamp = (done.folder / "outcome.json").stat()
    unpack(Job("done", done.folder, config), {**files, "outcome.json": b"{}"})
    assert (done.folder / "outcome.json").stat() == stamp
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "done"]


@pytest.mark.parametrize("bring_home", [False, True])
def test_a_task_in_a_users_file_is_found_or_told_once(
    cluster, own_runs, own_file, tmp_path, bring_home
):
    board = sweep(own_runs, tmp_path / "s", RayEngine(cluster.address, bring_home=bring_home))
    assert board.count("done") == 2
    assert [row["status"] for row in table(tmp_path / "s")] == ["done"] * 2
    own_file.unlink()
    events, engine = [], RayEngine(cluster.address, bring_home=bring_home)
    board = sweep(own_runs, tmp_path / "t", engine, watch=lambda _, event: events.append(event))
    told = [(event.name, event.kind) for event in events if event is not None]
    assert sorted(told) == [(name, "failed") for name in sorted(own_runs.runs)]
    for name, run in board.runs.items():
        assert f"'{own_file}': there is no such file" in run.message
        assert (tmp_path / "t" / name / "outcome.json").is_file()
