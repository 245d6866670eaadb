"""A server in a thread, and how to talk to it."""

import contextlib
import http.client
import json
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import page_data

from headway.report.server import Server
from headway.training import Run

SIDE_BY_SIDE = "/compare/alone/sweep%2Fseed%3D2/"
"""Where two runs of the fixture `site` are compared."""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Site:
    server: Server
    folder: Path

    def ask(
        self, path: str, method: str = "GET", hosts: tuple[str, ...] | None = None
    ) -> Answer:
        """An answer to a path as it stands, whatever is in it."""
        port = self.server.server_address[1]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection._validate_path = lambda url: None  # type: ignore[attr-defined]
        connection._encode_request = lambda request: request.encode("latin-1")  # type: ignore[attr-defined]
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True)
            for host in (f"127.0.0.1:{port}",) if hosts is None else hosts:
                connection.putheader("Host", host)
            connection.endheaders()
            answer = connection.getresponse()
            text = answer.read().decode()
            return Answer(answer.status, dict(answer.getheaders()), text)

    def sent(self, request: bytes) -> bytes:
        """All that is answered to some bytes, after which the client waits."""
        with socket.create_connection(
            self.server.server_address[:2], timeout=30
        ) as line:
            line.sendall(request)
            answer = b""
            while read := line.recv(65536):
                answer += read
            return answer

    def page(self, path: str = "/") -> str:
        answer = self.ask(path)
        assert answer.status == 200, answer.text
        return answer.text

    def version(self, path: str = "/") -> str:
        """Of the page at a path, as the server tells it."""
        answer = self.ask(f"{path}version")
        assert answer.status == 200
        return answer.text.strip()

    def links(self) -> list[str]:
        """Of the list to the pages of runs."""
        return [link for table in self.data()["tables"] for link in table["links"]]

    def data(self, path: str = "/") -> dict[str, Any]:
        """What is shown at a path."""
        data = page_data(self.page(path))
        assert json.loads(self.page(f"{path}data.json")) == data
        return data

    def row(self, name: str) -> dict[str, Any]:
        """A run in the list."""
        tables = self.data()["tables"]
        rows = [
            dict(zip(one["head"], row, strict=True))
            for one in tables
            for row in one["rows"]
        ]
        (found,) = [row for row in rows if row["run"] == name]
        return found


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Site]:
    server = Server(folder, 0)
    thread = threading.Thread(target=server.serve_forever, args=[0.02])
    thread.start()
    try:
        yield Site(server, folder)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def lengthened(run: Run, steps: int) -> None:
    """Lets a run have more steps to go than it was made with."""
    config = json.loads((run.folder / "config.json").read_text())
    config["training"]["steps"] = max(steps, config["training"]["steps"])
    run.write("config.json", config)


def add_line(run: Run, loss: float, step: int = 100) -> None:
    """One more evaluation, as training adds it."""
    lengthened(run, step)
    run.remove("outcome.json")
    partial = dict.fromkeys(run.task.hops, loss)
    told = {"step": step, "train_loss": loss, "val_loss": loss, "partial": partial}
    run.append_metrics(
        {**told, "rate_scale": 1.0, "seconds": 2.0, "examples_per_second": 3.0}
    )


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything in a folder, hidden files too: when it was written, and what is in
    it.
    """
    found = {}
    for path in [folder, *folder.rglob("*")]:
        content = (
            path.read_bytes()
            if path.is_file()
            else json.dumps(sorted(os.listdir(path)))
        )
        found[str(path)] = path.stat().st_mtime_ns, content
    return found
