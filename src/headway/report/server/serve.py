"""The server: pages over HTTP, to this machine alone, without writing anything anywhere."""

import contextlib
import errno
import re
import socket
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

from headway.errors import HeadwayError, require
from headway.report.page.document import MANY_RUNS, joined
from headway.report.page.policy import policy
from headway.report.page.render import SCRIPTS
from headway.report.server.catalogue import Catalogue
from headway.report.server.document import live_script
from headway.report.server.index import INDEX, Index
from headway.report.server.pages import NOUNS, Kind, Pages, decoded
from headway.report.server.rows import link

ADDRESS = "127.0.0.1"

HOSTS = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)
"""The hosts that a browser may name. Requests under other names, which a page from elsewhere could
point here, are refused. The port may be that of a tunnel from another machine."""

OURS = (joined(SCRIPTS), joined(MANY_RUNS), live_script(), INDEX, "")
"""All scripts that pages of the server have."""

HEADERS = {
    "Content-Security-Policy": f"{policy(OURS, served=True)}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

MOST, PATIENCE = 256, 10.0
"""The most requests answered at a time, and the seconds within which one must arrive in full."""

HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"


class Server(ThreadingHTTPServer):
    """Shows the runs in a folder, on this machine alone, until it is stopped.

    Args:
        folder: that holds runs, or sweeps, or a run's own.
        port: where to listen; 0 takes a free one.

    Raises:
        HeadwayError: if there is no such folder, or the port cannot be taken.
    """

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, folder: Path, port: int):
        require(0 <= port <= 65535, "port", port, "a whole number from 0 to 65535")
        self.catalogue = Catalogue(folder)
        self.index, self.pages = Index(self.catalogue), Pages(self.catalogue)
        self._free = threading.BoundedSemaphore(MOST)
        self._asking: dict[socket.socket, float] = {}
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                reason = "in use already: choose another, or 0 for any that is free"
            else:
                reason = f"not to be had ({error.strerror})"
            raise HeadwayError(f"port {port} is {reason}") from None

    @property
    def url(self) -> str:
        """Where the page of all runs is."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a thread of its own, if one of `MOST` is free; else hangs up."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        self._asking[request] = time.monotonic() + PATIENCE
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._asking.pop(request, None)
            self._free.release()

    def asked(self, request: socket.socket) -> None:
        """Takes note that a request was read to its end, however long the answer takes."""
        self._asking.pop(request, None)

    def service_actions(self) -> None:
        """Hangs up on clients whose request did not arrive in time."""
        now = time.monotonic()
        for request, until in list(self._asking.items()):
            if until < now:
                with contextlib.suppress(OSError):  # it has hung up itself
                    request.shutdown(socket.SHUT_RDWR)

    def server_close(self) -> None:
        """Gives the port back."""
        super().server_close()
        self.pages.close()  # a thread that computes while the interpreter ends can crash it

    def server_bind(self) -> None:
        """Takes the port, without asking for the machine's name, which can take long."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says on one line what went wrong, unless it is only that somebody hung up."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"headway: {type(error).__name__}: {error}", file=sys.stderr)


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    timeout = PATIENCE

    def do_GET(self) -> None:
        """Answers with a page, or with a version."""
        self._site.asked(self.connection)
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not HOSTS.fullmatch(hosts[0].strip()):
            self._say(HTTPStatus.FORBIDDEN, "this server answers to 127.0.0.1 and localhost only")
            return
        try:
            self._route()
        except HeadwayError as error:
            self._say(HTTPStatus.NOT_FOUND, str(error))

    do_HEAD = do_GET  # noqa: N815

    @property
    def _site(self) -> Server:
        assert isinstance(self.server, Server)
        return self.server

    def _route(self) -> None:
        site = self._site
        match urlsplit(self.path).path.split("/"):
            case ["", ""]:
                self._answer(HTTPStatus.OK, HTML, site.index.page())
            case ["", "version"]:
                self._say(HTTPStatus.OK, site.index.version())
            case ["", ("run" | "sweep" | "compare") as kind, *parts, last]:
                self._route_page(kind, parts, last)
            case _:
                self._say(HTTPStatus.NOT_FOUND, "there is no such page")

    def _route_page(self, kind: Kind, parts: list[str], last: str) -> None:
        """Answers what begins with /run/, say; the last part is empty in the address of a page."""
        pages = self._site.pages
        shown = pages.find(kind, decoded(parts)) if last in ("", "version") else None
        if shown is not None and last == "version":
            self._say(HTTPStatus.OK, shown.version)
        elif shown is not None:
            fine, page = pages.page(shown)
            status = HTTPStatus.OK if fine else HTTPStatus.INTERNAL_SERVER_ERROR
            self._answer(status, HTML, page)
        elif last and pages.find(kind, name := decoded([*parts, last])) is not None:
            self._answer(HTTPStatus.MOVED_PERMANENTLY, TEXT, "", {"Location": link(kind, name)})
        else:
            self._say(HTTPStatus.NOT_FOUND, f"there is no such {NOUNS[kind]}")

    def _say(self, status: int, line: str, more: dict[str, str] | None = None) -> None:
        self._answer(status, TEXT, f"{line}\n", more)

    def _answer(
        self, status: int, kind: str, text: str, more: dict[str, str] | None = None
    ) -> None:
        content = text.encode("utf-8", "backslashreplace")
        self.send_response_only(status)
        about = {"Content-Type": kind, "Content-Length": str(len(content))}
        for name, value in {**HEADERS, **about, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers a request that cannot be understood."""
        self.close_connection = True
        if code == HTTPStatus.NOT_IMPLEMENTED:
            more = {"Allow": "GET, HEAD"}
            self._say(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are answered", more)
        else:
            self._say(code, "this request cannot be understood")

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps quiet: the terminal shows one line."""
